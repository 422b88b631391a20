// Builds an assistant's message from the chunks of a stream, and its statistics.

// Adds a chunk to a message. Returns whether the message's text or calls changed.
export function addChunk(message, chunk) {
  if (chunk.model) message.model = chunk.model;
  if (chunk.usage) message.usage = chunk.usage;
  const choice = chunk.choices?.[0];
  if (choice === undefined) return false;
  if (choice.finish_reason) message.finish = choice.finish_reason;
  const { content, reasoning_content: thought, tool_calls: calls } = choice.delta ?? {};
  if (content) message.content += content;
  if (thought) message.reasoning += thought;
  for (const piece of calls ?? []) addCall(message.calls, piece);
  return Boolean(content || thought || calls?.length);
}

function addCall(calls, piece) {
  const call = calls[piece.index] ??= { id: "", name: "", arguments: "" };
  if (piece.id) call.id = piece.id;
  call.name += piece.function?.name ?? "";
  call.arguments += piece.function?.arguments ?? "";
}

// The times of an answer as the page sees them; the server's own measurements come before them.
export class Clock {
  constructor(now) {
    this.begin = now;
    this.first = null;
    this.chunks = 0;
  }

  take(now) {
    this.first ??= now;
    this.chunks++;
  }

  // About: a chunk has at least one token.
  live(now) {
    return { tokens: this.chunks, speed: this.speed(this.chunks, now) };
  }

  speed(tokens, now) {
    const seconds = (now - (this.first ?? now)) / 1000;
    return tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : null;
  }

  // What is kept with the answer. Times are in seconds, speeds in tokens per second.
  stats(usage, now) {
    const extra = usage?.extra ?? {};
    const tokens = usage?.completion_tokens ?? this.chunks;
    const first = this.first === null ? null : (this.first - this.begin) / 1000;
    return {
      tokens,
      prompt: usage?.prompt_tokens ?? null,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? null,
      thoughts: usage?.completion_tokens_details?.reasoning_tokens ?? null,
      speed: extra.decode_tokens_per_s || this.speed(tokens, now),
      prompt_speed: extra.prefill_tokens_per_s || null,
      first: extra.ttft_s ?? first,
      seconds: extra.end_to_end_latency_s ?? (now - this.begin) / 1000,
    };
  }
}
