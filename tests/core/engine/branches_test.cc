// Token trees in the cache: every row of a step sees its own path and nothing else, and what stays
// afterwards is the path that was kept.
#include "engine/branches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/fake_model.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int kVocab = 64;

// The logits of a row are its history: the n-th token at place n, and how many there are at 63.
void Recall(const Tokens& history, float* logits) {
  for (size_t i = 0; i < history.size(); ++i) logits[i] = static_cast<float>(history[i]);
  logits[kVocab - 1] = static_cast<float>(history.size());
}

Tokens Recalled(const float* logits) {
  return Tokens(logits, logits + static_cast<int>(logits[kVocab - 1]));
}

// A cache and a model that belong together, and one sequence.
class World {
 public:
  explicit World(int page_size, int window = 0, int sink = 0, int layer_window = 0)
      : cache_(kPages, page_size,
               {/*keep_prefixes=*/true, -1, window, sink, 0, layer_window > 0 ? kPages : 0,
                layer_window}),
        model_(Info(page_size, window, sink, layer_window), Recall) {
    EXPECT_TRUE(model_.AllocatePages(std::vector<int>(cache_.num_groups(), kPages)).ok());
  }

  static ModelInfo Info(int page_size, int window, int sink, int layer_window) {
    ModelInfo info = FakeModel::SmallInfo();
    info.layer_window = layer_window;
    info.windowed_page_bytes = layer_window > 0 ? info.page_bytes : 0;
    info.vocab_size = kVocab;
    info.page_size = page_size;
    info.prefill_chunk_size = info.max_batch_size = 64;
    info.sliding_window_size = window > 0 ? window : -1;
    info.attention_sink_size = sink;
    return info;
  }

  std::shared_ptr<Sequence> Add(SequenceId id, const Tokens& prompt) {
    Request request;
    request.prompt = prompt;
    cache_.Add(id);
    return std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                      testing::ByteTokenizer().get());
  }

  // Computes a step and returns the histories that its logits were made of.
  std::vector<Tokens> Run(const std::vector<StepItem>& items) {
    Result<Batch> batch = BuildBatch(items, &cache_);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    if (!batch.ok()) return {};
    Result<Outputs> outputs = RunBatch(*batch, &cache_, &model_);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    std::vector<Tokens> histories;
    for (size_t i = 0; outputs.ok() && i < batch->logit_rows.size(); ++i) {
      histories.push_back(Recalled(outputs->logits + i * kVocab));
    }
    return histories;
  }

  static constexpr int kPages = 64;
  KVCache cache_;
  FakeModel model_;
};

Drafts RandomTree(std::mt19937* random, int most) {
  Drafts drafts;
  int count = static_cast<int>((*random)() % static_cast<unsigned>(most + 1));
  for (int draft = 0; draft < count; ++draft) {
    bool branches = draft > 0 && (*random)() % 3 == 0;
    int any = static_cast<int>((*random)() % static_cast<unsigned>(draft + 1)) - 1;
    drafts.Add(static_cast<int32_t>(1 + (*random)() % 50), branches ? any : draft - 1);
  }
  return drafts;
}

