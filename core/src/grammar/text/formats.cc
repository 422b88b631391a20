#include "grammar/text/formats.h"

#include <algorithm>

namespace mlc {
namespace {

// Each pattern admits what validators agree about.

std::string Group(const std::string& text) { return "(" + text + ")"; }

std::string Date() {
  // Years 0001 to 9999, and of those the ones with 366 days.
  const std::string leap =
      "(?:[0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
  return "(?:[0-9]{4}-(?:(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|"
         "30)"
         "|02-(0[1-9]|1[0-9]|2[0-8]))|" +
         leap + "-02-29)";
}

std::string Time() {
  return "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5]"
         "[0-9])";
}

std::string Duration() {
  const std::string n = "[0-9]{1,9}";
  const std::string minutes = n + "M(" + n + "S)?";
  const std::string clock = "T(" + n + "H(" + minutes + ")?|" + minutes + "|" + n + "S)";
  const std::string months = n + "M(" + n + "D)?";
  return "P(" + n + "W|(" + n + "Y(" + months + ")?|" + months + "|" + n + "D)(" + clock + ")?|" +
         clock + ")";
}

std::string Label(const std::string& word) {
  return "[" + word + "]([" + word + "-]{0,61}[" + word + "])?";
}

// At most 253 characters: three labels of any length, or eight of at most 30.
std::string Host() {
  const std::string any = Label("a-zA-Z0-9"),
                    shorter = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,28}[a-zA-Z0-9])?";
  return any + "(\\." + any + "){0,2}|" + shorter + "(\\." + shorter + "){3,7}";
}

std::string Email() {
  const std::string atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string last = "[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
  return atom + "(\\." + atom + ")*@(" + Label("a-zA-Z0-9") + "\\.)+" + last;
}

std::string Ipv4() {
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return byte + "(\\." + byte + "){3}";
}

// All ways to leave out one run of zeros, with or without an IPv4 address at the end.
std::string Ipv6() {
  const std::string hex = "[0-9a-fA-F]{1,4}";
  const std::string tail = "(" + hex + ":" + hex + "|" + Ipv4() + ")";
  std::string out = "(" + hex + ":){6}" + tail;
  for (int before = 0; before <= 5; ++before) {
    std::string head =
        before == 0 ? "" : "(" + hex + ":){0," + std::to_string(before - 1) + "}" + hex;
    if (before > 0) head = "(" + head + ")?";
    std::string rest = "(" + hex + ":){" + std::to_string(5 - before) + "}" + tail;
    out += "|" + head + "::" + rest;
  }
  out += "|((" + hex + ":){0,5}" + hex + ")?::" + hex;
  return out + "|((" + hex + ":){0,6}" + hex + ")?::";
}

// RFC 3986; `more`: characters beyond ASCII, for IRIs.
struct Uri {
  explicit Uri(const std::string& more)
      : letter("(?:[A-Za-z0-9._~!$&'()*+,;=:@" + more + "-]|%[0-9A-Fa-f]{2})"),
        no_colon("(?:[A-Za-z0-9._~!$&'()*+,;=@" + more + "-]|%[0-9A-Fa-f]{2})"),
        host("(?:[A-Za-z0-9._~!$&'()*+,;=" + more + "-]|%[0-9A-Fa-f]{2})+"),
        user("(?:(?:[A-Za-z0-9._~!$&'()*+,;=:" + more + "-]|%[0-9A-Fa-f]{2})*@)?"),
        path("(/" + letter + "*)*"),
        query("(\\?(?:[/?]|" + letter + ")*)?(#(?:[/?]|" + letter + ")*)?") {}

  std::string Authority() const { return "//" + user + host + "(:[0-9]{1,5})?" + path; }
  std::string Absolute() const {
    return "[A-Za-z][A-Za-z0-9+.-]*:(" + Authority() + "|///?" + letter + "+" + path + "|/?" +
           letter + "+" + path + ")" + query;
  }
  std::string Any() const {
    std::string relative = "(" + Authority() + "|/(" + letter + "+" + path + ")?|" + no_colon +
                           "+" + path + ")?" + query;
    return Absolute() + "|" + relative;
  }

  std::string letter, no_colon, host, user, path, query;
};

constexpr const char* kBeyondAscii = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF";

std::string UriTemplate() {
  const std::string name = "[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)*(\\*|:[1-9][0-9]{0,2})?";
  return "(?:[A-Za-z0-9!#$&()*+,./:;=?@_~-]|%[0-9A-Fa-f]{2}|\\{[+#./;?&]?" + name + "(," + name +
         ")*\\})*";
}

std::string Uuid() {
  const std::string hex = "[0-9a-fA-F]";
  return hex + "{8}-" + hex + "{4}-" + hex + "{4}-" + hex + "{4}-" + hex + "{12}";
}

// What ECMAScript, with its flag `u` too, and Python both read: groups in up to three levels, no
// names, no references back, no look-behind.
std::string Regex() {
  const std::string plain = "[A-Za-z0-9 _,:;@#%&=!<>~\"'`/-]";
  const std::string escape = "\\\\[dDwWsStnrfv^$\\\\.*+?()\\[\\]{}|/]";
  const std::string one =
      "(?:a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9 _.,:;@#%=!<>/*+?()$'\"]|" + escape + ")";
  const std::string set = "\\[\\^?" + one + "+-?\\]";
  const std::string count = "\\{(?:[0-9]{1,2},?|[01],[1-9][0-9]?|[2-9],[1-9][0-9])\\}";
  const std::string repeat = "(?:(?:[*+?]|" + count + ")\\?" + "?)?";
  std::string atom = "(?:" + plain + "|" + escape + "|\\.|" + set + ")" + repeat, texts;
  for (int level = 0; level < 3; ++level) {
    std::string row = "\\^?(?:" + atom + "|\\\\[bB]" + texts + ")*\\$?";
    std::string rows = row + "(?:\\|" + row + ")*";
    texts = "|\\((?:\\?:)?" + rows + "\\)" + repeat + "|\\(\\?[=!]" + rows + "\\)";
    if (level == 2) return rows;
  }
  return "";
}

