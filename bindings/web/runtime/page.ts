// The imports "mlc" of the core: core/src/platform/web/page.h, capi/web.cc and
// runtime/device/browser/page_gpu.h.

import type { FileTable } from "./files.ts";
import type { Libraries } from "./library.ts";
import type { CoreMemory } from "./memory.ts";
import type { GpuCommands } from "./webgpu.ts";

export interface PageState {
  readonly files: FileTable;
  readonly memory: CoreMemory;
  readonly libraries: Libraries;
  readonly gpu: GpuCommands | null;
  readonly onProgress: ((fraction: number, what: string) => boolean | void) | null;
  event(user: number, kind: number, json: string): void;
  logits(user: number, tokens: Int32Array, numPrompt: number, logits: Float32Array): number;
}

type Imports = Record<string, WebAssembly.ImportValue>;

const DONE = 0, MUST_WAIT = 1, FAILED = 2, LOST = 1;

/** An import that may wait for a promise; without JSPI, one that does not. */
function waits(
  act: (...values: number[]) => Promise<number>,
  otherwise: (...values: number[]) => number,
): WebAssembly.ImportValue {
  const { Suspending } = WebAssembly as unknown as {
    Suspending?: new (act: CallableFunction) => WebAssembly.ImportValue;
  };
  return Suspending ? new Suspending(act) : otherwise;
}

export function pageImports(page: PageState): Imports {
  return {
    event: (user: number, kind: number, json: number, size: number) =>
      page.event(user, kind, page.memory.text(json, size)),
    progress: (fraction: number, what: number) =>
      page.onProgress?.(fraction, page.memory.cText(what)) === false ? 1 : 0,
    logits(user: number, ids: number, count: number, prompt: number, at: number, size: number) {
      const { buffer } = page.memory.exports.memory;
      const tokens = new Int32Array(buffer, ids >>> 0, count >>> 0).slice();
      return page.logits(
        user,
        tokens,
        prompt >>> 0,
        new Float32Array(buffer, at >>> 0, size >>> 0),
      );
    },
    ...fileImports(page),
    ...libraryImports(page),
    ...gpuImports(page),
  };
}

function fileImports(page: PageState): Imports {
  const parts: Uint8Array[] = [];
  const put = (bytes: Uint8Array, to: number, size: number) => {
    if (bytes.length !== size) return FAILED;
    page.memory.bytes(to, size).set(bytes);
    return DONE;
  };
  return {
    file_size: (path: number) => page.files.size(page.memory.cText(path)) ?? -1,
    file_read(path: number, offset: number, to: number, size: number) {
      try {
        const bytes = page.files.readNow(page.memory.cText(path), offset, size >>> 0);
        return bytes === null ? MUST_WAIT : put(bytes, to, size >>> 0);
      } catch {
        return FAILED;
      }
    },
    file_read_later: waits(async (path, offset, to, size) => {
      try {
        const bytes = await page.files.readLater(page.memory.cText(path), offset, size >>> 0);
        return put(bytes, to, size >>> 0);
      } catch {
        return FAILED;
      }
    }, () => MUST_WAIT),
    file_add(data: number, size: number) {
      parts.push(page.memory.bytes(data, size).slice());
    },
    file_keep(path: number) {
      const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts.splice(0)) {
        whole.set(part, at);
        at += part.length;
      }
      page.files.write(page.memory.cText(path), whole);
    },
  };
}

function libraryImports(page: PageState): Imports {
  const refuse = (path: number, error: unknown, reason: number, room: number) => {
    const why = error instanceof Error ? error.message : String(error);
    page.memory.writeCText(`${page.memory.cText(path)}: ${why}`, reason, room);
    return 0;
  };
  return {
    library_open: waits(async (path, reason, room) => {
      try {
        const name = page.memory.cText(path);
        const bytes = await page.files.read(name, 0, page.files.size(name) ?? 0);
        const module = await WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>);
        return page.libraries.link(module, bytes);
      } catch (error) {
        return refuse(path, error, reason, room);
      }
    }, (path, reason, room) => {
      try {
        const name = page.memory.cText(path);
        const bytes = page.files.readNow(name, 0, page.files.size(name) ?? 0);
        if (bytes === null) throw new Error("without JSPI it must be in memory");
        return page.libraries.link(new WebAssembly.Module(bytes as Uint8Array<ArrayBuffer>), bytes);
      } catch (error) {
        return refuse(path, error, reason, room);
      }
    }),
    library_symbol: (library: number, name: number) =>
      page.libraries.symbol(library, page.memory.cText(name)),
    library_close: (library: number) => page.libraries.close(library),
  };
}

function gpuImports(page: PageState): Imports {
  return {
    gpu_facts: (json: number, room: number) =>
      page.memory.writeText(JSON.stringify(page.gpu?.facts() ?? { found: false }), json, room),
    gpu_lost: (reason: number, room: number) =>
      page.memory.writeText(page.gpu ? page.gpu.lost ?? "" : "it was closed", reason, room),
    gpu_error: (reason: number, room: number) =>
      page.memory.writeText(page.gpu?.takeError() ?? "", reason, room),
    gpu_create: (bytes: number) => page.gpu?.create(bytes) ?? 0,
    gpu_has: (buffer: number) => page.gpu?.has(buffer) ? 1 : 0,
    gpu_destroy: (buffer: number) => page.gpu?.destroy(buffer),
    gpu_write: (buffer: number, offset: number, from: number, size: number) =>
      page.gpu?.write(buffer, offset, page.memory.exports.memory.buffer, from >>> 0, size >>> 0),
    gpu_copy: (from: number, fromOffset: number, to: number, toOffset: number, size: number) =>
      page.gpu?.copy(from, fromOffset, to, toOffset, size),
    gpu_read: waits(async (buffer, offset, to, size) => {
      const bytes = await page.gpu?.read(buffer, offset, size >>> 0);
      if (!bytes) return LOST;
      page.memory.bytes(to, size).set(bytes);
      return DONE;
    }, () => LOST),
    gpu_pipeline(name: number, wgsl: number, writes: number, count: number) {
      const kinds = page.memory.bytes(writes, count).slice();
      return page.gpu?.pipeline(page.memory.cText(name), page.memory.cText(wgsl), kinds) ?? 0;
    },
    gpu_launch(
      pipeline: number,
      list: number,
      n: number,
      words: number,
      m: number,
      ...xyz: number[]
    ) {
      const bindings = page.memory.words(list, 3 * n), numbers = page.memory.words(words, m);
      page.gpu?.launch(pipeline, bindings, numbers, xyz as [number, number, number]);
    },
  };
}
