/** One question, one whole answer. WebLLM's program of this name with its import changed. */

import * as webllm from "mlc-llm";

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
): Promise<void> {
  const initProgressCallback = (report: webllm.InitProgressReport) => print(report.text);
  const engine: webllm.MLCEngineInterface = await webllm.CreateMLCEngine(
    model,
    { ...config, initProgressCallback, logLevel: "INFO" },
    { context_window_size: 2048 },
  );
  const reply = await engine.chat.completions.create({
    messages: [{ role: "user", content: "Name three rivers of Europe." }],
    n: 2,
    temperature: 1.2,
    max_tokens: 64,
    seed: 1,
    logprobs: true,
    top_logprobs: 2,
  });
  for (const choice of reply.choices) print(choice.message.content ?? "");
  print(`${reply.usage?.completion_tokens} tokens; ${await engine.runtimeStatsText()}`);
  await engine.unload();
}
