// The files that the core sees: mounted folders, and files in memory.

import type { ByteSource } from "./core.ts";

/** A folder of files in memory: a map, or an object, from names to bytes. */
export function memorySource(
  files: ReadonlyMap<string, Uint8Array> | Readonly<Record<string, Uint8Array>>,
): ByteSource {
  const map = files instanceof Map
    ? files as ReadonlyMap<string, Uint8Array>
    : new Map(Object.entries(files));
  return {
    size: (name) => map.get(name)?.length,
    read(name, offset, length) {
      return (map.get(name) ?? new Uint8Array(0)).subarray(offset, offset + length);
    },
  };
}

export class FileTable {
  private readonly folders = new Map<string, ByteSource>();
  private readonly files = new Map<string, Uint8Array>();
  private begun: Promise<Uint8Array> | null = null;

  mount(folder: string, source: ByteSource): void {
    if (!/^(\/[^/]+)+$/.test(folder)) {
      throw new TypeError(`mount: '${folder}' must be absolute, without a final slash`);
    }
    this.folders.set(folder, source);
  }
  unmount(folder: string): void {
    this.folders.delete(folder);
  }
  write(path: string, bytes: Uint8Array): void {
    this.files.set(path, bytes);
  }
  get(path: string): Uint8Array | undefined {
    return this.files.get(path);
  }
  remove(path: string): void {
    this.files.delete(path);
  }

  /** undefined: there is no such file. */
  size(path: string): number | undefined {
    const [source, name] = this.find(path);
    return this.files.get(path)?.length ?? source?.size(name);
  }
  read(path: string, offset: number, length: number): Uint8Array | Promise<Uint8Array> {
    const file = this.files.get(path);
    if (file !== undefined) return file.subarray(offset, offset + length);
    const [source, name] = this.find(path);
    if (source === undefined) throw new Error(`${path}: no such file`);
    return source.read(name, offset, length);
  }

  /** The bytes, or null when they are not in memory. */
  readNow(path: string, offset: number, length: number): Uint8Array | null {
    const bytes = this.read(path, offset, length);
    if (bytes instanceof Uint8Array) return bytes;
    bytes.catch(() => {}); // readLater reports it
    this.begun = bytes;
    return null;
  }
  /** What the last readNow began to read; otherwise as `read`. */
  readLater(path: string, offset: number, length: number): Uint8Array | Promise<Uint8Array> {
    const { begun } = this;
    this.begun = null;
    return begun ?? this.read(path, offset, length);
  }

  /** The mounted folder with the longest path above `path`. */
  private find(path: string): [ByteSource | undefined, string] {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const source = this.folders.get(path.slice(0, end));
      if (source !== undefined) return [source, path.slice(end + 1)];
    }
    return [undefined, ""];
  }
}
