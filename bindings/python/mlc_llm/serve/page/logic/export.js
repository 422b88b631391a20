// A chat as a file: JSON with everything, or Markdown to read.

import { titleOf, VERSION } from "./chats.js";

// One chat or several: {"format", "version", "chats"}.
export function toJson(chats) {
  return JSON.stringify({ format: "mlc_llm.chats", version: VERSION, chats }, null, 2) + "\n";
}

// `words`: {user, assistant, tool, system, reasoning} in the user's language.
export function toMarkdown(chat, words) {
  const parts = [`# ${titleOf(chat)}`];
  const system = chat.settings.system.trim();
  if (system) parts.push(`## ${words.system}`, system);
  for (const message of chat.messages) parts.push(...partsOf(message, words));
  return parts.join("\n\n") + "\n";
}

function partsOf(message, words) {
  const parts = [`## ${words[message.role]}`];
  if (message.pictures?.length) parts.push(`(${message.pictures.length} × ${words.picture})`);
  if (message.reasoning) parts.push(`### ${words.reasoning}`, quoted(message.reasoning));
  for (const call of message.calls ?? []) {
    parts.push(fenced(`${call.name}(${call.arguments})`, "text"));
  }
  if (message.role === "tool") parts.push(fenced(message.content, "json"));
  else if (message.content) parts.push(message.content);
  return parts;
}

const quoted = (text) => text.trim().split("\n").map((line) => `> ${line}`).join("\n");

// A fence that is longer than every run of backticks in the text.
function fenced(text, language) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

// A name for the file that every file system takes.
export function fileName(chat, ending) {
  const name = titleOf(chat).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return `${name.slice(0, 60) || "chat"}.${ending}`;
}
