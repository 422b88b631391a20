// Markdown in elements. While a text grows, only its last blocks are made again.

import { finalLength, parseMarkdown } from "../logic/markdown.js";
import { t } from "../io/texts.js";
import { copyText, h, smallButton } from "../view/dom.js";

const OWN_DIRECTION = new Set(["p", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "td", "th"]);
const SHOWN_MS = 1500; // how long a button says that it has copied

export class MarkdownView {
  constructor() {
    this.final = h("div", { class: "markdown" });
    this.tail = h("div", { class: "markdown" });
    this.element = h("div", { class: "body" }, this.final, this.tail);
    this.length = 0; // characters of the text that are in `final`
    this.tree = []; // the blocks in `tail`
  }

  // Shows a text that begins with the text shown before.
  show(text) {
    const length = finalLength(text, this.length);
    if (length > this.length) {
      this.final.append(...parseMarkdown(text.slice(this.length, length)).map(elementOf));
      this.tail.replaceChildren();
      this.tree = [];
      this.length = length;
    }
    const tree = parseMarkdown(text.slice(this.length));
    patchChildren(this.tail, this.tree, tree);
    this.tree = tree;
  }
}

// Makes the children of `parent`, which show the nodes `old`, show the nodes `fresh`.
function patchChildren(parent, old, fresh) {
  for (const [at, node] of fresh.entries()) {
    if (at < old.length) patch(parent.childNodes[at], old[at], node);
    else parent.append(elementOf(node));
  }
  while (parent.childNodes.length > fresh.length) parent.lastChild.remove();
}

function patch(element, old, fresh) {
  const isText = typeof old === "string" && typeof fresh === "string";
  if (isText) return patchText(element, old, fresh);
  if (!isSameKind(old, fresh)) return element.replaceWith(elementOf(fresh));
  if (fresh.tag === "codeblock") {
    return patchText(element.querySelector("code").firstChild, old.text, fresh.text);
  }
  const inside = fresh.tag === "table" ? element.firstChild : element;
  patchChildren(inside, old.children ?? [], fresh.children ?? []);
}

function patchText(element, old, fresh) {
  if (old === fresh) return;
  if (fresh.startsWith(old)) element.appendData(fresh.slice(old.length));
  else element.data = fresh;
}

function isSameKind(old, fresh) {
  if (old.tag !== fresh.tag || old.language !== fresh.language) return false;
  const [before, now] = [old.attributes ?? {}, fresh.attributes ?? {}];
  for (const name in { ...before, ...now }) if (before[name] !== now[name]) return false;
  return true;
}

function elementOf(node) {
  if (typeof node === "string") return document.createTextNode(node);
  if (node.tag === "codeblock") return codeBlock(node);
  const direction = OWN_DIRECTION.has(node.tag) ? { dir: "auto" } : {};
  const children = (node.children ?? []).map(elementOf);
  const element = h(node.tag, { ...direction, ...node.attributes }, ...children);
  if (node.tag !== "table") return element;
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": t("table") },
    element,
  );
}

export function codeBlock({ language, text }) {
  const code = h("code", {}, document.createTextNode(text));
  const copy = copyButton(t("copy_code"), () => code.textContent);
  const name = t("code");
  const pre = h("pre", { tabindex: "0", dir: "ltr", role: "region", "aria-label": name }, code);
  const head = h("div", { class: "head" }, h("span", { dir: "ltr" }, language || name), copy);
  return h("div", { class: "codeblock" }, head, pre);
}

// A button that copies a text and says so for a moment.
export function copyButton(name, text) {
  const button = smallButton(name, async () => {
    await copyText(text());
    button.textContent = t("copied");
    setTimeout(() => (button.textContent = name), SHOWN_MS);
  });
  return button;
}
