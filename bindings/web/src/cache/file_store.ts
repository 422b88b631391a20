/** Where downloaded files are kept, and a store in memory. */

/** What is kept of a file. */
export interface Kept {
  readonly size: number;
  /** Whether it is whole and was checked. */
  readonly done: boolean;
  /** The server's name of this version, with which a download goes on. */
  readonly etag: string;
  /** `sha256-...` of the whole file; "" when nobody asked for it. */
  readonly integrity: string;
}

/** Files by their URL. A file grows by `append` until `finish`; `read` is for whole ones too. */
export interface FileStore {
  stat(url: string): Promise<Kept | undefined>;
  /** Adds bytes at the end. The browser's refusal for want of room is a `QuotaError`. */
  append(url: string, bytes: Uint8Array, etag: string): Promise<void>;
  finish(url: string, integrity: string): Promise<void>;
  read(url: string, offset: number, length: number): Promise<Uint8Array>;
  /** Removes a file, whole or not; does nothing when there is none. */
  remove(url: string): Promise<void>;
  /** The URLs of the files below a URL, partial ones too. */
  list(prefix: string): Promise<string[]>;
}

export const NOTHING: Kept = { size: 0, done: false, etag: "", integrity: "" };

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Keeps files until the page is closed. */
export class MemoryStore implements FileStore {
  private readonly files = new Map<string, { kept: Kept; bytes: Uint8Array }>();

  stat(url: string): Promise<Kept | undefined> {
    return Promise.resolve(this.files.get(url)?.kept);
  }

  append(url: string, more: Uint8Array, etag: string): Promise<void> {
    const { kept, bytes } = this.files.get(url) ?? { kept: NOTHING, bytes: new Uint8Array() };
    const whole = concat([bytes, more]);
    this.files.set(url, { kept: { ...kept, size: whole.length, etag }, bytes: whole });
    return Promise.resolve();
  }

  finish(url: string, integrity: string): Promise<void> {
    const { kept, bytes } = this.files.get(url) ?? { kept: NOTHING, bytes: new Uint8Array() };
    this.files.set(url, { kept: { ...kept, done: true, integrity }, bytes });
    return Promise.resolve();
  }

  read(url: string, offset: number, length: number): Promise<Uint8Array> {
    const file = this.files.get(url);
    return Promise.resolve(file ? file.bytes.slice(offset, offset + length) : new Uint8Array());
  }

  remove(url: string): Promise<void> {
    this.files.delete(url);
    return Promise.resolve();
  }

  list(prefix: string): Promise<string[]> {
    return Promise.resolve([...this.files.keys()].filter((url) => url.startsWith(prefix)));
  }
}
