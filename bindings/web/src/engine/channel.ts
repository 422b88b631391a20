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

/** For each request, what is told of its chunks or its whole answer. */
export type Observe = (model: string | null) => (answer: unknown) => void;

export class Channel {
  private readonly active = new Set<AnswerStream<unknown>>();

  constructor(
    private readonly find: FindBackend,
    private readonly observe: Observe = () => () => {},
  ) {}

  /** Ends all requests: a loop over chunks ends, a call for a whole answer throws. */
  interrupt(): void {
    for (const stream of this.active) stream.abort();
  }

  /** A request that gives one answer. `refine`: makes the caller's value of what was read. */
  async result<T, U = T>(
    route: string,
    request: object,
    codec: Codec<T>,
    options: RequestOptions = {},
    refine: (value: T) => U = (value) => value as unknown as U,
  ): Promise<U> {
    const read = (json: unknown) => refine(decode(codec, json));
    const stream = this.start(read, route, request, options);
    const { value, done } = await stream.next();
    if (done) throw new CancelledError(`the request was interrupted before its answer was whole`);
    return value;
  }

  /** A request whose answer comes in chunks. A refused request throws when it is read. */
  async stream<T, U = T>(
    route: string,
    request: object,
    codec: Codec<T>,
    options: RequestOptions = {},
    refine: (value: T) => U = (value) => value as unknown as U,
  ): Promise<AnswerStream<U>> {
    const read = (json: unknown) => refine(decode(codec, json));
    const stream = this.start(read, route, request, options);
    await stream.begun();
    return stream;
  }

  private start<T>(
    read: (json: unknown) => T,
    route: string,
    request: object,
    { signal }: RequestOptions,
  ): AnswerStream<T> {
    if (signal?.aborted) throw cancelled(signal);
    const { model: given } = request as { model?: unknown };
    const model = typeof given === "string" ? given : null;
    const backend = this.find(model), body = toJson(request);
    const stream = new AnswerStream(read, this.observe(model));
    this.active.add(stream as AnswerStream<unknown>);
    stream.onEnd = () => this.active.delete(stream as AnswerStream<unknown>);
    stream.follow(backend.submit(route, body, stream.take), signal);
    return stream;
  }
}

function toJson(request: object): string {
  try {
    return encode(request);
  } catch (error) {
    const message = `the request cannot be written as JSON: ${String(error)}`;
    const param = error instanceof WireFault ? error.path : null;
    throw new InvalidRequestError(message, { param, code: "invalid_json" });
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

  /** Called when no more events are taken. */
  onEnd = () => {};

  constructor(
    private readonly read: (json: unknown) => T,
    private readonly observe: (value: T) => void = () => {},
  ) {}

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
      this.give(this.read(json));
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
    this.observe(value);
    const reader = this.readers.shift();
    if (reader) reader.resolve({ value, done: false });
    else this.waiting.push(value);
  }

  private end(failure?: unknown): void {
    this.hasEnded = true;
    this.release();
    this.onEnd();
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
