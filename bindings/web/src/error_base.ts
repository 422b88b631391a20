/** The base of the error classes. */

import type { ErrorResponse, ErrorStatus } from "./protocol/types.gen.ts";
import { type Reason, REASONS } from "../runtime/reasons.gen.ts";

export interface ErrorFields {
  param?: string | null;
  code?: Reason;
  cause?: unknown;
}

/**
 * Base of every error that this package throws on purpose, with OpenAI's error fields.
 *
 * `message` says what is wrong and what to do. `param` names the wrong field or file. `code` is the
 * reason, `type` its class in REST answers, `status` its class in the engine.
 */
export class MLCError extends Error {
  readonly param: string | null;
  readonly code: string | null;
  readonly type: string;
  readonly status: ErrorStatus | null;

  constructor(message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    const reason = fields.code ?? "internal_error";
    this.name = new.target.name;
    this.param = fields.param ?? null;
    this.code = reason;
    this.type = REASONS[reason].type;
    this.status = REASONS[reason].status;
  }

  /** The error as OpenAI's JSON object. */
  toJSON(): ErrorResponse {
    const { message, type, param, code, status } = this;
    return { error: { message, type, param, code, ...(status === null ? {} : { status }) } };
  }
}

export type Made = new (message: string, fields?: ErrorFields) => MLCError;

/** A class whose `code` is this one unless it is given. */
export function kindOf(base: Made, code: Reason): Made {
  return class extends base {
    constructor(message: string, fields: ErrorFields = {}) {
      super(message, { code, ...fields });
    }
  };
}
