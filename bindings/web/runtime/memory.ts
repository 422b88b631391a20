// Texts and bytes in the core's memory. Views are made anew at each use: the memory moves when it
// grows.

export interface Allocator {
  readonly memory: WebAssembly.Memory;
  malloc(bytes: number): number;
  free(address: number): void;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class CoreMemory {
  constructor(readonly exports: Allocator) {}

  bytes(address: number, size: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.exports.memory.buffer as ArrayBuffer, address >>> 0, size >>> 0);
  }
  words(address: number, count: number): Uint32Array {
    return new Uint32Array(this.exports.memory.buffer, address >>> 0, count >>> 0);
  }
  view(): DataView {
    return new DataView(this.exports.memory.buffer);
  }
  text(address: number, size: number): string {
    return decoder.decode(this.bytes(address, size));
  }
  /** A text that ends with a zero byte; "" for NULL. */
  cText(address: number): string {
    if (address === 0) return "";
    const all = new Uint8Array(this.exports.memory.buffer);
    const begin = address >>> 0;
    return decoder.decode(all.subarray(begin, all.indexOf(0, begin)));
  }
  /** Writes as much of a text as fits. Returns the bytes of the whole text. */
  writeText(text: string, address: number, room: number): number {
    const bytes = encoder.encode(text);
    if (room > 0) this.bytes(address, room).set(bytes.subarray(0, room));
    return bytes.length;
  }
  /** Writes what fits, and a zero byte behind it. */
  writeCText(text: string, address: number, room: number): void {
    const bytes = encoder.encode(text).subarray(0, room - 1);
    this.bytes(address, room).set(bytes);
    this.bytes(address, room)[bytes.length] = 0;
  }

  /** Calls `act` with addresses of the arguments, which it frees afterwards; texts get a zero byte. */
  with<T>(data: readonly (string | Uint8Array | number)[], act: (...at: number[]) => T): T {
    const addresses: number[] = [];
    try {
      for (const one of data) addresses.push(this.allocate(one));
      return act(...addresses);
    } finally {
      for (const address of addresses) this.exports.free(address);
    }
  }

  /** The same for a call that is awaited. */
  async withAsync<T>(
    data: readonly (string | Uint8Array | number)[],
    act: (...at: number[]) => Promise<T>,
  ): Promise<T> {
    const addresses: number[] = [];
    try {
      for (const one of data) addresses.push(this.allocate(one));
      return await act(...addresses);
    } finally {
      for (const address of addresses) this.exports.free(address);
    }
  }

  /** A copy of a text with a zero byte, which the caller frees. */
  copyText(text: string): number {
    return this.allocate(text);
  }

  /** A text, bytes, or that many zero bytes. */
  private allocate(data: string | Uint8Array | number): number {
    const bytes = typeof data === "string"
      ? encoder.encode(`${data}\0`)
      : typeof data === "number"
      ? new Uint8Array(data)
      : data;
    const address = this.exports.malloc(Math.max(bytes.length, 1)) >>> 0;
    if (address === 0) throw new RangeError("the core has no memory left");
    this.bytes(address, bytes.length).set(bytes);
    return address;
  }
}
