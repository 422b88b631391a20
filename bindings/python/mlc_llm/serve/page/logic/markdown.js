// Markdown as a tree: headings, paragraphs, lists, quotes, tables, rules and code blocks.
//
// A node is a string or {tag, attributes, children}. A code block is
// {tag: "codeblock", language, text, isOpen}, a formula {tag: "formula", isBlock, text}. `thread/markdown_view.js` makes elements of them.

import { parseInline } from "./inline.js";

const MAX_DEPTH = 8; // quotes and lists in each other; deeper ones stay text
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?=\s|$)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( {1,4}|\t|$)/;
const FORMULA = /^ {0,3}(\$\$|\\\[)/; // until the mark that closes it
const TABLE_LINE = /^[ \t|:-]+$/;

// The blocks of a text.
export function parseMarkdown(text) {
  return parseBlocks(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

// Up to where a text that still grows is final: its blocks before that place will not change.
// `from`: a place that an earlier call returned.
export function finalLength(text, from) {
  let final = from;
  let fence = null;
  let wasBlank = false;
  let at = from;
  for (let end = text.indexOf("\n", at); end >= 0; end = text.indexOf("\n", at)) {
    const line = text.slice(at, end);
    const begin = at;
    at = end + 1;
    if (fence !== null) {
      if (!closesFence(line, fence)) continue;
      fence = null;
      if (!line.startsWith(" ")) final = end + 1; // otherwise it may be inside a list
    } else {
      if (wasBlank && line && !line.startsWith(" ") && !ITEM.test(line)) final = begin;
      fence = FENCE.exec(line)?.[1] ?? null;
    }
    wasBlank = line.trim() === "";
  }
  return final;
}

function parseBlocks(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at++;
      continue;
    }
    const [block, next] = readBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

// One block, and the line behind it.
function readBlock(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return readFence(lines, at);
  if (FORMULA.test(line)) {
    const found = readFormula(lines, at);
    if (found !== null) return found;
  }
  if (HEADING.test(line)) return [heading(line), at + 1];
  if (RULE.test(line)) return [{ tag: "hr" }, at + 1];
  if (depth < MAX_DEPTH && QUOTE.test(line)) return readQuote(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return readList(lines, at, depth);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at, depth);
}

const startsBlock = (line) =>
  FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);

function closesFence(line, fence) {
  const text = line.trim();
  return text.length >= fence.length && text === fence[0].repeat(text.length);
}

function readFence(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !closesFence(lines[end], fence)) end++;
  const text = lines.slice(at + 1, end).join("\n");
  return [{ tag: "codeblock", language, text, isOpen: end === lines.length }, end + 1];
}

// A formula on lines of its own. Null: it is not closed before the next empty line, or text follows.
function readFormula(lines, at) {
  const open = FORMULA.exec(lines[at])[1];
  const close = open === "$$" ? "$$" : "\\]";
  let text = lines[at].trimStart().slice(2);
  for (let end = at; end < lines.length && (end === at || lines[end].trim() !== ""); end++) {
    if (end > at) text += `\n${lines[end]}`;
    const found = text.indexOf(close);
    if (found < 0) continue;
    if (text.slice(found + 2).trim() !== "") return null;
    return [{ tag: "formula", isBlock: true, text: text.slice(0, found).trim() }, end + 1];
  }
  return null;
}

// Headings of an answer begin below those of the page.
function heading(line) {
  const hashes = HEADING.exec(line)[1].length;
  const text = line.trim().slice(hashes).trim().replace(/(?:^|\s)#{1,9}$/, "");
  return { tag: `h${Math.min(hashes + 2, 6)}`, children: parseInline(text.trim()) };
}

function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end++;
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return [{ tag: "blockquote", children: parseBlocks(inside, depth + 1) }, end];
}

function readList(lines, at, depth) {
  const first = ITEM.exec(lines[at])[2];
  const isOrdered = /\d/.test(first);
  const items = [];
  let end = at;
  while (end < lines.length && continuesList(lines[end], first)) {
    const [inside, next] = readItem(lines, end);
    items.push({ tag: "li", children: tight(parseBlocks(inside, depth + 1)) });
    end = next;
  }
  const attributes = isOrdered && parseInt(first, 10) !== 1 ? { start: parseInt(first, 10) } : {};
  return [{ tag: isOrdered ? "ol" : "ul", attributes, children: items }, end];
}

function continuesList(line, first) {
  const found = ITEM.exec(line);
  return found !== null && !RULE.test(line) && found[2].at(-1) === first.at(-1);
}

// The lines of an item without their indentation, and the line behind the item.
function readItem(lines, at) {
  const mark = ITEM.exec(lines[at])[0];
  const inside = [lines[at].slice(mark.length)];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end];
    const indent = line.length - line.trimStart().length;
    const isBlank = line.trim() === "";
    const wasBlank = lines[end - 1].trim() === "";
    if (!isBlank && indent < 2 && (wasBlank || startsBlock(line))) break;
    inside.push(isBlank ? "" : line.slice(Math.min(indent, mark.length)));
  }
  return [inside, end];
}

// A paragraph alone, or before a list, needs no element of its own.
function tight(blocks) {
  const others = blocks.slice(1).every((block) => block.tag === "ul" || block.tag === "ol");
  if (blocks[0]?.tag !== "p" || !others) return blocks;
  return [...blocks[0].children, ...blocks.slice(1)];
}

function isTable(lines, at) {
  const next = lines[at + 1] ?? "";
  return lines[at].includes("|") && next.includes("-") && TABLE_LINE.test(next) &&
    cellsOf(next).length === cellsOf(lines[at]).length;
}

function cellsOf(line) {
  const cells = line.trim().replaceAll("\\|", "\u0000").split("|");
  if (cells[0] === "") cells.shift();
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\u0000", "|"));
}

function readTable(lines, at) {
  const width = cellsOf(lines[at]).length;
  const sides = cellsOf(lines[at + 1]).map(sideOf);
  const row = (line, tag) => {
    const cells = cellsOf(line).slice(0, width);
    const made = cells.map((cell, column) => {
      const attributes = sides[column] ? { class: sides[column] } : {};
      return { tag, attributes, children: parseInline(cell) };
    });
    return { tag: "tr", children: made };
  };
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim() !== "") end++;
  const head = { tag: "thead", children: [row(lines[at], "th")] };
  const body = { tag: "tbody", children: lines.slice(at + 2, end).map((l) => row(l, "td")) };
  return [{ tag: "table", children: [head, body] }, end];
}

// The side of a column by the colons of its dashes.
function sideOf(dashes) {
  const [isLeft, isRight] = [dashes.startsWith(":"), dashes.endsWith(":")];
  if (isLeft && isRight) return "at-middle";
  return isRight ? "at-right" : isLeft ? "at-left" : "";
}

function readParagraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !isTable(lines, end)) {
    if (depth < MAX_DEPTH && startsBlock(lines[end])) break;
    end++;
  }
  const text = lines.slice(at, end).map((line) => line.trimStart()).join("\n");
  return [{ tag: "p", children: parseInline(text.trimEnd()) }, end];
}
