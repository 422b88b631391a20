/** Two models in one engine; each request names its own. */

import * as webllm from "mlc-llm";

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
  other = model,
): Promise<void> {
  const engine = await webllm.CreateMLCEngine([model, other], config);
  const messages: webllm.ChatCompletionMessageParam[] = [{ role: "user", content: "Say hello." }];
  const ask = (name: string) =>
    engine.chat.completions.create({ messages, model: name, max_tokens: 16, seed: 1 });
  const [one, two] = await Promise.all([ask(model), ask(other)]);
  print(`${one.model}: ${one.choices[0]?.message.content}`);
  print(`${two.model}: ${two.choices[0]?.message.content}`);
  print(`messages kept: ${!!await engine.getMessage(model)} ${!!await engine.getMessage(other)}`);
  await engine.unload();
}
