/** Runs the vectors of the kind `tools`. */

import { type Tool, tool, toolEvents } from "../../../bindings/web/src/chat/tool_loop.ts";
import * as codecs from "../../../bindings/web/src/protocol/codecs.gen.ts";
import type { ToolRunEvent } from "../../../bindings/web/src/protocol/tools.gen.ts";
import type { ChatCompletionRequest } from "../../../bindings/web/src/protocol/types.gen.ts";
import { decode } from "../../../bindings/web/src/protocol/wire.ts";
import { check, cut, type Json } from "./paths.ts";

const TOOLS: Record<string, Tool> = {
  weather: tool({
    name: "weather",
    description: "The weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", default: 1 } },
      required: ["city"],
      additionalProperties: false,
    },
    run({ city, days }) {
      if (city === "Nowhere") throw new Error("no such city");
      return { city, days };
    },
  }),
  noon: tool({ name: "noon", parameters: { type: "object", properties: {} }, run: () => "at 12" }),
};

export async function runToolCase(kase: Json): Promise<void> {
  const names: string[] = kase.tools ?? Object.keys(TOOLS);
  const answers: Json[][] = [...kase.answers];
  const asked: ChatCompletionRequest[] = [];
  const tools = names.map((name) => TOOLS[name] as Tool);
  const ask = (request: ChatCompletionRequest) => {
    asked.push(structuredClone(request));
    const chunks = answers.shift() ?? [];
    return Promise.resolve((async function* () {
      for (const chunk of chunks) yield await decode(codecs.ChatCompletionChunk, chunk);
    })());
  };
  const events: ToolRunEvent[] = [];
  const approve = kase.deny && ((call: Json) => !kase.deny.includes(call.function.name));
  const options = { maxCalls: kase.max_calls, approve };
  for await (const event of toolEvents(ask, { ...kase.request, tools }, options)) {
    events.push(event);
  }
  if (kase.error) throw new Error("it began");
  check("number of requests", asked.length, kase.asked.length);
  asked.forEach((request, i) => {
    const { messages, tool_choice = null } = request;
    check("asked", cut({ messages, tool_choice }, kase.asked[i]), kase.asked[i]);
    check("tools", request.tools?.map((t) => t.function.name), names);
    check("strict", request.tools?.map((t) => t.function.strict), names.map(() => true));
    check("usage", request.stream_options, { include_usage: true });
  });
  const numChunks = kase.answers.reduce((n: number, answer: Json[]) => n + answer.length, 0);
  check("chunks", events.filter((event) => event.type === "chunk").length, numChunks);
  const told = events.filter((event) => event.type !== "chunk").map(tell);
  check("events", cut(told, kase.events), kase.events);
}

function tell(event: ToolRunEvent): Json {
  const { type } = event;
  if (type === "text") return { type, text: event.text };
  if (type === "call") return { type, name: event.call.function.name };
  if (type === "result") {
    return { type, outcome: event.result.outcome, content: event.result.content };
  }
  if (type === "chunk") return { type };
  const { completion, content, messages, numCalls, limitReached } = event.run;
  const ends = { content, num_calls: numCalls, limit_reached: limitReached };
  return { type, ...ends, messages, usage: completion.usage };
}
