/**
 * Functions that a model may call, and the loop that calls them.
 *
 *     const population = tool({
 *       name: "population",
 *       description: "How many people live in a city.",
 *       parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *       run: ({ city }) => lookUp(city),
 *     });
 *     const run = await engine.chat.completions.runTools({ messages, tools: [population] });
 *
 * Results go back to the model until it answers with text. A call that fails (arguments that do not
 * fit, a function that throws) goes back as its error, so that the model may try again.
 */

import { InvalidRequestError } from "../errors.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionMessageToolCall,
  ChatCompletionRequest,
} from "../protocol/types.gen.ts";
import {
  MAX_TOOL_CALLS,
  type ToolOutcome,
  type ToolResult,
  type ToolRunEvent,
  ToolsTexts,
} from "../protocol/tools.gen.ts";
import { AnswerFold } from "./answer_fold.ts";
import { fit, type FromSchema, type JSONSchema } from "./schema.ts";

/** A function with the description that the model reads. */
export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly parameters: JSONSchema;
  /** Its result goes to the model: a text as it is, any other value as JSON. */
  // deno-lint-ignore no-explicit-any -- `tool` checks the arguments' type
  run(args: any): unknown;
}

/** A tool whose `run` has the type of its arguments from the schema. */
export function tool<const S extends JSONSchema>(made: {
  name: string;
  description?: string;
  parameters: S;
  run(args: FromSchema<S>): unknown;
}): Tool {
  return made;
}

export interface ToolOptions {
  /** How many calls are made; then the model must answer without. */
  maxCalls?: number;
  /** Asked before each call that could be made; a call that is not approved is not made. */
  approve?: (call: ChatCompletionMessageToolCall) => boolean | Promise<boolean>;
}

/** A request of `runTools` and `streamTools`. */
export type ToolRequest = Omit<ChatCompletionRequest, "tools" | "stream" | "stream_options"> & {
  tools: readonly Tool[];
};

export type Ask = (request: ChatCompletionRequest) => Promise<AsyncIterable<ChatCompletionChunk>>;

/** The events in order; leaving the loop ends the request that runs. */
export async function* toolEvents(
  ask: Ask,
  request: ToolRequest,
  options: ToolOptions,
): AsyncGenerator<ToolRunEvent, void, undefined> {
  const loop = new ToolLoop(request, options.maxCalls ?? MAX_TOOL_CALLS);
  let calls: PlannedCall[] | undefined;
  while (calls === undefined || calls.length > 0) {
    const fold = new AnswerFold();
    for await (const chunk of await ask(loop.request())) {
      fold.add(chunk);
      yield { type: "chunk", chunk };
      const text = chunk.choices[0]?.delta.content;
      if (text) yield { type: "text", text };
    }
    calls = loop.take(fold.completion());
    const approved: boolean[] = [];
    for (const planned of calls) {
      yield { type: "call", call: planned.call };
      const isCallable = planned.tool !== undefined;
      approved.push(isCallable && (await options.approve?.(planned.call) ?? true));
    }
    const results = calls.map((planned, i) => planned.make(approved[i] === true));
    for (const result of results) yield loop.answer(await result);
  }
  yield loop.ended();
}

/** A call of the model: its function and arguments, or the reason why nothing can be called. */
class PlannedCall {
  constructor(
    readonly call: ChatCompletionMessageToolCall,
    readonly tool: Tool | undefined,
    private readonly args: unknown,
    private readonly refusal: string,
  ) {}

  /** Makes the call; what a function throws is its result. */
  async make(isApproved: boolean): Promise<ToolResult> {
    if (!this.tool) return this.result(this.refusal, "refused");
    if (!isApproved) return this.result(ToolsTexts.DENIED, "denied");
    try {
      const value = await this.tool.run(this.args);
      const text = typeof value === "string" ? value : JSON.stringify(value) ?? "null";
      return this.result(text, "returned");
    } catch (error) {
      const why = error instanceof Error ? error.message || error.name : String(error);
      return this.result(ToolsTexts.failed(why), "failed");
    }
  }

