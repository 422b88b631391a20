/** What runs requests: the core in this thread, or one behind messages. */

/** An event of a request; `result`, `done` and `error` are its last. */
export type RequestEvent =
  | { readonly kind: "chunk" | "result" | "error"; readonly json: string }
  | { readonly kind: "done" };

export type Listener = (event: RequestEvent) => void;

/** A request that was queued. */
export interface Submission {
  /** Ends it with the error `request_cancelled`; does nothing when it has ended. */
  abort(): void;
}

export interface Backend {
  /** Queues a request. A request that is refused gets the event `error` too; nothing is thrown. */
  submit(route: string, body: string, listen: Listener): Submission;
  /** `EngineMetrics` as JSON. */
  metrics(): Promise<string>;
  /** Ends all requests and forgets what is cached of earlier prompts. */
  reset(): Promise<void>;
  /** Ends all requests and frees the model; the backend is of no use afterwards. */
  close(): Promise<void>;
}
