/** Typed requests over a backend: one answer, or a stream of chunks. */

import {
  asMLCError,
  CancelledError,
  errorFromJson,
  InternalError,
  InvalidRequestError,
} from "../errors.ts";
import { type Codec, decode, encode, WireFault } from "../protocol/wire.ts";
import type { Backend, RequestEvent, Submission } from "./backend.ts";

export interface RequestOptions {
  /** Ends the request when it is aborted; the call then throws a `CancelledError`. */
  signal?: AbortSignal | undefined;
}

/** Gives the backend of the model that a request names; throws when there is none. */
export type FindBackend = (model: string | null) => Backend;

export class Channel {
  constructor(private readonly find: FindBackend) {}

  /** A request that gives one answer. */
  async result<T>(
    route: string,
    request: object,
    codec: Codec<T>,
    options: RequestOptions = {},
  ): Promise<T> {
    const stream = new AnswerStream(codec);
    this.start(stream, route, request, options);
    const { value, done } = await stream.next();
    if (done) throw new InternalError(`the engine gave no answer to ${route}`);
    return value;
  }

  /** A request whose answer comes in chunks. A refused request throws when it is read. */
  async stream<T>(
    route: string,
    request: object,
    codec: Codec<T>,
    options: RequestOptions = {},
  ): Promise<AnswerStream<T>> {
    const stream = new AnswerStream(codec);
    this.start(stream, route, request, options);
    await stream.begun();
    return stream;
  }

  private start<T>(
    stream: AnswerStream<T>,
    route: string,
    request: object,
    { signal }: RequestOptions,
  ): void {
    if (signal?.aborted) throw cancelled(signal);
    const model = (request as { model?: unknown }).model;
    const backend = this.find(typeof model === "string" ? model : null);
    stream.follow(backend.submit(route, toJson(request), stream.take), signal);
  }
}

function toJson(request: object): string {
  try {
    return encode(request);
  } catch (error) {
    throw new InvalidRequestError(`the request cannot be written as JSON: ${String(error)}`);
  }
}

function cancelled(signal: AbortSignal): CancelledError {
  return new CancelledError("the request was aborted by its signal", { cause: signal.reason });
}

interface Reader<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}

/**
 * The chunks of an answer, in order; `for await` reads them.
 *
 * Leaving the loop early ends the request. A failure is thrown once, behind the chunks that came
 * before it; then the stream has ended.
 */
export class AnswerStream<T> implements AsyncIterableIterator<T> {
  private readonly waiting: T[] = [];
  private readers: Reader<T>[] = [];
  private failure: unknown = undefined;
  private hasEnded = false;
  private submission: Submission | undefined;
  private release = () => {};
  private announce = () => {};
  private readonly first = new Promise<void>((resolve) => this.announce = resolve);

  constructor(private readonly codec: Codec<T>) {}

  /** Called by the channel: what was queued, and the signal that ends it. */
  follow(submission: Submission, signal: AbortSignal | undefined): void {
    this.submission = submission;
    if (!signal || this.hasEnded) return;
    const abort = () => {
      this.end(cancelled(signal));
      submission.abort();
    };
    signal.addEventListener("abort", abort, { once: true });
    this.release = () => signal.removeEventListener("abort", abort);
  }

  /** Resolves with the first event; throws when that is an error. */
  async begun(): Promise<void> {
    await this.first;
    if (this.hasEnded && this.failure !== undefined && this.waiting.length === 0) {
      const failure = this.failure;
      this.failure = undefined;
      throw failure;
    }
  }

  /** Called by the backend for each event. */
  readonly take = (event: RequestEvent): void => {
    if (this.hasEnded) return;
    if (event.kind === "done") return this.end();
    try {
      const json: unknown = JSON.parse(event.json);
      if (event.kind === "error") return this.end(errorFromJson(json));
      this.give(decode(this.codec, json));
      if (event.kind === "result") this.end();
    } catch (error) {
      this.submission?.abort();
      this.end(unreadable(error));
    }
  };

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.waiting.length > 0) {
      return Promise.resolve({ value: this.waiting.shift() as T, done: false });
    }
    if (!this.hasEnded) {
      return new Promise((resolve, reject) => this.readers.push({ resolve, reject }));
    }
    const failure = this.failure;
    this.failure = undefined;
    if (failure !== undefined) return Promise.reject(failure);
    return Promise.resolve({ value: undefined, done: true });
  }

  /** Ends the request: what `for await` calls when its loop is left. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.waiting.length = 0;
    this.failure = undefined;
    if (!this.hasEnded) {
      this.end();
      this.submission?.abort();
    }
    return Promise.resolve({ value: undefined, done: true });
  }

  /** Ends the request; reading on ends too. */
  abort(): void {
    void this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private give(value: T): void {
    this.announce();
    const reader = this.readers.shift();
    if (reader) reader.resolve({ value, done: false });
    else this.waiting.push(value);
  }

  private end(failure?: unknown): void {
    this.hasEnded = true;
    this.release();
    const readers = this.readers;
    this.readers = [];
    if (failure !== undefined && readers.length > 0) readers.shift()?.reject(failure);
    else this.failure = failure;
    for (const reader of readers) reader.resolve({ value: undefined, done: true });
    this.announce();
  }
}

function unreadable(error: unknown): Error {
  if (!(error instanceof WireFault || error instanceof SyntaxError)) return asMLCError(error);
  return new InternalError(`the engine's answer cannot be read: ${error.message}`, {
    cause: error,
  });
}
