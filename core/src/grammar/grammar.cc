#include "grammar/grammar.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "grammar/grammar_impl.h"

namespace mlc {
namespace {

xgrammar::TokenizerInfo TokensOf(const Tokenizer& tokenizer, int vocab_size,
                                 const std::vector<int32_t>& stop_token_ids,
                                 const std::vector<int32_t>& marker_ids) {
  std::vector<std::string> bytes(static_cast<size_t>(vocab_size));
  for (int32_t id = 0; id < vocab_size; ++id) {
    if (!tokenizer.IsSpecial(id)) bytes[static_cast<size_t>(id)] = tokenizer.TokenBytes(id);
  }
  // A token without bytes is never allowed. A marker begins with a byte that UTF-8 never has, so
  // no text looks like a marker.
  for (int32_t id : marker_ids) {
    bytes[static_cast<size_t>(id)] = "\xff" + tokenizer.IdToToken(id);
  }
  return xgrammar::TokenizerInfo(bytes, xgrammar::VocabType::RAW, vocab_size, stop_token_ids);
}

xgrammar::CompiledGrammar CompileWith(xgrammar::GrammarCompiler* compiler, GrammarKind kind,
                                      const std::string& source) {
  return kind == GrammarKind::kEbnf ? compiler->CompileGrammar(source)
                                    : compiler->CompileStructuralTag(source);
}

}  // namespace

WorkLimit::WorkLimit(int64_t most_work, const std::atomic<bool>* is_cancelled) {
  xgrammar::allowance.work_left = most_work;
  xgrammar::allowance.parts_left = kMostGrammarParts;
  xgrammar::allowance.is_cancelled = is_cancelled;
}
WorkLimit::~WorkLimit() { xgrammar::allowance = xgrammar::Allowance(); }
int64_t WorkLimit::left() const { return std::max<int64_t>(0, xgrammar::allowance.work_left); }

bool FillTokenMask(xgrammar::GrammarMatcher* matcher, std::vector<int32_t>* mask) {
  int64_t shape[] = {static_cast<int64_t>(mask->size())};
  DLTensor tensor{mask->data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, shape, nullptr, 0};
  return matcher->FillNextTokenBitmask(&tensor);
}

bool IsEmpty(const std::vector<int32_t>& mask) {
  return std::all_of(mask.begin(), mask.end(), [](int32_t word) { return word == 0; });
}

xgrammar::GrammarMatcher ParserOf(const xgrammar::CompiledGrammar& compiled) {
  bool ends_by_itself = compiled.GetTokenizerInfo().GetStopTokenIds().empty();
  return xgrammar::GrammarMatcher(compiled, std::nullopt, ends_by_itself);
}

Status OfField(const std::string& place, Status status) {
  if (status.ok() || place.empty()) return status;
  return std::move(status).In(place).WithParam(place);
}

Status StatusOf(const xgrammar::LimitReached& reached, int vocab_size) {
  switch (reached.limit) {
    case xgrammar::Limit::kWork:
      return InvalidArgument("with a vocabulary of " + std::to_string(vocab_size) +
                             " tokens it takes too long to say which may follow; write it with "
                             "fewer alternatives that begin alike");
    case xgrammar::Limit::kMemory:
      return InvalidArgument(
          "it takes too much memory to remember in how many ways the answer can be read; write the "
          "grammar with fewer ways to read one text, or ask for a shorter answer");
    case xgrammar::Limit::kSize:
      return InvalidArgument(
          "the grammar is too large when its repetitions and parts are written out; give it fewer "
          "or shorter ones");
    default:
      return Cancelled("the request was cancelled while its grammar was compiled");
  }
}

std::string LibraryMessage(const std::string& message) {
  size_t file = message.find(".cc:");
  size_t end = file == std::string::npos ? file : message.find(": ", file);
  std::string text = end == std::string::npos ? message : message.substr(end + 2);
  constexpr std::string_view kCheck = "Check failed: (", kFound = ") is false: ";
  size_t found = text.rfind(kCheck, 0) == 0 ? text.find(kFound) : std::string::npos;
  if (found != std::string::npos) text.erase(0, found + kFound.size());
  constexpr size_t kLongest = 300;
  // The message quotes the caller's text and may end in the middle of a character.
  return RepairUtf8(text.substr(0, std::min(text.find('\n'), kLongest)));
}

xgrammar::CompiledGrammar GrammarBackend::Compile(GrammarKind kind, const std::string& source) {
  std::call_once(once_, [this] {
    tokens_.emplace(TokensOf(tokenizer_, vocab_size_, stops_, markers_));
    // On the calling thread only, and without a cache: GrammarCompiler has one cache for all kinds.
    compiler_.emplace(*tokens_, /*max_threads=*/1, /*cache_enabled=*/false);
    may_allow_.resize(static_cast<size_t>(vocab_size_));
    for (int32_t id = 0; id < vocab_size_; ++id) {
      size_t at = static_cast<size_t>(id);
      std::string bytes = tokenizer_.IsSpecial(id) ? "" : tokenizer_.TokenBytes(id);
      may_allow_[at] = !bytes.empty();
      if (bytes.find('"') != std::string::npos) quotes_.push_back(id);
    }
    for (const std::vector<int32_t>& ids : {stops_, markers_}) {
      for (int32_t id : ids) {  // an id that is not a token of the model is ignored
        if (id >= 0 && id < vocab_size_) may_allow_[static_cast<size_t>(id)] = true;
      }
    }
  });
  xgrammar::CompiledGrammar compiled = CompileWith(&*compiler_, kind, source);
  xgrammar::GrammarMatcher matcher = ParserOf(compiled);
  std::vector<int32_t> mask(static_cast<size_t>((vocab_size_ + 31) / 32));
  // Refuses now what the first token would be refused for.
  bool has_mask = !matcher.IsTerminated() && FillTokenMask(&matcher, &mask);
  if (has_mask && IsEmpty(mask)) throw std::runtime_error("it matches no text");
  return compiled;
}

Status Grammar::Impl::Prepare(const std::atomic<bool>* is_cancelled) {
  if (ready()) return status_;
  std::lock_guard<std::mutex> lock(mutex_);
  if (ready()) return status_;
  try {
    WorkLimit limit(kMostWork, is_cancelled);
    compiled_ = backend_->Compile(kind_, source_);
    grammar_bytes_ =
        static_cast<int64_t>(compiled_->MemorySizeBytes()) - xgrammar::MaskBytes(*compiled_);
    if (unique_ != nullptr) grammar_bytes_ += unique_->memory_bytes();
  } catch (const xgrammar::LimitReached& reached) {
    status_ = StatusOf(reached, backend_->vocab_size()).In("cannot be enforced");
    // The next one that waits compiles it.
    if (status_.code() == StatusCode::kCancelled) return std::exchange(status_, Status());
  } catch (const std::exception& error) {
    status_ = InvalidArgument("cannot be enforced: " + LibraryMessage(error.what()));
  }
  std::string().swap(source_);
  ready_.store(true, std::memory_order_release);
  done_(*this);
  return status_;
}

int64_t Grammar::Impl::memory_bytes() const {
  return ready() && compiled_ ? grammar_bytes_ + xgrammar::MaskBytes(*compiled_) : 0;
}

bool Grammar::ready() const { return impl_->ready(); }

Status Grammar::Prepare(const std::atomic<bool>* is_cancelled) const {
  return OfField(place_, impl_->Prepare(is_cancelled));
}

Grammar Grammar::For(std::string place) const {
  Grammar named = *this;
  named.place_ = std::move(place);
  return named;
}

std::vector<SchemaWarning> Grammar::warnings() const {
  if (warnings_) return *warnings_;
  std::vector<SchemaWarning> warnings = impl_->warnings();
  for (SchemaWarning& warning : warnings) warning.param = place_;
  return warnings;
}

Grammar Grammar::WithWarnings(std::vector<SchemaWarning> warnings) const {
  Grammar warned = *this;
  warned.warnings_ = std::move(warnings);
  return warned;
}

int64_t Grammar::memory_bytes() const { return impl_->memory_bytes(); }

}  // namespace mlc
