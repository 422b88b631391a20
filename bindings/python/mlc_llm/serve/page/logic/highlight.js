// Colours for code: a text becomes pieces [kind, text], of which the kinds are "comment", "string",
// "number", "keyword", "tag" and "" for all else. The pieces together are the text.

const MAX_LENGTH = 12000; // longer code stays plain

const words = (text) => new Set(text.split(" "));
const C_LIKE =
  "break case catch class const continue default do else enum extends false finally for " +
  "if implements import in interface new null package private protected public return static " +
  "struct super switch this throw true try typedef typeof union using var void while";
const KEYWORDS = {
  python: words(
    "and as assert async await break class continue def del elif else except False finally for " +
      "from global if import in is lambda match None nonlocal not or pass raise return True try " +
      "while with yield self",
  ),
  script: words(
    `${C_LIKE} as async await boolean debugger delete export from function get instanceof let ` +
      "number of readonly set string symbol type undefined unknown yield never any",
  ),
  c: words(
    `${C_LIKE} auto bool char constexpr delete double explicit extern final float friend goto ` +
      "inline int long namespace noexcept nullptr operator override register short signed sizeof " +
      "template typename unsigned virtual volatile string byte decimal func",
  ),
  modern: words(
    `${C_LIKE} actor as async await by companion crate data defer dyn fallthrough fn fun func go ` +
      "guard impl init inout internal is lateinit let lazy loop map match mod move mut nil object " +
      "open override pub range ref sealed self Self some suspend trait type unsafe use val when " +
      "where yield chan select string int bool error",
  ),
  shell: words(
    "case do done echo elif else esac exit export fi for function if in local read return set " +
      "then unset until while cd sudo source",
  ),
  sql: words(
    "add all alter and as asc avg between by case count create cross delete desc distinct drop " +
      "else end exists foreign from full group having in index inner insert into is join key left " +
      "like limit max min not null on or order outer primary references right select set sum " +
      "table then union unique update values view when where with",
  ),
  data: words("true false null yes no on off"),
  ruby: words(
    "alias and begin break case class def do else elsif end ensure false for if in module next nil " +
      "not or puts raise redo require rescue retry return self super then true unless until when " +
      "while yield local function repeat",
  ),
};

const SLASHES = String.raw`//[^\n]*|/\*[\s\S]*?(?:\*/|$)`;
const HASH = String.raw`#[^\n]*`;
const DASHES = String.raw`--[^\n]*`;
const QUOTED = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
const BACKTICKS = "`(?:\\\\[\\s\\S]|[^`\\\\])*`?";
const TRIPLE = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)`;
// Family: [comments, strings].
const FAMILIES = {
  python: [HASH, `[rfbRFB]{0,2}(?:${TRIPLE}|${QUOTED})`],
  script: [SLASHES, `${QUOTED}|${BACKTICKS}`],
  c: [SLASHES, QUOTED],
  modern: [SLASHES, String.raw`"""[\s\S]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|${BACKTICKS}`],
  shell: [HASH, String.raw`"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?`],
  sql: [`${DASHES}|${SLASHES}`, String.raw`'(?:''|[^'])*'?|"[^"\n]*"?`],
  data: [HASH, QUOTED],
  ruby: [`${HASH}|${DASHES}`, QUOTED],
};
const NAMES = {
  python: "python py python3 pycon",
  script: "javascript js jsx mjs typescript ts tsx node",
  c: "c cpp c++ cc h hpp cxx java csharp cs c# objc objective-c dart php cuda glsl css scss",
  modern: "rust rs go golang kotlin kt swift scala zig",
  shell: "bash sh shell zsh console dockerfile makefile powershell",
  sql: "sql mysql postgresql sqlite",
  data: "json yaml yml toml ini properties",
  ruby: "ruby rb lua perl elixir r julia",
};
const FAMILY_OF = Object.fromEntries(
  Object.entries(NAMES).flatMap(([family, names]) => names.split(" ").map((one) => [one, family])),
);
const NUMBER = String.raw`\b0[xXbBoO][\da-fA-F_]+|\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\w*`;
const MARKUP = /<!--[\s\S]*?(?:-->|$)|<\/?[\w:-]*|\/?>|"[^"<]*"|'[^'<]*'/g;
const patterns = new Map();

function patternOf(family) {
  if (!patterns.has(family)) {
    const [comments, strings] = FAMILIES[family];
    const source = `(${comments})|(${strings})|(${NUMBER})|([A-Za-z_$][\\w$]*)`;
    patterns.set(family, new RegExp(source, "g"));
  }
  return patterns.get(family);
}

export function highlight(language, text) {
  const name = language.toLowerCase();
  if (text.length > MAX_LENGTH) return [["", text]];
  if (/^(?:html|xml|svg|vue|xhtml)$/.test(name)) return split(text, MARKUP, kindOfMarkup);
  const family = Object.hasOwn(FAMILY_OF, name) ? FAMILY_OF[name] : null;
  if (family === null) return [["", text]];
  const known = KEYWORDS[family];
  return split(text, patternOf(family), ([word, comment, string, numeral]) => {
    if (comment !== undefined) return "comment";
    if (string !== undefined) return "string";
    if (numeral !== undefined) return "number";
    return known.has(family === "sql" ? word.toLowerCase() : word) ? "keyword" : "";
  });
}

function kindOfMarkup([found]) {
  if (found.startsWith("<!--")) return "comment";
  return found[0] === '"' || found[0] === "'" ? "string" : "tag";
}

// The text cut at what `pattern` finds; neighbours of one kind are joined.
function split(text, pattern, kindOf) {
  const pieces = [];
  const add = (kind, piece) => {
    if (!piece) return;
    if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += piece;
    else pieces.push([kind, piece]);
  };
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    add("", text.slice(at, found.index));
    add(kindOf(found), found[0]);
    at = found.index + found[0].length;
  }
  add("", text.slice(at));
  return pieces.length > 0 ? pieces : [["", text]];
}
