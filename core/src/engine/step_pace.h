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
  // A step took so long. `is_done`: its results were there then; the work of others may go on, and
  // the next step that is done waits for it.
  void Add(int prompt_rows, int decode_rows, double seconds, bool is_done = true);
  PromptRows Next() const;

 private:
  double row_seconds_ = 0;     // of a row of a prompt; 0: not known yet
  double decode_seconds_ = 0;  // of a step with decodes only
  // of steps since the last one that was done
  int prompt_rows_ = 0, decode_rows_ = 0;
  double seconds_ = 0;
};

}  // namespace mlc
