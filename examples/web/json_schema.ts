/** Answers that fit a JSON Schema: as text, as WebLLM has it, and as a typed value. */

import * as webllm from "mlc-llm";

const CITY = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 12 },
    size: { enum: ["small", "large"] },
    harbour: { type: "boolean" },
  },
  required: ["name", "size", "harbour"],
  additionalProperties: false,
} as const;

export async function main(
  model: string,
  config: webllm.MLCEngineConfig,
  print: (line: string) => void,
): Promise<void> {
  const engine = await webllm.CreateMLCEngine(model, config);
  const messages: webllm.ChatCompletionMessageParam[] = [
    { role: "user", content: "Describe Oslo as JSON." },
  ];
  const reply = await engine.chat.completions.create({
    messages,
    max_tokens: 200,
    seed: 1,
    response_format: { type: "json_schema", json_schema: { name: "city", schema: CITY } },
  });
  const city = JSON.parse(reply.choices[0]?.message.content ?? "null");
  print(`members: ${Object.keys(city).join(" ")}`);

  const typed = await engine.chat.completions.parse({ messages, schema: CITY, max_tokens: 200 });
  const size: "small" | "large" | undefined = typed.choices[0]?.message.parsed?.size;
  print(`size: ${size}`);
  await engine.unload();
}
