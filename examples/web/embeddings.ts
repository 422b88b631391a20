/** Which of two texts is nearer to a question. */

import * as webllm from "mlc-llm";

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
): Promise<void> {
  const engine = await webllm.CreateMLCEngine(model, config);
  const input = ["What do pandas eat?", "Pandas eat bamboo.", "Trains run on rails."];
  const reply: webllm.CreateEmbeddingResponse = await engine.embeddings.create({ input });
  const [question = [], ...texts] = reply.data.map(({ embedding }) => embedding);
  const products = texts.map((text) => text.reduce((sum, x, i) => sum + x * (question[i] ?? 0), 0));
  print(`${reply.data.length} vectors of ${question.length} numbers`);
  print(`the nearest: ${input[1 + products.indexOf(Math.max(...products))]}`);
  await engine.unload();
}