Tokens Joined(Tokens tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

// What a row with `history` reads, under a window.
Tokens InReach(const Tokens& history, int window, int sink) {
  Tokens seen;
  int last = static_cast<int>(history.size()) - 1;
  for (int i = 0; i <= last; ++i) {
    if (window <= 0 || i < sink || i > last - window) seen.push_back(history[i]);
  }
  return seen;
}

struct Shape {
  int page_size, window, sink, layer_window = 0;
};

TEST(Branches, EveryRowSeesItsPathAndTheKeptOneStays) {
  std::mt19937 random(11);
  for (const Shape& shape : {Shape{4, 0, 0}, Shape{1, 0, 0}, Shape{16, 0, 0}, Shape{4, 9, 2},
                             Shape{4, 0, 0, 9}, Shape{1, 0, 2, 7}}) {
    for (int round = 0; round < 60; ++round) {
      World world(shape.page_size, shape.window, shape.sink, shape.layer_window);
      KVCache& cache = world.cache_;
      Tokens known(1 + random() % 20);
      for (int32_t& token : known) token = static_cast<int32_t>(1 + random() % 50);
      auto other = world.Add(2, {3, 1, 4, 1, 5});
      auto sequence = world.Add(1, known);
      int num_rows = sequence->num_tokens(), other_rows = 5;
      for (int step = 0; step < 4 && static_cast<int>(known.size()) < 40; ++step) {
        Drafts drafts = RandomTree(&random, 12);
        std::vector<StepItem> items = {{sequence, num_rows, true, drafts}};
        if (other_rows > 0) items.push_back({other, other_rows, true});
        std::vector<Tokens> seen = world.Run(items);
        ASSERT_EQ(seen.size(), static_cast<size_t>(1 + drafts.size() + (other_rows > 0 ? 1 : 0)));
        for (int draft = Drafts::kKnown; draft < drafts.size(); ++draft) {
          Tokens history = Joined(known, drafts.PathTokens(draft));
          EXPECT_EQ(seen[static_cast<size_t>(draft + 1)],
                    InReach(history, shape.window, shape.sink));
        }
        // Accepts a path, and one token that nobody drafted.
        int kept = static_cast<int>(random() % static_cast<unsigned>(drafts.size() + 1)) - 1;
        sequence->num_computed += num_rows;
        cache.Publish(1, sequence->tokens(), sequence->num_computed);
        cache.Slide(1, sequence->num_computed);
        KeepBranch(1, drafts, kept, &cache);
        Tokens accepted = Joined(drafts.PathTokens(kept), {60});
        for (int32_t token : accepted) sequence->Accept({token, std::nullopt}, 1000);
        known = Joined(known, accepted);
        sequence->num_computed += drafts.depth(kept);
        cache.Pop(1, cache.Length(1) - sequence->num_computed);
        num_rows = 1;
        other->num_computed += std::exchange(other_rows, 0);
        ASSERT_FALSE(HasFailure()) << "round " << round << ", pages of " << shape.page_size;
      }
      // Others find what was kept and nothing else.
      cache.Retire(1, sequence->tokens(), sequence->num_computed);
      cache.Remove(2);
      auto again = world.Add(3, Joined(known, {61}));
      cache.Remove(3);
      again->num_computed = cache.AddWithPrefix(3, 0, again->tokens());
      EXPECT_GE(again->num_computed, static_cast<int>(known.size()) - 1);
      std::vector<Tokens> seen =
          world.Run({{again, again->num_tokens() - again->num_computed, true}});
      ASSERT_EQ(seen.size(), 1u);
      EXPECT_EQ(seen[0], InReach(again->tokens(), shape.window, shape.sink));
      cache.Remove(3);
      cache.ClearPrefixes();
      EXPECT_EQ(cache.num_free_pages(), cache.num_pages()) << "round " << round;
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(Branches, TakeAsManyPagesAsIsSaid) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    World world(4);
    auto sequence = world.Add(1, Tokens(1 + random() % 9, 5));
    StepItem item{sequence, sequence->num_tokens(), true, RandomTree(&random, 14)};
    int pages = world.cache_.PagesNeeded(1, item.num_rows + item.drafts.FirstChain()).of[0];
    for (int draft = item.drafts.FirstChain(); draft < item.drafts.size();
         draft = item.drafts.BranchEnd(draft)) {
      pages += PagesOfBranch(item, draft, 4);
    }
    ASSERT_TRUE(BuildBatch({item}, &world.cache_).ok());
    EXPECT_EQ(World::kPages - world.cache_.num_free_pages(), pages);
    RemoveBranches(1, item.drafts, &world.cache_);
    RemoveBranches(1, item.drafts, &world.cache_);  // there are none any more
    world.cache_.Remove(1);
    EXPECT_EQ(world.cache_.num_free_pages(), World::kPages);
  }
}

TEST(Branches, AStepThatDoesNotFitIsAnErrorAndCanBeTakenBack) {
  KVCache cache(3, 4);
  Request request;
  request.prompt = {1, 2, 3, 4, 5};
  auto sequence = std::make_shared<Sequence>(1, 0, testing::StateOf(std::move(request)),
                                             testing::ByteTokenizer().get());
  cache.Add(1);
  Drafts drafts = {6};
  drafts.Add(7, Drafts::kKnown);
  drafts.Add(8, Drafts::kKnown);
  EXPECT_EQ(BuildBatch({{sequence, 5, true, drafts}}, &cache).status().code(),
            StatusCode::kResourceExhausted);
  RemoveBranches(1, drafts, &cache);
  cache.Remove(1);
  EXPECT_EQ(cache.num_free_pages(), 3);
}

}  // namespace
}  // namespace mlc
