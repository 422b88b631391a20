#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "grammar/grammar_impl.h"

namespace mlc {
namespace {

// The states that a parser keeps, as a part of those of all answers.
class KeptStates {
 public:
  KeptStates() = default;
  KeptStates(const KeptStates& other) { Set(other.count_); }
  KeptStates& operator=(const KeptStates&) = delete;
  ~KeptStates() { Set(0); }
  // False when all answers together keep too many and this one more than a few.
  bool Set(int64_t count) {
    int64_t all = all_ += count - std::exchange(count_, count);
    return all <= kMostKeptStates || count <= kFewKeptStates;
  }

 private:
  static inline std::atomic<int64_t> all_{0};
  int64_t count_ = 0;
};

}  // namespace

struct GrammarMatcher::Impl {
  xgrammar::GrammarMatcher matcher;
  std::shared_ptr<const GrammarBackend> backend;
  // A limit was reached in the middle of a step: the library's matcher stands nowhere.
  Status failure;
  KeptStates kept{};
  int64_t work_left = kMostWork;  // of all steps, so that an answer cannot hold up all others

  Status FillMask(std::vector<int32_t>* mask);
  // Calls it under the limits. Its result, or `otherwise` where it throws.
  template <typename Step, typename Out>
  Out Limited(const Step& step, Out otherwise);
};

template <typename Step, typename Out>
Out GrammarMatcher::Impl::Limited(const Step& step, Out otherwise) {
  if (!failure.ok()) return otherwise;
  int64_t most = std::min(work_left, kMostStepWork);
  WorkLimit limit(most);
  try {
    Out out = step();
    work_left -= most - limit.left();
    int64_t states = xgrammar::allowance.num_states;
    if (states > 0 && !kept.Set(states)) throw xgrammar::LimitReached(xgrammar::Limit::kMemory);
    return out;
  } catch (const xgrammar::LimitReached& reached) {
    failure = StatusOf(reached, backend->vocab_size());
  } catch (const std::exception& error) {
    failure = Internal("the grammar failed: " + LibraryMessage(error.what()));
  }
  return otherwise;
}

Status GrammarMatcher::Impl::FillMask(std::vector<int32_t>* mask) {
  mask->assign(static_cast<size_t>((backend->vocab_size() + 31) / 32), 0);
  bool is_needed = Limited([&] { return FillTokenMask(&matcher, mask); }, true);
  MLC_RETURN_IF_ERROR(failure);
  if (!is_needed) mask->assign(mask->size(), -1);
  bool is_dead = std::all_of(mask->begin(), mask->end(), [](int32_t word) { return word == 0; });
  if (is_dead) return InvalidArgument("the grammar leaves no way to go on from here");
  return Status();
}

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrammarMatcher::GrammarMatcher(const Grammar& grammar) {
  MLC_ICHECK(grammar.Prepare().ok());
  const xgrammar::CompiledGrammar& compiled = *grammar.impl().compiled();
  // Without a stop token no token can follow a complete text, and no token would end it.
  bool ends_by_itself = compiled.GetTokenizerInfo().GetStopTokenIds().empty();
  impl_.reset(new Impl{xgrammar::GrammarMatcher(compiled, std::nullopt, ends_by_itself),
                       grammar.impl().backend(), Status()});
}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

Status GrammarMatcher::FillMask(std::vector<int32_t>* mask) { return impl_->FillMask(mask); }

bool GrammarMatcher::Accept(int32_t token) {
  if (finished() || !impl_->backend->MayAllow(token)) return false;
  int64_t added = std::max(kTokenWork, kReadWork * impl_->backend->vocab_size());
  impl_->work_left = std::min(impl_->work_left + added, kMostWork);
  return impl_->Limited([&] { return impl_->matcher.AcceptToken(token); }, false);
}

void GrammarMatcher::Rollback(int num_tokens) {
  if (num_tokens > 0 && impl_->failure.ok()) impl_->matcher.Rollback(num_tokens);
}

bool GrammarMatcher::finished() const { return impl_->matcher.IsTerminated(); }

std::string GrammarMatcher::ForcedText() {
  if (finished()) return "";
  return impl_->Limited([&] { return impl_->matcher.FindJumpForwardString(); }, std::string());
}

GrammarMatcher GrammarMatcher::Fork() const {
  return GrammarMatcher(std::unique_ptr<Impl>(new Impl{
      impl_->matcher.Fork(), impl_->backend, impl_->failure, impl_->kept, impl_->work_left}));
}

}  // namespace mlc
