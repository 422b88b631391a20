/** Joins the chunks of an answer to the whole answer. */

import type {
  ChatCompletion,
  ChatCompletionChoice,
  ChatCompletionChunk,
  ChatCompletionChunkChoice,
  ChatCompletionMessageToolCall,
  ChoiceDeltaToolCall,
  ChoiceLogprobs,
} from "../protocol/types.gen.ts";

/**
 *     const fold = new AnswerFold();
 *     for await (const chunk of stream) fold.add(chunk);
 *     const completion = fold.completion();
 */
export class AnswerFold {
  private last: ChatCompletionChunk | undefined;
  private usage: ChatCompletionChunk["usage"];
  private readonly answers = new Map<number, Answer>();

  add(chunk: ChatCompletionChunk): void {
    this.last = chunk;
    this.usage = chunk.usage ?? this.usage;
    for (const choice of chunk.choices) {
      const answer = this.answers.get(choice.index) ?? new Answer();
      this.answers.set(choice.index, answer);
      answer.add(choice);
    }
  }

  completion(): ChatCompletion {
    const answers = [...this.answers].sort(([a], [b]) => a - b);
    if (answers.length === 0) answers.push([0, new Answer()]);
    const { id = "", created = 0, model = "", system_fingerprint } = this.last ?? {};
    return {
      id,
      object: "chat.completion",
      created,
      model,
      choices: answers.map(([index, answer]) => answer.whole(index)),
      ...(this.usage ? { usage: this.usage } : {}),
      ...(system_fingerprint == null ? {} : { system_fingerprint }),
    } as ChatCompletion;
  }
}

/** One of the `n` answers. */
class Answer {
  private content = "";
  private reasoning = "";
  private refusal = "";
  private finishReason: ChatCompletionChoice["finish_reason"] = "error";
  private readonly calls = new Map<number, ChatCompletionMessageToolCall>();
  private logprobs: ChoiceLogprobs | null = null;

  add({ delta, finish_reason, logprobs }: ChatCompletionChunkChoice): void {
    this.content += delta.content ?? "";
    this.reasoning += delta.reasoning_content ?? "";
    this.refusal += delta.refusal ?? "";
    this.finishReason = finish_reason ?? this.finishReason;
    for (const piece of delta.tool_calls ?? []) this.addCall(piece);
    if (logprobs) this.addLogprobs(logprobs);
  }

  whole(index: number): ChatCompletionChoice {
    const calls = [...this.calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    return {
      index,
      message: {
        role: "assistant",
        content: calls.length > 0 && !this.content ? null : this.content,
        refusal: this.refusal || null,
        ...(this.reasoning ? { reasoning_content: this.reasoning } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
      logprobs: this.logprobs,
      finish_reason: this.finishReason,
    };
  }

  private addCall(piece: ChoiceDeltaToolCall): void {
    const call = this.calls.get(piece.index) ??
      { id: "", type: "function", function: { name: "", arguments: "" } };
    this.calls.set(piece.index, call);
    call.id += piece.id ?? "";
    call.function.name += piece.function?.name ?? "";
    call.function.arguments += piece.function?.arguments ?? "";
  }

  private addLogprobs(more: ChoiceLogprobs): void {
    const old = this.logprobs;
    this.logprobs = {
      content: more.content ? [...(old?.content ?? []), ...more.content] : old?.content ?? null,
      refusal: more.refusal ? [...(old?.refusal ?? []), ...more.refusal] : old?.refusal ?? null,
    };
  }
}
