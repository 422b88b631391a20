// A drafter and lookup together: the better guess is checked. The steps' times are those of a
// table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/engine_driver.h"
#include "engine/speculation/speculator.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::ByteTokenizer;

constexpr int kPrompt = 100, kTokens = 1500, kBlock = 40;

// The 1B shape on two threads.
double RowSeconds(int rows) {
  const double table[] = {0, .0365, .0375, .038, .0388, .045, .047, .049, .051};
  return rows <= 8 ? table[rows] : .051 + .0045 * (rows - 8);
}

// Blocks of few different letters, so that short runs often come again and tell nothing. A `share`
// of the blocks are copies of earlier ones.
std::vector<int32_t> TextOf(double share) {
  std::mt19937 random(3);
  std::vector<int32_t> text;
  while (static_cast<int>(text.size()) < kPrompt + kTokens) {
    size_t size = text.size();
    bool is_copy = size >= 2 * kBlock && std::ldexp(random(), -32) < share;
    size_t from = is_copy ? random() % (size - kBlock) : 0;
    for (size_t i = 0; i < kBlock; ++i) {
      text.push_back(is_copy ? text[from + i] : static_cast<int32_t>('a' + random() % 12));
    }
  }
  return text;
}

// Whether the part has drafts at all, and whether it says so before.
enum class Gives { kDrafts, kNone, kNoneAndSaysSo };

struct Way {
  double rate = -1;  // of the part's drafts; below zero: there is none
  Lookup lookup = Lookup::kNone;
  double draft_seconds = .0045;
  Gives gives = Gives::kDrafts;
  double tick = 0;  // how long it takes to look at the clock
};

// Knows the texts, and is wrong sometimes. Its time passes on a clock of the test.
class Part : public Drafter {
 public:
  Part(const std::vector<std::vector<int32_t>>* texts, const Way& way, Clock::duration* clock)
      : texts_(texts), way_(way), clock_(clock) {}

  bool CanDraft(const Sequence&) const override { return way_.gives != Gives::kNoneAndSaysSo; }
  double seconds_per_draft(int) const override { return way_.draft_seconds; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    std::vector<Drafts> drafts(tasks.size());
    EXPECT_NE(way_.gives, Gives::kNoneAndSaysSo) << "it is not asked";
    if (way_.gives != Gives::kDrafts) return drafts;
    int deepest = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      const std::vector<int32_t>& text = (*texts_)[static_cast<size_t>(tasks[i].sequence->id)];
      auto at = static_cast<size_t>(tasks[i].sequence->num_tokens());
      for (int depth = 0; depth < tasks[i].max_drafts; ++depth, ++at) {
        bool is_right = std::ldexp(random_(), -32) < way_.rate;
        drafts[i].Append(is_right ? text[at] : 'z');
      }
      deepest = std::max(deepest, tasks[i].max_drafts);
    }
    *clock_ += Duration(deepest * way_.draft_seconds);
    return drafts;
  }

  static Clock::duration Duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

 private:
  const std::vector<std::vector<int32_t>>* texts_;
  Way way_;
  Clock::duration* clock_;
  std::mt19937 random_{11};
};

// Tokens a second of answers that are `texts`, as long as all of them run.
double Speed(const std::vector<std::vector<int32_t>>& texts, const Way& way,
             SpecMetrics* metrics = nullptr) {
  Clock::duration clock = {};
  std::unique_ptr<Drafter> part;
  if (way.rate >= 0) part = std::make_unique<Part>(&texts, way, &clock);
  Speculator speculator(std::move(part), {}, way.lookup, nullptr, [&] {
    clock += Part::Duration(way.tick);
    return Clock::time_point(clock);
  });
  KVCache cache(1000, 16);
  std::vector<std::shared_ptr<Sequence>> sequences;
  auto accept = [&](Sequence* sequence) {
    const std::vector<int32_t>& text = texts[static_cast<size_t>(sequence->id)];
    auto next = static_cast<size_t>(sequence->num_tokens());
    sequence->Accept({text[next], std::nullopt}, 100000);
  };
  for (const std::vector<int32_t>& text : texts) {
    auto id = static_cast<SequenceId>(sequences.size());
    cache.Add(id);
    Request request;
    request.prompt = std::vector<int32_t>(text.begin(), text.begin() + kPrompt);
    request.max_tokens = kTokens;
    request.ignore_eos = true;
    sequences.push_back(std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                                   ByteTokenizer().get()));
    accept(sequences.back().get());
  }
  int tokens = 0;
  auto ends = [](const auto& sequence) { return sequence->finished(); };
  while (std::none_of(sequences.begin(), sequences.end(), ends)) {
    std::vector<StepItem> items;
    for (const auto& sequence : sequences) items.push_back({sequence, 1, true});
    speculator.AddDrafts({64, 8, 100000}, cache, &items);
    int rows = 0;
    std::vector<SequenceCommit> commits;
    for (const StepItem& item : items) {
      SequenceCommit commit{item.sequence, item.drafts, nullptr};
      const Drafts& drafts = commit.drafts;
      const std::vector<int32_t>& text = texts[static_cast<size_t>(item.sequence->id)];
      for (int at = Drafts::kKnown; at != Drafts::kNone && !item.sequence->finished();) {
        at = drafts.Child(at, text[static_cast<size_t>(item.sequence->num_tokens())]);
        accept(item.sequence.get());
        ++tokens;
        if (at != Drafts::kNone) ++commit.num_accepted, commit.last_accepted = at;
      }
      rows += 1 + drafts.size();
      commits.push_back(std::move(commit));
    }
    clock += Part::Duration(RowSeconds(rows));
    std::vector<RowStates> states(items.size(), RowStates{nullptr, 0});
    speculator.Observe(items, states, commits, RowSeconds(rows));
  }
  if (metrics != nullptr) *metrics = speculator.metrics();
  return tokens / std::chrono::duration<double>(clock).count();
}

