// A grammar from its source to its compiled form; internal to the directory.
#ifndef MLC_GRAMMAR_GRAMMAR_IMPL_H_
#define MLC_GRAMMAR_GRAMMAR_IMPL_H_

#include <xgrammar/lazy_masks.h>
#include <xgrammar/xgrammar.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace mlc {

enum class GrammarKind { kEbnf, kStructuralTag };

struct GrammarSource {
  GrammarKind kind = GrammarKind::kEbnf;
  // Every beginning of a text can be completed. True for all sources that this directory writes.
  bool ends = true;
  std::string text;
  std::vector<SchemaWarning> warnings;
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
  // The first byte of a token's text; -1 for a token without text.
  int FirstByte(int32_t token) const { return first_bytes_[static_cast<size_t>(token)]; }
  // Throws the library's exceptions. Refuses a source that would take the library too long.
  xgrammar::CompiledGrammar Compile(GrammarKind kind, const std::string& source);

 private:
  const Tokenizer& tokenizer_;
  int vocab_size_;
  std::vector<int32_t> stops_, markers_;
  std::once_flag once_;
  std::vector<bool> may_allow_;
  std::vector<int16_t> first_bytes_;
  std::optional<xgrammar::GrammarCompiler> compiler_;
};

// Limits the work of xgrammar's parser on this thread while it lives. The work is counted, so the
// machine and its load do not change what is refused.
class RowLimit {
 public:
  RowLimit();
  ~RowLimit();
  bool is_spent() const;
};
// Sets the bits of the tokens that may come next, 32 in a word. False: all may come. Throws the
// library's exceptions.
bool FillTokenMask(xgrammar::GrammarMatcher* matcher, std::vector<int32_t>* mask);
// The message when the limit is spent.
std::string TooManyRows(int vocab_size);

// The library's message in one line, without the time and its source location.
std::string LibraryMessage(const std::string& message);

class Grammar::Impl {
 public:
  // `done` is called once, after compiling.
  using Done = std::function<void(const Impl& grammar)>;
  Impl(std::shared_ptr<GrammarBackend> backend, GrammarSource source, Done done)
      : backend_(std::move(backend)),
        kind_(source.kind),
        ends_(source.ends),
        source_(std::move(source.text)),
        warnings_(std::move(source.warnings)),
        done_(std::move(done)) {}

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  Status Prepare();
  // Call it when ready(); null after an error.
  const xgrammar::CompiledGrammar* compiled() const { return compiled_ ? &*compiled_ : nullptr; }
  const std::shared_ptr<GrammarBackend>& backend() const { return backend_; }
  int64_t memory_bytes() const;
  bool ends() const { return ends_; }
  const std::vector<SchemaWarning>& warnings() const { return warnings_; }

 private:
  std::shared_ptr<GrammarBackend> backend_;
  GrammarKind kind_;
  bool ends_;
  std::string source_;
  std::vector<SchemaWarning> warnings_;
  Done done_;
  std::mutex mutex_;
  std::atomic<bool> ready_{false};
  Status status_;
  std::optional<xgrammar::CompiledGrammar> compiled_;
  int64_t grammar_bytes_ = 0;  // without its masks
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_GRAMMAR_IMPL_H_
