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

// Knows the text, and is wrong sometimes.
class Part : public Drafter {
 public:
  Part(const std::vector<int32_t>* text, double rate, double seconds)
      : text_(text), rate_(rate), seconds_(seconds) {}

  double seconds_per_draft(int) const override { return seconds_; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    std::vector<Drafts> drafts;
    for (const DraftTask& task : tasks) {
      drafts.emplace_back();
      auto at = static_cast<size_t>(task.sequence->num_tokens());
      for (int i = 0; i < task.max_drafts; ++i, ++at) {
        bool is_right = std::ldexp(random_(), -32) < rate_;
        drafts.back().Append(is_right ? (*text_)[at] : 'z');
      }
    }
    return drafts;
  }

 private:
  const std::vector<int32_t>* text_;
  double rate_, seconds_;
  std::mt19937 random_{11};
};

struct Way {
  double rate = -1;  // of the part's drafts; below zero: there is none
  Lookup lookup = Lookup::kNone;
  double draft_seconds = .0045;
};

// Tokens a second of an answer that is `text`.
double Speed(const std::vector<int32_t>& text, const Way& way, SpecMetrics* metrics = nullptr) {
  std::unique_ptr<Drafter> part;
  if (way.rate >= 0) part = std::make_unique<Part>(&text, way.rate, way.draft_seconds);
  Speculator speculator(std::move(part), {}, way.lookup, nullptr);
  KVCache cache(1000, 16);
  cache.Add(1);
  Request request;
  request.prompt = std::vector<int32_t>(text.begin(), text.begin() + kPrompt);
  request.max_tokens = kTokens;
  request.ignore_eos = true;
  auto sequence =
      std::make_shared<Sequence>(1, 0, testing::StateOf(std::move(request)), ByteTokenizer().get());
  auto accept = [&] {
    auto next = static_cast<size_t>(sequence->num_tokens());
    sequence->Accept({text[next], std::nullopt}, 100000);
  };
  accept();
  double seconds = 0;
  while (!sequence->finished()) {
    std::vector<StepItem> items = {{sequence, 1, true}};
    speculator.AddDrafts({64, 8, 100000}, cache, &items);
    SequenceCommit commit{sequence, items[0].drafts, nullptr};
    const Drafts& drafts = commit.drafts;
    for (int at = Drafts::kKnown; at != Drafts::kNone && !sequence->finished();) {
      at = drafts.Child(at, text[static_cast<size_t>(sequence->num_tokens())]);
      accept();
      if (at != Drafts::kNone) ++commit.num_accepted, commit.last_accepted = at;
    }
    double step = RowSeconds(1 + drafts.size());
    seconds += step;
    speculator.Observe(items, {{nullptr, 0}}, {commit}, step);
  }
  const SpecMetrics& made = speculator.metrics();
  int64_t looked_up = made.prompt_lookup.drafts, drafted = 0;
  for (size_t i = 1; i < made.draft_count.size(); ++i) drafted += made.draft_count[i];
  seconds += way.draft_seconds * static_cast<double>(drafted - looked_up);
  if (metrics != nullptr) *metrics = made;
  return kTokens / seconds;
}

TEST(BestGuess, BothAreAsFastAsTheBetterAndFasterWhereEachHelps) {
  const double plain = 1 / RowSeconds(1);
  for (double share : {0.0, 0.3, 0.6, 1.0}) {
    std::vector<int32_t> text = TextOf(share);
    double lookup = Speed(text, {-1, Lookup::kOwnText});
    for (double rate : {0.0, 0.5, 0.75, 0.9}) {
      for (double draft : {.0045, .010}) {
        double part = Speed(text, {rate, Lookup::kNone, draft});
        double both = Speed(text, {rate, Lookup::kOwnText, draft});
        double best = std::max(lookup, part);
        EXPECT_GT(both, 0.95 * best) << share << " " << rate << " " << lookup << " " << part;
        EXPECT_GT(both, 0.98 * plain);
        bool helps = share > 0.2 && share < 0.9 && rate > 0.4;
        EXPECT_GT(both, helps ? 1.05 * best : 0) << share << " " << rate << " " << draft;
      }
    }
  }
}

TEST(BestGuess, APoorLookupIsNotTriedAndAPoorPartNeither) {
  SpecMetrics metrics;
  Speed(TextOf(0), {0.9, Lookup::kOwnText}, &metrics);
  EXPECT_LT(metrics.prompt_lookup.drafts, 30) << "what was found is compared, not checked";
  Speed(TextOf(1), {0.0, Lookup::kOwnText}, &metrics);
  int64_t drafts = 0;
  for (size_t i = 1; i < metrics.draft_count.size(); ++i) drafts += metrics.draft_count[i];
  EXPECT_LT(drafts - metrics.prompt_lookup.drafts, 60);
}

}  // namespace
}  // namespace mlc
