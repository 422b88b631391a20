// Drafters for tests that guess without a model.
#pragma once

#include <random>
#include <vector>

#include "engine/speculation/drafter.h"

namespace mlc::testing {

class RandomDrafter : public Drafter {
 public:
  double seconds_per_draft(int) const override { return 0; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    std::vector<Drafts> drafts(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      int count = static_cast<int>(random_() % static_cast<unsigned>(tasks[i].max_drafts + 1));
      if (tasks[i].width > 1) count *= 3;
      for (int draft = 0; draft < count; ++draft) {
        int parent = draft - 1;
        if (tasks[i].width > 1 && draft > 0 && random_() % 3 == 0) {
          parent = static_cast<int>(random_() % static_cast<unsigned>(draft + 1)) - 1;
        }
        while (drafts[i].depth(parent) >= tasks[i].max_drafts) parent = drafts[i].parent(parent);
        drafts[i].Add(static_cast<int32_t>('a' + random_() % 5), parent);
      }
    }
    return drafts;
  }

 private:
  std::mt19937 random_{5};
};

class FailingDrafter : public RandomDrafter {
 public:
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    if (++num_calls_ > 3) return Internal("the draft's device is lost");
    return RandomDrafter::Draft(tasks);
  }

 private:
  int num_calls_ = 0;
};

}  // namespace mlc::testing
