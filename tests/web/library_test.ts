/** Damaged model libraries: they are refused before they touch the core's memory. */

import assert from "node:assert/strict";
import { Libraries, type LinkTarget } from "../../bindings/web/runtime/library.ts";

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const NAME = [8, ...new TextEncoder().encode("dylink.0")];
const EMPTY = new WebAssembly.Module(Uint8Array.from(MAGIC));

/** Links a library whose first section has `part`; the bytes that it allocated. */
function link(part: number[]): { allocated: number[]; numSlots: number } {
  const allocated: number[] = [];
  const table = new WebAssembly.Table({ initial: 1, element: "anyfunc" });
  const memory = new WebAssembly.Memory({ initial: 1 });
  const malloc = (bytes: number) => allocated.push(bytes) && 32;
  const free = () => void allocated.pop();
  const target = { memory, malloc, free, __indirect_function_table: table } as unknown;
  const section = [...NAME, ...part];
  const bytes = Uint8Array.from([...MAGIC, 0, section.length, ...section]);
  new Libraries(target as LinkTarget & WebAssembly.Exports).link(EMPTY, bytes);
  return { allocated, numSlots: table.length };
}

Deno.test("a library gets the memory and the places of the table that it names", () => {
  // part 1 of 4 bytes: 16 bytes of memory, aligned to 2^4, 3 slots
  assert.deepEqual(link([1, 4, 16, 4, 3, 0]), { allocated: [32], numSlots: 4 });
});

Deno.test("what no library needs is refused", () => {
  assert.throws(() => link([1, 4, 16, 31, 3, 0]), /aligned to 2\^31 bytes/);
  assert.throws(() => link([1, 4, 16]), /cut off/);
  assert.throws(() => link([2, 1, 0]), /how much memory/);
  assert.throws(() => link([1, 6, 0xff, 0xff, 3, 4, 0, 0]), /length|memory/i);
});
