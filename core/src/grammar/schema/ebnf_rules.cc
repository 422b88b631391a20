#include "grammar/schema/ebnf_rules.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "grammar/text/ebnf_text.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr int64_t kPartBytes = 32;  // of a rule's text
constexpr size_t kMaxTold = 64;     // characters by which names are told apart

// Lone surrogates cannot be written: the escapes D800 to DFFF are left out. A rule contains the
// next part of a text and the whole rest after it, with the closing quote. The reason: the matcher
// cannot precompute whether a token fits if it is longer than its rule, and a mask then takes
// milliseconds.
constexpr char kSharedRules[] = R"(string ::= "\"" text
text ::= "\"" | [ !#-\u005B\u005D-\u007E\u0080-\uD7FF\uE000-\U0010FFFF] text | "\\" escape text
escape ::= ["\\/bfnrt] | "u" ([0-9A-Ca-cE-Fe-f] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2})
number ::= "-"? ("0" | [1-9] [0-9]{0,18}) ("." [0-9]{1,20})? exponent?
exponent ::= [eE] [+-]? ([0-9]{1,2} | [12] [0-8] [0-9])
any ::= anyobject | anyarray | string | number | "true" | "false" | "null"
anyobject ::= "{" (string ": " any (", " string ": " any)*)? "}"
anyarray ::= "[" (any (", " any)*)? "]"
)";

using NamePlace = std::vector<std::u32string>::const_iterator;

struct OtherNames {
  EbnfRules* rules;
  std::string prefix;
  int num_states = 0;
  const std::string plain = EbnfClass(JsonStringRanges());

  // What makes another name out of the sorted names, of which `begun` characters are written.
  std::string Add(NamePlace name, NamePlace end, size_t begun) {
    std::string rule = prefix + std::to_string(num_states++);
    bool is_name = name != end && name->size() == begun;
    while (name != end && name->size() == begun) ++name;
    CodePointRanges next;
    std::string body = is_name ? "" : "\"\"";
    auto add = [&body](const std::string& part) { body += (body.empty() ? "" : " | ") + part; };
    while (name != end) {
      char32_t c = (*name)[begun];
      NamePlace first = name;
      while (name != end && (*name)[begun] == c) ++name;
      next.emplace_back(c, c);
      bool is_plain = !IntersectRanges({{c, c}}, JsonStringRanges()).empty();
      if (!is_plain || begun >= kMaxTold) continue;
      add(EbnfClass({{c, c}}) + " " + Add(first, name, begun + 1));
    }
    CodePointRanges others = IntersectRanges(ComplementRanges(next), JsonStringRanges());
    if (!others.empty()) add(EbnfClass(others) + " " + plain + "*");
    return rules->Add(rule, body);
  }
};

}  // namespace

EbnfRules::EbnfRules() : text_(kSharedRules) {}

std::string EbnfRules::Add(const std::string& name, const std::string& body) {
  auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  bool is_name = std::all_of(body.begin(), body.end(), is_letter);
  auto [found, is_new] = by_body_.try_emplace(body, is_name ? body : name);
  if (is_new && !is_name) Write(name, body);
  if (found->second != name) known_[name] = found->second;
  return found->second;
}

std::string EbnfRules::Known(const std::string& name) const {
  auto found = known_.find(name);
  return found == known_.end() ? name : found->second;
}

void EbnfRules::Write(const std::string& name, const std::string& body) {
  if (!WorkBudget::SpendParts(1 + static_cast<int64_t>(body.size()) / kPartBytes)) return;
  text_.append(name).append(" ::= ").append(body).append("\n");
}

std::string EbnfRules::AddOtherName(const std::string& prefix,
                                    const std::vector<std::string>& given) {
  std::vector<std::u32string> names;
  for (const std::string& name : given) names.push_back(ToCodePoints(name));
  std::sort(names.begin(), names.end());
  std::string first = OtherNames{this, prefix}.Add(names.begin(), names.end(), 0);
  return "\"\\\"\" " + first + " \"\\\"\"";
}

}  // namespace mlc
