/** The SDK's backend over the C library (core/include/mlc_llm.h), for tests outside a browser. */

import type {
  Backend,
  Listener,
  RequestEvent,
  Submission,
} from "../../../bindings/web/src/engine/backend.ts";
import { errorFromJson } from "../../../bindings/web/src/errors.ts";

const SYMBOLS = {
  mlc_status_get_error_json: { parameters: ["pointer"], result: "pointer" },
  mlc_status_free: { parameters: ["pointer"], result: "void" },
  mlc_string_free: { parameters: ["pointer"], result: "void" },
  mlc_engine_create: { parameters: ["buffer", "buffer"], result: "pointer" },
  mlc_engine_load: {
    parameters: ["pointer", "buffer", "pointer", "pointer"],
    result: "pointer",
    nonblocking: true,
  },
  mlc_engine_destroy: { parameters: ["pointer"], result: "void", nonblocking: true },
  mlc_engine_submit: {
    parameters: [
      "pointer",
      "buffer",
      "buffer",
      "usize",
      "pointer",
      "usize",
      "function",
      "pointer",
      "buffer",
    ],
    result: "pointer",
  },
  mlc_engine_abort: { parameters: ["pointer", "u64"], result: "pointer" },
  mlc_engine_reset: { parameters: ["pointer"], result: "pointer", nonblocking: true },
  mlc_engine_metrics: { parameters: ["pointer", "buffer"], result: "pointer", nonblocking: true },
} as const;
const ON_EVENT = { parameters: ["pointer", "i32", "pointer", "usize"], result: "void" } as const;
const KINDS = ["chunk", "result", "done", "error"] as const;

const library = Deno.dlopen(Deno.env.get("MLC_LLM_LIBRARY") ?? "libmlc_llm.so", SYMBOLS);
const core = library.symbols;

type Pointer = Deno.PointerValue;

function cText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

function textAt(pointer: Pointer, size?: number): string {
  if (!pointer) return "";
  const view = new Deno.UnsafePointerView(pointer);
  if (size === undefined) return view.getCString();
  return new TextDecoder().decode(new Uint8Array(view.getArrayBuffer(size)).slice());
}

/** The error JSON of a status, which is freed; "" for success. */
function errorOf(status: Pointer): string {
  if (!status) return "";
  const json = textAt(core.mlc_status_get_error_json(status));
  core.mlc_status_free(status);
  return json;
}

function check(status: Pointer): void {
  const json = errorOf(status);
  if (json) throw errorFromJson(JSON.parse(json));
}

function eventOf(kind: number, json: string): RequestEvent {
  const word = KINDS[kind] ?? "error";
  return word === "done" ? { kind: word } : { kind: word, json };
}

export class NativeBackend implements Backend {
  private readonly listeners = new Map<number, Listener>();
  private numRequests = 0;
  private readonly callback = new Deno.UnsafeCallback(ON_EVENT, (user, kind, json, size) => {
    const key = Number(Deno.UnsafePointer.value(user));
    const listen = this.listeners.get(key);
    if (kind !== 0) this.listeners.delete(key);
    listen?.(eventOf(kind, textAt(json, Number(size))));
  });

  private constructor(private readonly engine: Pointer) {
    this.callback.ref();
  }

  /** `model`: as the `model_json` of mlc_engine_load. */
  static async load(model: object, config: object): Promise<NativeBackend> {
    const out = new BigUint64Array(1);
    check(core.mlc_engine_create(cText(JSON.stringify(config)), new Uint8Array(out.buffer)));
    const backend = new NativeBackend(Deno.UnsafePointer.create(out[0] ?? 0n));
    try {
      check(await core.mlc_engine_load(backend.engine, cText(JSON.stringify(model)), null, null));
    } catch (error) {
      await backend.close();
      throw error;
    }
    return backend;
  }

  submit(route: string, body: string, listen: Listener): Submission {
    const key = ++this.numRequests;
    this.listeners.set(key, listen);
    const json = cText(body), id = new BigUint64Array(1);
    const error = errorOf(core.mlc_engine_submit(
      this.engine,
      cText(route),
      json,
      BigInt(json.length - 1),
      null,
      0n,
      this.callback.pointer,
      Deno.UnsafePointer.create(BigInt(key)),
      new Uint8Array(id.buffer),
    ));
    if (error) {
      this.listeners.delete(key);
      listen({ kind: "error", json: error });
    }
    return { abort: () => error || check(core.mlc_engine_abort(this.engine, id[0] ?? 0n)) };
  }

  async metrics(): Promise<string> {
    const out = new BigUint64Array(1);
    check(await core.mlc_engine_metrics(this.engine, new Uint8Array(out.buffer)));
    const pointer = Deno.UnsafePointer.create(out[0] ?? 0n);
    const json = textAt(pointer);
    core.mlc_string_free(pointer);
    return json;
  }

  async reset(): Promise<void> {
    check(await core.mlc_engine_reset(this.engine));
  }

  async close(): Promise<void> {
    await core.mlc_engine_destroy(this.engine);
    this.callback.close();
  }
}
