// The decisions that the page shares with the apps: apps/vectors. What the page does not have, the
// kinds below name.

import { Clock } from "/page/logic/answer.js";
import { evaluate } from "/page/logic/calculator.js";
import * as chats from "/page/logic/chats.js";
import { limitOf, oldestToDrop, overflows, promptTokens } from "/page/logic/context.js";
import { fileName, toJson, toMarkdown } from "/page/logic/export.js";
import * as pictures from "/page/logic/pictures.js";
import { messagesOfRequest } from "/page/logic/request.js";
import { statsText } from "/page/logic/statistics.js";
import { REFUSAL, runTool } from "/page/logic/tools.js";
import english from "/page/texts/en.json" with { type: "json" };
import chatCases from "/vectors/chats.json" with { type: "json" };
import contextCases from "/vectors/context.json" with { type: "json" };
import exportCases from "/vectors/export.json" with { type: "json" };
import pictureCases from "/vectors/pictures.json" with { type: "json" };
import statisticsCases from "/vectors/statistics.json" with { type: "json" };
import toolCases from "/vectors/tools.json" with { type: "json" };
import { equal, test } from "./harness.js";

const NOT_HERE = new Set(["import", "benchmark", "bytes"]);
const WORDS = {
  user: "You",
  assistant: "Model",
  tool: "Tool",
  system: "System prompt",
  reasoning: "Thoughts",
  picture: "Picture",
};
const TEXTS = {
  t: (key, values = {}) => english[key].replace(/\{(\w+)\}/g, (_, name) => values[name]),
  counted: (key, _, values) => TEXTS.t(key, values), // the vectors have one form for all numbers
  number(value, digits = 0) {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return new Intl.NumberFormat("en", options).format(value);
  },
};

// A chat of the vectors, which leave out what they do not need.
const stored = (chat) => chats.readChat({ id: "c", created: 0, version: chats.VERSION, ...chat });

function context(chat, model) {
  const count = (text) => text.length;
  const limit = limitOf(chat, { context_window_size: model });
  return {
    limit,
    prompt_tokens: promptTokens(chat, count),
    overflows: overflows(chat, limit, count),
    drop: limit === null ? null : oldestToDrop(chat, limit, count),
  };
}

function edited(chat, op, id) {
  (op === "cut" ? chats.cutAt : chats.cutAnswer)(chat, id);
  return { messages: chat.messages.map((message) => message.id), dropped: chat.dropped };
}

function statistics({ usage, times, finish, model }) {
  const clock = new Clock(times.begin_ms);
  Object.assign(clock, { first: times.first_ms, chunks: times.chunks });
  const stats = clock.stats(usage, times.end_ms);
  return { stats, line: statsText({ stats, model, finish }, TEXTS) };
}

function calculated(expression) {
  try {
    return { result: evaluate(expression) };
  } catch (error) {
    return { error: error.message };
  }
}

function pictureSteps({ events }) {
  let [chosen, takes] = [pictures.NO_PICTURES, null];
  const sent = [];
  const acts = {
    model: (value) => chosen = pictures.forModel(chosen, takes = value),
    choose: (url) => chosen = pictures.choose(chosen, url, takes),
    take_back: (at) => chosen = pictures.takeBack(chosen, at),
    send: () => {
      const found = pictures.send(chosen, takes);
      sent.push(found.sent);
      chosen = found.left;
    },
  };
  for (const [act, value] of events) acts[act](value);
  return { urls: chosen.urls, left_out: chosen.leftOut, sent };
}

const ANSWERS = {
  title: ({ chat }) => ({ title: chats.titleOf(stored(chat)) }),
  search: ({ chat, search }) => ({ found: chats.matches(stored(chat), search) }),
  markdown: ({ chat }) => ({ text: toMarkdown(stored(chat), WORDS) }),
  file_name: ({ chat, ending }) => ({ name: fileName(stored(chat), ending) }),
  messages: ({ chat }) => ({ messages: messagesOfRequest(stored(chat)) }),
  edit: ({ chat, op, id }) => edited(stored(chat), op, id),
  open_calls: ({ chat }) => ({ calls: chats.openCalls(stored(chat)).map((call) => call.id) }),
  context: ({ chat, model_context: model }) => context(stored(chat), model),
  export: (input) => JSON.parse(toJson(input.chats.map(stored))),
  statistics,
  calculator: ({ expression }) => calculated(expression),
  tool: (input) => JSON.parse(runTool(input.name, input.arguments)),
  clock: ({ arguments: text, now_ms: now, own_zone: zone }) =>
    JSON.parse(runTool("clock", text, new Date(now), zone)),
  pictures: pictureSteps,
  refusal: () => JSON.parse(REFUSAL),
};

// Objects without members that are null, in one order; numbers to 12 digits.
function plain(value) {
  if (typeof value === "number") return Number(value.toPrecision(12));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.sort().map(([name, member]) => [name, plain(member)]));
}

const FILES = {
  chatCases,
  contextCases,
  exportCases,
  pictureCases,
  statisticsCases,
  toolCases,
};
for (const [file, { cases }] of Object.entries(FILES)) {
  cases.forEach(({ name, kind, input, output }, at) => {
    if (NOT_HERE.has(kind)) return;
    test(`${file} ${at}: ${name}`, () => equal(plain(ANSWERS[kind](input)), plain(output)));
  });
}
