// LaTeX's formulas as a tree of MathML, which browsers draw by themselves.
//
// A node is a string or {tag, attributes, children}. What models write is known: fractions, roots,
// scripts, Greek, operators, fences, accents, matrices. An unknown command is shown as it is
// written. Nothing here fails: a formula that ends too early is closed.

import { ACCENTS, ALPHABETS, FENCES, FUNCTIONS, LARGE, SPACES, SYMBOLS } from "./math_symbols.js";

const MAX_DEPTH = 40; // groups in each other; what is deeper is shown as text
const MAX_LENGTH = 4000;
const TOKEN = /\\[a-zA-Z]+\*?|\\.|\d+(?:\.\d+)?|[^\s]/gsu;
const MATRICES = {
  matrix: ["", ""],
  smallmatrix: ["", ""],
  pmatrix: ["(", ")"],
  bmatrix: ["[", "]"],
  Bmatrix: ["{", "}"],
  vmatrix: ["|", "|"],
  Vmatrix: ["‖", "‖"],
  cases: ["{", ""],
  array: ["", ""],
};
const LINES = new Set(["aligned", "align", "align*", "split", "gathered", "gather", "gather*"]);

// The formula `tex` as a `math` element; `isBlock`: on lines of its own.
export function parseMath(tex, isBlock) {
  const attributes = isBlock ? { display: "block" } : {};
  const reader = new MathReader(tex, isBlock);
  const children = tex.length > MAX_LENGTH ? [node("mtext", tex)] : reader.row(() => false);
  return { tag: "math", attributes, children };
}

const node = (tag, ...children) => ({ tag, children });
const operator = (text, attributes = {}) => ({ tag: "mo", attributes, children: [text] });
const grouped = (nodes) => nodes.length === 1 ? nodes[0] : node("mrow", ...nodes);

class MathReader {
  constructor(tex, isBlock) {
    this.tex = tex;
    this.isBlock = isBlock;
    this.tokens = [...tex.matchAll(TOKEN)];
    this.at = 0;
    this.depth = 0;
  }

  peek() {
    return this.tokens[this.at]?.[0];
  }

  take() {
    return this.tokens[this.at++]?.[0];
  }

  // The nodes up to a token for which `ends` holds, which stays.
  row(ends) {
    const nodes = [];
    this.depth++;
    while (this.at < this.tokens.length && !ends(this.peek())) {
      const next = this.depth > MAX_DEPTH ? node("mtext", this.take()) : this.scripted();
      if (next !== null) nodes.push(next);
    }
    this.depth--;
    return nodes;
  }

  // An atom with what stands below and above it.
  scripted() {
    const token = this.peek();
    const base = token === "^" || token === "_" ? node("mrow") : this.atom();
    if (base === null) return null;
    let below = null, above = null;
    for (;;) {
      const mark = this.peek();
      if (mark === "_" && below === null) below = this.script();
      else if (mark === "^" && above === null) above = this.script();
      else if (mark === "'" && above === null) above = this.primes();
      else if (mark === "\\limits" || mark === "\\nolimits") this.at++;
      else break;
    }
    if (below === null && above === null) return base;
    const isLimit = base.isLimit && this.isBlock;
    if (below === null) return node(isLimit ? "mover" : "msup", base, above);
    if (above === null) return node(isLimit ? "munder" : "msub", base, below);
    return node(isLimit ? "munderover" : "msubsup", base, below, above);
  }

  script() {
    this.at++;
    return this.argument();
  }

  primes() {
    let text = "";
    for (; this.peek() === "'"; this.at++) text += "′";
    return operator(text);
  }

  // A group in braces, or one token; of a number its first digit.
  argument() {
    const next = this.peek() ?? "";
    if (/^\d./.test(next)) {
      this.tokens[this.at] = [next.slice(1)];
      return node("mn", next[0]);
    }
    if (next !== "{") return this.atom() ?? node("mrow");
    this.at++;
    const nodes = this.row((token) => token === "}");
    this.at++;
    return grouped(nodes);
  }

