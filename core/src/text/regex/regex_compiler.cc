#include <algorithm>
#include <optional>

#include "text/regex/regex_program.h"

namespace mlc {
namespace {

using Kind = RegexNode::Kind;
using Mode = RegexNode::Mode;
using Op = RegexInstruction::Op;

constexpr size_t kMaxProgram = 20000;

FirstSet FirstOfSet(const CodePointRanges& ranges) {
  FirstSet first;
  for (const auto& [low, high] : ranges) {
    for (char32_t c = low; c <= high && c < FirstSet::kSize; ++c) first.ascii.set(c);
    if (high >= FirstSet::kSize) first.others = true;
  }
  return first;
}

FirstSet FirstOf(const RegexNode& node) {
  FirstSet first;
  switch (node.kind) {
    case Kind::kSet:
      return FirstOfSet(node.set);
    case Kind::kLook:
    case Kind::kAssert:
      first.nullable = true;
      return first;
    case Kind::kAtomic:
      return FirstOf(*node.children[0]);
    case Kind::kRepeat:
      first = FirstOf(*node.children[0]);
      first.nullable |= node.min == 0;
      return first;
    case Kind::kAlternatives:
      for (const auto& child : node.children) {
        FirstSet next = FirstOf(*child);
        first.ascii |= next.ascii;
        first.others |= next.others;
        first.nullable |= next.nullable;
      }
      return first;
    case Kind::kSequence:
      first.nullable = true;
      for (const auto& child : node.children) {
        FirstSet next = FirstOf(*child);
        first.ascii |= next.ascii;
        first.others |= next.others;
        first.nullable = next.nullable;
        if (!next.nullable) break;
      }
      return first;
  }
  return first;
}

constexpr int kMaxLookBehind = 255;

// The number of code points that the node always matches, if it is fixed.
std::optional<int> FixedLength(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return 1;
    case Kind::kLook:
    case Kind::kAssert:
      return 0;
    case Kind::kAtomic:
      return FixedLength(*node.children[0]);
    case Kind::kRepeat: {
      std::optional<int> once = FixedLength(*node.children[0]);
      if (!once || node.min != node.max || *once * node.min > kMaxLookBehind) return std::nullopt;
      return *once * node.min;
    }
    case Kind::kAlternatives: {
      std::optional<int> all = FixedLength(*node.children[0]);
      for (const auto& child : node.children) {
        if (FixedLength(*child) != all) return std::nullopt;
      }
      return all;
    }
    case Kind::kSequence: {
      int sum = 0;
      for (const auto& child : node.children) {
        std::optional<int> one = FixedLength(*child);
        if (!one || sum + *one > kMaxLookBehind) return std::nullopt;
        sum += *one;
      }
      return sum;
    }
  }
  return std::nullopt;
}

class Compiler {
 public:
  explicit Compiler(RegexProgram* program) : program_(program) {}

  Status Compile(const RegexNode& root) {
    MLC_RETURN_IF_ERROR(Emit(root));
    program_->first = FirstOf(root);
    Add(Op::kMatch);
    return Status();
  }

 private:
  uint32_t Here() const { return static_cast<uint32_t>(program_->code.size()); }
  uint32_t Add(Op op, uint32_t a = 0) {
    RegexInstruction instruction;
    instruction.op = op;
    instruction.a = a;
    program_->code.push_back(instruction);
    return Here() - 1;
  }
  RegexInstruction& At(uint32_t pc) { return program_->code[pc]; }

  uint32_t AddClass(const CodePointRanges& ranges) {
    program_->classes.emplace_back(ranges);
    return static_cast<uint32_t>(program_->classes.size() - 1);
  }
  uint32_t AddBranch() {
    program_->branches.emplace_back();
    return static_cast<uint32_t>(program_->branches.size() - 1);
  }
  void AddTarget(uint32_t branch, uint32_t pc, FirstSet first) {
    program_->branches[branch].push_back({pc, first});
  }

  Status Emit(const RegexNode& node);
  Status EmitAlternatives(const RegexNode& node);
  Status EmitRepeat(const RegexNode& node);
  Status EmitStar(const RegexNode& body, bool lazy);
  Status EmitOptionals(const RegexNode& body, int count, bool lazy);
  Status EmitLook(const RegexNode& node);
  Status EmitLookBody(const RegexNode& node, const RegexNode& body);
  Status EmitAtomic(const RegexNode& body);

