#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "grammar/grammar_impl.h"

namespace mlc {
namespace {

// The first byte of all tokens in a mask; none if they differ or if one of them ends the text.
std::optional<char> OnlyFirstByte(const std::vector<int32_t>& mask, const GrammarBackend& backend) {
  std::optional<int> only;
  for (size_t word = 0; word < mask.size(); ++word) {
    uint32_t left = static_cast<uint32_t>(mask[word]);
    for (int32_t token = static_cast<int32_t>(word) * 32; left != 0; left >>= 1, ++token) {
      if ((left & 1) == 0) continue;
      int first = backend.FirstByte(token);
      if (first < 0 || first != only.value_or(first)) return std::nullopt;
      only = first;
    }
  }
  if (!only) return std::nullopt;
  return static_cast<char>(*only);
}

}  // namespace

struct GrammarMatcher::Impl {
  xgrammar::GrammarMatcher matcher;
  std::shared_ptr<const GrammarBackend> backend;
  bool ends;

  Status FillMask(std::vector<int32_t>* mask);
  std::string BoundedForcedText();
};

Status GrammarMatcher::Impl::FillMask(std::vector<int32_t>* mask) {
  mask->assign(static_cast<size_t>((backend->vocab_size() + 31) / 32), 0);
  RowLimit limit;
  try {
    bool is_needed = FillTokenMask(&matcher, mask);
    if (!is_needed) mask->assign(mask->size(), -1);
    bool is_dead = std::all_of(mask->begin(), mask->end(), [](int32_t word) { return word == 0; });
    if (is_dead) return InvalidArgument("the grammar leaves no way to go on from here");
  } catch (const std::exception& error) {
    if (limit.is_spent()) return InvalidArgument(TooManyRows(backend->vocab_size()));
    return Internal("the grammar failed: " + LibraryMessage(error.what()));
  }
  return Status();
}

// The library follows forced text to its end, but `root ::= "a" root` has no end.
std::string GrammarMatcher::Impl::BoundedForcedText() {
  constexpr size_t kLongest = 64;
  std::string text;
  std::vector<int32_t> mask;
  while (text.size() < kLongest && !matcher.IsTerminated() && FillMask(&mask).ok()) {
    std::optional<char> next = OnlyFirstByte(mask, *backend);
    if (!next || !matcher.AcceptString(std::string(1, *next))) break;
    text += *next;
  }
  if (!text.empty()) matcher.Rollback(static_cast<int>(text.size()));
  return text;
}

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrammarMatcher::GrammarMatcher(const Grammar& grammar) {
  MLC_ICHECK(grammar.Prepare().ok());
  const xgrammar::CompiledGrammar& compiled = *grammar.impl().compiled();
  // Without a stop token no token can follow a complete text, and no token would end it.
  bool ends_by_itself = compiled.GetTokenizerInfo().GetStopTokenIds().empty();
  impl_.reset(new Impl{xgrammar::GrammarMatcher(compiled, std::nullopt, ends_by_itself),
                       grammar.impl().backend(), grammar.impl().ends()});
}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

Status GrammarMatcher::FillMask(std::vector<int32_t>* mask) { return impl_->FillMask(mask); }

bool GrammarMatcher::Accept(int32_t token) {
  if (finished() || !impl_->backend->MayAllow(token)) return false;
  return impl_->matcher.AcceptToken(token);
}

void GrammarMatcher::Rollback(int num_tokens) {
  if (num_tokens > 0) impl_->matcher.Rollback(num_tokens);
}

bool GrammarMatcher::finished() const { return impl_->matcher.IsTerminated(); }

std::string GrammarMatcher::ForcedText() {
  if (finished()) return "";
  try {
    return impl_->ends ? impl_->matcher.FindJumpForwardString() : impl_->BoundedForcedText();
  } catch (const std::exception&) {
    return "";
  }
}

GrammarMatcher GrammarMatcher::Fork() const {
  return GrammarMatcher(
      std::unique_ptr<Impl>(new Impl{impl_->matcher.Fork(), impl_->backend, impl_->ends}));
}

}  // namespace mlc
