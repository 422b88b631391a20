#include "grammar/text/regex_ebnf.h"

#include <algorithm>

#include "grammar/text/ebnf_text.h"
#include "text/regex/regex_ast.h"

namespace mlc {
namespace {

using RegexKind = RegexNode::Kind;

// Of the characters that a text can have at most, or of the expression when it is written out:
// beyond it the matcher's states cost too much.
constexpr int64_t kMaxWeight = 20000;

// Removes '^' at the beginnings and '$' at the ends of what matches as a whole.
void StripAnchors(RegexNode* node, bool at_begin, bool at_end) {
  std::vector<RegexNodePtr>& children = node->children;
  if (node->kind == RegexKind::kAlternatives) {
    for (RegexNodePtr& child : children) StripAnchors(child.get(), at_begin, at_end);
  }
  if (node->kind != RegexKind::kSequence) return;
  auto is = [](const RegexNodePtr& child, RegexNode::Assert assertion) {
    return child->kind == RegexKind::kAssert && child->assertion == assertion;
  };
  while (at_begin && !children.empty() && is(children.front(), RegexNode::Assert::kLineBegin)) {
    children.erase(children.begin());
  }
  while (at_end && !children.empty() && is(children.back(), RegexNode::Assert::kLineEnd)) {
    children.pop_back();
  }
  for (size_t i = 0; i < children.size(); ++i) {
    StripAnchors(children[i].get(), at_begin && i == 0, at_end && i + 1 == children.size());
  }
}

bool HasAnchor(const RegexNode& node, RegexNode::Assert assertion) {
  if (node.kind == RegexKind::kAssert) return node.assertion == assertion;
  if (node.children.empty()) return false;
  auto has = [assertion](const RegexNodePtr& child) { return HasAnchor(*child, assertion); };
  if (node.kind == RegexKind::kAlternatives) {
    return std::all_of(node.children.begin(), node.children.end(), has);
  }
  bool is_begin = assertion == RegexNode::Assert::kLineBegin;
  return node.kind == RegexKind::kSequence &&
         has(is_begin ? node.children.front() : node.children.back());
}

Status CheckKinds(const RegexNode& node) {
  if (node.kind == RegexKind::kLook)
    return Unsupported("look-ahead and look-behind have no grammar");
  if (node.kind == RegexKind::kAtomic) return Unsupported("atomic groups have no grammar");
  if (node.kind == RegexKind::kAssert) {
    bool is_edge = node.assertion == RegexNode::Assert::kWordEdge ||
                   node.assertion == RegexNode::Assert::kNoWordEdge;
    return Unsupported(is_edge ? "\\b and \\B have no grammar"
                               : "'^' may only begin and '$' only end the expression");
  }
  for (const RegexNodePtr& child : node.children) MLC_RETURN_IF_ERROR(CheckKinds(*child));
  return Status();
}

int64_t Times(int64_t a, int64_t b) {
  return a != 0 && b > INT32_MAX / a ? INT32_MAX : std::min<int64_t>(a * b, INT32_MAX);
}

// How large the expression is when repetitions are written out.
int64_t Weight(const RegexNode& node) {
  int64_t weight = node.kind == RegexKind::kSet ? 1 : 0;
  for (const RegexNodePtr& child : node.children) {
    weight = std::min<int64_t>(weight + Weight(*child), INT32_MAX);
  }
  if (node.kind == RegexKind::kRepeat) weight = Times(weight, std::max({1, node.min, node.max}));
  return weight;
}

LengthRange LengthOf(const RegexNode& node);

// Of the parts in a row that may be empty, all such rows together.
int64_t CostOf(const RegexNode& node) {
  int64_t cost = 0, run = 0;
  for (const RegexNodePtr& child : node.children) {
    cost = std::min<int64_t>(cost + CostOf(*child), INT32_MAX);
    run = LengthOf(*child).min == 0 ? run + 1 : 0;
    if (node.kind != RegexKind::kSequence || run == 0) continue;
    cost += CostOfEmptyRun(run) - CostOfEmptyRun(run - 1);
  }
  return std::min<int64_t>(cost, INT32_MAX);
}

LengthRange LengthOf(const RegexNode& node) {
  if (node.kind == RegexKind::kSet) return {1, 1};
  if (node.kind == RegexKind::kRepeat) {
    LengthRange one = LengthOf(*node.children[0]);
    bool is_endless = one.max != 0 && (one.max < 0 || node.max < 0);
    return {Times(one.min, node.min), is_endless ? -1 : Times(one.max, std::max(node.max, 0))};
  }
  bool is_sequence = node.kind == RegexKind::kSequence;
  LengthRange all = is_sequence ? LengthRange{0, 0} : LengthOf(*node.children[0]);
  for (const RegexNodePtr& child : node.children) {
    LengthRange one = LengthOf(*child);
    bool is_endless = all.max < 0 || one.max < 0;
    int64_t max = is_sequence ? all.max + one.max : std::max(all.max, one.max);
    all = {is_sequence ? all.min + one.min : std::min(all.min, one.min), is_endless ? -1 : max};
  }
  return all;
}

// The one child of groups and sequences that hold nothing else.
RegexNode* Innermost(RegexNode* node) {
  while (node->kind == RegexKind::kSequence && node->children.size() == 1) {
    node = node->children[0].get();
  }
  return node;
}

Status Narrow(const LengthRange& wanted, RegexNode* root) {
  LengthRange own = LengthOf(*root);
  bool ends = wanted.max < 0 || (own.max >= 0 && own.max <= wanted.max);
  if (ends && own.min >= wanted.min) return Status();
  RegexNode* node = Innermost(root);
  bool is_class = node->kind == RegexKind::kRepeat &&
                  Innermost(node->children[0].get())->kind == RegexKind::kSet;
  int64_t min = std::max<int64_t>(node->min, wanted.min);
  int64_t max = wanted.max < 0 ? node->max : wanted.max;
  if (node->max >= 0) max = std::min<int64_t>(max, node->max);
  if (!is_class || min > INT32_MAX || (max >= 0 && min > max)) {
    return Unsupported("the lengths that it matches do not all lie within the limits");
  }
  node->min = static_cast<int>(min);
  node->max = static_cast<int>(std::min<int64_t>(max, INT32_MAX));
  return Status();
}

// Writes the tree. In a JSON string a class with quotes, backslashes or line breaks falls apart, as
// these have escapes.
class Writer {
 public:
  explicit Writer(bool in_json_string) : in_json_string_(in_json_string) {}

