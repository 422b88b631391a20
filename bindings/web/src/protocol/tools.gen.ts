// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// What a helper has in common in all languages: its types, its events, its words.

import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionMessageToolCall,
} from "./types.gen.ts";

/** How many calls a loop makes unless it is told; then the model must answer without. */
export const MAX_TOOL_CALLS = 16;

/** What became of a call. */
export type ToolOutcome =
  /** The function gave a result. */
  | "returned"
  /** The function failed; the model reads why. */
  | "failed"
  /** It was not approved. */
  | "denied"
  /** There is no such function, its arguments do not fit, or it was one more than the limit. */
  | "refused";

/** What a call came to. */
export interface ToolResult {
  /** The call. */
  readonly call: ChatCompletionMessageToolCall;
  /** What the model reads of it. */
  readonly content: string;
  /** What became of it. */
  readonly outcome: ToolOutcome;
}

/** How a loop of tool calls ended. */
export interface ToolRun {
  /** The last answer. */
  readonly completion: ChatCompletion;
  /** The last answer's text. */
  readonly content: string | null;
  /** The whole conversation, the last answer included: to be continued with the next request. */
  readonly messages: ChatCompletionMessage[];
  /** The calls that the model made, the denied and failed ones too. */
  readonly numCalls: number;
  /** Whether there would have been more. */
  readonly limitReached: boolean;
}

/** What happens while the model's tool calls are run, in its order. */
export type ToolRunEvent =
  /** A chunk of an answer, as it came. */
  | { readonly type: "chunk"; readonly chunk: ChatCompletionChunk }
  /** The next piece of an answer's text. */
  | { readonly type: "text"; readonly text: string }
  /** The model calls a tool. All calls of an answer are told, then approved, then made. */
  | { readonly type: "call"; readonly call: ChatCompletionMessageToolCall }
  /** A call has come to its end. Results come in the order of the calls. */
  | { readonly type: "result"; readonly result: ToolResult }
  /** The last event: how it ended. */
  | { readonly type: "end"; readonly run: ToolRun };

/** The texts. */
export const ToolsTexts = {
  /** What the model reads in place of a result. */
  DENIED: "error: the call was denied",
  /** What the model reads in place of a result. */
  LIMIT: "error: the call was not made: the limit of calls is reached; answer without it",
  /** What the model reads in place of a result. */
  noSuch: (name: string, names: string): string =>
    `error: there is no tool ${name}; there are: ${names}`,
  /** What the model reads in place of a result. */
  unfit: (why: string): string =>
    `error: the arguments do not fit: ${why}`,
  /** What the model reads in place of a result. */
  failed: (why: string): string =>
    `error: ${why}`,
  /** What whoever begins a loop wrongly is told. */
  NAMES: "at least one tool is needed, each of another name",
  /** What whoever begins a loop wrongly is told. */
  TOO_FEW: "max_calls must be at least 1",
  /** What whoever begins a loop wrongly is told. */
  ONE_ANSWER: "a loop of tool calls follows one answer: leave n out",
};
