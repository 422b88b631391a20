/** Paths into values, as the vectors write them, and the comparison of JSON values. */

import { type Codec, variantOf } from "../../../bindings/web/src/protocol/wire.ts";

// deno-lint-ignore no-explicit-any -- JSON
export type Json = any;

export function steps(path: string): (string | number)[] {
  const found = path.matchAll(/\[(\d+)\]|\["(.*?)"\]|([^.[]+)/g);
  return [...found].map(([, index, quoted, name]) =>
    index !== undefined ? Number(index) : quoted ?? name ?? ""
  );
}

/** The value with what stands at these paths removed. */
export function without(value: Json, paths: string[]): Json {
  const copy = structuredClone(value);
  for (const path of paths) {
    const way = steps(path);
    const last = way.pop();
    const at = way.reduce((inner: Json, step) => inner?.[step], copy);
    if (at && last !== undefined && !Array.isArray(at)) delete at[last];
  }
  return copy;
}

/** What stands at a path; what is absent is null. */
export function read(value: Json, path: string): Json {
  return steps(path).reduce((at: Json, step) => at?.[step], value) ?? null;
}

/** The codec of what stands at a path, through the unions on the way. */
export function codecAt(codec: Codec, value: Json, path: string): Codec {
  let at: Codec = codec;
  for (const step of steps(path)) {
    at = inner(held(at, value), step);
    value = value[step];
  }
  return at;
}

function held(codec: Codec, value: Json): Codec {
  return codec.kind === "union"
    ? held(variantOf(codec, value)?.codec ?? codec.kind as never, value)
    : codec;
}

function inner(codec: Codec, step: string | number): Codec {
  if (codec.kind === "list") return codec.item;
  if (codec.kind === "map") return codec.value;
  const field = codec.kind === "struct" ? codec.fields.find((f) => f.name === step) : undefined;
  if (!field) throw new Error(`nothing at ${step} of ${codec.kind}`);
  return field.codec;
}

export function equal(a: Json, b: Json): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

export function check(what: string, got: Json, expected: Json): void {
  if (equal(got, expected)) return;
  throw new Error(`${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

/** `got` where the expectation leaves its end open, with a `*` for that. */
export function cut(got: Json, expected: Json): Json {
  if (typeof expected === "string" && expected.endsWith("*") && typeof got === "string") {
    return got.startsWith(expected.slice(0, -1)) ? expected : got;
  }
  if (Array.isArray(got) && Array.isArray(expected)) {
    return got.map((item, i) => cut(item, expected[i]));
  }
  if (typeof got !== "object" || got === null) return got;
  const entries = Object.entries(got).map(([key, item]) => [key, cut(item, expected?.[key])]);
  return Object.fromEntries(entries);
}
