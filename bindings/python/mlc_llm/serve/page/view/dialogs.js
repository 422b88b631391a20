// Dialogs: a question, a text to enter, a list of actions, the keyboard's shortcuts.

import { t } from "../io/texts.js";
import { h } from "./dom.js";

// Opens a dialog with a title. The browser keeps the focus inside and gives it back at the end;
// Escape closes. Returns {dialog, closed}: `closed` becomes the dialog's return value.
export function openDialog(title, ...children) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const form = h("form", { method: "dialog" }, heading, ...children);
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, form);
  document.body.append(dialog);
  const closed = new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
  dialog.showModal();
  return { dialog, closed };
}

const ok = (text) => h("button", { class: "main", value: "ok" }, text);
const cancel = () => h("button", { value: "", formnovalidate: true }, t("cancel"));

// Whether the user agrees.
export async function confirm(title, action) {
  const { closed } = openDialog(title, h("div", { class: "row" }, ok(action), cancel()));
  return (await closed) === "ok";
}

// The text that the user enters, or null.
export async function ask(title, value, { type = "text" } = {}) {
  const field = h("input", {
    type,
    "aria-labelledby": "dialog-title",
    value,
    autofocus: true,
    autocomplete: "off",
    dir: "auto",
  });
  const { closed } = openDialog(title, field, h("div", { class: "row" }, ok(t("ok")), cancel()));
  field.select();
  return (await closed) === "ok" ? field.value.trim() : null;
}

// The value of the chosen action, or "". `actions`: [value, text].
export function choose(title, actions) {
  const buttons = actions.map(([value, text]) => h("button", { value }, text));
  return openDialog(title, ...buttons, cancel()).closed;
}

// `shortcuts`: [keys, text].
export function showShortcuts(shortcuts) {
  const rows = shortcuts.map(([keys, text]) =>
    h("li", {}, h("span", {}, text), h("kbd", {}, keys))
  );
  const close = h("button", { class: "main", autofocus: true }, t("close"));
  return openDialog(t("keys"), h("ul", {}, ...rows), close).closed;
}