  Status Write(const RegexNode& node, std::string* out) {
    if (out->size() > 64 * static_cast<size_t>(kMaxWeight)) return Unsupported("it is too large");
    switch (node.kind) {
      case RegexKind::kSet:
        return WriteSet(node.set, out);
      case RegexKind::kRepeat:
        *out += '(';
        MLC_RETURN_IF_ERROR(Write(*node.children[0], out));
        *out += ')' + EbnfRepeat(node.min, node.max);
        return Status();
      default:
        return WriteList(node, out);
    }
  }

 private:
  Status WriteList(const RegexNode& node, std::string* out) {
    bool is_choice = node.kind == RegexKind::kAlternatives;
    if (node.children.empty()) *out += "\"\"";
    if (is_choice) *out += '(';
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) *out += is_choice ? " | " : " ";
      MLC_RETURN_IF_ERROR(Write(*node.children[i], out));
    }
    if (is_choice) *out += ')';
    return Status();
  }

  Status WriteSet(const CodePointRanges& set, std::string* out) const {
    static const CodePointRanges encodable = {{1, 0xD7FF}, {0xE000, 0x10FFFF}};
    CodePointRanges plain = IntersectRanges(set, in_json_string_ ? JsonStringRanges() : encodable);
    std::string parts = plain.empty() ? "" : EbnfClass(plain);
    std::string escapes = in_json_string_ ? EbnfEscapes(set) : "";
    if (!escapes.empty()) parts += (parts.empty() ? "" : " | ") + escapes;
    if (parts.empty()) return Unsupported("a class in it holds no character that can be written");
    *out += '(' + parts + ')';
    return Status();
  }

  bool in_json_string_;
};

}  // namespace

bool IsAnchored(std::string_view pattern) {
  Result<RegexNodePtr> root = ParseRegex(pattern, RegexSyntax::kEcmaScript);
  return root.ok() && HasAnchor(**root, RegexNode::Assert::kLineBegin) &&
         HasAnchor(**root, RegexNode::Assert::kLineEnd);
}

Result<std::string> RegexToEbnf(std::string_view pattern, const RegexEbnfOptions& options) {
  MLC_ASSIGN_OR_RETURN(RegexNodePtr root, ParseRegex(pattern, RegexSyntax::kEcmaScript));
  StripAnchors(root.get(), true, true);
  MLC_RETURN_IF_ERROR(CheckKinds(*root));
  MLC_RETURN_IF_ERROR(Narrow(options.length, root.get()));
  if (Weight(*root) > kMaxWeight) {
    return Unsupported("it is too large: over " + std::to_string(kMaxWeight) +
                       " characters when its repetitions are written out");
  }
  int64_t own_cost = 0;
  int64_t& cost = options.cost != nullptr ? *options.cost : own_cost;
  cost += CostOf(*root);
  if (cost > kMaxRegexCost) return Unsupported("too many parts in a row may be empty");
  std::string out;
  MLC_RETURN_IF_ERROR(Writer(options.in_json_string).Write(*root, &out));
  return out;
}

}  // namespace mlc
