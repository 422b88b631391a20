#include "text/regex/regex.h"

#include <string>

#include "base/utf8.h"
#include "text/regex/regex_program.h"

namespace mlc {
namespace {

using Mode = RegexNode::Mode;
using Assert = RegexNode::Assert;
using Op = RegexInstruction::Op;
using Instruction = RegexInstruction;

constexpr size_t kNoMatch = static_cast<size_t>(-1);
constexpr size_t kBaseSteps = 10'000'000;
constexpr size_t kStepsPerByte = 200;
constexpr size_t kMaxFrames = 4'000'000;

// A choice to which the matcher can come back.
struct Frame {
  enum class Kind : uint8_t {
    kBranch,    // try target `extra` and the following ones of the branch at pc, at `position`
    kGiveBack,  // the repeat at pc has reached `position` and may go back down to `limit`
    kTakeMore,  // the lazy repeat at pc may take one more at `position`; `limit` taken so far
    kRegister,  // put `position` back into register `extra`
  };
  Kind kind;
  uint32_t pc, extra;
  size_t position, limit;
};

class Matcher {
 public:
  Matcher(const RegexProgram& program, std::string_view text)
      : program_(program),
        text_(text),
        registers_(program.num_registers),
        steps_left_(kBaseSteps + kStepsPerByte * text.size()) {}

  // The leftmost match from `from` on. Its `begin` is kNoMatch if there is none.
  Regex::Match Search(size_t from);
  bool out_of_steps() const { return out_of_steps_; }

 private:
  size_t Run(uint32_t pc, size_t pos);
  bool Step(uint32_t* pc, size_t* pos);
  bool Backtrack(size_t base, uint32_t* pc, size_t* pos);
  bool TakeBranch(uint32_t pc, size_t first_target, size_t pos, uint32_t* next_pc);
  bool Repeat(const Instruction& at, uint32_t pc, size_t* pos);
  bool Look(const Instruction& at, uint32_t pc, size_t pos);
  bool Holds(Assert assertion, size_t pos) const;
  bool WordAt(size_t pos) const;
  void Push(Frame frame) {
    if (frames_.size() >= kMaxFrames) out_of_steps_ = true;
    if (!out_of_steps_) frames_.push_back(frame);
  }
  void Spend(size_t steps) {
    if (steps >= steps_left_) out_of_steps_ = true;
    steps_left_ -= out_of_steps_ ? 0 : steps;
  }

  // Returns the code point at pos and moves pos behind it. Requires pos < size.
  char32_t Next(size_t* pos) const {
    unsigned char byte = static_cast<unsigned char>(text_[*pos]);
    if (byte < 0x80) {
      ++*pos;
      return byte;
    }
    return DecodeUtf8(text_, pos);
  }
  size_t Before(size_t pos) const {
    do {
      --pos;
    } while (pos > 0 && (text_[pos] & 0xC0) == 0x80);
    return pos;
  }

