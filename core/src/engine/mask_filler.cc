#include "engine/mask_filler.h"

#include "base/try_thread.h"
#include "platform/host.h"

namespace mlc {

MaskFiller::~MaskFiller() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MaskFiller::Begin(const std::vector<StepItem>& items) {
  if (!kHasThreads) return;  // the commit fills them
  double seconds = 0;
  std::vector<const StepItem*> guided;
  for (const StepItem& item : items) {
    const Sequence& sequence = *item.sequence;
    if (!item.wants_logits || !sequence.has_grammar() || sequence.ForcedToken()) continue;
    guided.push_back(&item);
    seconds += sequence.mask_seconds() * static_cast<double>(1 + item.drafts.FirstChain());
  }
  if (guided.empty() || seconds < worthwhile_s_) return;
  if (!thread_.joinable() && !TryThread(&thread_, [this] { Loop(); })) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_ = {guided.rbegin(), guided.rend()};
    stop_ = false;
  }
  changed_.notify_all();
}

void MaskFiller::End() {
  if (!thread_.joinable()) return;
  stop_ = true;
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.clear();
  changed_.wait(lock, [this] { return !at_work_; });
}

void MaskFiller::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    while (!waiting_.empty()) {
      const StepItem& item = *waiting_.back();
      waiting_.pop_back();
      at_work_ = true;
      lock.unlock();
      const std::vector<int32_t>& drafts = item.drafts.tokens();
      item.sequence->FillMasksAhead({drafts.begin(), drafts.begin() + item.drafts.FirstChain()},
                                    stop_);
      lock.lock();
      at_work_ = false;
    }
    changed_.notify_all();
  }
}

}  // namespace mlc
