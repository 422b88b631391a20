/** `engine.completions`: the route, which also takes and gives what WebLLM writes in another way. */

import type { AnswerStream, Channel, RequestOptions } from "../engine/channel.ts";
import * as codecs from "../protocol/codecs.gen.ts";
import {
  type Completion,
  type CompletionCreateParamsBase,
  type CompletionCreateParamsNonStreaming,
  type CompletionCreateParamsStreaming,
  plainCompletion,
  withNames,
} from "../webllm/protocol.ts";

export class HelpedCompletions {
  constructor(private readonly channel: Channel) {}

  /** The chunks in order (`stream: true`), or the whole answer. */
  create(
    request: CompletionCreateParamsNonStreaming,
    options?: RequestOptions,
  ): Promise<Completion>;
  create(
    request: CompletionCreateParamsStreaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<Completion>>;
  create(
    request: CompletionCreateParamsBase,
    options?: RequestOptions,
  ): Promise<AnswerStream<Completion> | Completion>;
  create(
    request: CompletionCreateParamsBase,
    options?: RequestOptions,
  ): Promise<AnswerStream<Completion> | Completion> {
    const { channel } = this, plain = plainCompletion(request);
    return request.stream === true
      ? channel.stream("completions", plain, codecs.Completion, options, withNames)
      : channel.result("completions", plain, codecs.Completion, options, withNames);
  }
}