  const RegexProgram& program_;
  std::string_view text_;
  std::vector<Frame> frames_;
  std::vector<size_t> registers_;
  size_t steps_left_;
  bool out_of_steps_ = false;
};

Regex::Match Matcher::Search(size_t from) {
  for (size_t pos = from; !out_of_steps_;) {
    size_t next = pos;
    bool at_end = pos >= text_.size();
    char32_t c = at_end ? 0 : Next(&next);
    if (at_end ? program_.first.nullable : program_.first.Accepts(c)) {
      size_t end = Run(0, pos);
      if (end != kNoMatch) return {pos, end};
    }
    if (at_end) break;
    pos = next;
    Spend(1);
  }
  return {kNoMatch, kNoMatch};
}

// Runs from pc to kMatch and returns the position there. The frames below the current height belong
// to the caller. The recursion is as deep as look-arounds and atomic groups are nested in the
// pattern.
size_t Matcher::Run(uint32_t pc, size_t pos) {
  size_t base = frames_.size();
  while (!out_of_steps_) {
    if (program_.code[pc].op == Op::kMatch) {
      frames_.resize(base);
      return pos;
    }
    Spend(1);
    if (!Step(&pc, &pos) && !Backtrack(base, &pc, &pos)) return kNoMatch;
  }
  frames_.resize(base);
  return kNoMatch;
}

// Runs one instruction. Returns false if it fails.
bool Matcher::Step(uint32_t* pc, size_t* pos) {
  const Instruction& at = program_.code[*pc];
  switch (at.op) {
    case Op::kChar:
      if (*pos >= text_.size() || Next(pos) != at.a) return false;
      ++*pc;
      return true;
    case Op::kClass:
      if (*pos >= text_.size() || !program_.classes[at.a].Contains(Next(pos))) return false;
      ++*pc;
      return true;
    case Op::kRepeat:
      if (!Repeat(at, *pc, pos)) return false;
      ++*pc;
      return true;
    case Op::kBranch:
      return TakeBranch(*pc, 0, *pos, pc);
    case Op::kJump:
      *pc = at.a;
      return true;
    case Op::kMark:
      Push({Frame::Kind::kRegister, 0, at.a, registers_[at.a], 0});
      registers_[at.a] = *pos;
      ++*pc;
      return true;
    case Op::kLoop:
      *pc = registers_[at.a] == *pos ? *pc + 1 : at.b;
      return true;
    case Op::kLook:
      if (Look(at, *pc, *pos) == at.negated) return false;
      *pc = at.b;
      return true;
    case Op::kAtomic: {
      size_t end = Run(*pc + 1, *pos);
      if (end == kNoMatch) return false;
      *pos = end;
      *pc = at.b;
      return true;
    }
    case Op::kAssert:
      ++*pc;
      return Holds(at.assertion, *pos);
    case Op::kMatch:
      break;
  }
  return false;
}

// Goes back to the last choice. Returns false if there is none above `base`.
bool Matcher::Backtrack(size_t base, uint32_t* pc, size_t* pos) {
  while (frames_.size() > base) {
    Frame frame = frames_.back();
    frames_.pop_back();
    Spend(1);
    switch (frame.kind) {
      case Frame::Kind::kRegister:
        registers_[frame.extra] = frame.position;
        break;
      case Frame::Kind::kBranch:
        if (TakeBranch(frame.pc, frame.extra, frame.position, pc)) {
          *pos = frame.position;
          return true;
        }
        break;
      case Frame::Kind::kGiveBack:
        frame.position = Before(frame.position);
        if (frame.position > frame.limit) Push(frame);
        *pos = frame.position;
        *pc = frame.pc + 1;
        return true;
      case Frame::Kind::kTakeMore: {
        const Instruction& at = program_.code[frame.pc];
        bool full = at.max != RegexNode::kUnbounded && frame.limit >= static_cast<size_t>(at.max);
        if (full || frame.position >= text_.size()) break;
        if (!program_.classes[at.a].Contains(Next(&frame.position))) break;
        ++frame.limit;
        Push(frame);
        *pos = frame.position;
        *pc = frame.pc + 1;
        return true;
      }
    }
  }
  return false;
}

// Enters the first target from `first_target` on that can begin here, and remembers the next one.
bool Matcher::TakeBranch(uint32_t pc, size_t first_target, size_t pos, uint32_t* next_pc) {
  const auto& targets = program_.branches[program_.code[pc].a];
  bool at_end = pos >= text_.size();
  size_t after = pos;
  char32_t c = at_end ? 0 : Next(&after);
  auto viable = [&](size_t i) {
    while (i < targets.size() &&
           !(at_end ? targets[i].first.nullable : targets[i].first.Accepts(c))) {
      ++i;
    }
    return i;
  };
  size_t chosen = viable(first_target);
  if (chosen == targets.size()) return false;
  size_t other = viable(chosen + 1);
  if (other < targets.size()) {
    Push({Frame::Kind::kBranch, pc, static_cast<uint32_t>(other), pos, 0});
  }
  *next_pc = targets[chosen].pc;
  return true;
}

bool Matcher::Repeat(const Instruction& at, uint32_t pc, size_t* pos) {
  const CharClass& set = program_.classes[at.a];
  int wanted = at.mode == Mode::kLazy ? at.min : at.max;
  size_t enough = *pos;  // the position after `min` repeats
  int taken = 0;
  while (taken != wanted && *pos < text_.size()) {
    size_t next = *pos;
    if (!set.Contains(Next(&next))) break;
    *pos = next;
    if (++taken == at.min) enough = next;
  }
  Spend(taken);
  if (taken < at.min) return false;
  if (at.mode == Mode::kLazy) {
    Push({Frame::Kind::kTakeMore, pc, 0, *pos, static_cast<size_t>(taken)});
  } else if (at.mode == Mode::kGreedy && *pos > enough) {
    Push({Frame::Kind::kGiveBack, pc, 0, *pos, enough});
  }
  return true;
}

bool Matcher::Look(const Instruction& at, uint32_t pc, size_t pos) {
  for (uint32_t back = 0; back < at.a; ++back) {
    if (pos == 0) return false;
    pos = Before(pos);
  }
  return Run(pc + 1, pos) != kNoMatch;
}

bool Matcher::WordAt(size_t pos) const {
  static const CharClass* const kWord = new CharClass(OnigWordRanges());
  return pos < text_.size() && kWord->Contains(Next(&pos));
}

bool Matcher::Holds(Assert assertion, size_t pos) const {
  bool at_begin = pos == 0, at_end = pos == text_.size();
  bool after_newline = !at_begin && text_[pos - 1] == '\n';
  switch (assertion) {
    case Assert::kLineBegin:
      return at_begin || (after_newline && !at_end);
    case Assert::kLineEnd:
      return at_end || text_[pos] == '\n';
    case Assert::kTextBegin:
      return at_begin;
    case Assert::kTextEnd:
      return at_end;
    case Assert::kTextEndOrNewline:
      return at_end || (pos + 1 == text_.size() && text_[pos] == '\n');
    case Assert::kWordEdge:
    case Assert::kNoWordEdge: {
      bool before = !at_begin && WordAt(Before(pos));
      return (before != WordAt(pos)) == (assertion == Assert::kWordEdge);
    }
  }
  return false;
}

}  // namespace

Result<Regex> Regex::Compile(std::string_view pattern) {
  MLC_ASSIGN_OR_RETURN(RegexNodePtr root, ParseRegex(pattern));
  auto program = std::make_shared<RegexProgram>();
  MLC_RETURN_IF_ERROR(CompileRegex(*root, program.get()));
  return Regex(std::move(program));
}

Regex Regex::Literal(std::string_view text) {
  auto program = std::make_shared<RegexProgram>();
  for (char32_t c : ToCodePoints(text)) {
    RegexInstruction instruction;
    instruction.op = Op::kChar;
    instruction.a = c;
    program->code.push_back(instruction);
  }
  program->code.emplace_back();
  char32_t first = program->code[0].a;
  program->first.nullable = text.empty();
  program->first.others = first >= FirstSet::kSize;
  if (!program->first.others) program->first.ascii.set(first);
  return Regex(std::move(program));
}

Status Regex::FindAll(std::string_view text, std::vector<Match>* matches) const {
  Matcher matcher(*program_, text);
  size_t from = 0, last_end = kNoMatch;
  while (from <= text.size()) {
    Match match = matcher.Search(from);
    if (matcher.out_of_steps()) {
      return ResourceExhausted("the regular expression takes too many steps on this text");
    }
    if (match.begin == kNoMatch) break;
    if (match.end == match.begin && match.end == last_end) {
      if (from >= text.size()) break;
      DecodeUtf8(text, &from);
      continue;
    }
    from = last_end = match.end;
    matches->push_back(match);
  }
  return Status();
}

}  // namespace mlc