std::vector<StringFormat> MakeFormats() {
  const std::string pointer = "(/([^~/]|~[01])*)*", year = "(?!0000)";
  const std::string host = Host(), email = Email();
  const Uri uri(""), iri(kBeyondAscii);
  std::vector<StringFormat> formats = {
      {"date-time", year + Date() + "T" + Time()},
      {"date", year + Date()},
      {"time", Time()},
      {"duration", Duration()},
      {"email", email},
      {"idn-email", email},
      {"hostname", host},
      {"idn-hostname", host},
      {"ipv4", Ipv4()},
      {"ipv6", Ipv6()},
      {"uri", uri.Absolute()},
      {"uri-reference", uri.Any()},
      {"iri", iri.Absolute()},
      {"iri-reference", iri.Any()},
      {"uri-template", UriTemplate()},
      {"uuid", Uuid()},
      {"json-pointer", pointer},
      {"relative-json-pointer", "(0|[1-9]{1,9})(#|" + pointer + ")"},
      {"regex", Regex()},
  };
  for (StringFormat& format : formats) {
    bool looks = format.pattern.compare(0, year.size(), year) == 0;
    if (looks) format.pattern = "^" + year + Group(format.pattern.substr(year.size())) + "$";
    if (!looks && !format.pattern.empty()) format.pattern = "^" + Group(format.pattern) + "$";
  }
  return formats;
}

}  // namespace

const std::vector<StringFormat>& StringFormats() {
  static const std::vector<StringFormat> formats = MakeFormats();
  return formats;
}

namespace {

std::string Repeated(int64_t min, int64_t max) {
  return "{" + std::to_string(min) + "," + std::to_string(max) + "}";
}

// Without escapes, so that the characters of each part can be counted.
std::string UriOfLength(const std::string& more, int64_t min, int64_t max) {
  constexpr int64_t kScheme = 10, kLongestHost = 253, kLongestPart = 1000, kMarks = 6;
  int64_t host = std::min(kLongestHost, max / 4), rest = max - kScheme - 1 - kMarks - host;
  int64_t path = std::min(kLongestPart, rest / 2), tail = std::min(kLongestPart, rest / 4);
  if (tail < 1 || min > host) return "";
  const std::string plain = "A-Za-z0-9._~!$&'()*+,;=" + more, any = "[" + plain + ":@/?-]";
  return "^[A-Za-z][A-Za-z0-9+.-]" + Repeated(0, kScheme) + "://[" + plain + "-]" +
         Repeated(std::max<int64_t>(1, min), host) + "(/[" + plain + ":@/-]" + Repeated(0, path) +
         ")?(\\?" + any + Repeated(0, tail) + ")?(#" + any + Repeated(0, tail) + ")?$";
}

// Expressions with groups in one level only, without counts.
std::string RegexOfLength(int64_t min) {
  const std::string plain = "[A-Za-z0-9 _,:;@#%&=!<>~\"'`/-]";
  const std::string escape = "\\\\[dDwWsStnrfv^$\\\\.*+?()\\[\\]{}|/]";
  const std::string one = "(?:a-z|A-Z|0-9|[A-Za-z0-9 _.,:;@#%=!<>/]|" + escape + ")";
  const std::string repeat = "[*+?]?";
  const std::string atom = "(?:" + plain + "|" + escape + "|\\.|\\[\\^?" + one + "+-?\\])" + repeat;
  const std::string row = "(?:" + atom + ")+";
  const std::string part = atom + "|\\((?:\\?:)?" + row + "(?:\\|" + row + ")*\\)" + repeat;
  return "^\\^?(?:" + part + "){" + std::to_string(std::max<int64_t>(1, min)) + ",}\\$?$";
}

std::string EmailOfLength(int64_t min, int64_t max) {
  constexpr int64_t kLongestName = 64, kLongestLabel = 63, kLast = 10, kMarks = 3;
  int64_t name = std::min(kLongestName, max / 2);
  int64_t label = std::min(kLongestLabel, (max - name - kLast - kMarks) / 2);
  if (label < 1 || min > name) return "";
  const std::string word = "[a-zA-Z0-9]" + Repeated(1, label);
  return "^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]" + Repeated(std::max<int64_t>(1, min), name) + "@" +
         word + "(\\." + word + ")?\\.[a-zA-Z]" + Repeated(2, kLast) + "$";
}

}  // namespace

std::string FormatOfLength(const std::string& pattern, int64_t min, int64_t max) {
  constexpr int64_t kLongest = 3000, kLeastOfRegex = 20;
  bool is_regex = pattern == FindStringFormat("regex")->pattern;
  if (is_regex) return max < 0 && min <= kLeastOfRegex ? RegexOfLength(min) : "";
  max = max < 0 ? std::max(min, kLongest) : std::min(max, kLongest);
  auto is = [&pattern](const char* name) { return pattern == FindStringFormat(name)->pattern; };
  if (is("uri") || is("uri-reference")) return UriOfLength("", min, max);
  if (is("iri") || is("iri-reference")) return UriOfLength(kBeyondAscii, min, max);
  return is("email") ? EmailOfLength(min, max) : "";
}

const StringFormat* FindStringFormat(std::string_view name) {
  for (const StringFormat& format : StringFormats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace mlc
