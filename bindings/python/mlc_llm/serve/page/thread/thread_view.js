// The conversation: all messages of a chat, and the one that grows.

import { openCalls } from "../logic/chats.js";
import { t } from "../io/texts.js";
import { byId, h } from "../view/dom.js";
import { MessageView } from "./message_view.js";
import { Pieces } from "./pieces.js";

const NEAR_PX = 60; // so near to the end, the view follows the answer
const REST = 4; // a render is followed by a pause of this many times its duration

export class ThreadView {
  // `actions`: those of MessageView, and example(text). `isRunning()`: whether an answer is being generated.
  constructor(actions, isRunning) {
    this.element = byId("chat");
    this.actions = actions;
    this.isRunning = isRunning;
    this.views = new Map(); // by the message's id
    this.growing = null;
    this.timer = null;
    this.pieces = new Pieces((act) => this.keepEnd(act));
  }

  // Shows a chat from its beginning to its end. What is shown already stays as it is.
  show(chat) {
    this.stopGrowing();
    const tools = chat.messages.filter((message) => message.role === "tool");
    const results = new Map(tools.map((message) => [message.call, message.content]));
    const open = new Set(this.isRunning() ? [] : openCalls(chat));
    const common = this.common(results, (call) => open.has(call));
    const views = new Map();
    for (const [at, message] of chat.messages.entries()) {
      if (message.role === "tool") continue;
      const state = { ...common, isDropped: at < chat.dropped };
      const old = this.views.get(message.id);
      const view = old?.shows(message, state) ? old : new MessageView(message, this.actions, state);
      views.set(message.id, view);
    }
    this.views = views;
    const elements = [...views.values()].map((view) => view.element);
    this.place(elements.length > 0 ? elements : [emptyView(this.actions)]);
    this.toEnd();
  }

  // What the views of all messages get.
  common(results, isOpen) {
    return { results, isOpen, isRunning: this.isRunning, pieces: this.pieces };
  }

  // Makes these elements the children. Those that are children already are not moved.
  place(elements) {
    const wanted = new Set(elements);
    for (const child of [...this.element.children]) if (!wanted.has(child)) child.remove();
    for (const [at, element] of elements.entries()) {
      const there = this.element.children[at] ?? null;
      if (there !== element) this.element.insertBefore(element, there);
    }
  }

  // Makes everything again, for example in another language.
  clear() {
    this.stopGrowing();
    this.views = new Map();
    this.element.replaceChildren();
  }

  // Adds the view of a new answer, which `update` then lets grow.
  begin(message) {
    const state = { ...this.common(new Map(), () => false), isDropped: false };
    this.growing = new MessageView(message, this.actions, state);
    this.views.set(message.id, this.growing);
    this.element.querySelector(".empty")?.remove();
    this.element.append(this.growing.element);
    this.toEnd();
  }

  // The answer is complete.
  finish() {
    this.growing?.update();
    this.stopGrowing();
  }

  // Shows the answer's new text soon. The longer a render takes, the fewer there are.
  update() {
    this.timer ??= requestAnimationFrame(() => this.render());
  }

  render() {
    this.timer = null;
    if (this.growing === null) return;
    const begin = performance.now();
    this.keepEnd(() => this.growing.update());
    const pause = (performance.now() - begin) * REST;
    if (pause > 16) this.timer = setTimeout(() => this.render(), pause);
  }

  stopGrowing() {
    if (this.timer !== null) {
      cancelAnimationFrame(this.timer);
      clearTimeout(this.timer);
    }
    this.timer = null;
    this.growing = null;
  }

  // The view follows what is added, if it is at the end.
  keepEnd(act) {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    const follows = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    act();
    if (follows) this.toEnd();
  }

  toEnd() {
    this.element.scrollTop = this.element.scrollHeight;
  }
}

const EXAMPLES = ["empty.explain", "empty.write", "empty.code", "empty.table"];

// A chat without messages: what can be asked.
function emptyView({ example }) {
  const examples = EXAMPLES.map((key) => {
    const ask = () => example(t(key));
    return h("li", {}, h("button", { type: "button", onclick: ask }, t(key)));
  });
  return h(
    "div",
    { class: "empty" },
    h("img", { src: "page/icon.svg", alt: "", class: "mark" }),
    h("h2", {}, t("empty.title")),
    h("p", { class: "quiet" }, t("empty.text")),
    h("ul", { class: "examples" }, ...examples),
  );
}
