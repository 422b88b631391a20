#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <utility>

#include "grammar/grammar_impl.h"
#include "grammar/unique_items.h"

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

bool IsIn(const std::vector<int32_t>& mask, int32_t token) {
  return (static_cast<uint32_t>(mask[static_cast<size_t>(token / 32)]) >> (token % 32) & 1) != 0;
}

void Remove(int32_t token, std::vector<int32_t>* mask) {
  int32_t& word = (*mask)[static_cast<size_t>(token / 32)];
  word = static_cast<int32_t>(static_cast<uint32_t>(word) & ~(uint32_t{1} << (token % 32)));
}

}  // namespace

struct GrammarMatcher::Impl {
  xgrammar::GrammarMatcher matcher;
  std::shared_ptr<const GrammarBackend> backend;
  // A limit was reached in the middle of a step: the library's matcher stands nowhere.
  Status failure;
  KeptStates kept{};
  int64_t work_left = kMostWork;  // of all steps, so that an answer cannot hold up all others
  std::optional<UniqueItems> unique{};
  std::string place{};  // the field of the request that has the grammar

  Status FillMask(std::vector<int32_t>* mask);
  bool Accept(int32_t token);
  bool Accept(const std::string& text);  // counts as one token
  void Rollback(int num_tokens);
  std::string ForcedText();
  // Takes away the tokens with which an item of a list would be equal to an earlier one.
  void RemoveRepeats(std::vector<int32_t>* mask);
  // Takes away those after which only such tokens could follow.
  void RemoveDeadEnds(std::vector<int32_t>* mask);
  std::set<int32_t> Following(const std::vector<int32_t>& mask) const;
  bool MayFollow(int32_t token, int* tries);
  bool MayGoOn(int* tries);
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
  if (unique) {
    RemoveRepeats(mask);
    RemoveDeadEnds(mask);
    MLC_RETURN_IF_ERROR(failure);
  }
  if (IsEmpty(*mask)) return InvalidArgument("the grammar leaves no way to go on from here");
  return Status();
}

void GrammarMatcher::Impl::RemoveRepeats(std::vector<int32_t>* mask) {
  const std::vector<std::string>& vocabulary = backend->tokens().GetDecodedVocab();
  bool is_inside = unique->is_inside();
  auto judge = [&](int32_t token) {
    const std::string& bytes = vocabulary[static_cast<size_t>(token)];
    // Outside, a token would have to hold a list with two items.
    bool may_repeat =
        is_inside || (bytes.find('[') != std::string::npos && bytes.find(',') != std::string::npos);
    if (may_repeat && IsIn(*mask, token) && unique->Repeats(bytes)) Remove(token, mask);
  };
  if (unique->is_in_string()) {
    for (int32_t token : backend->quotes()) judge(token);
    return;
  }
  for (size_t word = 0; word < mask->size(); ++word) {
    if ((*mask)[word] == 0) continue;
    int32_t first = static_cast<int32_t>(word) * 32;
    for (int32_t token = first; token < std::min(first + 32, backend->vocab_size()); ++token) {
      judge(token);
    }
  }
}

// The tokens with which the item goes on like an earlier one.
std::set<int32_t> GrammarMatcher::Impl::Following(const std::vector<int32_t>& mask) const {
  constexpr size_t kMostItems = 64, kLongestToken = 32;
  const auto& sorted = backend->tokens().GetSortedDecodedVocab();
  std::set<int32_t> following;
  for (const std::string& rest : unique->Rests(kMostItems)) {
    for (size_t length = 1; length <= std::min(rest.size(), kLongestToken); ++length) {
      std::string bytes = rest.substr(0, length);
      auto found = std::lower_bound(sorted.begin(), sorted.end(), bytes,
                                    [](const auto& a, const auto& b) { return a.second < b; });
      for (; found != sorted.end() && found->second == bytes; ++found) {
        if (IsIn(mask, found->first)) following.insert(found->first);
      }
    }
  }
  return following;
}

void GrammarMatcher::Impl::RemoveDeadEnds(std::vector<int32_t>* mask) {
  if (!unique->is_inside()) return;
  int most_tries = 64;
  for (int32_t token : Following(*mask)) {
    if (!MayFollow(token, &most_tries) && failure.ok()) Remove(token, mask);
  }
}

