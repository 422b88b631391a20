// How many tokens of the context window a chat needs, and which turns can be dropped.

const TOKENS_PER_MESSAGE = 8; // about: what a chat template writes around a message
const FILL = 0.75; // how much of the window a chat may need after old turns were dropped

// The texts of a message that cost tokens.
export function countedText(message) {
  const calls = (message.calls ?? []).map((call) => call.name + call.arguments);
  return [message.content, ...calls].filter(Boolean).join("\n");
}

// The window that holds for a chat: the smaller one of its own limit and the model's. Null: none.
export function limitOf(chat, model) {
  const limits = [chat.settings.context, model?.context_window_size].filter((limit) => limit > 0);
  return limits.length > 0 ? Math.min(...limits) : null;
}

// About the tokens of a prompt. `count(text)` gives those of a text.
export function promptTokens(chat, count) {
  const system = chat.settings.system.trim();
  const kept = chat.messages.slice(chat.dropped);
  const costs = kept.map((message) => costOf(message, count));
  return costs.reduce((sum, cost) => sum + cost, system ? costOfText(system, count) : 0);
}

// Whether the prompt and the beginning of an answer fit.
export function overflows(chat, limit, count) {
  if (limit === null) return false;
  const reserve = Math.min(chat.settings.max_tokens ?? 64, Math.floor(limit / 4));
  return promptTokens(chat, count) + reserve > limit;
}

// How many of the oldest messages must go: whole turns, at least one, never the last turn.
// Null if there is only one turn.
export function oldestToDrop(chat, limit, count) {
  const starts = chat.messages.flatMap((message, at) => (message.role === "user" ? [at] : []));
  const candidates = starts.filter((at) => at > chat.dropped);
  if (candidates.length === 0) return null;
  const fits = candidates.find((dropped) => {
    return promptTokens({ ...chat, dropped }, count) <= limit * FILL;
  });
  return fits ?? candidates.at(-1);
}

function costOf(message, count) {
  return costOfText(countedText(message), count);
}

function costOfText(text, count) {
  return TOKENS_PER_MESSAGE + count(text);
}
