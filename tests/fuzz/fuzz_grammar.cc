// A grammar out of nowhere, from its source to the tokens it admits: refused with a message, or a
// matcher that keeps its promises. Masks say what is accepted, what is taken back is gone, forced
// text is accepted, and a complete text under a schema is JSON. All this takes bounded memory and
// work; when a limit is reached, the next mask says so.
//
// Input: the kind of the source; the source up to a zero byte; then what to do, a byte a step.
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "grammar/grammar.h"
#include "resources.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

enum class Kind { kSchema, kRegex, kEbnf, kTag };

using testing::kEnd;

constexpr int64_t kMostBytes = 150 << 20;
// With sanitizers. Most inputs take milliseconds.
constexpr double kMostSeconds = 60;

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
    if (is_over_ || !Fill(&matcher_, &mask_)) return false;
    if (what < 0xA0) {
      int32_t token = Allowed(what);
      if (Accept(token)) tokens_.push_back(token);
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
    return !is_over_;
  }

  // A fresh matcher that accepted the same stands at the same place.
  void End() {
    if (is_over_) return;
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
    if (status.ok()) return true;
    CheckRefusal(status);
    // Only what a caller wrote rule by rule may lead nowhere.
    bool is_limit = status.message().find("it takes too") != std::string::npos;
    MLC_FUZZ_CHECK(is_limit || kind_ == Kind::kEbnf || kind_ == Kind::kTag);
    return false;
  }

  // Accepts what the mask allows, unless a limit is reached: then nothing goes on.
  bool Accept(int32_t token) {
    if (matcher_.Accept(token)) return true;
    std::vector<int32_t> mask;
    Status status = matcher_.FillMask(&mask);
    MLC_FUZZ_CHECK(!status.ok());
    CheckRefusal(status);
    is_over_ = true;
    return false;
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

  void CheckAny(int32_t token) {
    if (!IsAllowed(token)) {
      MLC_FUZZ_CHECK(!matcher_.Accept(token));
    } else if (Accept(token)) {
      matcher_.Rollback(1);
    }
  }

  void CheckForced() {
    std::string text = matcher_.ForcedText();
    constexpr size_t kMostForced = 64;
    MLC_FUZZ_CHECK(text.size() <= kMostForced);
    for (char byte : text) {
      if (!Accept(static_cast<unsigned char>(byte))) return;
    }
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
  bool is_over_ = false;  // a limit is reached
};

void CompileAndWalk(Kind kind, std::string_view source, std::string_view steps) {
  std::optional<Grammar> grammar = Compile(kind, std::string(source));
  if (!grammar) return;
  Walk walk(kind, *grammar);
  constexpr size_t kMostSteps = 200;
  for (char what : steps.substr(0, kMostSteps)) {
    if (!walk.Step(static_cast<unsigned char>(what))) break;
  }
  walk.End();
}

MLC_FUZZ_TARGET(grammar) {
  if (data.empty()) return;
  Kind kind = static_cast<Kind>(static_cast<unsigned char>(data[0]) % 4);
  auto [source, steps] = fuzz::SplitAtZero(data.substr(1));
  Vocabulary();
  fuzz::Resources used;
  CompileAndWalk(kind, source, steps);
  MLC_FUZZ_CHECK(used.peak_bytes() < kMostBytes);
  MLC_FUZZ_CHECK(used.seconds() < kMostSeconds);
}

}  // namespace
}  // namespace mlc
