/** Requests as a user writes them: the compiler checks their types (vectors, kind `build`). */

import { picture as pictureOf } from "../../../bindings/web/src/chat/picture.ts";
import type {
  ChatCompletionMessage,
  ChatCompletionRequest,
  ChatCompletionTool,
  DetokenizeRequest,
} from "../../../bindings/web/src/protocol/types.gen.ts";

const HI: ChatCompletionMessage = { role: "user", content: "Hi" };
const messages = [HI];

const warmth: ChatCompletionMessage[] = [
  { role: "user", name: "Zo\u00eb", content: "How warm is it in \u6771\u4eac?" },
  {
    role: "assistant",
    tool_calls: [{
      id: "call_0",
      type: "function",
      function: { name: "warmth", arguments: '{"city": "\u6771\u4eac"}' },
    }],
  },
  { role: "tool", tool_call_id: "call_0", content: "21.5" },
];
const picture: ChatCompletionMessage = {
  role: "user",
  content: [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "high" } },
  ],
};
const seen = await pictureOf(Uint8Array.of(0), { detail: "original" });
const f: ChatCompletionTool = {
  type: "function",
  function: { name: "f", description: "d", parameters: { type: "object" }, strict: true },
};

const chats: Record<string, ChatCompletionRequest> = {
  build_one_user_message: { messages: [{ role: "user", content: "Hi" }] },
  build_sampling: {
    messages,
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 5,
    seed: 7,
    n: 2,
    stop: ["a", "b"],
    frequency_penalty: -1,
    logit_bias: { 17: 2.5 },
    logprobs: true,
    top_logprobs: 3,
  },
  build_stream_options: { messages, stream: true, stream_options: { include_usage: true } },
  build_text_and_image: { messages: [picture] },
  build_picture_of_bytes: {
    messages: [{ role: "user", content: [seen, { type: "text", text: "What is this?" }] }],
  },
  build_tool_conversation: { messages: warmth },
  build_tools: {
    messages,
    tools: [f],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
  },
  build_tool_choice_word: { messages, tool_choice: "required" },
  build_json_schema: {
    messages,
    response_format: {
      type: "json_schema",
      json_schema: { name: "s", schema: { type: "object" }, strict: true },
    },
  },
  build_json_object: { messages, response_format: { type: "json_object" } },
  build_stop_text: { messages, stop: "end" },
  build_debug: { messages, debug_config: { ignore_eos: true } },
};
const detokenize: DetokenizeRequest = { tokens: [1, 2], skip_special_tokens: false };

export const BUILT: Record<string, object> = { ...chats, build_detokenize: detokenize };