int64_t DraftsOfThePart(const SpecMetrics& metrics) {
  int64_t drafts = -metrics.prompt_lookup.drafts;
  for (size_t i = 1; i < metrics.draft_count.size(); ++i) drafts += metrics.draft_count[i];
  return drafts;
}

TEST(BestGuess, BothAreAsFastAsTheBetterAndFasterWhereEachHelps) {
  const double plain = 1 / RowSeconds(1);
  for (double share : {0.0, 0.3, 0.6, 1.0}) {
    std::vector<int32_t> text = TextOf(share);
    double lookup = Speed({text}, {-1, Lookup::kOwnText});
    for (double rate : {0.0, 0.5, 0.75, 0.9}) {
      for (double draft : {.0045, .010}) {
        double part = Speed({text}, {rate, Lookup::kNone, draft});
        double both = Speed({text}, {rate, Lookup::kOwnText, draft});
        double best = std::max(lookup, part);
        EXPECT_GT(both, 0.95 * best) << share << " " << rate << " " << lookup << " " << part;
        EXPECT_GT(both, 0.98 * plain);
        bool helps = share > 0.2 && share < 0.9 && rate > 0.4;
        EXPECT_GT(both, helps ? 1.04 * best : 0) << share << " " << rate << " " << draft;
      }
    }
  }
}

TEST(BestGuess, APoorLookupIsNotTriedAndAPoorPartNeither) {
  SpecMetrics metrics;
  Speed({TextOf(0)}, {0.9, Lookup::kOwnText}, &metrics);
  EXPECT_LT(metrics.prompt_lookup.drafts, 30) << "what was found is compared, not checked";
  Speed({TextOf(1)}, {0.0, Lookup::kOwnText}, &metrics);
  EXPECT_LT(DraftsOfThePart(metrics), 60);
}

TEST(BestGuess, APartWithoutDraftsHidesNoFoundOnes) {
  std::vector<int32_t> text = TextOf(0.6);
  double lookup = Speed({text}, {-1, Lookup::kOwnText});
  EXPECT_GT(lookup, 1.2 / RowSeconds(1));
  for (Gives gives : {Gives::kNone, Gives::kNoneAndSaysSo}) {
    EXPECT_GT(Speed({text}, {0.9, Lookup::kOwnText, .0045, gives}), 0.98 * lookup);
  }
}

TEST(BestGuess, BothHelpInABatch) {
  std::vector<std::vector<int32_t>> texts = {TextOf(0.8), TextOf(0.5)};
  double lookup = Speed(texts, {-1, Lookup::kOwnText}), part = Speed(texts, {0.75});
  EXPECT_GT(Speed(texts, {0.75, Lookup::kOwnText}), 1.15 * std::max(lookup, part));
}

TEST(BestGuess, TheTimeOfLookingUpCounts) {
  SpecMetrics metrics;
  Speed({TextOf(0)}, {-1, Lookup::kOwnText, 0, Gives::kNone, .004}, &metrics);
  EXPECT_NEAR(*metrics.all.times(), RowSeconds(1) / (RowSeconds(1) + .004), 0.01);
}

}  // namespace
}  // namespace mlc
