/**
 * The error classes, as a small tree with OpenAI's error fields.
 *
 * `message` says what is wrong and what to do. `param` names the wrong field or file. `code` is a
 * short stable word. `type` is the class of errors in REST answers.
 */

import type { ErrorResponse } from "./protocol/types.gen.ts";

export interface ErrorFields {
  param?: string | null;
  code?: string | null;
  type?: string;
  cause?: unknown;
}

/** Base of every error that this package throws on purpose. */
export class MLCError extends Error {
  readonly param: string | null;
  readonly code: string | null;
  readonly type: string;

  constructor(message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.param = fields.param ?? null;
    this.code = fields.code === undefined ? "internal_error" : fields.code;
    this.type = fields.type ?? "server_error";
  }

  /** The error as OpenAI's JSON object. */
  toJSON(): ErrorResponse {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

type Made = new (message: string, fields?: ErrorFields) => MLCError;

/** A class whose `code` and `type` are these unless they are given. */
function family(base: Made, code: string, type?: string): Made {
  return class extends base {
    constructor(message: string, fields: ErrorFields = {}) {
      super(message, { code, ...(type === undefined ? {} : { type }), ...fields });
    }
  };
}

const INVALID = "invalid_request_error";

/** The caller asked for something impossible. */
export class InvalidRequestError extends family(MLCError, "invalid_request", INVALID) {}
/** A model, file or function does not exist. */
export class NotFoundError extends family(MLCError, "not_found", "not_found_error") {}
/** A file is damaged or does not have its format. */
export class CorruptFileError extends family(MLCError, "corrupt_file", INVALID) {}
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
/** Valid input that this version, or this browser, does not support. */
export class UnsupportedError extends family(MLCError, "unsupported", INVALID) {}
/** Memory, disk space or another resource has run out. */
export class ResourceError extends family(MLCError, "out_of_resources") {}
/** The browser gives this site no more space; `code` is `quota_exceeded`. */
export class QuotaError extends family(ResourceError, "quota_exceeded") {}
/** The queue is full; try again later. */
export class RateLimitError extends family(ResourceError, "queue_full", "rate_limit_error") {}
/** A download failed, or its content is not what was announced. */
export class DownloadError extends family(MLCError, "download_failed") {}
/** An error in this package or the engine itself. */
export class InternalError extends MLCError {}
/** The request was aborted, or its model was unloaded, before it ended. */
export class CancelledError extends family(MLCError, "request_cancelled") {}
/** Not possible now: no model is loaded, the device is lost, or a worker has ended. */
export class UnavailableError extends family(MLCError, "unavailable") {}
/** The answer was not complete within the request's `timeout_ms`. */
export class DeadlineExceededError extends family(MLCError, "deadline_exceeded") {}
/** A typed answer ended before its value was complete: give it more tokens. */
export class UnfinishedAnswerError extends family(MLCError, "unfinished_answer") {}

/** The class for an error in JSON, by its `code`, or else by its `type`. */
const BY_CODE: Readonly<Record<string, Made>> = {
  corrupt_file: CorruptFileError,
  unsupported: UnsupportedError,
  unsupported_parameter: UnsupportedError,
  out_of_resources: ResourceError,
  quota_exceeded: QuotaError,
  kv_cache_exhausted: ResourceError,
  queue_full: RateLimitError,
  download_failed: DownloadError,
  request_cancelled: CancelledError,
  unavailable: UnavailableError,
  device_lost: UnavailableError,
  model_unloaded: UnavailableError,
  model_not_loaded: UnavailableError,
  worker_lost: UnavailableError,
  deadline_exceeded: DeadlineExceededError,
  timeout: DeadlineExceededError,
  unfinished_answer: UnfinishedAnswerError,
};
const BY_TYPE: Readonly<Record<string, Made>> = {
  invalid_request_error: InvalidRequestError,
  not_found_error: NotFoundError,
  rate_limit_error: RateLimitError,
};

/** The error for OpenAI's error object. It keeps the object's `type` and `code`. */
export function errorFromJson(answer: unknown): MLCError {
  const fields = (answer as { error?: Record<string, unknown> } | null)?.error ?? {};
  const word = (name: string) => typeof fields[name] === "string" ? fields[name] : null;
  const [message, param, code, type] = ["message", "param", "code", "type"].map(word);
  const found = own(BY_CODE, code) ?? own(BY_TYPE, type) ?? InternalError;
  return new found(message ?? "the engine failed and did not say why", {
    param,
    code,
    ...(type ? { type } : {}),
  });
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
