/** A backend over an engine of the core in this thread. */

import type { CoreEngine, CoreEvent } from "../../runtime/core.ts";
import { CoreError, type ErrorBody } from "../../runtime/errors.ts";
import type { Backend, Listener, RequestEvent, Submission } from "../engine/backend.ts";
import { asMLCError, errorFromJson, MLCError } from "../errors.ts";
import { logitFunction, type LogitProcessor } from "./logit_processors.ts";
import type { SavedStates } from "./saved_states.ts";

const WRITES_TEXT = new Set(["chat.completions", "completions"]);
const PROCESSOR = "registry"; // its name for the core

export class CoreBackend implements Backend {
  private isProcessed = false;

  constructor(private readonly engine: CoreEngine, private readonly states: SavedStates) {}

  /** Changes the logits of all answers from the next request on; undefined: of none. */
  setLogitProcessor(processor: LogitProcessor | undefined): void {
    this.isProcessed = processor !== undefined;
    this.engine.setLogitProcessor(PROCESSOR, processor ? logitFunction(processor) : null);
  }

  submit(route: string, body: string, listen: Listener): Submission {
    const path = route.startsWith("kv.") ? pathOf(body) : undefined;
    if (path === undefined) return this.start(route, body, listen);
    if (route === "kv.load") return this.startWithState(path, body, listen);
    return this.start(route, body, (event) => {
      if (event.kind !== "result") return listen(event);
      this.states.keep(path).then(() => listen(event), (error) => listen(failed(error)));
    });
  }

  /** `kv.load`: reads the state into memory first. */
  private startWithState(path: string, body: string, listen: Listener): Submission {
    let submission: Submission | undefined, isAborted = false;
    this.states.open(path).then(() => {
      submission = this.start("kv.load", body, (event) => {
        this.states.close(path);
        listen(event);
      });
      if (isAborted) submission.abort();
    }, (error) => listen(failed(error)));
    return {
      abort() {
        isAborted = true;
        submission?.abort();
      },
    };
  }

  private start(route: string, body: string, listen: Listener): Submission {
    try {
      const sent = this.isProcessed && WRITES_TEXT.has(route)
        ? JSON.stringify({ logit_processor: PROCESSOR, ...JSON.parse(body) })
        : body;
      const id = this.engine.submit(route, sent, (event) => listen(eventOf(event)));
      return { abort: () => this.engine.abort(id) };
    } catch (error) {
      listen(failed(error));
      return { abort: () => {} };
    }
  }

  metrics(): Promise<string> {
    return Promise.resolve(JSON.stringify(this.engine.metrics()));
  }

  async reset(): Promise<void> {
    await this.engine.reset().catch(rethrow);
  }

  async close(): Promise<void> {
    await this.engine.destroy().catch(rethrow);
  }
}

/** The file that a request names; undefined: the core refuses the request. */
function pathOf(body: string): string | undefined {
  const { path } = JSON.parse(body) as { path?: unknown };
  return typeof path === "string" ? path : undefined;
}

function failed(error: unknown): RequestEvent {
  return { kind: "error", json: JSON.stringify(fromCore(error).toJSON()) };
}

function eventOf(event: CoreEvent): RequestEvent {
  if (event.kind !== "error") return event;
  return { kind: "error", json: JSON.stringify({ error: event.error }) };
}

/** An error of the core as ours. */
export function fromCore(error: unknown): MLCError {
  const body: ErrorBody | undefined = error instanceof CoreError ? error.body : undefined;
  return body ? errorFromJson({ error: body }) : asMLCError(error);
}

function rethrow(error: unknown): never {
  throw fromCore(error);
}
