/** A backend over an engine of the core in this thread. */

import type { CoreEngine, CoreEvent } from "../../runtime/core.ts";
import { CoreError, type ErrorBody } from "../../runtime/errors.ts";
import type { Backend, Listener, RequestEvent, Submission } from "../engine/backend.ts";
import { asMLCError, errorFromJson, MLCError } from "../errors.ts";

export class CoreBackend implements Backend {
  constructor(private readonly engine: CoreEngine) {}

  submit(route: string, body: string, listen: Listener): Submission {
    try {
      const id = this.engine.submit(route, body, (event) => listen(eventOf(event)));
      return { abort: () => this.engine.abort(id) };
    } catch (error) {
      listen({ kind: "error", json: JSON.stringify(fromCore(error).toJSON()) });
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
