// The compiled form of a regular expression: the compiler writes it, the matcher reads it.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "text/regex/regex_ast.h"

namespace mlc {

// A set of code points, with a fast path for small code points.
class CharClass {
 public:
  explicit CharClass(CodePointRanges ranges);
  bool Contains(char32_t c) const { return c < kFast ? fast_[c] : ContainsSlowly(c); }

 private:
  static constexpr char32_t kFast = 0x800;  // all code points with one or two bytes in UTF-8
  bool ContainsSlowly(char32_t c) const;
  std::bitset<kFast> fast_;
  CodePointRanges ranges_;
};

// The possible first code points of a match. It may contain too many.
struct FirstSet {
  static constexpr char32_t kSize = 128;
  std::bitset<kSize> ascii;
  bool others = false;    // all code points from kSize on
  bool nullable = false;  // may match the empty text
  bool Accepts(char32_t c) const { return nullable || (c < kSize ? ascii[c] : others); }
};

struct RegexInstruction {
  enum class Op : uint8_t {
    kChar,    // a = code point
    kClass,   // a = index in classes
    kRepeat,  // a = index in classes, min, max, mode
    kBranch,  // a = index in branches: try its targets in order
    kJump,    // a = target
    kMark,    // a = register: remember the position
    kLoop,    // a = register, b = target: loop again unless nothing was consumed
    kLook,  // b = where to continue; negated; a = code points to step back first; the body follows
    kAtomic,  // b = where to continue; the body follows and is never entered again
    kAssert,  // assertion
    kMatch,   // the end of the program, of a look-around or of an atomic group
  };
  Op op = Op::kMatch;
  RegexNode::Mode mode = RegexNode::Mode::kGreedy;
  RegexNode::Assert assertion = RegexNode::Assert::kLineBegin;
  bool negated = false;
  uint32_t a = 0, b = 0;
  int min = 0, max = 0;
};

struct RegexProgram {
  struct Target {
    uint32_t pc;
    FirstSet first;
  };
  std::vector<RegexInstruction> code;
  std::vector<CharClass> classes;
  std::vector<std::vector<Target>> branches;
  uint32_t num_registers = 0;
  FirstSet first;
};

// Errors: kUnsupported for a look-behind of variable length; kInvalidArgument if repeat counts make
// the program too long.
Status CompileRegex(const RegexNode& root, RegexProgram* program);

}  // namespace mlc
