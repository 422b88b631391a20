#include "submitter.h"

#include <utility>

namespace mlc {
namespace {

// So that one long prompt does not delay all others.
constexpr size_t kMostThreads = 4;

}  // namespace

Submitter::~Submitter() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Submitter::Push(Work work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
    if (waiting_.size() > num_idle_ && threads_.size() < kMostThreads) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  changed_.notify_one();
}

void Submitter::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++num_idle_;
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    --num_idle_;
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // it may hold the last handle of an engine, whose end takes time
    lock.lock();
  }
}

}  // namespace mlc
