#include "grammar/grammar.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "grammar/grammar_impl.h"

namespace mlc {
namespace {

constexpr int kFewTokens = 256;  // that tell how long a source takes

// All of the vocabulary, or of its texts `num_sampled` and those of one byte.
struct VocabularyPart {
  const Tokenizer& tokenizer;
  int vocab_size;
  const std::vector<int32_t>& stop_token_ids;
  const std::vector<int32_t>& marker_ids;

  xgrammar::GrammarCompiler Compiler(int num_sampled) const {
    std::vector<std::string> bytes(static_cast<size_t>(vocab_size));
    for (int32_t id = 0; id < vocab_size; ++id) {
      if (tokenizer.IsSpecial(id)) continue;
      std::string text = tokenizer.TokenBytes(id);
      bool is_sampled = int64_t{id} * num_sampled % vocab_size < num_sampled;
      if (is_sampled || text.size() == 1) bytes[static_cast<size_t>(id)] = std::move(text);
    }
    // A token without bytes is never allowed. The first byte is none of UTF-8, so that no text is
    // taken for a marker.
    for (int32_t id : marker_ids) {
      bytes[static_cast<size_t>(id)] = "\xff" + tokenizer.IdToToken(id);
    }
    xgrammar::TokenizerInfo info(bytes, xgrammar::VocabType::RAW, vocab_size, stop_token_ids);
    // On the calling thread alone, and without a cache: GrammarCompiler has one for all kinds.
    return xgrammar::GrammarCompiler(info, /*max_threads=*/1, /*cache_enabled=*/false);
  }
};

xgrammar::CompiledGrammar CompileWith(xgrammar::GrammarCompiler* compiler, GrammarKind kind,
                                      const std::string& source) {
  return kind == GrammarKind::kEbnf ? compiler->CompileGrammar(source)
                                    : compiler->CompileStructuralTag(source);
}

// Of the processor, so that a busy machine refuses nothing.
double SecondsToCompile(xgrammar::GrammarCompiler* compiler, GrammarKind kind,
                        const std::string& source) {
  auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double begin = now();
  (void)CompileWith(compiler, kind, source);
  return now() - begin;
}

}  // namespace

std::string LibraryMessage(const std::string& message) {
  size_t file = message.find(".cc:");
  size_t end = file == std::string::npos ? file : message.find(": ", file);
  std::string text = end == std::string::npos ? message : message.substr(end + 2);
  constexpr size_t kLongest = 300;
  // It quotes the caller's text, now and then up to the middle of a character.
  return RepairUtf8(text.substr(0, std::min(text.find('\n'), kLongest)));
}

// The library cannot be interrupted; so what it will take is told from a few tokens. The time grows
// with their number, no faster: tokens that begin alike share the work. What remains of the time
// without tokens is counted along, unless that alone would refuse a source.
void GrammarBackend::CheckTime(GrammarKind kind, const std::string& source) {
  constexpr double kMostSeconds = 20;
  constexpr int kManyTokens = 2048;
  double tokens = vocab_size_;
  double few_s = SecondsToCompile(&*sample_, kind, source);
  if (few_s * tokens / kFewTokens <= kMostSeconds) return;
  // A rare source: its compiler need not be kept.
  auto many = VocabularyPart{tokenizer_, vocab_size_, stops_, markers_}.Compiler(kManyTokens);
  double many_s = SecondsToCompile(&many, kind, source);
  double seconds = few_s + std::max(0.0, many_s - few_s) * tokens / (kManyTokens - kFewTokens);
  if (seconds <= kMostSeconds) return;
  throw std::runtime_error("with a vocabulary of " + std::to_string(vocab_size_) +
                           " tokens it would take about " +
                           std::to_string(static_cast<int>(seconds)) + " seconds to compile; " +
                           std::to_string(static_cast<int>(kMostSeconds)) + " are the most");
}

xgrammar::CompiledGrammar GrammarBackend::Compile(GrammarKind kind, const std::string& source) {
  constexpr int kSmall = 8192;  // tokens: whatever passes the limits is compiled in seconds
  std::call_once(once_, [this] {
    VocabularyPart all{tokenizer_, vocab_size_, stops_, markers_};
    if (vocab_size_ > kSmall) sample_.emplace(all.Compiler(kFewTokens));
    compiler_.emplace(all.Compiler(vocab_size_));
    may_allow_.resize(static_cast<size_t>(vocab_size_));
    first_bytes_.resize(may_allow_.size(), -1);
    for (int32_t id = 0; id < vocab_size_; ++id) {
      size_t at = static_cast<size_t>(id);
      std::string text = tokenizer_.IsSpecial(id) ? "" : tokenizer_.TokenBytes(id);
      may_allow_[at] = !text.empty();
      if (!text.empty()) first_bytes_[at] = static_cast<unsigned char>(text[0]);
    }
    for (const std::vector<int32_t>& ids : {stops_, markers_}) {
      for (int32_t id : ids) {  // one that is no token of the model is ignored
        if (id >= 0 && id < vocab_size_) may_allow_[static_cast<size_t>(id)] = true;
      }
    }
  });
  if (sample_) CheckTime(kind, source);
  return CompileWith(&*compiler_, kind, source);
}

Status Grammar::Impl::Prepare() {
  if (ready()) return status_;
  std::lock_guard<std::mutex> lock(mutex_);
  if (ready()) return status_;
  try {
    compiled_ = backend_->Compile(kind_, source_);
  } catch (const std::exception& error) {
    status_ = InvalidArgument("cannot be enforced: " + LibraryMessage(error.what()));
  }
  std::string().swap(source_);
  ready_.store(true, std::memory_order_release);
  done_(*this);
  return status_;
}

int64_t Grammar::Impl::memory_bytes() const {
  return ready() && compiled_ ? static_cast<int64_t>(compiled_->MemorySizeBytes()) : 0;
}

bool Grammar::ready() const { return impl_->ready(); }

Status Grammar::Prepare() const {
  Status status = impl_->Prepare();
  if (status.ok() || place_.empty()) return status;
  return std::move(status).In(place_).WithParam(place_);
}

Grammar Grammar::For(std::string place) const {
  Grammar named = *this;
  named.place_ = std::move(place);
  return named;
}

int64_t Grammar::memory_bytes() const { return impl_->memory_bytes(); }

}  // namespace mlc
