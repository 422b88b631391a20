/**
 * The words in which `codecs.gen.ts` says how a type is read from JSON.
 *
 * `decode` makes a typed value of an answer's JSON: it fills in defaults, takes a null for an absent
 * optional member, and leaves out members that this version does not know. What does not fit is a
 * `WireFault`, which names the place. What is sent is checked by the engine, but for numbers that JSON
 * cannot write.
 */

/** What a value of a type looks like in JSON; `T` is the type. */
export type Codec<T = unknown> = Shape & { readonly __type?: T };

type Shape =
  | { readonly kind: "text" | "flag" | "whole" | "float" | "anything" | "object" }
  | { readonly kind: "constant"; readonly value: string }
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "list"; readonly item: Codec }
  | { readonly kind: "map"; readonly value: Codec; readonly numbered: boolean }
  | { readonly kind: "struct"; readonly fields: readonly Field[]; readonly closed: boolean }
  | { readonly kind: "union"; readonly tag: string; readonly variants: readonly Variant[] };

interface Field {
  readonly name: string;
  readonly codec: Codec;
  readonly presence: "required" | "optional" | "always" | "defaulted";
  readonly value?: unknown;
}

/** `test`: the tag's value, or the JSON type where a union has no tag. */
interface Variant {
  readonly name: string;
  readonly test: string;
  readonly codec: Codec;
}

/** JSON that has not the shape of its type. */
export class WireFault extends Error {
  constructor(readonly path: string, readonly expected: string, readonly got: unknown) {
    super(`${path || "the value"} must be ${expected}, and is ${jsonType(got)}`);
    this.name = "WireFault";
  }
}

// deno-lint-ignore no-explicit-any -- a codec made of words has the type that its declaration says
type Any = any;

export const text: Codec<string> = { kind: "text" };
/** Bytes become the text of a `data:` URL when they are sent; an answer has the text. */
export const bytes: Codec<string> = text;
export const flag: Codec<boolean> = { kind: "flag" };
export const whole: Codec<number> = { kind: "whole" };
export const float: Codec<number> = { kind: "float" };
export const anything: Codec = { kind: "anything" };
export const object: Codec<Record<string, unknown>> = { kind: "object" };
export const constant = (value: string): Codec => ({ kind: "constant", value });
export const words = (words: string[]): Codec<Any> => ({ kind: "words", words });
export const list = (item: Codec): Codec => ({ kind: "list", item });
export const named = (value: Codec): Codec => ({ kind: "map", value, numbered: false });
export const numbered = (value: Codec): Codec => ({ kind: "map", value, numbered: true });
export const struct = (fields: Field[]): Codec<Any> => ({ kind: "struct", fields, closed: false });
export const closed = (fields: Field[]): Codec<Any> => ({ kind: "struct", fields, closed: true });
export const tagged = (tag: string, variants: Variant[]): Codec<Any> => ({
  kind: "union",
  tag,
  variants,
});
export const either = (variants: Variant[]): Codec<Any> => ({ kind: "union", tag: "", variants });
export const variant = (name: string, test: string, codec: Codec): Variant => ({
  name,
  test,
  codec,
});
export const required = (name: string, codec: Codec): Field => ({
  name,
  codec,
  presence: "required",
});
export const optional = (name: string, codec: Codec): Field => ({
  name,
  codec,
  presence: "optional",
});
export const always = (name: string, codec: Codec): Field => ({ name, codec, presence: "always" });
export const defaulted = (name: string, codec: Codec, value: unknown): Field => ({
  name,
  codec,
  presence: "defaulted",
  value,
});

/** The typed value of JSON that is parsed already; throws a `WireFault`. */
export function decode<T>(codec: Codec<T>, json: unknown, path = ""): T {
  return read(codec, json, path) as T;
}

