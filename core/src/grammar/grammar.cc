#include "grammar/grammar.h"

#include <exception>
#include <utility>

#include "base/utf8.h"
#include "grammar/grammar_impl.h"

namespace mlc {
namespace {

xgrammar::TokenizerInfo DescribeTokenizer(const Tokenizer& tokenizer, int vocab_size,
                                          const std::vector<int32_t>& stop_token_ids,
                                          const std::vector<int32_t>& marker_ids) {
  std::vector<std::string> bytes;
  for (int32_t id = 0; id < vocab_size; ++id) {
    bytes.push_back(tokenizer.IsSpecial(id) ? "" : tokenizer.TokenBytes(id));
  }
  // A token without bytes is never allowed. The first byte is none of UTF-8, so that no text is
  // taken for a marker.
  for (int32_t id : marker_ids) bytes[static_cast<size_t>(id)] = "\xff" + tokenizer.IdToToken(id);
  return xgrammar::TokenizerInfo(bytes, xgrammar::VocabType::RAW, vocab_size, stop_token_ids);
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

xgrammar::CompiledGrammar GrammarBackend::Compile(GrammarKind kind, const std::string& source) {
  // On the calling thread alone, and without a cache: GrammarCompiler has one for all kinds.
  std::call_once(once_, [this] {
    compiler_.emplace(DescribeTokenizer(tokenizer_, vocab_size_, stops_, markers_),
                      /*max_threads=*/1,
                      /*cache_enabled=*/false);
  });
  return kind == GrammarKind::kEbnf ? compiler_->CompileGrammar(source)
                                    : compiler_->CompileStructuralTag(source);
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
