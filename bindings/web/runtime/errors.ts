// The errors of the core.

import { type Reason, REASONS } from "./reasons.gen.ts";

/** The members of the core's error JSON (`{"error": {...}}`). */
export interface ErrorBody {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
  status: string | null;
}

export class CoreError extends Error implements ErrorBody {
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly status: string | null;
  constructor(readonly body: ErrorBody) {
    super(body.message);
    this.name = "CoreError";
    this.type = body.type;
    this.param = body.param ?? null;
    this.code = body.code ?? null;
    this.status = body.status ?? null;
  }
}

/** The error of a reason. */
export function errorOf(reason: Reason, message: string, param: string | null = null): CoreError {
  const { type, status } = REASONS[reason];
  return new CoreError({ message, type, param, code: reason, status });
}
