// How many rows of prompts a step takes, so that no step lasts long. Running answers get a token
// from each step, and requests begin, end and pause between steps. (Sarathi-Serve, arXiv
// 2403.02310, bounds the rows of such steps by a number that its user finds for a model and a
// machine. Here a bound of the time gives it.)
#pragma once

#include <climits>

namespace mlc {

// The most rows of prompts in one step.
struct PromptRows {
  int beside_decodes = INT_MAX;
  int alone = INT_MAX;
};

class StepPace {
 public:
  // A step with so many rows of prompts took so long.
  void Add(int prompt_rows, double seconds);
  PromptRows Next() const;

 private:
  double row_seconds_ = 0;  // 0: not known yet
};

}  // namespace mlc
