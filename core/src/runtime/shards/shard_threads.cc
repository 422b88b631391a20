#include "runtime/shards/shard_threads.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

#include "base/try_thread.h"
#include "runtime/spin.h"

namespace mlc {
namespace {

// How long a thread without work spins: it covers the pauses between the steps of a busy engine.
constexpr std::chrono::microseconds kSpin{200};
constexpr std::chrono::milliseconds kWatch{20};

}  // namespace

Result<std::unique_ptr<ShardThreads>> ShardThreads::Make(int count, bool on_cores,
                                                         const std::string& system) {
  std::unique_ptr<ShardThreads> made(new ShardThreads(count, on_cores, system));
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
  int count = static_cast<int>(threads_.size()) + 1;
  if (turn_ == 0) is_bound_ = cores_.Take(std::max(num_workers_, count));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++turn_;
  }
  changed_.notify_all();
  {
    std::optional<OnCpus> on;
    if (is_bound_) on.emplace(cores_.of(0));
    first_.Run(NumWorkers(0), [&] { act(0); });
  }
  SpinOrYield([this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void ShardThreads::RunApart(const std::function<void(int)>& act,
                            const std::function<void()>& watch) {
  num_workers_ = MaxWorkers();
  std::vector<std::thread> threads(threads_.size() + 1);
  std::mutex mutex;
  std::condition_variable done;
  size_t unfinished = threads.size();
  for (size_t index = 0; index < threads.size(); ++index) {
    auto run = [&, rank = static_cast<int>(index)] {
      std::optional<OnCpus> on;
      if (cores_.has_cores()) on.emplace(cores_.of(rank));
      SetComputeThreads(NumWorkers(rank));
      act(rank);
      std::lock_guard<std::mutex> lock(mutex);
      if (--unfinished == 0) done.notify_all();
    };
    if (TryThread(&threads[index], run)) continue;
    act(static_cast<int>(index));
    std::lock_guard<std::mutex> lock(mutex);
    --unfinished;
  }
  bool is_done = false;
  while (!is_done) {
    watch();
    std::unique_lock<std::mutex> lock(mutex);
    is_done = done.wait_for(lock, kWatch, [&] { return unfinished == 0; });
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

int ShardThreads::NumWorkers(int rank) const {
  int count = static_cast<int>(threads_.size()) + 1;
  return std::max(1, num_workers_ / count + (rank < num_workers_ % count ? 1 : 0));
}

void ShardThreads::Serve(int rank) {
  uint32_t seen = 0;
  std::optional<OnCpus> on;
  auto ready = [&] { return turn_ != seen || stopped_; };
  while (true) {
    if (!Spin(kSpin, ready)) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, ready);
    }
    if (stopped_) return;
    seen = turn_;
    if (is_bound_ && !on) on.emplace(cores_.of(rank));
    SetComputeThreads(NumWorkers(rank));
    (*act_)(rank);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace mlc
