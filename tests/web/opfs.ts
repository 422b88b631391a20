/** The origin private file system in memory: what the store uses of it. */

import type { FileHandle, Folder } from "../../bindings/web/src/cache/opfs_store.ts";

export class FakeOpfs implements Folder {
  readonly files = new Map<string, Uint8Array<ArrayBuffer>>();
  /** How many bytes there may be. */
  room = Infinity;

  getFileHandle(name: string, options: { create?: boolean } = {}): Promise<FileHandle> {
    if (!this.files.has(name)) {
      if (!options.create) return Promise.reject(new DOMException("none", "NotFoundError"));
      this.files.set(name, new Uint8Array());
    }
    return Promise.resolve({
      getFile: () => Promise.resolve(new Blob([this.files.get(name)!])),
      createWritable: () => Promise.resolve(this.writable(name)),
    });
  }

  removeEntry(name: string): Promise<void> {
    if (this.files.delete(name)) return Promise.resolve();
    return Promise.reject(new DOMException("none", "NotFoundError"));
  }

  async *keys(): AsyncGenerator<string> {
    yield* [...this.files.keys()];
  }

  private writable(name: string) {
    let bytes = this.files.get(name)!;
    const resize = (size: number) => {
      const next = new Uint8Array(size);
      next.set(bytes.subarray(0, size));
      bytes = next;
    };
    return {
      truncate: (size: number) => Promise.resolve(resize(size)),
      write: ({ position, data }: { position: number; data: Uint8Array }) => {
        if (position + data.length > this.room) {
          return Promise.reject(new DOMException("full", "QuotaExceededError"));
        }
        resize(Math.max(bytes.length, position + data.length));
        bytes.set(data, position);
        return Promise.resolve();
      },
      close: () => Promise.resolve(void this.files.set(name, bytes)),
    };
  }
}
