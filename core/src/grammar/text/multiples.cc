#include "grammar/text/multiples.h"

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr int64_t kMostStates = 8000;
constexpr int64_t kMostZeros = 3;  // that may follow when no other digit may

// The first states mean: nothing was read yet, a sign, a single 0, no text fits any more, and the
// point with 0 to kMostZeros zeros after it. Then there is one state for each number of digits
// after the point (0: the point was not read) and each remainder of the division by `of`.
class MultiplesBuilder {
 public:
  // Multiples of `of` with the point `places` digits from the end.
  MultiplesBuilder(int64_t of, int64_t places)
      : of_(of), places_(places), point_base_(kFixed + of) {
    states_.resize(static_cast<size_t>(point_base_ + (places + 1) * of));
  }

  Automaton Run() {
    auto none = [](int64_t) { return static_cast<int>(kDead); };
    auto first = [this](int64_t d) {
      return d == 0 ? static_cast<int>(kZero) : StateOf(0, d % of_);
    };
    Set(kStart, false, kSign, kDead, first);
    Set(kSign, false, kDead, kDead, first);
    Set(kZero, true, kDead, PointOf(0), none);
    Set(kDead, false, kDead, kDead, none);
    for (int64_t zeros = 0; zeros <= kMostZeros; ++zeros) {
      Set(EndOf(zeros), zeros > 0, kDead, kDead, [this, zeros](int64_t d) {
        return d == 0 && zeros < kMostZeros ? EndOf(zeros + 1) : static_cast<int>(kDead);
      });
    }
    for (int64_t rest = 0; rest < of_; ++rest) AddRemainder(rest);
    return Automaton(std::move(states_));
  }

 private:
  enum { kStart, kSign, kZero, kDead, kEnd0, kFixed = kEnd0 + kMostZeros + 1 };

  static int EndOf(int64_t zeros) { return static_cast<int>(kEnd0 + zeros); }
  int StateOf(int64_t digits, int64_t rest) const {
    return static_cast<int>(digits == 0 ? kFixed + rest : point_base_ + digits * of_ + rest);
  }
  int PointOf(int64_t rest) const { return static_cast<int>(point_base_ + rest); }

  // Whether it is a multiple when zeros are put for the digits that are not written.
  bool Fits(int64_t digits, int64_t rest) const {
    for (; digits < places_; ++digits) rest = rest * 10 % of_;
    return rest == 0;
  }

  // From a state: where '-', '.' and the digits lead.
  template <typename Digit>
  void Set(int state, bool accepts, int minus, int point, Digit digit) {
    std::vector<Automaton::Edge> edges = {{0, kDead}, {'-', minus}, {'.', point}, {'/', kDead}};
    for (char32_t c = '0'; c <= '9'; ++c) {
      edges.push_back({c, digit(static_cast<int64_t>(c - '0'))});
    }
    edges.push_back({'9' + 1, kDead});
    states_[static_cast<size_t>(state)] = {accepts, std::move(edges)};
  }

  // The states whose remainder is `rest`, before the point and after it.
  void AddRemainder(int64_t rest) {
    auto next = [this, rest](int64_t digits) {
      return [this, rest, digits](int64_t d) { return StateOf(digits, (rest * 10 + d) % of_); };
    };
    auto zeros = [rest](int64_t d) {
      return d == 0 && rest == 0 ? EndOf(1) : static_cast<int>(kDead);
    };
    Set(StateOf(0, rest), Fits(0, rest), kDead, PointOf(rest), next(0));
    if (places_ == 0) {
      Set(PointOf(rest), false, kDead, kDead, zeros);
      return;
    }
    Set(PointOf(rest), false, kDead, kDead, next(1));
    for (int64_t digits = 1; digits < places_; ++digits) {
      Set(StateOf(digits, rest), Fits(digits, rest), kDead, kDead, next(digits + 1));
    }
    Set(StateOf(places_, rest), Fits(places_, rest), kDead, kDead, zeros);
  }

  int64_t of_, places_, point_base_;
  std::vector<Automaton::State> states_;
};

}  // namespace

Result<Automaton> MultiplesOf(const Decimal& step) {
  int64_t places = static_cast<int64_t>(step.fraction.size());
  if (step.whole.size() + step.fraction.size() > 9) return Unsupported("it has too many digits");
  int64_t of = std::stoll(step.whole + step.fraction);
  if (of * (places + 2) > kMostStates)
    return Unsupported("telling its multiples takes too many rules");
  constexpr int64_t kWorkOfOne = 20;  // of a state: an edge for each digit
  if (!WorkBudget::Spend(kWorkOfOne * of * (places + 2))) return WorkBudget::Error();
  return MultiplesBuilder(of, places).Run();
}

}  // namespace mlc