function read(codec: Codec, json: unknown, path: string): unknown {
  switch (codec.kind) {
    case "text":
    case "words":
      return expect(typeof json === "string", json, path, "a string");
    case "constant":
      return expect(json === codec.value, json, path, JSON.stringify(codec.value));
    case "flag":
      return expect(typeof json === "boolean", json, path, "a boolean");
    case "whole":
      return expect(Number.isInteger(json), json, path, "an integer");
    case "float":
      return expect(typeof json === "number", json, path, "a number");
    case "anything":
      return json;
    case "object":
      return members(json, path);
    case "list":
      return items(json, path).map((item, i) => read(codec.item, item, `${path}[${i}]`));
    case "map":
      return readMap(codec.value, codec.numbered, members(json, path), path);
    case "struct":
      return readStruct(codec.fields, codec.closed, members(json, path), path);
    case "union":
      return readUnion(codec, json, path);
  }
}

function readMap(
  value: Codec,
  isNumbered: boolean,
  json: Record<string, unknown>,
  path: string,
): unknown {
  const entries = Object.entries(json).map(([key, item]) => {
    if (isNumbered && !/^\d+$/.test(key)) throw new WireFault(path, "a map by numbers", json);
    return [key, read(value, item, join(path, key))];
  });
  return Object.fromEntries(entries);
}

function readStruct(
  fields: readonly Field[],
  isClosed: boolean,
  json: Record<string, unknown>,
  path: string,
): unknown {
  if (isClosed) {
    const unknown = Object.keys(json).find((key) => !fields.some((field) => field.name === key));
    if (unknown !== undefined) throw new WireFault(join(path, unknown), "left out", json[unknown]);
  }
  const found: Record<string, unknown> = {};
  for (const field of fields) {
    const value = Object.hasOwn(json, field.name) ? json[field.name] : undefined;
    if (value !== undefined && value !== null) {
      found[field.name] = read(field.codec, value, join(path, field.name));
    } else if (field.presence === "required" && field.codec.kind !== "anything") {
      throw new WireFault(join(path, field.name), "there", value);
    } else if (field.presence !== "optional") {
      found[field.name] = field.presence === "defaulted" ? field.value : null;
    }
  }
  return found;
}

function readUnion(codec: Codec & { kind: "union" }, json: unknown, path: string): unknown {
  const member = variantOf(codec, json);
  if (member) return read(member.codec, json, path);
  if (codec.tag && typeof members(json, path)[codec.tag] === "string") return json;
  const tests = codec.variants.map((v) => v.test);
  const expected = codec.tag ? `an object with ${codec.tag}` : tests.join(" or ");
  throw new WireFault(path, expected, json);
}

/** The member of a union that a value belongs to; undefined for one that this version has not. */
export function variantOf(codec: Codec, value: unknown): Variant | undefined {
  if (codec.kind !== "union") return undefined;
  const test = codec.tag ? tagOf(value, codec.tag) : jsonType(value);
  return codec.variants.find((variant) => variant.test === test);
}

function tagOf(value: unknown, tag: string): unknown {
  return jsonType(value) === "object" ? (value as Record<string, unknown>)[tag] : undefined;
}

function expect(fits: boolean, json: unknown, path: string, expected: string): unknown {
  if (!fits) throw new WireFault(path, expected, json);
  return json;
}

function members(json: unknown, path: string): Record<string, unknown> {
  return expect(jsonType(json) === "object", json, path, "an object") as Record<string, unknown>;
}

function items(json: unknown, path: string): unknown[] {
  return expect(Array.isArray(json), json, path, "an array") as unknown[];
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "absent";
  return Array.isArray(value) ? "array" : typeof value;
}

function join(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}

/** A request as JSON text; bytes in it become `data:` URLs. Throws a `WireFault`. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_key, item) => {
    if (typeof item === "number" && !Number.isFinite(item)) { // JSON would say null: not given
      throw new WireFault(placeOf(item, value, "") ?? "", "a finite number", item);
    }
    return item instanceof Uint8Array ? dataUrl(item) : item;
  });
}

/** The path of a number in a value, which JSON has been able to walk up to there. */
function placeOf(wanted: number, value: unknown, path: string): string | undefined {
  if (Object.is(value, wanted)) return path;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : join(path, name);
    const found = placeOf(wanted, item, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The core detects what kind of file it is. */
function dataUrl(data: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < data.length; at += 0x8000) {
    binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  }
  return `data:;base64,${btoa(binary)}`;
}
