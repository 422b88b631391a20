// A chat and its messages: how they are made, changed and found. No browser is needed.
//
// A chat is {id, version, title, created, updated, model, settings, messages, dropped}. `dropped`
// is the number of oldest messages that the model no longer gets. A message is {id, role, content}
// with `pictures` (user), or `reasoning`, `calls`, `stats`, ... (assistant), or `call` (tool).

export const VERSION = 1;
const TITLE_LENGTH = 48;

export const DEFAULT_SETTINGS = {
  system: "",
  temperature: null,
  top_p: null,
  max_tokens: null,
  context: null,
  seed: null,
  schema: "",
  extra: "",
  tools: [],
};

// `crypto.randomUUID` is missing where a page comes over plain HTTP from another machine.
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newChat(settings, now) {
  return {
    id: newId(),
    version: VERSION,
    title: "",
    created: now,
    updated: now,
    model: "",
    settings: structuredClone({ ...DEFAULT_SETTINGS, ...settings }),
    messages: [],
    dropped: 0,
  };
}

export function userMessage(content, pictures) {
  return { id: newId(), role: "user", content, pictures };
}

export function assistantMessage() {
  const id = newId();
  return { id, role: "assistant", content: "", reasoning: "", calls: [], model: "", finish: null };
}

export function toolMessage(call, content) {
  return { id: newId(), role: "tool", call: call.id, name: call.name, content };
}

// The title that the user gave, or the beginning of the first message.
export function titleOf(chat) {
  if (chat.title) return chat.title;
  const first = chat.messages.find((message) => message.role === "user");
  const text = (first?.content ?? "").replace(/\s+/g, " ").trim();
  return text.length > TITLE_LENGTH ? `${text.slice(0, TITLE_LENGTH - 1).trimEnd()}…` : text;
}

// Whether every word of the search occurs in the chat.
export function matches(chat, search) {
  const words = search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const texts = [titleOf(chat), ...chat.messages.map((message) => message.content)];
  const text = texts.join("\n").toLocaleLowerCase();
  return words.every((word) => text.includes(word));
}

// Removes the message and everything behind it.
export function cutAt(chat, id) {
  const at = chat.messages.findIndex((message) => message.id === id);
  if (at < 0) return;
  chat.messages.length = at;
  if (chat.dropped >= at) chat.dropped = 0;
}

// The answer to a user's message begins here: removes what came behind that message.
export function cutAnswer(chat, id) {
  let at = chat.messages.findIndex((message) => message.id === id);
  while (at >= 0 && chat.messages[at].role !== "user") at--;
  if (at >= 0 && at + 1 < chat.messages.length) cutAt(chat, chat.messages[at + 1].id);
}

// The calls of the last answer that have no result yet.
export function openCalls(chat) {
  const at = chat.messages.findLastIndex((message) => message.role === "assistant");
  const calls = chat.messages[at]?.calls ?? [];
  const done = new Set(chat.messages.slice(at + 1).map((message) => message.call));
  return calls.filter((call) => call && !done.has(call.id));
}

// A stored chat as this version reads it, or null if it is none.
export function readChat(stored) {
  const isChat = stored?.version === VERSION && typeof stored.id === "string" &&
    Array.isArray(stored.messages);
  if (!isChat) return null;
  const settings = { ...DEFAULT_SETTINGS, ...stored.settings };
  return { ...newChat(settings, stored.created), ...stored, settings };
}
