#include "runtime/shards/shard_threads.h"

#include <algorithm>
#include <exception>
#include <string>

#include "runtime/spin.h"

namespace mlc {
namespace {

// How long a thread without work spins: it covers the pauses between the steps of a busy engine.
constexpr std::chrono::microseconds kSpin{200};

}  // namespace

Result<std::unique_ptr<ShardThreads>> ShardThreads::Make(int count) {
  std::unique_ptr<ShardThreads> made(new ShardThreads());
  try {
    for (int rank = 1; rank < count; ++rank) {
      made->threads_.emplace_back([all = made.get(), rank] { all->Serve(rank); });
    }
  } catch (const std::exception& error) {
    return ResourceExhausted("the system gives no thread to each of " + std::to_string(count) +
                             " shards: " + error.what() +
                             "; end other programs, or use fewer shards")
        .WithParam("tensor_parallel_shards");
  }
  return made;
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
  first_.Run(NumWorkers(0), [&] { act(0); });
  SpinOrYield([this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

int ShardThreads::NumWorkers(int rank) const {
  int count = static_cast<int>(threads_.size()) + 1;
  return std::max(1, num_workers_ / count + (rank < num_workers_ % count ? 1 : 0));
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
    SetComputeThreads(NumWorkers(rank));
    (*act_)(rank);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace mlc
