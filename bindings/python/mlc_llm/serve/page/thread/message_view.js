// One message of the conversation.

import { counted, number, t } from "../io/texts.js";
import { callView, pretty } from "./call_view.js";
import { statsText } from "../logic/statistics.js";
import { h, smallButton } from "../view/dom.js";
import { codeBlock, copyButton, MarkdownView } from "./markdown_view.js";

// `actions`: {edit(message, text), retry(message), decide(call, isAllowed)}. `state`: {results,
// isOpen(call), isRunning(), isDropped, pieces}.
export class MessageView {
  constructor(message, actions, state) {
    this.message = message;
    this.actions = actions;
    this.state = state;
    const isDropped = state.isDropped ? " dropped" : "";
    this.element = h("article", { class: message.role + isDropped, "data-id": message.id });
    this.build();
  }

  // Whether this view shows the message in this state. Calls can change at any time.
  shows(message, state) {
    const isSame = this.message === message && this.state.isDropped === state.isDropped;
    return isSame && !this.isEdited && !message.calls?.length && this.isWhole;
  }

  build() {
    this.isEdited = false;
    const { message, state } = this;
    const who = h("span", { class: "unseen" }, t(`role.${message.role}`));
    const note = state.isDropped ? h("p", { class: "quiet" }, t("context.dropped")) : null;
    const parts = message.role === "user" ? this.userParts() : this.assistantParts();
    this.element.replaceChildren(who, ...[note, ...parts].filter(Boolean));
  }

  userParts() {
    this.isWhole = true;
    const { content, pictures } = this.message;
    const shown = (pictures ?? []).map((url, at) => (
      h("img", { src: url, alt: t("pictures.one", { number: at + 1 }) })
    ));
    const body = h("div", { class: "body", dir: "auto" }, content);
    const foot = h(
      "div",
      { class: "foot" },
      copyButton(t("copy"), () => content),
      smallButton(t("edit"), () => this.edit(), { class: "small edit-message" }),
    );
    const row = shown.length > 0 ? h("div", { class: "pictures" }, ...shown) : null;
    return [row, content ? body : null, foot];
  }

  assistantParts() {
    this.thoughts = h("div", { dir: "auto" });
    const title = h("summary", {}, t("reasoning"));
    this.thoughtsBox = h("details", { class: "thoughts" }, title, this.thoughts);
    this.markdown = new MarkdownView(this.state.pieces);
    this.calls = h("div", {});
    this.foot = h("div", { class: "foot" });
    this.update();
    return [this.thoughtsBox, this.markdown.element, this.calls, this.foot];
  }

  // Shows what was added to an answer.
  update() {
    const { message } = this;
    this.thoughtsBox.hidden = !message.reasoning;
    if (this.thoughts.textContent.length !== message.reasoning.length) {
      this.thoughts.textContent = message.reasoning;
    }
    this.isWhole = Boolean(message.stats);
    if (message.structured && this.isWhole) this.showStructured();
    else this.markdown.show(message.content, this.isWhole);
    this.showCalls();
    this.showFoot();
  }

  showCalls() {
    const { message, state, actions } = this;
    const shown = message.calls.filter(Boolean).map((call) => {
      const decide = state.isOpen(call) ? (isAllowed) => actions.decide(call, isAllowed) : null;
      return callView(call, state.results.get(call.id), decide);
    });
    this.calls.replaceChildren(...shown);
  }

  showFoot() {
    const { message, actions } = this;
    if (!message.stats) return this.foot.replaceChildren();
    const stats = h("span", { class: "stats quiet" }, statsText(message, { t, counted, number }));
    this.foot.replaceChildren(
      stats,
      copyButton(t("copy"), () => message.content),
      smallButton(t("retry"), () => actions.retry(message), { class: "small retry" }),
    );
  }

  // A structured answer is JSON; it is shown with line breaks.
  showStructured() {
    const text = pretty(this.message.content);
    this.markdown.showOnly(codeBlock({ language: "json", text }));
  }

  edit() {
    if (this.state.isRunning()) return;
    this.isEdited = true;
    const area = h("textarea", { rows: "3", dir: "auto", "aria-label": t("edit.label") });
    area.value = this.message.content;
    const cancel = () => {
      this.build();
      this.element.querySelector(".edit-message")?.focus();
    };
    const save = () => this.actions.edit(this.message, area.value.trim());
    const form = h(
      "form",
      { class: "edit" },
      area,
      h(
        "div",
        { class: "row" },
        h("button", { class: "main small" }, t("edit.send")),
        smallButton(t("cancel"), cancel),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      save();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") cancel();
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      if (event.target !== area) return;
      event.preventDefault();
      save();
    });
    this.element.replaceChildren(form);
    area.focus();
  }
}
