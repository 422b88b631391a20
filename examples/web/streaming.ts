/** Chunks while they come; a second question is interrupted. */

import * as webllm from "mlc-llm";

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
): Promise<void> {
  const engine = await webllm.CreateMLCEngine(model, config);
  const messages: webllm.ChatCompletionMessageParam[] = [
    { role: "system", content: "You answer in one sentence." },
    { role: "user", content: "Why is the sky blue?" },
  ];
  const request: webllm.ChatCompletionRequestStreaming = {
    messages,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 48,
    seed: 1,
  };
  let text = "";
  for await (const chunk of await engine.chat.completions.create(request)) {
    text += chunk.choices[0]?.delta.content ?? "";
    if (chunk.usage) print(`usage: ${chunk.usage.completion_tokens} tokens`);
  }
  print(`streamed: ${text}`);
  print(`the same: ${text === await engine.getMessage()}`);

  let chunks = 0;
  for await (const _ of await engine.chat.completions.create({ ...request, max_tokens: 500 })) {
    if (++chunks === 3) engine.interruptGenerate();
  }
  print(`interrupted after ${chunks} chunks`);
  await engine.resetChat();
  await engine.unload();
}
