import { parseInline } from "/page/logic/inline.js";
import { finalLength, parseMarkdown } from "/page/logic/markdown.js";
import { equal, test } from "./harness.js";

// A tree as short text: p(a em(b)).
function short(node) {
  if (typeof node === "string") return node;
  if (node.tag === "codeblock") return `code[${node.language}|${node.text}]`;
  return `${node.tag}(${(node.children ?? []).map(short).join("")})`;
}
const blocks = (text) => parseMarkdown(text).map(short).join(" ");
const inline = (text) => parseInline(text).map(short).join("");

function table(name, show, cases) {
  for (const [text, wanted] of Object.entries(cases)) {
    test(`${name}: ${JSON.stringify(text)}`, () => equal(show(text), wanted));
  }
}

table("inline", inline, {
  "a *b* c": "a em(b) c",
  "**a *b* c**": "strong(a em(b) c)",
  "__a__ _b_ ~~c~~": "strong(a) em(b) del(c)",
  "snake_case_name": "snake_case_name",
  "2 * 3 * 4": "2 * 3 * 4",
  "a **b": "a **b",
  "****": "****",
  "`a*b*` and ``c`d``": "code(a*b*) and code(c`d)",
  "`open": "`open",
  "\\*a\\*": "*a*",
  "a  \nb": "abr()b",
  "a\\\nb": "abr()b",
  "<b>a</b> &amp;": "<b>a</b> &amp;",
  "[a *b*](https://x.org/y)": "a(a em(b))",
  "[a](javascript:alert%281%29)": "span(a)",
  "[a](JaVaScRiPt:x)": "span(a)",
  "[a](vbscript:x) [b](data:text/html,x)": "span(a) span(b)",
  "![p](https://x.org/p.png)": "a(p)",
  "see https://x.org/a_b_c.": "see a(https://x.org/a_b_c).",
  "[a](https://x.org/w_(b))": "a(a)",
  "[no link] here": "[no link] here",
});

table("blocks", blocks, {
  "# a\n## b ##\ntext": "h3(a) h4(b) p(text)",
  "#no heading": "p(#no heading)",
  "a\nb\n\nc": "p(a\nb) p(c)",
  "```js\nlet a;\n```\nb": "code[js|let a;] p(b)",
  "~~~\n```\n~~~": "code[|```]",
  "```\nopen": "code[|open]",
  "- a\n- b\n  - c\n- d": "ul(li(a)li(bul(li(c)))li(d))",
  "- a\n\n- b": "ul(li(a)li(b))",
  "3. a\n4. b": "ol(li(a)li(b))",
  "1. a\n   ```\n   x\n   ```\n2. b": "ol(li(p(a)code[|x])li(b))",
  "- a\n1. b": "ul(li(a)) ol(li(b))",
  "> a\n> > b": "blockquote(p(a)blockquote(p(b)))",
  "---": "hr()",
  "* * *": "hr()",
  "| a | b |\n|:--|--:|\n| 1 | *2* |\n\nc":
    "table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(em(2))))) p(c)",
  "a | b\nc": "p(a | b\nc)",
  "<script>alert(1)</script>": "p(<script>alert(1)</script>)",
  "": "",
  "a\r\nb": "p(a\nb)",
});

test("a list keeps its first number", () => {
  equal(parseMarkdown("3. a")[0].attributes, { start: 3 });
});

test("links open apart and tell nothing about the page", () => {
  const [link] = parseInline("[a](https://x.org)");
  equal(link.attributes, { href: "https://x.org", rel: "noopener noreferrer", target: "_blank" });
});

const LONG = [
  "# Title\n\nSome *text*\nover lines\n\n- one\n- two\n\n  more of two\n\n- three\n\n",
  "1. a\n   ```\n   code\n\n   code\n   ```\n2. b\n\n```js\nlet a;\n\nlet b;\n```\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n> other\n\nEnd **bold\n\nnew**\n",
].join("");

test("a text that grows gives the blocks of the whole text", () => {
  let final = 0;
  let shown = "";
  for (let end = 1; end <= LONG.length; end++) {
    const text = LONG.slice(0, end);
    const next = finalLength(text, final);
    if (next < final) throw new Error("the final part shrinks");
    shown += parseMarkdown(text.slice(final, next)).map(short).map((one) => one + " ").join("");
    final = next;
  }
  equal((shown + blocks(LONG.slice(final))).trim(), blocks(LONG));
});

// A time that grows with the square of the length would take minutes here.
test("deep nesting and long runs of marks end soon", () => {
  const marks = [
    ">",
    "- ",
    "*",
    "_",
    "`",
    "[",
    "![",
    "**a ",
    "_a* ",
    "~~",
    "(",
    "|",
    "#",
    "[a](",
    "\\",
    "h",
    "` `` ",
    '[a](b "',
    "http://",
    "-",
    " ",
  ];
  for (const mark of marks) {
    parseMarkdown(mark.repeat(100_000));
    parseMarkdown(`${mark}\n`.repeat(20_000));
  }
});
