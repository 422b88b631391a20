// A limit for the work of reading one source. It counts edges and ranges, not time, so that a
// source is read in the same way on every machine.
//
//   WorkBudget budget(kMost);           // for this thread, until it goes out of scope
//   if (!WorkBudget::Spend(100)) ...    // in the functions that do the work
#ifndef MLC_GRAMMAR_TEXT_WORK_BUDGET_H_
#define MLC_GRAMMAR_TEXT_WORK_BUDGET_H_

#include <cstdint>

#include "base/status.h"

namespace mlc {

class WorkBudget {
 public:
  explicit WorkBudget(int64_t most) : left_(most), outer_(current_) { current_ = this; }
  ~WorkBudget() { current_ = outer_; }
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Takes from the innermost budget of the thread. False when it is spent; true without a budget.
  static bool Spend(int64_t work) {
    if (current_ == nullptr) return true;
    current_->left_ -= work;
    return current_->left_ >= 0;
  }
  static bool is_spent() { return !Spend(0); }
  static Status Error() { return Unsupported("the schema takes too much work to read"); }

 private:
  static inline thread_local WorkBudget* current_ = nullptr;
  int64_t left_;
  WorkBudget* outer_;
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_WORK_BUDGET_H_
