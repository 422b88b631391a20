// The threads of the shards of a model. The first shard is the caller's thread. Each of them has a
// pool of threads for its loops (parallel.h), as large as the caller's.
#ifndef MLC_RUNTIME_SHARDS_SHARD_THREADS_H_
#define MLC_RUNTIME_SHARDS_SHARD_THREADS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mlc {

class ShardThreads {
 public:
  explicit ShardThreads(int count);
  ~ShardThreads();
  ShardThreads(const ShardThreads&) = delete;
  ShardThreads& operator=(const ShardThreads&) = delete;

  // Calls act(rank) once for each shard, and returns when all calls are done. `act` must not throw.
  void Run(const std::function<void(int rank)>& act);

 private:
  void Serve(int rank);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> turn_{0};  // number of the run
  std::atomic<bool> stopped_{false};
  std::atomic<int> unfinished_{0};
  const std::function<void(int)>* act_ = nullptr;  // of the run
  int num_workers_ = 1;                            // of each shard in the run
  std::vector<std::thread> threads_;  // the last member, because threads use the others
};

}  // namespace mlc

#endif  // MLC_RUNTIME_SHARDS_SHARD_THREADS_H_
