// The names and calls that WebLLM's example programs use (mlc-ai/web-llm, folder examples), in our
// own words: they must type-check here. Not among them is what docs/web-sdk.md lists as absent.

import * as webllm from "mlc-llm";

const MODEL = "a-model";
const onProgress: webllm.InitProgressCallback = (report: webllm.InitProgressReport) => {
  console.log(report.progress, report.timeElapsed, report.text);
};
const appConfig: webllm.AppConfig = {
  cacheBackend: "cache",
  model_list: [{
    model: "https://host/a-model",
    model_id: MODEL,
    model_lib: webllm.modelLibURLPrefix + webllm.modelVersion + "/a-model.wasm",
    overrides: { context_window_size: 2048 },
    vram_required_MB: 900,
    low_resource_required: true,
    buffer_size_required_bytes: 1 << 27,
    required_features: ["shader-f16"],
    model_type: webllm.ModelType.embedding,
    integrity: {
      config: "sha256-a",
      tokenizer: { "tokenizer.json": "sha256-b" },
      onFailure: "warn",
    },
  }],
};

/** simple-chat-ts, next-simple-chat: an engine that is made without a model. */
export async function engines(inWorker: boolean): Promise<string[]> {
  const worker = () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const config: webllm.MLCEngineConfig = { appConfig, logLevel: "INFO" };
  let engine: webllm.MLCEngineInterface | webllm.WebWorkerMLCEngine;
  engine = inWorker
    ? new webllm.WebWorkerMLCEngine(worker(), { appConfig, logLevel: "INFO" })
    : new webllm.MLCEngine({ appConfig });
  engine.setInitProgressCallback(onProgress);
  await engine.reload(MODEL, { temperature: 0.5, context_window_size: 1024 });
  await engine.reload([MODEL, "other"]);
  await Promise.all([engine.getMaxStorageBufferBindingSize(), engine.getGPUVendor()]);
  engine.interruptGenerate();
  await engine.resetChat(true, MODEL);
  engine = await webllm.CreateMLCEngine(MODEL, { initProgressCallback: onProgress, appConfig });
  engine = await webllm.CreateWebWorkerMLCEngine(worker(), [MODEL], config);
  const kept: webllm.ServiceWorkerMLCEngine = await webllm.CreateServiceWorkerMLCEngine(MODEL);
  kept.setAppConfig({ ...webllm.prebuiltAppConfig, ...appConfig });
  const texts = [await engine.getMessage(), await engine.runtimeStatsText(MODEL)];
  await engine.unload();
  return texts;
}

/** get-started-latency-breakdown, seed-to-reproduce: a whole answer and what it took. */
export async function measured(engine: webllm.MLCEngineInterface): Promise<number[]> {
  const request: webllm.ChatCompletionRequestNonStreaming = {
    stream: false,
    messages: [{ role: "user", content: "List three states." }],
    n: 2,
    seed: 1,
    max_tokens: 64,
    temperature: 1.2,
    top_p: 0.8,
    logit_bias: { "14444": -100 },
    logprobs: true,
    top_logprobs: 2,
    frequency_penalty: 1.2,
    presence_penalty: 1,
    repetition_penalty: 1.1,
    ignore_eos: true,
  };
  const reply: webllm.ChatCompletion = await engine.chat.completions.create(request);
  const again = await engine.chatCompletion(request);
  console.log(again.choices[0].message.content, reply.choices[0].logprobs?.content);
  return [
    reply.usage?.extra.prefill_tokens_per_s || 0,
    reply.usage?.extra.decode_tokens_per_s || 0,
    reply.usage?.extra.e2e_latency_s || 0,
    reply.usage?.extra.time_to_first_token_s || 0,
    reply.usage?.extra.time_per_output_token_s || 0,
  ];
}

async function streamed(
  engine: webllm.MLCEngineInterface,
  request: webllm.ChatCompletionRequestStreaming,
): Promise<string> {
  let text = "", usage: webllm.CompletionUsage | undefined;
  const chunks: AsyncIterable<webllm.ChatCompletionChunk> = await engine.chat.completions.create(
    request,
  );
  for await (const chunk of chunks) {
    text += chunk.choices[0]?.delta?.content || "";
    if (chunk.usage) usage = chunk.usage;
  }
  return `${text} ${usage?.extra.decode_tokens_per_s.toFixed(4)}`;
}

