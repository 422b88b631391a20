// Markdown in elements. While a text grows, only its last blocks are changed.

import { highlight } from "../logic/highlight.js";
import { finalLength, parseMarkdown } from "../logic/markdown.js";
import { parseMath } from "../logic/math.js";
import { t } from "../io/texts.js";
import { copyText, h, smallButton } from "../view/dom.js";

const OWN_DIRECTION = new Set(["p", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "td", "th"]);
const MATHML = "http://www.w3.org/1998/Math/MathML";
const SHOWN_MS = 1500; // how long a button says that it has copied

export class MarkdownView {
  // `pieces`: a `Pieces`, which the views of a page share.
  constructor(pieces) {
    this.pieces = pieces;
    this.element = h("div", { class: "body markdown" });
    this.text = "";
    this.shown = ""; // the text that the blocks below are of
    this.length = 0; // the characters of it whose blocks are final
    this.numFinal = 0; // those blocks
    this.tree = []; // the blocks behind them
    this.rest = []; // [element, nodes that it still gets], in the order of the text
    this.isWhole = false; // nothing more comes
    this.wasWhole = false; // when the blocks were made
  }

  // Shows a text that begins with the text shown before, the end of a long one in later frames.
  show(text, isWhole = false) {
    this.text = text;
    this.isWhole = isWhole;
    if (this.rest.length === 0) this.grow();
  }

  // Shows an element in place of the text.
  showOnly(element) {
    this.shown = this.text;
    this.rest = [];
    this.element.replaceChildren(element);
  }

  // The next piece.
  more() {
    const rest = this.rest;
    this.rest = [];
    for (const [parent, nodes] of rest) this.append(parent, nodes);
    if (this.rest.length > 0) this.pieces.later(this);
    else if (this.text !== this.shown || this.isWhole !== this.wasWhole) this.grow();
  }

  grow() {
    const length = finalLength(this.text, this.length);
    const done = parseMarkdown(this.text.slice(this.length, length));
    const growing = parseMarkdown(this.text.slice(length));
    const tree = this.isWhole ? withEnd(growing) : growing;
    this.wasWhole = this.isWhole;
    this.patchChildren(this.element, this.tree, [...done, ...tree], this.numFinal);
    this.numFinal += done.length;
    this.length = length;
    this.tree = tree;
    this.shown = this.text;
    if (this.rest.length > 0) this.pieces.later(this);
  }

  // Makes the children of `parent` from number `first` on, which show the nodes `old`, show the
  // nodes `fresh`.
  patchChildren(parent, old, fresh, first = 0) {
    for (const [at, node] of fresh.slice(0, old.length).entries()) {
      this.patch(parent.childNodes[first + at], old[at], node);
    }
    this.append(parent, fresh.slice(old.length));
    while (parent.childNodes.length > first + fresh.length) parent.lastChild.remove();
  }

  patch(element, old, fresh) {
    const isText = typeof old === "string" && typeof fresh === "string";
    if (isText) return patchText(element, old, fresh);
    if (!isSameKind(old, fresh)) return element.replaceWith(this.elementOf(fresh));
    if (fresh.tag === "formula") {
      return old.text === fresh.text || element.replaceWith(this.elementOf(fresh));
    }
    if (fresh.tag === "codeblock") {
      if (old.isOpen === fresh.isOpen && old.text === fresh.text) return;
      const code = element.querySelector("code");
      if (old.isOpen && fresh.isOpen) return patchText(code.firstChild, old.text, fresh.text);
      return code.replaceChildren(...coloured(fresh));
    }
    const inside = fresh.tag === "table" ? element.firstChild : element;
    this.patchChildren(inside, old.children ?? [], fresh.children ?? []);
  }

  // Appends what these nodes show, as far as this frame goes.
  append(parent, nodes) {
    for (const [at, node] of nodes.entries()) {
      if (!this.pieces.take()) return void this.rest.push([parent, nodes.slice(at)]);
      parent.append(this.elementOf(node));
    }
  }

  elementOf(node) {
    if (typeof node === "string") return document.createTextNode(node);
    if (node.tag === "codeblock") return codeBlock(node);
    if (node.tag === "formula") return formula(node);
    const direction = OWN_DIRECTION.has(node.tag) ? { dir: "auto" } : {};
    const element = h(node.tag, { ...direction, ...node.attributes });
    this.append(element, node.children ?? []);
    if (node.tag !== "table") return element;
    return scrolled(t("table"), element);
  }
}

// What may be wider than its place.
function scrolled(name, element) {
  const attributes = { class: "scroll", tabindex: "0", role: "region", "aria-label": name };
  return h("div", attributes, element);
}

// A formula, as the browser draws it.
function formula({ text, isBlock }) {
  const made = mathElement(parseMath(text, isBlock));
  made.setAttribute("aria-label", text);
  return isBlock ? scrolled(t("formula"), made) : made;
}

function mathElement(node) {
  const { tag, attributes = {}, children } = drawable(node);
  const element = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  const made = (child) => typeof child === "string" ? child : mathElement(child);
  element.append(...children.map(made));
  return element;
}

// Browsers draw the sign of a root with a font for formulas alone. Where there is none, the sign is a
// letter, and what is under it gets a line.
function drawable(node) {
  if (!["msqrt", "mroot"].includes(node.tag) || drawsRoots()) return node;
  const [inside, degree] = node.children;
  const sign = { tag: "mo", attributes: { form: "prefix" }, children: ["√"] };
  const under = { tag: "mrow", attributes: { class: "radicand" }, children: [inside] };
  const before = degree && { tag: "msup", children: [{ tag: "mrow", children: [] }, degree] };
  return { tag: "mrow", children: [before, sign, under].filter(Boolean) };
}

let hasRoots = null;

function drawsRoots() {
  if (hasRoots === null) {
    const root = document.createElementNS(MATHML, "msqrt");
    const math = document.createElementNS(MATHML, "math");
    math.append(root);
    document.body.append(math);
    hasRoots = root.getBoundingClientRect().width > 1;
    math.remove();
  }
  return hasRoots;
}

// The code in its colours. While it grows it is one text.
function coloured({ language, text, isOpen }) {
  if (isOpen) return [document.createTextNode(text)];
  return highlight(language, text).map(([kind, piece]) => (
    kind ? h("span", { class: `code-${kind}` }, piece) : document.createTextNode(piece)
  ));
}

// The last block, of which nothing more comes: models leave the fence of their last code open.
function withEnd(nodes) {
  const last = nodes.at(-1);
  if (!last || typeof last === "string") return nodes;
  const ended = last.tag === "codeblock"
    ? { ...last, isOpen: false }
    : { ...last, children: last.children && withEnd(last.children) };
  return [...nodes.slice(0, -1), ended];
}

function patchText(element, old, fresh) {
  if (old === fresh) return;
  if (fresh.startsWith(old)) element.appendData(fresh.slice(old.length));
  else element.data = fresh;
}

function isSameKind(old, fresh) {
  if (old.tag !== fresh.tag || old.language !== fresh.language) return false;
  if (old.isBlock !== fresh.isBlock) return false;
  const [before, now] = [old.attributes ?? {}, fresh.attributes ?? {}];
  for (const name in { ...before, ...now }) if (before[name] !== now[name]) return false;
  return true;
}

export function codeBlock(block) {
  const { language } = block;
  const code = h("code", {}, ...coloured(block));
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