  RegexProgram* program_;
};

FirstSet Anything() {
  FirstSet first;
  first.nullable = true;
  return first;
}

Status Compiler::Emit(const RegexNode& node) {
  if (program_->code.size() > kMaxProgram) return InvalidArgument("regular expression too long");
  switch (node.kind) {
    case Kind::kSet:
      if (node.set.size() == 1 && node.set[0].first == node.set[0].second) {
        Add(Op::kChar, node.set[0].first);
      } else {
        Add(Op::kClass, AddClass(node.set));
      }
      return Status();
    case Kind::kSequence:
      for (const auto& child : node.children) MLC_RETURN_IF_ERROR(Emit(*child));
      return Status();
    case Kind::kAlternatives:
      return EmitAlternatives(node);
    case Kind::kRepeat:
      return EmitRepeat(node);
    case Kind::kLook:
      return EmitLook(node);
    case Kind::kAtomic:
      return EmitAtomic(*node.children[0]);
    case Kind::kAssert:
      At(Add(Op::kAssert)).assertion = node.assertion;
      return Status();
  }
  return Status();
}

Status Compiler::EmitAlternatives(const RegexNode& node) {
  uint32_t branch = AddBranch();
  Add(Op::kBranch, branch);
  std::vector<uint32_t> jumps;
  for (const auto& child : node.children) {
    AddTarget(branch, Here(), FirstOf(*child));
    MLC_RETURN_IF_ERROR(Emit(*child));
    jumps.push_back(Add(Op::kJump));
  }
  for (uint32_t jump : jumps) At(jump).a = Here();
  return Status();
}

Status Compiler::EmitRepeat(const RegexNode& node) {
  const RegexNode& body = *node.children[0];
  if (body.kind == Kind::kSet) {
    RegexInstruction& repeat = At(Add(Op::kRepeat, AddClass(body.set)));
    repeat.min = node.min;
    repeat.max = node.max;
    repeat.mode = node.mode;
    return Status();
  }
  uint32_t atomic = 0;
  bool possessive = node.mode == Mode::kPossessive, lazy = node.mode == Mode::kLazy;
  if (possessive) atomic = Add(Op::kAtomic);
  for (int i = 0; i < node.min; ++i) MLC_RETURN_IF_ERROR(Emit(body));
  if (node.max == RegexNode::kUnbounded) {
    MLC_RETURN_IF_ERROR(EmitStar(body, lazy));
  } else {
    MLC_RETURN_IF_ERROR(EmitOptionals(body, node.max - node.min, lazy));
  }
  if (possessive) {
    Add(Op::kMatch);
    At(atomic).b = Here();
  }
  return Status();
}

// L: branch(body, exit); body: mark, .., loop to L; exit. A repeat that consumes nothing ends the
// loop.
Status Compiler::EmitStar(const RegexNode& body, bool lazy) {
  uint32_t mark = program_->num_registers++, branch = AddBranch();
  uint32_t start = Add(Op::kBranch, branch);
  Add(Op::kMark, mark);
  MLC_RETURN_IF_ERROR(Emit(body));
  At(Add(Op::kLoop, mark)).b = start;
  if (lazy) AddTarget(branch, Here(), Anything());
  AddTarget(branch, start + 1, FirstOf(body));
  if (!lazy) AddTarget(branch, Here(), Anything());
  return Status();
}

Status Compiler::EmitOptionals(const RegexNode& body, int count, bool lazy) {
  std::vector<uint32_t> branches;
  for (int i = 0; i < count; ++i) {
    branches.push_back(AddBranch());
    uint32_t start = Add(Op::kBranch, branches.back());
    AddTarget(branches.back(), start + 1, FirstOf(body));
    MLC_RETURN_IF_ERROR(Emit(body));
  }
  for (uint32_t branch : branches) {
    AddTarget(branch, Here(), Anything());
    if (lazy) std::swap(program_->branches[branch][0], program_->branches[branch][1]);
  }
  return Status();
}

// Alternatives of different lengths in a look-behind become separate look-behinds.
Status Compiler::EmitLook(const RegexNode& node) {
  const RegexNode& body = *node.children[0];
  bool split = node.behind && body.kind == Kind::kAlternatives && !FixedLength(body);
  if (!split) return EmitLookBody(node, body);
  if (node.negated) {
    for (const auto& child : body.children) MLC_RETURN_IF_ERROR(EmitLookBody(node, *child));
    return Status();
  }
  uint32_t branch = AddBranch();
  Add(Op::kBranch, branch);
  std::vector<uint32_t> jumps;
  for (const auto& child : body.children) {
    AddTarget(branch, Here(), Anything());
    MLC_RETURN_IF_ERROR(EmitLookBody(node, *child));
    jumps.push_back(Add(Op::kJump));
  }
  for (uint32_t jump : jumps) At(jump).a = Here();
  return Status();
}

Status Compiler::EmitLookBody(const RegexNode& node, const RegexNode& body) {
  uint32_t look = Add(Op::kLook);
  At(look).negated = node.negated;
  if (node.behind) {
    std::optional<int> length = FixedLength(body);
    if (!length) {
      return Unsupported("regular expression: look-behind of variable length is not supported");
    }
    At(look).a = static_cast<uint32_t>(*length);
  }
  MLC_RETURN_IF_ERROR(Emit(body));
  Add(Op::kMatch);
  At(look).b = Here();
  return Status();
}

Status Compiler::EmitAtomic(const RegexNode& body) {
  uint32_t atomic = Add(Op::kAtomic);
  MLC_RETURN_IF_ERROR(Emit(body));
  Add(Op::kMatch);
  At(atomic).b = Here();
  return Status();
}

}  // namespace

CharClass::CharClass(CodePointRanges ranges) : ranges_(std::move(ranges)) {
  NormalizeRanges(&ranges_);
  for (const auto& [first, last] : ranges_) {
    for (char32_t c = first; c <= last && c < kFast; ++c) fast_.set(c);
  }
}

bool CharClass::ContainsSlowly(char32_t c) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                [](char32_t value, const std::pair<char32_t, char32_t>& range) {
                                  return value < range.first;
                                });
  return after != ranges_.begin() && c <= std::prev(after)->second;
}

Status CompileRegex(const RegexNode& root, RegexProgram* program) {
  return Compiler(program).Compile(root);
}

}  // namespace mlc
