// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The kinds of errors, each a class.

import { kindOf, type Made, MLCError } from "../error_base.ts";

/** The caller asked for something impossible. */
export class InvalidRequestError extends kindOf(MLCError, "invalid_request") {}

/** A model, file or repository does not exist. */
export class NotFoundError extends kindOf(MLCError, "not_found") {}

/** A file is damaged or does not have its format. */
export class CorruptFileError extends kindOf(MLCError, "corrupt_file") {}

/** Valid input that this version does not support. */
export class UnsupportedError extends kindOf(MLCError, "unsupported") {}

/** Memory, disk space or another resource has run out. */
export class ResourceError extends kindOf(MLCError, "out_of_resources") {}

/** The queue is full; try again later. */
export class RateLimitError extends kindOf(ResourceError, "queue_full") {}

/** The disk, or a browser's share for this site, is full. */
export class QuotaError extends kindOf(ResourceError, "disk_full") {}

/** The request was aborted, or its model was unloaded, before it ended. */
export class CancelledError extends kindOf(MLCError, "request_cancelled") {}

/** Not possible now: no model is loaded, the device is lost, or the engine is shutting down. */
export class UnavailableError extends kindOf(MLCError, "unavailable") {}

/** The answer was not complete within its time limit. */
export class DeadlineExceededError extends kindOf(MLCError, "deadline_exceeded") {}

/** A download failed, or its content is not what was announced. */
export class DownloadError extends kindOf(MLCError, "download_failed") {}

/** A typed answer ended before its value was complete: give it more tokens. */
export class UnfinishedAnswerError extends kindOf(MLCError, "unfinished_answer") {}

/** A mistake of the engine or of this package. */
export class InternalError extends kindOf(MLCError, "internal_error") {}

export const BY_NAME: Readonly<Record<string, Made>> = {
  InvalidRequestError,
  NotFoundError,
  CorruptFileError,
  UnsupportedError,
  ResourceError,
  RateLimitError,
  QuotaError,
  CancelledError,
  UnavailableError,
  DeadlineExceededError,
  DownloadError,
  UnfinishedAnswerError,
  InternalError,
};
export const BY_STATUS: Readonly<Record<string, Made>> = {
  invalid_argument: InvalidRequestError,
  not_found: NotFoundError,
  corrupt: CorruptFileError,
  unsupported: UnsupportedError,
  resource_exhausted: ResourceError,
  cancelled: CancelledError,
  unavailable: UnavailableError,
  deadline_exceeded: DeadlineExceededError,
  internal: InternalError,
};
export const BY_TYPE: Readonly<Record<string, Made>> = {
  server_error: InternalError,
  rate_limit_error: RateLimitError,
  invalid_request_error: InvalidRequestError,
  not_found_error: NotFoundError,
};
