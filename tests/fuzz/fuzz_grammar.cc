// A grammar out of nowhere, from its source to the tokens it admits: refused with a message, or a
// matcher that keeps its promises. Masks say what is accepted, what is taken back is gone, forced
// text is accepted, and a complete text under a schema is JSON.
//
// Input: the kind of the source; the source up to a zero byte; then what to do, a byte a step.
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "grammar/grammar.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

enum class Kind { kSchema, kRegex, kEbnf, kTag };

using testing::kEnd;

// Bytes, and tokens of several bytes that end in the middle of things: of characters, of names, of
// punctuation.
const Tokenizer& Vocabulary() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    const std::vector<std::string> longer = {
        "{\"",   "\":",    "\": ", "\", \"", "\"}",  "],",  "[[",   "{}",  "[]",   "}}",
        ", ",    "true",   "fals", "null",   "00",   "12",  "-1",   "1.",  "\\\"", "\\u",
        "\\u00", "ab",     "abc",  "aaaa",   "a b",  "the", " the", "ing", "\r\n", "  ",
        "2024-", "http:/", "é",    "日",     "本語", "a\"", "b\",", "<f",  "</f>", "xyz"};
    Result<std::unique_ptr<Tokenizer>> made =
        Tokenizer::FromJson(testing::ByteTokenizerJson(longer));
    MLC_FUZZ_CHECK(made.ok());
    return std::move(made).value();
  }();
  return *tokenizer;
}

void CheckRefusal(const Status& status) {
  MLC_FUZZ_CHECK(status.code() == StatusCode::kInvalidArgument);
  MLC_FUZZ_CHECK(!status.message().empty() && IsValidUtf8(status.message()));
}

std::optional<Grammar> Compile(Kind kind, const std::string& source) {
  // A new one each time: what an input needs must not depend on those before it.
  GrammarCompiler compiler(Vocabulary(), Vocabulary().vocab_size(), {kEnd});
  Result<Grammar> grammar = kind == Kind::kSchema  ? compiler.CompileJsonSchema(source)
                            : kind == Kind::kRegex ? compiler.CompileRegex(source)
                            : kind == Kind::kEbnf  ? compiler.CompileEbnf(source)
                                                   : compiler.CompileStructuralTag(source);
  Status status = grammar.ok() ? grammar->Prepare() : grammar.status();
  if (status.ok()) return *grammar;
  CheckRefusal(status);
  return std::nullopt;
}

class Walk {
 public:
  Walk(Kind kind, const Grammar& grammar) : kind_(kind), grammar_(grammar), matcher_(grammar) {}

  // False where nothing can follow.
  bool Step(unsigned char what) {
    if (!Fill(&matcher_, &mask_)) return false;
    if (what < 0xA0) {
      Take(Allowed(what));
    } else if (what < 0xC0) {
      int count = std::min(what & 7, static_cast<int>(tokens_.size()));
      matcher_.Rollback(count);
      tokens_.resize(tokens_.size() - static_cast<size_t>(count));
    } else if (what < 0xD0) {
      CheckForced();
    } else if (what < 0xE0) {
      matcher_ = matcher_.Fork();
    } else {
      CheckAny(what * 31 % Vocabulary().vocab_size());
    }
    return true;
  }

  // A fresh matcher that accepted the same stands at the same place.
  void End() {
    GrammarMatcher fresh(grammar_);
    for (int32_t token : tokens_) MLC_FUZZ_CHECK(fresh.Accept(token));
    MLC_FUZZ_CHECK(fresh.finished() == matcher_.finished());
    std::vector<int32_t> mask;
    if (Fill(&fresh, &mask) == Fill(&matcher_, &mask_)) MLC_FUZZ_CHECK(mask == mask_);
    if (kind_ == Kind::kSchema && matcher_.finished()) MLC_FUZZ_CHECK(Json::Parse(Text()).ok());
  }

 private:
  bool Fill(GrammarMatcher* matcher, std::vector<int32_t>* mask) {
    mask->clear();
    if (matcher->finished()) return false;
    Status status = matcher->FillMask(mask);
    // Only what a caller wrote rule by rule may lead nowhere.
    if (!status.ok()) MLC_FUZZ_CHECK(kind_ == Kind::kEbnf || kind_ == Kind::kTag);
    if (!status.ok()) CheckRefusal(status);
    return status.ok();
  }

  bool IsAllowed(int32_t token) const {
    return static_cast<uint32_t>(mask_[static_cast<size_t>(token / 32)]) >> (token % 32) & 1;
  }

  int32_t Allowed(int which) const {
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token < Vocabulary().vocab_size(); ++token) {
      if (IsAllowed(token)) allowed.push_back(token);
    }
    MLC_FUZZ_CHECK(!allowed.empty());
    return allowed[static_cast<size_t>(which) % allowed.size()];
  }

  void Take(int32_t token) {
    MLC_FUZZ_CHECK(matcher_.Accept(token));
    tokens_.push_back(token);
  }

  void CheckAny(int32_t token) {
    bool is_allowed = IsAllowed(token);
    MLC_FUZZ_CHECK(matcher_.Accept(token) == is_allowed);
    if (is_allowed) matcher_.Rollback(1);
  }

  void CheckForced() {
    std::string text = matcher_.ForcedText();
    for (char byte : text) MLC_FUZZ_CHECK(matcher_.Accept(static_cast<unsigned char>(byte)));
    matcher_.Rollback(static_cast<int>(text.size()));
  }

  std::string Text() const {
    std::string text;
    for (int32_t token : tokens_) {
      if (token != kEnd) text += Vocabulary().TokenBytes(token);
    }
    return text;
  }

  Kind kind_;
  const Grammar& grammar_;
  GrammarMatcher matcher_;
  std::vector<int32_t> tokens_, mask_;
};

MLC_FUZZ_TARGET(grammar) {
  if (data.empty()) return;
  Kind kind = static_cast<Kind>(static_cast<unsigned char>(data[0]) % 4);
  auto [source, steps] = fuzz::SplitAtZero(data.substr(1));
  std::optional<Grammar> grammar = Compile(kind, std::string(source));
  if (!grammar) return;
  Walk walk(kind, *grammar);
  constexpr size_t kMostSteps = 200;
  for (char what : steps.substr(0, kMostSteps)) {
    if (!walk.Step(static_cast<unsigned char>(what))) break;
  }
  walk.End();
}

}  // namespace
}  // namespace mlc
