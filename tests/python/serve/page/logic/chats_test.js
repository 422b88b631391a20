import * as chats from "/page/logic/chats.js";
import { limitOf, oldestToDrop, overflows, promptTokens } from "/page/logic/context.js";
import { fileName, toJson, toMarkdown } from "/page/logic/export.js";
import { equal, test } from "./harness.js";

const WORDS = {
  user: "You",
  assistant: "Model",
  tool: "Tool",
  system: "System",
  reasoning: "Thoughts",
  picture: "Picture",
};

function chatOf(...texts) {
  const chat = chats.newChat({}, 0);
  for (const [at, content] of texts.entries()) {
    const isUser = at % 2 === 0;
    const message = isUser ? chats.userMessage(content, []) : chats.assistantMessage();
    chat.messages.push(Object.assign(message, { content }));
  }
  return chat;
}

function withCall(chat) {
  const message = chats.assistantMessage();
  message.calls = [{ id: "c", name: "clock", arguments: "{}" }, {
    id: "d",
    name: "x",
    arguments: "",
  }];
  chat.messages.push(message);
  return chat;
}

test("a title is the beginning of the first message, on one line", () => {
  equal(chats.titleOf(chatOf("Hello\n  there")), "Hello there");
  equal(chats.titleOf(chatOf("word ".repeat(30))).length <= 48, true);
  equal(chats.titleOf({ ...chatOf("Hello"), title: "Mine" }), "Mine");
  equal(chats.titleOf(chatOf()), "");
});

test("a search finds chats with all its words, in any case", () => {
  const chat = chatOf("About Whales", "They are große Tiere.");
  const found = ["whales", "GROSSE", "große whales", "birds", ""].map((s) =>
    chats.matches(chat, s)
  );
  equal(found, [true, false, true, false, true]);
});

test("a cut removes the message and what is behind it", () => {
  const chat = chatOf("a", "b", "c", "d");
  chat.dropped = 2;
  chats.cutAt(chat, chat.messages[2].id);
  equal(chat.messages.map((message) => message.content), ["a", "b"]);
  equal(chat.dropped, 0); // nothing would be left for the model
});

test("a retry goes back to the user's message, over tool calls too", () => {
  const chat = withCall(chatOf("a", "b", "c"));
  chat.messages.push(chats.toolMessage({ id: "c", name: "clock" }, "1"), chats.assistantMessage());
  chats.cutAnswer(chat, chat.messages.at(-1).id);
  equal(chat.messages.map((message) => message.content), ["a", "b", "c"]);
});

test("calls are open until they have a result", () => {
  const chat = withCall(chatOf("a"));
  equal(chats.openCalls(chat).map((call) => call.id), ["c", "d"]);
  chat.messages.push(chats.toolMessage({ id: "c", name: "clock" }, "1"));
  equal(chats.openCalls(chat).map((call) => call.id), ["d"]);
  equal(chats.openCalls(chatOf("a", "b")), []);
  equal(chats.openCalls(chatOf()), []);
});

test("stored chats get settings that are new, and others are no chats", () => {
  const stored = { ...chatOf("a"), settings: { system: "Be brief." } };
  equal(chats.readChat(stored).settings.tools, []);
  equal(chats.readChat(stored).settings.system, "Be brief.");
  equal([null, {}, { ...stored, version: 99 }].map(chats.readChat), [null, null, null]);
});

const words = (text) => text.split(" ").filter(Boolean).length;

test("the context is the smaller limit", () => {
  const chat = chatOf("a");
  equal(limitOf(chat, { context_window_size: 100 }), 100);
  equal(limitOf(chat, undefined), null);
  chat.settings.context = 50;
  equal(limitOf(chat, { context_window_size: 100 }), 50);
});

test("a prompt is counted with its system prompt and without dropped messages", () => {
  const chat = chatOf("one two", "three", "four");
  equal(promptTokens(chat, words), 4 + 3 * 8);
  chat.settings.system = "be brief";
  chat.dropped = 2;
  equal(promptTokens(chat, words), 3 + 2 * 8);
});

test("there must be room for an answer", () => {
  const chat = chatOf("one two");
  equal([13, 14, null].map((limit) => overflows(chat, limit, words)), [false, false, false]);
  equal([12, 10].map((limit) => overflows(chat, limit, words)), [true, true]);
  chat.settings.max_tokens = 1;
  equal(overflows(chat, 12, words), false);
});

test("whole turns are dropped, the oldest first, never the last one", () => {
  const turn = ["word ".repeat(20), "word ".repeat(20)];
  const chat = chatOf(...turn, ...turn, ...turn, "last");
  equal(oldestToDrop(chat, 200, words), 2);
  equal(oldestToDrop(chat, 100, words), 4);
  equal(oldestToDrop(chat, 5, words), 6);
  equal(oldestToDrop({ ...chat, dropped: 2 }, 1000, words), 4); // at least one more
  equal(oldestToDrop(chatOf("last"), 5, words), null);
});

test("an export as JSON has everything", () => {
  const chat = withCall(chatOf("a", "b", "c"));
  const read = JSON.parse(toJson([chat]));
  equal(read.chats, JSON.parse(JSON.stringify([chat])));
  equal([read.format, read.version], ["mlc_llm.chats", 1]);
});

test("an export as Markdown keeps what would break it", () => {
  const chat = withCall(chatOf("Use ```", "```\ncode\n```", "go"));
  chat.messages[0].pictures = ["data:,"];
  chat.messages[3].reasoning = "one\ntwo";
  chat.messages.push(chats.toolMessage({ id: "c", name: "clock" }, "a ``` b"));
  equal(
    toMarkdown(chat, WORDS),
    [
      "# Use ```",
      "## You",
      "(1 × Picture)",
      "Use ```",
      "## Model",
      "```\ncode\n```",
      "## You",
      "go",
      "## Model",
      "### Thoughts",
      "> one\n> two",
      "```text\nclock({})\n```",
      "```text\nx()\n```",
      "## Tool",
      "````json\na ``` b\n````\n",
    ].join("\n\n"),
  );
});

test("a file name has letters and digits of any language", () => {
  const names = ["../a: b?", "مرحبا بك", "!!!", "x".repeat(100)].map((title) => (
    fileName({ ...chatOf(), title }, "md")
  ));
  equal(names, ["a-b.md", "مرحبا-بك.md", "chat.md", `${"x".repeat(60)}.md`]);
});
