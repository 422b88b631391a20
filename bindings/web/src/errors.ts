/** The errors: a class for each kind. docs/errors.md lists the reasons. */

import { MLCError } from "./error_base.ts";
import {
  BY_NAME,
  BY_STATUS,
  BY_TYPE,
  CorruptFileError,
  InternalError,
} from "./protocol/kinds.gen.ts";
import { REASONS } from "../runtime/reasons.gen.ts";

export { type ErrorFields, MLCError } from "./error_base.ts";
export * from "./protocol/kinds.gen.ts";
export type { Reason } from "../runtime/reasons.gen.ts";

/** A file is not the one whose checksum was announced. */
export class IntegrityError extends CorruptFileError {
  /** `url`: the file's; `expected` and `actual`: `sha256-...`. */
  constructor(readonly url: string, readonly expected: string, readonly actual: string) {
    super(
      `${url} is not the file that was announced: its checksum is ${actual}, not ${expected}; ` +
        "delete it from the cache and load it again, or correct the announced checksum",
      { param: url, code: "integrity" },
    );
  }
}

/** The error for OpenAI's error object. It keeps the object's `type`, `code` and `status`. */
export function errorFromJson(answer: unknown): MLCError {
  const fields = (answer as { error?: Record<string, unknown> } | null)?.error ?? {};
  const word = (name: string) => typeof fields[name] === "string" ? fields[name] : null;
  const [message, param, code, type, status] = ["message", "param", "code", "type", "status"].map(
    word,
  );
  const kind = own(BY_NAME, own(REASONS, code)?.kind);
  const found = kind ?? own(BY_STATUS, status) ?? own(BY_TYPE, type) ?? InternalError;
  const error = new found(message ?? "the engine failed and did not say why", { param });
  return Object.assign(error, { code, type: type ?? error.type, status });
}

/** Anything that was thrown, as one of our errors. */
export function asMLCError(error: unknown): MLCError {
  if (error instanceof MLCError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new InternalError(message, { cause: error });
}

function own<T>(table: Readonly<Record<string, T>>, key: string | null | undefined): T | undefined {
  return key && Object.hasOwn(table, key) ? table[key] : undefined;
}
