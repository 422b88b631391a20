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

#include "grammar/grammar.h"

namespace mlc {

enum class GrammarKind { kEbnf, kStructuralTag };

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
  // Throws what the library throws.
  xgrammar::CompiledGrammar Compile(GrammarKind kind, const std::string& source);

 private:
  const Tokenizer& tokenizer_;
  int vocab_size_;
  std::vector<int32_t> stops_, markers_;
  std::once_flag once_;
  std::optional<xgrammar::GrammarCompiler> compiler_;
};

// The library's message in one line, without the time and the place in its source.
std::string LibraryMessage(const std::string& message);

class Grammar::Impl {
 public:
  // `compiled` is called once, when it is done.
  using Done = std::function<void(const Impl& grammar)>;
  Impl(std::shared_ptr<GrammarBackend> backend, GrammarKind kind, std::string source, Done done)
      : backend_(std::move(backend)),
        kind_(kind),
        source_(std::move(source)),
        done_(std::move(done)) {}

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  Status Prepare();
  // Once it is ready; null after an error.
  const xgrammar::CompiledGrammar* compiled() const { return compiled_ ? &*compiled_ : nullptr; }
  int vocab_size() const { return backend_->vocab_size(); }
  int64_t memory_bytes() const;

 private:
  std::shared_ptr<GrammarBackend> backend_;
  GrammarKind kind_;
  std::string source_;
  Done done_;
  std::mutex mutex_;
  std::atomic<bool> ready_{false};
  Status status_;
  std::optional<xgrammar::CompiledGrammar> compiled_;
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_GRAMMAR_IMPL_H_
