/** `engine.chat.completions`: the route, and helpers over it. */

import { InternalError } from "../errors.ts";
import type { AnswerStream, Channel, RequestOptions } from "../engine/channel.ts";
import * as codecs from "../protocol/codecs.gen.ts";
import type { ToolRun, ToolRunEvent } from "../protocol/tools.gen.ts";
import type { FromSchema, JSONSchema } from "./schema.ts";
import { formatOf, parsed, type ParsedChatCompletion, type ParseRequest } from "./structured.ts";
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatCompletionRequestBase,
  type ChatCompletionRequestNonStreaming,
  type ChatCompletionRequestStreaming,
  plainRequest,
  withNames,
} from "../webllm/protocol.ts";
import { toolEvents, type ToolOptions, type ToolRequest } from "./tool_loop.ts";

const ROUTE = "chat.completions";

export class HelpedChatCompletions {
  constructor(private readonly channel: Channel) {}

  /**
   * The chunks in order (`stream: true`), or the whole answer. It also takes and gives what WebLLM
   * writes in another way (`webllm/protocol.ts`).
   */
  create(
    request: ChatCompletionRequestNonStreaming,
    options?: RequestOptions,
  ): Promise<ChatCompletion>;
  create(
    request: ChatCompletionRequestStreaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<ChatCompletionChunk>>;
  create(
    request: ChatCompletionRequestBase,
    options?: RequestOptions,
  ): Promise<AnswerStream<ChatCompletionChunk> | ChatCompletion>;
  create(
    request: ChatCompletionRequestBase,
    options?: RequestOptions,
  ): Promise<AnswerStream<ChatCompletionChunk> | ChatCompletion> {
    const { channel } = this, plain = plainRequest(request);
    return request.stream === true
      ? channel.stream(ROUTE, plain, codecs.ChatCompletionChunk, options, withNames)
      : channel.result(ROUTE, plain, codecs.ChatCompletion, options, withNames);
  }

  /** The answer as a value of `request.schema`: `choices[0].message.parsed`. */
  async parse<const S extends JSONSchema>(
    request: ParseRequest<S>,
    options?: RequestOptions,
  ): Promise<ParsedChatCompletion<FromSchema<S>>> {
    const { schema, schema_name, ...rest } = request;
    const response_format = formatOf(schema, schema_name);
    return parsed(await this.create({ ...rest, response_format, stream: false }, options), schema);
  }

  /** Runs the model's tool calls until it answers with text. */
  async runTools(
    request: ToolRequest,
    options: ToolOptions & RequestOptions = {},
  ): Promise<ToolRun> {
    for await (const event of this.streamTools(request, options)) {
      if (event.type === "end") return event.run;
    }
    throw new InternalError("a loop of tool calls ended without its end");
  }

  /** The same, with an event for all that happens; leaving the loop ends it. */
  streamTools(
    request: ToolRequest,
    options: ToolOptions & RequestOptions = {},
  ): AsyncGenerator<ToolRunEvent, void, undefined> {
    const { signal } = options;
    const ask = (asked: object) =>
      this.create({ ...asked, stream: true } as ChatCompletionRequestStreaming, { signal });
    return toolEvents(ask as Parameters<typeof toolEvents>[0], request, options);
  }
}
