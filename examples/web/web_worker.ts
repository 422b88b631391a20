/** The same engine in a worker, so that the page stays free; `worker.ts` is the worker. */

import * as webllm from "mlc-llm";

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
): Promise<void> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const engine: webllm.MLCEngineInterface = await webllm.CreateWebWorkerMLCEngine(
    worker,
    model,
    config,
  );
  const chunks = await engine.chat.completions.create({
    messages: [{ role: "user", content: "Count to five." }],
    stream: true,
    max_tokens: 24,
    seed: 1,
  });
  let text = "";
  for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? "";
  print(`from the worker: ${text}`);
  await engine.unload();
  worker.terminate();
}
