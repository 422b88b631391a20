// The body of a request: from a chat and its settings to OpenAI's fields.

import { toolsOfRequest } from "./tools.js";

const NUMBERS = ["temperature", "top_p", "max_tokens", "seed"];

// A setting that cannot be sent. `setting`: which one; `detail`: the parser's words.
export class SettingError extends Error {
  constructor(setting, detail) {
    super(`${setting}: ${detail}`);
    this.setting = setting;
    this.detail = detail;
  }
}

export function requestBody(chat, model) {
  const { settings } = chat;
  const body = {
    model: model || undefined,
    messages: messagesOfRequest(chat),
    stream: true,
    stream_options: { include_usage: true },
  };
  for (const name of NUMBERS) if (settings[name] !== null) body[name] = settings[name];
  if (settings.schema.trim()) {
    const schema = parseObject(settings.schema, "schema");
    body.response_format = { type: "json_schema", json_schema: { name: "answer", schema } };
  }
  const tools = toolsOfRequest(settings.tools);
  if (tools.length > 0) body.tools = tools;
  if (settings.extra.trim()) Object.assign(body, parseObject(settings.extra, "extra"));
  return body;
}

// The messages that the model gets: the system prompt, and all that were not dropped.
export function messagesOfRequest(chat) {
  const system = chat.settings.system.trim();
  const kept = chat.messages.slice(chat.dropped).map(messageOfRequest);
  return system ? [{ role: "system", content: system }, ...kept] : kept;
}

function messageOfRequest(message) {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.call, content: message.content };
  }
  if (message.role === "user") return { role: "user", content: contentOf(message) };
  const out = { role: "assistant", content: message.content };
  if (message.calls.length > 0) {
    out.tool_calls = message.calls.map(({ id, name, arguments: text }) => (
      { id, type: "function", function: { name, arguments: text } }
    ));
  }
  return out;
}

function contentOf({ content, pictures }) {
  if (!pictures?.length) return content;
  const parts = pictures.map((url) => ({ type: "image_url", image_url: { url } }));
  return content ? [...parts, { type: "text", text: content }] : parts;
}

function parseObject(text, setting) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SettingError(setting, error.message);
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject) throw new SettingError(setting, "{…}?");
  return value;
}
