// A grammar on its way from source to compiled; internal to the directory.
#ifndef MLC_GRAMMAR_GRAMMAR_IMPL_H_
#define MLC_GRAMMAR_GRAMMAR_IMPL_H_

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
  // Every text that the source begins can be ended, as in all that this directory writes.
  bool ends = true;
  std::string text;
  std::vector<SchemaWarning> warnings;
};

// What compiling needs of a model. Describing a vocabulary takes time: it is done when first
// needed.
class GrammarBackend {
 public:
  GrammarBackend(const Tokenizer& tokenizer, int vocab_size, std::vector<int32_t> stop_token_ids,
                 std::vector<int32_t> marker_ids)
      : tokenizer_(tokenizer),
        vocab_size_(vocab_size),
        stops_(std::move(stop_token_ids)),
        markers_(std::move(marker_ids)) {}

  int vocab_size() const { return vocab_size_; }
  // Once something was compiled: whether a grammar may ever allow it. It has text, or is a marker
  // or a stop token.
  bool MayAllow(int32_t token) const {
    return token >= 0 && token < vocab_size_ && may_allow_[static_cast<size_t>(token)];
  }
  // Of a token's text; -1 for one without.
  int FirstByte(int32_t token) const { return first_bytes_[static_cast<size_t>(token)]; }
  // Throws what the library throws, and refuses what would take it too long.
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

// The library's message in one line, without the time and the place in its source.
std::string LibraryMessage(const std::string& message);

class Grammar::Impl {
 public:
  // `compiled` is called once, when it is done.
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
  // Once it is ready; null after an error.
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
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_GRAMMAR_IMPL_H_
