// The errors of the core.

/** The members of the core's error JSON (`{"error": {...}}`). */
export interface ErrorBody {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

export class CoreError extends Error implements ErrorBody {
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  constructor(readonly body: ErrorBody) {
    super(body.message);
    this.name = "CoreError";
    this.type = body.type;
    this.param = body.param ?? null;
    this.code = body.code ?? null;
  }
}