  atom() {
    const token = this.take();
    if (token === undefined) return node("mrow");
    if (token === "{") {
      this.at--;
      return this.argument();
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return node("mn", token);
    if (/^\p{L}/u.test(token)) return node("mi", token);
    if (token === "}" || token === "&") return null;
    return operator(token === "-" ? "−" : token === "*" ? "∗" : token, isFence(token));
  }

  command(name) {
    if (Object.hasOwn(SYMBOLS, name)) return symbol(SYMBOLS[name]);
    if (Object.hasOwn(LARGE, name)) return limit(operator(LARGE[name]), !name.includes("int"));
    if (Object.hasOwn(SPACES, name)) {
      return { tag: "mspace", attributes: { width: SPACES[name] }, children: [] };
    }
    if (Object.hasOwn(ACCENTS, name)) return this.accent(...ACCENTS[name]);
    if (Object.hasOwn(ALPHABETS, name)) return inAlphabet(this.argument(), ALPHABETS[name]);
    if (FUNCTIONS.has(name)) return this.named(name);
    const read = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null;
    if (read !== null) return read(this);
    return /^[a-zA-Z]/.test(name) ? node("mtext", `\\${name}`) : operator(name);
  }

  named(name) {
    const isLimit = ["lim", "max", "min", "sup", "inf", "limsup", "liminf", "argmax", "argmin"];
    return limit(operator(name, { form: "prefix" }), isLimit.includes(name));
  }

  accent(mark, isBelow) {
    const stretches = { stretchy: String([..."‾_⏞⏟^→←˜"].includes(mark)) };
    const made = node(isBelow ? "munder" : "mover", this.argument(), operator(mark, stretches));
    return limit({ ...made, attributes: { [isBelow ? "accentunder" : "accent"]: "true" } }, true);
  }

  // The text of a group, with its spaces.
  words() {
    if (this.peek() !== "{") return this.take() ?? "";
    const from = this.tokens[this.at].index + 1;
    let depth = 0;
    for (; this.at < this.tokens.length; this.at++) {
      const [token] = this.tokens[this.at];
      if (token === "{") depth++;
      else if (token === "}" && --depth === 0) break;
    }
    const end = this.tokens[this.at]?.index ?? this.tex.length;
    this.at++;
    return this.tex.slice(from, end);
  }

  // An optional argument in square brackets, or null.
  option() {
    if (this.peek() !== "[") return null;
    this.at++;
    const nodes = this.row((token) => token === "]");
    this.at++;
    return grouped(nodes);
  }

  fence() {
    const token = this.take() ?? "";
    const text = token.startsWith("\\") ? FENCES[token.slice(1)] ?? token.slice(1) : token;
    return text === "." ? "" : text;
  }

  left() {
    const open = this.fence();
    const inside = this.row((token) => token === "\\right");
    this.at++;
    return fenced(open, inside, this.fence());
  }

  environment() {
    const name = this.words();
    const isLines = LINES.has(name);
    if (!isLines && !Object.hasOwn(MATRICES, name)) return node("mtext", `\\begin{${name}}`);
    if (name === "array") this.words(); // how its columns are aligned
    const rows = [[]];
    const ends = (token) => token === "&" || token === "\\\\" || token === "\\end";
    for (;;) {
      rows.at(-1).push(node("mtd", ...this.row(ends)));
      const end = this.take();
      if (end === "\\\\") rows.push([]);
      else if (end !== "&") break;
    }
    this.words();
    if (rows.at(-1).length === 1 && rows.at(-1)[0].children.length === 0) rows.pop();
    const kind = isLines ? { class: "lines" } : name === "cases" ? { class: "cases" } : {};
    const table = { ...node("mtable", ...rows.map((cells) => node("mtr", ...cells))) };
    const [open, close] = MATRICES[name] ?? ["", ""];
    return fenced(open, [{ ...table, attributes: kind }], close);
  }
}

const fraction = (reader) => node("mfrac", reader.argument(), reader.argument());
const word = (reader) => node("mtext", reader.words());
const sized = (reader) => operator(reader.fence(), { stretchy: "false" });
const COMMANDS = {
  frac: fraction,
  dfrac: fraction,
  tfrac: fraction,
  cfrac: fraction,
  binom: (reader) => {
    const inside = node("mfrac", reader.argument(), reader.argument());
    return fenced("(", [{ ...inside, attributes: { linethickness: "0" } }], ")");
  },
  sqrt: (reader) => {
    const degree = reader.option();
    const inside = reader.argument();
    return degree === null ? node("msqrt", inside) : node("mroot", inside, degree);
  },
  text: word,
  textrm: word,
  textbf: word,
  textit: word,
  mbox: word,
  mathrm: (reader) => ({
    tag: "mi",
    attributes: { mathvariant: "normal" },
    children: [reader.words()],
  }),
  operatorname: (reader) => operator(reader.words(), { form: "prefix" }),
  boxed: (reader) => ({ ...node("mrow", reader.argument()), attributes: { class: "boxed" } }),
  not: (reader) => operator(`${reader.atom()?.children[0] ?? ""}\u0338`),
  stackrel: (reader) => {
    const above = reader.argument();
    return node("mover", reader.argument(), above);
  },
  left: (reader) => reader.left(),
  begin: (reader) => reader.environment(),
  big: sized,
  Big: sized,
  bigg: sized,
  Bigg: sized,
  bigl: sized,
  bigr: sized,
  Bigl: sized,
  Bigr: sized,
  displaystyle: () => null,
  textstyle: () => null,
  "\\": () => ({ tag: "mspace", attributes: { linebreak: "newline" }, children: [] }),
  "{": () => operator("{", { stretchy: "false" }),
  "}": () => operator("}", { stretchy: "false" }),
  "|": () => operator("‖", { stretchy: "false" }),
};

// Brackets grow only between \left and \right.
const isFence = (token) => "()[]|/".includes(token) ? { stretchy: "false" } : {};

function symbol(text) {
  return /^\p{L}$/u.test(text) ? node("mi", text) : operator(text);
}

function limit(made, isLimit) {
  return isLimit ? { ...made, isLimit } : made;
}

function fenced(open, inside, close) {
  const parts = [
    ...(open ? [operator(open, { stretchy: "true", form: "prefix" })] : []),
    ...inside,
    ...(close ? [operator(close, { stretchy: "true", form: "postfix" })] : []),
  ];
  return node("mrow", ...parts);
}

// The letters and digits of a node in an alphabet of Unicode: {upper, lower, digit, others}.
function inAlphabet(made, alphabet) {
  if (typeof made === "string") {
    return [...made].map((letter) => lettered(letter, alphabet)).join("");
  }
  return { ...made, children: made.children.map((child) => inAlphabet(child, alphabet)) };
}

function lettered(letter, { upper, lower, digit, others = {} }) {
  if (Object.hasOwn(others, letter)) return others[letter];
  const shifted = (first, from) => String.fromCodePoint(from + letter.charCodeAt(0) - first);
  if (upper && letter >= "A" && letter <= "Z") return shifted(65, upper);
  if (lower && letter >= "a" && letter <= "z") return shifted(97, lower);
  if (digit && letter >= "0" && letter <= "9") return shifted(48, digit);
  return letter;
}
