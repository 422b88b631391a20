// The threads of the shards of a model. The first shard is the caller's thread. Each of them has a
// pool of threads for its loops (parallel.h); together they are as many as the caller has. Shards
// on the CPU have cores of their own, if there are several NUMA nodes (shard_cores.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "runtime/parallel.h"
#include "runtime/shards/shard_cores.h"

namespace mlc {

class ShardThreads {
 public:
  // `on_cores`: they compute on the CPU. kResourceExhausted when the system gives no more threads.
  static Result<std::unique_ptr<ShardThreads>> Make(int count, bool on_cores,
                                                    const std::string& system = kDescribedMachine);
  ~ShardThreads();
  ShardThreads(const ShardThreads&) = delete;
  ShardThreads& operator=(const ShardThreads&) = delete;

  // Calls act(rank) once for each shard, and returns when all calls are done. `act` must not throw.
  // Meanwhile the caller's thread is on the first shard's cores. The first call decides whether the
  // threads are bound.
  void Run(const std::function<void(int rank)>& act);

  // The same on threads that end with the call, on the cores of each shard: memory that `act`
  // writes first is near to them. The caller's thread stays where it is, and calls watch() now and
  // then.
  void RunApart(const std::function<void(int rank)>& act, const std::function<void()>& watch);

 private:
  ShardThreads(int count, bool on_cores, const std::string& system)
      : cores_(on_cores ? count : 0, system) {}
  void Serve(int rank);
  int NumWorkers(int rank) const;  // of a shard in the run

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> turn_{0};  // number of the run
  std::atomic<bool> stopped_{false};
  std::atomic<int> unfinished_{0};
  const std::function<void(int)>* act_ = nullptr;  // of the run
  int num_workers_ = 1;                            // of all shards in the run
  ShardCores cores_;
  bool is_bound_ = false;
  PartPool first_;                    // the first shard's workers
  std::vector<std::thread> threads_;  // the last member, because threads use the others
};

}  // namespace mlc
