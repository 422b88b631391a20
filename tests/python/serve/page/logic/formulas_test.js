import { highlight } from "/page/logic/highlight.js";
import { parseMarkdown } from "/page/logic/markdown.js";
import { parseMath } from "/page/logic/math.js";
import { equal, test } from "./harness.js";

// A tree as short text: frac(a b). The rows around everything are left out.
function short(node) {
  if (typeof node === "string") return node;
  const inside = node.children.map(short).join(" ");
  if (["mi", "mn", "mo", "mtext"].includes(node.tag)) return inside;
  if (node.tag === "mspace") return "~";
  return `${node.tag.slice(1)}(${inside})`;
}
const math = (tex) => short(parseMath(tex, true)).slice("ath(".length, -1);

const FORMULAS = {
  "x^2": "sup(x 2)",
  "x_i^{10}": "subsup(x i 10)",
  "x^10": "sup(x 1) 0",
  "f''(x)": "sup(f ′′) ( x )",
  "\\frac{a+1}{b}": "frac(row(a + 1) b)",
  "\\frac12": "frac(1 2)",
  "\\sqrt{2}": "sqrt(2)",
  "\\sqrt[3]{x}": "root(x 3)",
  "\\sum_{i=1}^n i": "underover(∑ row(i = 1) n) i",
  "\\int_0^1 x": "subsup(∫ 0 1) x",
  "\\lim_{x \\to 0} f": "under(lim row(x → 0)) f",
  "\\alpha \\leq \\infty": "α ≤ ∞",
  "\\left( x \\right]": "row(( x ])",
  "\\left. x \\right|": "row(x |)",
  "\\begin{pmatrix}a & b \\\\ c & d\\end{pmatrix}":
    "row(( table(tr(td(a) td(b)) tr(td(c) td(d))) ))",
  "\\begin{aligned}a &= b \\\\ \\end{aligned}": "row(table(tr(td(a) td(= b))))",
  "\\begin{unknown}a": "\\begin{unknown} a",
  "\\text{if } x": "if  x",
  "\\mathbb{R} \\mathbf{v}": "ℝ 𝐯",
  "\\hat{x} \\underline{y}": "over(x ^) under(y _)",
  "\\binom{n}{k}": "row(( frac(n k) ))",
  "\\unknown{x}": "\\unknown x",
  "\\{a\\} \\% \\,": "{ a } % ~",
  "\\not= \\neq": "=\u0338 ≠",
  "a - b": "a − b",
  // ends too early
  "\\frac{a": "frac(a row())",
  "x^": "sup(x row())",
  "{{a": "a",
  "}a": "a",
  "\\left( a": "row(( a)",
};
for (const [tex, wanted] of Object.entries(FORMULAS)) {
  test(`a formula: ${tex}`, () => equal(math(tex), wanted));
}

const found = (text) => {
  const seen = [];
  const walk = (node) => {
    if (node.tag === "formula") seen.push(`${node.isBlock ? "block " : ""}${node.text}`);
    (node.children ?? []).forEach(walk);
  };
  parseMarkdown(text).forEach(walk);
  return seen;
};
const PLACES = {
  "the $x^2$ of \\(y\\)": ["x^2", "y"],
  "$$\na\n$$": ["block a"],
  "\\[ a \\]\n\nb": ["block a"],
  "so $$a$$ then": ["block a"],
  "costs $5 and $10": [],
  "from $5-$10": [],
  "an open $x": [],
  "$$\nopen": [],
  "`$x$`": [],
  "```\n$x$\n```": [],
};
for (const [text, wanted] of Object.entries(PLACES)) {
  test(`where a formula is: ${JSON.stringify(text)}`, () => equal(found(text), wanted));
}

test("formulas in each other, and long ones, end soon", () => {
  for (const tex of ["{", "\\frac", "^", "_{", "\\left(", "\\begin{matrix}", "&", "\\sqrt["]) {
    parseMath(tex.repeat(400), true);
  }
  equal(math("x".repeat(5000)), "x".repeat(5000));
});

test("the columns of a table have their sides", () => {
  const [table] = parseMarkdown("| a | b | c | d |\n|:--|--:|:-:|---|\n| 1 | 2 | 3 | 4 |");
  const rows = table.children.flatMap((part) => part.children);
  const sides = ["at-left", "at-right", "at-middle", undefined];
  equal(rows.map((row) => row.children.map((cell) => cell.attributes.class)), [sides, sides]);
});

const COLOURS = [
  ["python", "def f(): # x\n  return 'a' + 1", [
    "keyword:def",
    "comment:# x",
    "keyword:return",
    "string:'a'",
    "number:1",
  ]],
  ["js", "let a = `b${1}`; // c", ["keyword:let", "string:`b${1}`", "comment:// c"]],
  ["Rust", "fn f<'a>() {}", ["keyword:fn"]],
  ["sql", "SELECT a FROM b -- c", ["keyword:SELECT", "keyword:FROM", "comment:-- c"]],
  ["json", '{"a": true}', ['string:"a"', "keyword:true"]],
  ["html", '<a href="x">b</a>', ["tag:<a", 'string:"x"', "tag:>", "tag:</a>"]],
  ["python", "'open", ["string:'open"]],
  ["unheard-of", "def", []],
  ["constructor", "def", []],
];
for (const [language, text, wanted] of COLOURS) {
  test(`the colours of ${language}: ${text}`, () => {
    const pieces = highlight(language, text);
    equal(pieces.map(([, piece]) => piece).join(""), text);
    equal(pieces.filter(([kind]) => kind).map((one) => one.join(":")), wanted);
  });
}
