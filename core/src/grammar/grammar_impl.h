// A grammar from its source to its compiled form; internal to the directory.
#pragma once

#include <xgrammar/lazy_masks.h>
#include <xgrammar/limits.h>
#include <xgrammar/xgrammar.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/schema/unique_places.h"

namespace mlc {

enum class GrammarKind { kEbnf, kStructuralTag };

struct GrammarSource {
  GrammarKind kind = GrammarKind::kEbnf;
  std::string text;
  std::vector<SchemaWarning> warnings;
  std::shared_ptr<const UniquePlaces> unique;
};

// The parts of a model that are needed for compiling. Describing a vocabulary takes time, so the
// first compilation does it.
class GrammarBackend {
 public:
  GrammarBackend(const Tokenizer& tokenizer, int vocab_size, std::vector<int32_t> stop_token_ids,
                 std::vector<int32_t> marker_ids)
      : tokenizer_(tokenizer),
        vocab_size_(vocab_size),
        stops_(std::move(stop_token_ids)),
        markers_(std::move(marker_ids)) {}

  int vocab_size() const { return vocab_size_; }
  // Whether a grammar may ever allow the token: it has text, or is a marker or a stop token. Valid
  // after the first compilation.
  bool MayAllow(int32_t token) const {
    return token >= 0 && token < vocab_size_ && may_allow_[static_cast<size_t>(token)];
  }
  const xgrammar::TokenizerInfo& tokens() const { return *tokens_; }
  // The tokens with a quotation mark in them; only they end a text. Valid, as the others, after
  // the first compilation.
  const std::vector<int32_t>& quotes() const { return quotes_; }
  // Throws the library's exceptions, LimitReached among them.
  xgrammar::CompiledGrammar Compile(GrammarKind kind, const std::string& source);

 private:
  const Tokenizer& tokenizer_;
  int vocab_size_;
  std::vector<int32_t> stops_, markers_;
  std::once_flag once_;
  std::vector<bool> may_allow_;
  std::vector<int32_t> quotes_;
  std::optional<xgrammar::TokenizerInfo> tokens_;
  std::optional<xgrammar::GrammarCompiler> compiler_;
};

// In states of the parser: about 1.3 s on a CPU core of 2020; a usual mask takes a thousandth of
// that.
constexpr int64_t kMostWork = 20'000'000;
// One step of an answer may take half of it. All steps together may take as much, and what
// each token adds: a mask for which each token of the vocabulary is read anew.
constexpr int64_t kMostStepWork = kMostWork / 2, kTokenWork = 200'000, kReadWork = 60;
// In numbers that a compiled grammar and its automata consist of, in all passes of the compiler.
constexpr int64_t kMostGrammarParts = 12'000'000;

// In states that the parsers of all answers keep, about 120 MB, and of one that may always go on.
constexpr int64_t kMostKeptStates = 2'700'000, kFewKeptStates = 50'000;

// Limits the work of xgrammar on this thread while it lives, and stops it when the flag is set. The
// work is counted, so the machine and its load do not change what is refused.
class WorkLimit {
 public:
  explicit WorkLimit(int64_t most_work, const std::atomic<bool>* is_cancelled = nullptr);
  ~WorkLimit();
  int64_t left() const;
};
// Sets the bits of the tokens that may come next, 32 in a word. False: all may come. Throws the
// library's exceptions.
bool FillTokenMask(xgrammar::GrammarMatcher* matcher, std::vector<int32_t>* mask);
bool IsEmpty(const std::vector<int32_t>& mask);
// A parser of the grammar's texts. Without a stop token no token can follow a complete text, and no
// token would end it.
xgrammar::GrammarMatcher ParserOf(const xgrammar::CompiledGrammar& compiled);
// What a caller is told about a limit.
Status StatusOf(const xgrammar::LimitReached& reached, int vocab_size);

// The library's message in one line, without the time and its source location.
std::string LibraryMessage(const std::string& message);

// An error names the field `place` of the request, if there is one.
Status OfField(const std::string& place, Status status);

class Grammar::Impl {
 public:
  // `done` is called once, after compiling.
  using Done = std::function<void(const Impl& grammar)>;
  Impl(std::shared_ptr<GrammarBackend> backend, GrammarSource source, Done done)
      : backend_(std::move(backend)),
        kind_(source.kind),
        source_(std::move(source.text)),
        warnings_(std::move(source.warnings)),
        unique_(std::move(source.unique)),
        done_(std::move(done)) {}

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  Status Prepare(const std::atomic<bool>* is_cancelled);
  // Call it when ready(); null after an error.
  const xgrammar::CompiledGrammar* compiled() const { return compiled_ ? &*compiled_ : nullptr; }
  const std::shared_ptr<GrammarBackend>& backend() const { return backend_; }
  int64_t memory_bytes() const;
  const std::vector<SchemaWarning>& warnings() const { return warnings_; }
  // Null when no list must have different items beyond what the grammar says.
  const std::shared_ptr<const UniquePlaces>& unique() const { return unique_; }

 private:
  std::shared_ptr<GrammarBackend> backend_;
  GrammarKind kind_;
  std::string source_;
  std::vector<SchemaWarning> warnings_;
  std::shared_ptr<const UniquePlaces> unique_;
  Done done_;
  std::mutex mutex_;
  std::atomic<bool> ready_{false};
  Status status_;
  std::optional<xgrammar::CompiledGrammar> compiled_;
  int64_t grammar_bytes_ = 0;  // without its masks
};

}  // namespace mlc
