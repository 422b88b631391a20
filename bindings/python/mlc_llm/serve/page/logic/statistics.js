// The line under an answer. `t(key, values)`, `counted(key, count, values)` and
// `number(value, digits)` are in the user's language.

// "42 tokens · 35.1 tokens/s · first token 0.21 s · prompt 300 tokens, 120 of them cached".
export function statsText({ stats, model, finish }, { t, counted, number }) {
  const tokens = (key, count) => counted(key, count, { tokens: number(count) });
  const parts = [tokens("stats.tokens", stats.tokens)];
  if (stats.speed) parts.push(t("stats.speed", { speed: number(stats.speed, 1) }));
  if (stats.first !== null) parts.push(t("stats.first", { seconds: number(stats.first, 2) }));
  if (stats.seconds) parts.push(t("stats.total", { seconds: number(stats.seconds, 1) }));
  if (stats.prompt !== null) parts.push(tokens("stats.prompt", stats.prompt));
  if (stats.cached) parts.push(t("stats.cached", { tokens: number(stats.cached) }));
  if (stats.thoughts) parts.push(tokens("stats.thoughts", stats.thoughts));
  if (finish === "length") parts.push(t("stats.cut"));
  if (finish === "stopped") parts.push(t("stats.stopped"));
  if (model) parts.push(model);
  return parts.join(" · ");
}