  private result(content: string, outcome: ToolOutcome): ToolResult {
    return { call: this.call, content, outcome };
  }
}

/** The loop without waiting: it decides what to ask, what to call, and when to end. */
class ToolLoop {
  private readonly tools: ReadonlyMap<string, Tool>;
  private readonly params: Omit<ToolRequest, "tools">;
  private readonly messages: ChatCompletionMessage[];
  private numCalls = 0;
  private limitReached = false;
  private completion: ChatCompletion | undefined;

  constructor({ tools, ...params }: ToolRequest, private readonly maxCalls: number) {
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    if (tools.length === 0 || this.tools.size < tools.length) {
      throw new InvalidRequestError(ToolsTexts.NAMES, { param: "tools" });
    }
    if (!(maxCalls >= 1)) throw new InvalidRequestError(ToolsTexts.TOO_FEW, { param: "max_calls" });
    if ((params.n ?? 1) !== 1) throw new InvalidRequestError(ToolsTexts.ONE_ANSWER, { param: "n" });
    this.params = params;
    this.messages = [...params.messages];
  }

  /** `tool_choice` is only in the first request; otherwise the loop would never end. */
  request(): ChatCompletionRequest {
    const request: ChatCompletionRequest = {
      ...this.params,
      messages: [...this.messages],
      tools: [...this.tools.values()].map(({ name, description, parameters }) => ({
        type: "function",
        function: {
          name,
          description,
          parameters: parameters as Record<string, unknown>,
          strict: true,
        },
      })),
      stream_options: { include_usage: true },
    };
    if (this.limitReached) request.tool_choice = "none";
    else if (this.completion && request.tool_choice != null) request.tool_choice = "auto";
    return request;
  }

  /** The calls of an answer; none if it is the last answer. */
  take(completion: ChatCompletion): PlannedCall[] {
    this.completion = completion;
    const { content, reasoning_content, tool_calls } = this.answerOf(completion);
    this.messages.push({
      role: "assistant",
      ...(content === null ? {} : { content }),
      ...(reasoning_content ? { reasoning_content } : {}),
      ...(tool_calls ? { tool_calls } : {}),
    });
    return this.limitReached ? [] : (tool_calls ?? []).map((call) => this.plan(call));
  }

  /** Takes a result; called in the order of the calls. */
  answer(result: ToolResult): ToolRunEvent {
    const { call, content } = result;
    this.messages.push({ role: "tool", tool_call_id: call.id, content });
    return { type: "result", result };
  }

  ended(): ToolRunEvent {
    const { completion, messages, numCalls, limitReached } = this;
    if (!completion) throw new Error("a loop ends behind an answer");
    const { content } = this.answerOf(completion);
    return { type: "end", run: { completion, content, messages, numCalls, limitReached } };
  }

  private answerOf(completion: ChatCompletion) {
    const choice = completion.choices[0];
    if (!choice) throw new Error("an answer has a choice");
    return choice.message;
  }

  private plan(call: ChatCompletionMessageToolCall): PlannedCall {
    const refuse = (why: string) => new PlannedCall(call, undefined, undefined, why);
    if (this.numCalls === this.maxCalls) {
      this.limitReached = true;
      return refuse(ToolsTexts.LIMIT);
    }
    this.numCalls += 1;
    const { name, arguments: text } = call.function;
    const tool = this.tools.get(name);
    if (!tool) return refuse(ToolsTexts.noSuch(name, [...this.tools.keys()].join(", ")));
    try {
      const args = fit({ type: "object", ...tool.parameters }, JSON.parse(text || "{}"));
      return new PlannedCall(call, tool, args, "");
    } catch (error) {
      return refuse(ToolsTexts.unfit(error instanceof Error ? error.message : String(error)));
    }
  }
}