/** streaming, qwen3: one variable takes requests of both kinds; the history is rewritten. */
export async function thinking(engine: webllm.MLCEngineInterface): Promise<void> {
  let request: webllm.ChatCompletionRequest = {
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "How many letters?" }],
    extra_body: { enable_thinking: false },
  };
  await streamed(engine, request);
  const history: webllm.ChatCompletionMessageParam[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    { role: "assistant", content: "<think>so</think>Yes." },
  ];
  const spoken = history.map((message) =>
    message.role === "assistant"
      ? { ...message, content: message.content!.replace(/<think>.*?<\/think>/s, "").trim() }
      : message
  );
  const next: webllm.ChatCompletionMessageParam = { role: "user", content: "And now?" };
  request = { stream: true, messages: [...spoken, next] };
  await streamed(engine, request);
}

/** function-calling, structural-tag-tool-use: tools, and calls held in shape. */
export async function tools(engine: webllm.MLCEngineInterface): Promise<void> {
  const tools: Array<webllm.ChatCompletionTool> = [{
    type: "function",
    function: {
      name: "weather",
      description: "The weather of a city.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  }];
  const request: webllm.ChatCompletionRequest = {
    stream: true,
    messages: [{ role: "user", content: "The weather in Oslo?" }],
    tool_choice: "auto",
    tools,
  };
  if (!request.stream) {
    console.log((await engine.chat.completions.create(request)).choices[0]);
  } else {
    let last: webllm.ChatCompletionChunk | undefined;
    for await (const chunk of await engine.chat.completions.create(request)) last = chunk;
    console.log(last!.choices[0].delta, last!.usage);
  }
  const tag = {
    type: "structural_tag",
    format: {
      type: "triggered_tags",
      triggers: ["<tool_call>"],
      tags: tools.map(({ function: { name, parameters } }) => ({
        begin: `<tool_call>\n{"name": "${name}", "arguments": `,
        content: { type: "json_schema", json_schema: parameters },
        end: "}\n</tool_call>",
      })),
      at_least_one: true,
    },
  } as const;
  const format: webllm.ResponseFormat = { type: "structural_tag", structural_tag: tag };
  const messages: webllm.ChatCompletionMessageParam[] = [{ role: "user", content: "Go." }];
  const reply = await engine.chat.completions.create({ messages, response_format: format });
  messages.push({
    role: "assistant",
    content: reply.choices[0].message.content ?? "",
    tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
  } as webllm.ChatCompletionMessageParam);
  messages.push({ role: "tool", tool_call_id: "a", content: "rain" });
}

/** json-mode, json-schema: a schema as text. */
export async function shapes(engine: webllm.MLCEngineInterface): Promise<void> {
  const messages: webllm.ChatCompletionMessageParam[] = [{ role: "user", content: "As JSON." }];
  const formats = [
    { type: "json_object" } as webllm.ResponseFormat,
    { type: "json_object", schema: '{"type": "object"}' } as webllm.ResponseFormat,
    { type: "grammar", grammar: 'root ::= "a"' } as webllm.ResponseFormat,
  ];
  for (const response_format of formats) {
    const request: webllm.ChatCompletionRequest = { messages, response_format, max_tokens: 64 };
    await engine.chatCompletion(request);
  }
}

/** text-completion, embeddings. */
export async function others(engine: webllm.MLCEngineInterface): Promise<number[][]> {
  const reply = await engine.completions.create({
    prompt: "Three states: ",
    echo: true,
    n: 2,
    max_tokens: 64,
    logprobs: true,
    top_logprobs: 2,
  });
  const request: webllm.CompletionCreateParams = { prompt: "More: ", stream: true };
  for await (const chunk of await engine.completion(request)) console.log(chunk.choices[0]?.text);
  console.log(reply.choices[0].text, reply.usage);
  const asked: webllm.EmbeddingCreateParams = { input: ["one", "two"], model: MODEL };
  console.log((await engine.embedding(asked)).usage);
  const vectors = await engine.embeddings.create({ input: ["one", "two"] });
  return vectors.data.map((one) => one.embedding);
}

/** cache-usage, integrity-verification. */
export async function kept(): Promise<boolean> {
  await webllm.deleteModelInCache(MODEL, appConfig);
  await webllm.deleteChatConfigInCache(MODEL, appConfig);
  await webllm.deleteModelWasmInCache(MODEL, appConfig);
  await webllm.deleteModelAllInfoInCache(MODEL, appConfig);
  try {
    await webllm.CreateMLCEngine(MODEL, { appConfig });
  } catch (error) {
    if (error instanceof webllm.IntegrityError) {
      console.log(error.url, error.expected, error.actual);
    }
  }
  return await webllm.hasModelInCache(MODEL, appConfig);
}

/** web-worker, service-worker. */
export function handlers(): (event: MessageEvent) => void {
  const handler = new webllm.WebWorkerMLCEngineHandler();
  new webllm.ServiceWorkerMLCEngineHandler();
  return (event) => handler.onmessage(event);
}
