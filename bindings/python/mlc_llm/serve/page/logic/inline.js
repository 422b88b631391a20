// The inline part of Markdown: a text becomes nodes of a tree.
//
// A node is a string or {tag, attributes, children}; a formula of LaTeX is {tag: "formula", isBlock,
// text}. Nothing here makes HTML: raw HTML in the text
// stays text. Each part is read once from left to right, so the time grows with the length only.

const PUNCTUATION = /[!-/:-@[-`{-~]/;
const LINK =
  /(!?)\[([^[\]]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s<>]*\)[^()\s<>]*)*)>?(?:\s+"[^"\n]*")?\s*\)/y;
const ADDRESS = /https?:\/\/[^\s<>"]+/y;
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:)/i;
const MAX_FORMULA = 2000; // characters
const MARKS = { "**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del" };

// The nodes of a line or of several lines.
export function parseInline(text) {
  const reader = new InlineReader(text);
  while (reader.at < text.length) reader.step();
  return reader.finish();
}

// A link, if its address can do no harm; otherwise its text.
export function link(label, address) {
  if (!SAFE_ADDRESS.test(address)) return { tag: "span", children: label };
  const attributes = { href: address, rel: "noopener noreferrer", target: "_blank" };
  return { tag: "a", attributes, children: label };
}

class InlineReader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.nodes = [];
    this.openers = []; // {mark, index}: the marks that may still be closed
    this.counts = {}; // how many of each mark are in `openers`
    this.unclosed = new Set(); // lengths of backtick runs that no later run closes
  }

  step() {
    const next = this.text[this.at];
    if (next === "\\") return this.formulaOrEscape();
    if (next === "$") return this.dollars();
    if (next === "`") return this.code();
    if (next === "\n") return this.lineBreak();
    if (next === "[" || (next === "!" && this.text[this.at + 1] === "[")) return this.linkOrText();
    if (next === "h") return this.addressOrText();
    if (next === "*" || next === "_" || next === "~") return this.mark();
    this.plain();
  }

  push(text, length) {
    this.nodes.push(text);
    this.at += length;
  }

  plain() {
    let end = this.at + 1;
    while (end < this.text.length && !"\\`\n[!h*_~$".includes(this.text[end])) end++;
    this.push(this.text.slice(this.at, end), end - this.at);
  }

  // \( ... \) and \[ ... \]
  formulaOrEscape() {
    const close = { "(": "\\)", "[": "\\]" }[this.text[this.at + 1]];
    const end = close ? this.text.indexOf(close, this.at + 2) : -1;
    if (end < 0 || end - this.at > MAX_FORMULA) return this.escape();
    this.formula(2, end, close === "\\]");
  }

  // $...$, of which a price is none: no space inside the marks, no digit behind them. $$...$$
  dollars() {
    const { text, at } = this;
    const length = text[at + 1] === "$" ? 2 : 1;
    const end = text.indexOf("$".repeat(length), at + length);
    if (end < 0 || end === at + length || end - at > MAX_FORMULA) return this.push("$", 1);
    const isPrice = isSpace(text[at + 1]) || isSpace(text[end - 1]) ||
      /\d/.test(text[end + 1] ?? "");
    if (length === 1 && (isPrice || text.slice(at, end).includes("\n\n"))) return this.push("$", 1);
    this.formula(length, end, length === 2);
  }

  // What stands between marks of this length becomes a formula.
  formula(length, end, isBlock) {
    const text = this.text.slice(this.at + length, end).trim();
    this.nodes.push({ tag: "formula", isBlock, text });
    this.at = end + length;
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") return this.push({ tag: "br" }, 2);
    if (next !== undefined && PUNCTUATION.test(next)) return this.push(next, 2);
    this.push("\\", 1);
  }

  lineBreak() {
    const last = this.nodes.at(-1);
    if (typeof last !== "string" || !last.endsWith("  ")) return this.push("\n", 1);
    this.nodes[this.nodes.length - 1] = last.trimEnd();
    this.push({ tag: "br" }, 1);
  }

  code() {
    const length = runLength(this.text, this.at);
    const close = this.unclosed.has(length) ? -1 : closingRun(this.text, this.at + length, length);
    if (close < 0) {
      this.unclosed.add(length);
      return this.push("`".repeat(length), length);
    }
    const inside = this.text.slice(this.at + length, close).replaceAll("\n", " ");
    const padded = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ");
    const children = [padded ? inside.slice(1, -1) : inside];
    this.push({ tag: "code", attributes: { dir: "ltr" }, children }, close + length - this.at);
  }

  // A picture becomes a link too: the page asks no other host for anything.
  linkOrText() {
    LINK.lastIndex = this.at;
    const found = LINK.exec(this.text);
    if (found === null) return this.push(this.text[this.at], 1);
    const label = found[2] ? parseInline(found[2]) : [found[3]];
    this.push(link(label, found[3]), found[0].length);
  }

  addressOrText() {
    ADDRESS.lastIndex = this.at;
    const found = ADDRESS.exec(this.text);
    if (found === null) return this.plain();
    const address = found[0].replace(/[.,:;!?'")\]*_~`]{1,16}$/, "");
    this.push(link([address], address), address.length);
  }

  mark() {
    const next = this.text[this.at];
    const isDouble = this.text[this.at + 1] === next;
    const mark = isDouble ? next + next : next;
    if (!(mark in MARKS)) return this.push(mark, mark.length);
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[this.at + mark.length] ?? " ";
    const insideWord = next === "_" && isWord(before) && isWord(after);
    if (!insideWord && !isSpace(before) && this.close(mark)) return;
    if (!insideWord && !isSpace(after)) this.open(mark);
    this.push(mark, mark.length);
  }

  open(mark) {
    this.openers.push({ mark, index: this.nodes.length });
    this.counts[mark] = (this.counts[mark] ?? 0) + 1;
  }

  close(mark) {
    if (!this.counts[mark]) return false; // without a search: many marks may be open
    const found = this.openers.findLastIndex((opener) => opener.mark === mark);
    const { index } = this.openers[found];
    if (index + 1 === this.nodes.length) return false; // nothing between the marks
    for (const closed of this.openers.splice(found)) this.counts[closed.mark]--;
    const children = this.nodes.splice(index).slice(1);
    this.push({ tag: MARKS[mark], children: merged(children) }, mark.length);
    return true;
  }

  finish() {
    return merged(this.nodes);
  }
}

function merged(nodes) {
  const out = [];
  for (const node of nodes) {
    const joins = typeof node === "string" && typeof out.at(-1) === "string";
    if (joins) out[out.length - 1] += node;
    else out.push(node);
  }
  return out;
}

function runLength(text, at) {
  let end = at;
  while (text[end] === "`") end++;
  return end - at;
}

// Where the next run of exactly `length` backticks begins, or -1.
function closingRun(text, from, length) {
  let at = text.indexOf("`", from);
  while (at >= 0) {
    const found = runLength(text, at);
    if (found === length) return at;
    at = text.indexOf("`", at + found);
  }
  return -1;
}

const isSpace = (letter) => /\s/.test(letter);
const isWord = (letter) => /[\p{L}\p{N}]/u.test(letter);
