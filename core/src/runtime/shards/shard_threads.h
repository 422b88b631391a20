// The threads of the shards of a model. The first shard is the caller's thread. Each of them has a
// pool of threads for its loops (parallel.h); together they are as many as the caller has.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "runtime/parallel.h"

namespace mlc {

class ShardThreads {
 public:
  // kResourceExhausted when the system gives no more threads.
  static Result<std::unique_ptr<ShardThreads>> Make(int count);
  ~ShardThreads();
  ShardThreads(const ShardThreads&) = delete;
  ShardThreads& operator=(const ShardThreads&) = delete;

  // Calls act(rank) once for each shard, and returns when all calls are done. `act` must not throw.
  void Run(const std::function<void(int rank)>& act);

 private:
  ShardThreads() = default;
  void Serve(int rank);
  int NumWorkers(int rank) const;  // of a shard in the run

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> turn_{0};  // number of the run
  std::atomic<bool> stopped_{false};
  std::atomic<int> unfinished_{0};
  const std::function<void(int)>* act_ = nullptr;  // of the run
  int num_workers_ = 1;                            // of all shards in the run
  PartPool first_;                                 // the first shard's workers
  std::vector<std::thread> threads_;  // the last member, because threads use the others
};

}  // namespace mlc
