#include "runtime/shards/shard_threads.h"

#include "runtime/parallel.h"
#include "runtime/spin.h"

namespace mlc {
namespace {

// How long a thread without work spins: it covers the pauses between the steps of a busy engine.
constexpr std::chrono::microseconds kSpin{200};

}  // namespace

ShardThreads::ShardThreads(int count) {
  for (int rank = 1; rank < count; ++rank) {
    threads_.emplace_back([this, rank] { Serve(rank); });
  }
}

ShardThreads::~ShardThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ShardThreads::Run(const std::function<void(int rank)>& act) {
  act_ = &act;
  num_workers_ = MaxWorkers();
  unfinished_ = static_cast<int>(threads_.size());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++turn_;
  }
  changed_.notify_all();
  act(0);
  SpinOrYield([this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void ShardThreads::Serve(int rank) {
  uint32_t seen = 0;
  auto ready = [&] { return turn_ != seen || stopped_; };
  while (true) {
    if (!Spin(kSpin, ready)) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, ready);
    }
    if (stopped_) return;
    seen = turn_;
    SetComputeThreads(num_workers_);
    (*act_)(rank);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace mlc
