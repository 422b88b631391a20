// A limit for the work of reading one source. It counts edges, ranges and parts, not time, so that
// a source is read in the same way on every machine.
//
//   WorkBudget budget(kMost);           // for this thread, until it goes out of scope
//   if (!WorkBudget::Spend(100)) ...    // in the functions that do the work
//
// A budget inside of another one takes from both: many schemas in one source share its budget.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace mlc {

class WorkBudget {
 public:
  explicit WorkBudget(int64_t most, int64_t parts = INT64_MAX)
      : left_(most), parts_left_(parts), outer_(current_) {
    current_ = this;
  }
  ~WorkBudget() { current_ = outer_; }
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // False when a budget of the thread is spent; true without a budget.
  static bool Spend(int64_t work) { return Take(&WorkBudget::left_, work); }
  // The same of the parts of the schema that are made, whatever work each takes.
  static bool SpendParts(int64_t count) { return Take(&WorkBudget::parts_left_, count); }
  static bool is_spent() { return !Spend(0); }
  static Status Error() { return Unsupported("the schema takes too much work to read"); }

 private:
  static bool Take(int64_t WorkBudget::* what, int64_t count) {
    bool is_left = true;
    for (WorkBudget* budget = current_; budget != nullptr; budget = budget->outer_) {
      budget->*what -= count;
      is_left = is_left && budget->*what >= 0;
    }
    return is_left;
  }

  static inline thread_local WorkBudget* current_ = nullptr;
  int64_t left_, parts_left_;
  WorkBudget* outer_;
};

}  // namespace mlc
