#include <dlpack/dlpack.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "grammar/grammar_impl.h"

namespace mlc {

struct GrammarMatcher::Impl {
  xgrammar::GrammarMatcher matcher;
  int vocab_size;
};

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrammarMatcher::GrammarMatcher(const Grammar& grammar) {
  MLC_ICHECK(grammar.Prepare().ok());
  const xgrammar::CompiledGrammar& compiled = *grammar.impl().compiled();
  // Without a stop token nothing could follow a complete text, and nothing would end it.
  bool ends_by_itself = compiled.GetTokenizerInfo().GetStopTokenIds().empty();
  impl_.reset(new Impl{xgrammar::GrammarMatcher(compiled, std::nullopt, ends_by_itself),
                       grammar.impl().vocab_size()});
}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

Status GrammarMatcher::FillMask(std::vector<int32_t>* mask) {
  mask->assign(static_cast<size_t>((impl_->vocab_size + 31) / 32), 0);
  int64_t shape[] = {static_cast<int64_t>(mask->size())};
  DLTensor tensor{mask->data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, shape, nullptr, 0};
  try {
    bool is_needed = impl_->matcher.FillNextTokenBitmask(&tensor);
    if (!is_needed) mask->assign(mask->size(), -1);
    bool is_dead = std::all_of(mask->begin(), mask->end(), [](int32_t word) { return word == 0; });
    if (is_dead) return InvalidArgument("the grammar leaves no way to go on from here");
  } catch (const std::exception& error) {
    return Internal("the grammar failed: " + LibraryMessage(error.what()));
  }
  return Status();
}

bool GrammarMatcher::Accept(int32_t token) {
  if (token < 0 || token >= impl_->vocab_size || finished()) return false;
  return impl_->matcher.AcceptToken(token);
}

void GrammarMatcher::Rollback(int num_tokens) {
  if (num_tokens > 0) impl_->matcher.Rollback(num_tokens);
}

bool GrammarMatcher::finished() const { return impl_->matcher.IsTerminated(); }

std::string GrammarMatcher::ForcedText() {
  if (finished()) return "";
  try {
    return impl_->matcher.FindJumpForwardString();
  } catch (const std::exception&) {
    return "";
  }
}

GrammarMatcher GrammarMatcher::Fork() const {
  return GrammarMatcher(std::unique_ptr<Impl>(new Impl{impl_->matcher.Fork(), impl_->vocab_size}));
}

}  // namespace mlc
