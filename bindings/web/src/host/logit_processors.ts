/** Logit processors as WebLLM has them: an object with a state, for one request at a time. */

import type { LogitFunction } from "../../runtime/core.ts";

/** A program's own function on the numbers of which the next token is chosen. */
export interface LogitProcessor {
  /** The logits of all tokens, by id; returns those to choose from, the same array or another. */
  processLogits(logits: Float32Array): Float32Array;
  /** A token that was chosen. */
  processSampledToken(token: number): void;
  /** A new answer begins. */
  resetState(): void;
}

/** By the id of a model. */
export type LogitProcessorRegistry = ReadonlyMap<string, LogitProcessor>;

/** The function that the core calls before each token. */
export function logitFunction(processor: LogitProcessor): LogitFunction {
  let reported = 0; // tokens of the answer that the processor has seen
  return (_prompt, answer, logits) => {
    if (answer.length === 0) processor.resetState();
    for (const token of answer.slice(answer.length === 0 ? 0 : reported)) {
      processor.processSampledToken(token);
    }
    reported = answer.length;
    return processor.processLogits(logits);
  };
}