// Whether the item can become another one behind the token. Where that takes too many tries, it is
// said to be so.
bool GrammarMatcher::Impl::MayFollow(int32_t token, int* tries) {
  if (--*tries < 0) return true;
  if (!Accept(token)) return false;
  std::string forced = Limited([&] { return matcher.FindJumpForwardString(); }, std::string());
  bool may_follow = false;
  if (Accept(forced)) {
    may_follow = MayGoOn(tries);
    Rollback(1);
  }
  Rollback(1);
  return may_follow;
}

bool GrammarMatcher::Impl::MayGoOn(int* tries) {
  std::vector<int32_t> mask(static_cast<size_t>((backend->vocab_size() + 31) / 32));
  if (!Limited([&] { return FillTokenMask(&matcher, &mask); }, true)) return true;
  const std::vector<std::string>& vocabulary = backend->tokens().GetDecodedVocab();
  std::set<int32_t> following = Following(mask);
  for (int32_t token = 0; token < backend->vocab_size(); ++token) {
    if (!IsIn(mask, token) || following.count(token) != 0) continue;
    if (!unique->Repeats(vocabulary[static_cast<size_t>(token)])) return true;
  }
  return std::any_of(following.begin(), following.end(),
                     [&](int32_t token) { return MayFollow(token, tries); });
}

bool GrammarMatcher::Impl::Accept(const std::string& text) {
  bool is_read = Limited([&] { return matcher.AcceptString(text); }, false);
  if (!is_read || unique->Accept(text)) return is_read;
  matcher.Rollback(1);
  return false;
}

bool GrammarMatcher::Impl::Accept(int32_t token) {
  if (!Limited([&] { return matcher.AcceptToken(token); }, false)) return false;
  const std::string& bytes = backend->tokens().GetDecodedVocab()[static_cast<size_t>(token)];
  if (!unique || unique->Accept(bytes)) return true;
  matcher.Rollback(1);
  return false;
}

void GrammarMatcher::Impl::Rollback(int num_tokens) {
  if (num_tokens <= 0 || !failure.ok()) return;
  matcher.Rollback(num_tokens);
  if (unique) unique->Rollback(num_tokens);
}

std::string GrammarMatcher::Impl::ForcedText() {
  std::string text = Limited([&] { return matcher.FindJumpForwardString(); }, std::string());
  return unique && unique->Repeats(text) ? "" : text;
}

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrammarMatcher::GrammarMatcher(const Grammar& grammar) {
  MLC_ICHECK(grammar.Prepare().ok());
  impl_.reset(new Impl{ParserOf(*grammar.impl().compiled()), grammar.impl().backend(), Status()});
  if (grammar.impl().unique() != nullptr) impl_->unique.emplace(grammar.impl().unique());
  impl_->place = grammar.place();
}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

Status GrammarMatcher::FillMask(std::vector<int32_t>* mask) {
  return OfField(impl_->place, impl_->FillMask(mask));
}

bool GrammarMatcher::Accept(int32_t token) {
  if (finished() || !impl_->backend->MayAllow(token)) return false;
  int64_t added = std::max(kTokenWork, kReadWork * impl_->backend->vocab_size());
  impl_->work_left = std::min(impl_->work_left + added, kMostWork);
  return impl_->Accept(token);
}

void GrammarMatcher::Rollback(int num_tokens) { impl_->Rollback(num_tokens); }

bool GrammarMatcher::finished() const { return impl_->matcher.IsTerminated(); }

std::string GrammarMatcher::ForcedText() { return finished() ? "" : impl_->ForcedText(); }

GrammarMatcher GrammarMatcher::Fork() const {
  GrammarMatcher fork(std::unique_ptr<Impl>(new Impl{
      impl_->matcher.Fork(), impl_->backend, impl_->failure, impl_->kept, impl_->work_left}));
  if (impl_->unique) fork.impl_->unique.emplace(impl_->unique->Fork());
  fork.impl_->place = impl_->place;
  return fork;
}

}  // namespace mlc
