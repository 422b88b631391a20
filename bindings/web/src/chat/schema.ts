/**
 * JSON Schemas as types and as checks: what `tool` and `parse` use.
 *
 * The engine holds an answer to the whole of JSON Schema. What is checked here is what a function
 * needs of its arguments when the model was not held to them: types, words, members, bounds.
 */

/** A JSON Schema; members that are not named here are allowed too. */
export interface JSONSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JSONSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JSONSchema;
  readonly items?: JSONSchema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JSONSchema[];
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly [more: string]: unknown;
}

type Simplify<T> = { [K in keyof T]: T[K] };

type Required_<S> = S extends { required: readonly (infer K)[] } ? K : never;
type Defaulted<P> = { [K in keyof P]: P[K] extends { default: unknown } ? K : never }[keyof P];

type ObjectOf<S, P> = Simplify<
  & {
    -readonly [K in keyof P as K extends Required_<S> | Defaulted<P> ? K : never]: FromSchema<P[K]>;
  }
  & {
    -readonly [K in keyof P as K extends Required_<S> | Defaulted<P> ? never : K]?: FromSchema<
      P[K]
    >;
  }
>;

/** The type of the values of a schema that is written as a literal (`as const`). */
export type FromSchema<S> = S extends { const: infer C } ? C
  : S extends { enum: readonly (infer E)[] } ? E
  : S extends { anyOf: readonly (infer M)[] } ? FromSchema<M>
  : S extends { type: "string" } ? string
  : S extends { type: "number" | "integer" } ? number
  : S extends { type: "boolean" } ? boolean
  : S extends { type: "null" } ? null
  : S extends { type: "array"; items: infer I } ? FromSchema<I>[]
  : S extends { type: "array" } ? unknown[]
  : S extends { properties: infer P } ? ObjectOf<S, P>
  : S extends { type: "object" } ? Record<string, unknown>
  : unknown;

/** A value does not fit its schema; `path` says where. */
export class SchemaMismatch extends Error {
  constructor(readonly path: string, what: string) {
    super(path ? `${path}: ${what}` : what);
    this.name = "SchemaMismatch";
  }
}

/** The value with its defaults filled in; throws a `SchemaMismatch`. */
export function fit(schema: JSONSchema, value: unknown, path = ""): unknown {
  if (schema.anyOf) return fitAny(schema.anyOf, value, path);
  checkType(schema, value, path);
  if (schema.const !== undefined && !same(schema.const, value)) {
    throw new SchemaMismatch(path, `must be ${JSON.stringify(schema.const)}`);
  }
  if (schema.enum && !schema.enum.some((word) => same(word, value))) {
    const words = schema.enum.map((word) => JSON.stringify(word)).join(", ");
    throw new SchemaMismatch(path, `must be one of ${words}`);
  }
  if (typeof value === "number") checkBounds(schema, value, path);
  const { items } = schema;
  if (Array.isArray(value)) {
    return items ? value.map((item, i) => fit(items, item, `${path}[${i}]`)) : value;
  }
  return isObject(value) ? fitObject(schema, value, path) : value;
}

function fitAny(schemas: readonly JSONSchema[], value: unknown, path: string): unknown {
  let first: unknown;
  for (const schema of schemas) {
    try {
      return fit(schema, value, path);
    } catch (error) {
      first ??= error;
    }
  }
  throw first ?? new SchemaMismatch(path, "fits no schema");
}

function fitObject(schema: JSONSchema, value: Record<string, unknown>, path: string): unknown {
  const { properties = {}, additionalProperties = true, required = [] } = schema;
  const found: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const at = path ? `${path}.${key}` : key;
    const own = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    if (own === false) throw new SchemaMismatch(at, "there is no such member");
    found[key] = typeof own === "object" ? fit(own, item, at) : item;
  }
  for (const [key, own] of Object.entries(properties)) {
    if (Object.hasOwn(found, key)) continue;
    if (own.default !== undefined) found[key] = own.default;
    else if (required.includes(key)) {
      throw new SchemaMismatch(path ? `${path}.${key}` : key, "is missing");
    }
  }
  return found;
}

function checkType({ type }: JSONSchema, value: unknown, path: string): void {
  if (type === undefined) return;
  const names = typeof type === "string" ? [type] : type;
  if (!names.some((name) => hasType(name, value))) {
    throw new SchemaMismatch(path, `must be of type ${names.join(" or ")}`);
  }
}

function hasType(name: string, value: unknown): boolean {
  if (name === "integer") return Number.isInteger(value);
  if (name === "array") return Array.isArray(value);
  if (name === "null") return value === null;
  const type: string = typeof value;
  return name === "object" ? isObject(value) : type === name;
}

function checkBounds({ minimum, maximum }: JSONSchema, value: number, path: string): void {
  if (minimum !== undefined && value < minimum) {
    throw new SchemaMismatch(path, `must be at least ${minimum}`);
  }
  if (maximum !== undefined && value > maximum) {
    throw new SchemaMismatch(path, `must be at most ${maximum}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
