// Threads that share the iterations of a loop with the thread that owns the pool.
//
//   WorkerPool pool(4);                       // three threads beside the caller's
//   pool.Run(Sum, &job, 16);                  // Sum(&job, 0, worker) ... Sum(&job, 15, worker)
//
// A decode step has some hundred loops of 5 to 50 us, so a loop must begin within a microsecond. So
// an idle thread spins for a while before it sleeps.
//
// Each thread has a share of a loop: neighbouring iterations, the same part of every loop. So what
// it reads was often written by itself, in the loop before, and need not come from another core's
// caches. A thread that is done with its share takes iterations from the ends of others. So if the
// system delays a thread, the others do the rest of its share. If the delay continues
// (another process uses its core), the pool uses one thread less for a while; otherwise the others
// would wait for the iteration of that thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/stall_rest.h"

namespace mlc {

class WorkerPool {
 public:
  // One iteration. `worker` is below num_threads(), and one worker runs one iteration at a time; 0
  // is the owner's thread. Returns 0, or a number that describes the failure. Must not throw.
  using Task = int (*)(void* data, int index, int worker);

  // `num_threads` includes the owner; at least 1. If the system gives fewer threads, the pool has
  // fewer, and says so on standard error.
  explicit WorkerPool(int num_threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

  // How many threads run the next loop: fewer than num_threads() after a stall.
  int num_active();

  // Calls `task` once for each index below `count` and returns when all calls are done. The result
  // is 0, or one of the results that were not 0. Call it only from the owner's thread, and not
  // inside a task.
  int Run(Task task, void* data, int count);
  // The same, only on the calling thread, as worker 0.
  static int RunAlone(Task task, void* data, int count);

 private:
  using Clock = StallRest::Clock;

  // What is left of a worker's part of a loop. The ticket has the number of the loop (upper half),
  // the first piece that is left and the one behind the last. The worker takes the first, others
  // the last, by changing the ticket. That fails when another loop has begun, so the fields of the
  // current loop always belong to the loop of the ticket. (Some cache lines have 128 bytes.)
  struct alignas(128) Share {
    std::atomic<uint64_t> ticket{0};
  };

  uint32_t Deal(int count, int workers);
  void Work(int worker, uint32_t loop);
  Share* NextShare(int worker, uint32_t loop);
  void Take(Share* share, int worker, uint32_t loop);
  void WaitForOthers(Clock::duration own_time);
  void SetActive(int active);
  void Wake();
  void Serve(int worker);
  bool AwaitLoop(int worker, uint32_t seen);
  bool Sleep(int worker, uint32_t seen);

  // The current loop. The owner writes these before the shares, while no iteration runs.
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> data_{nullptr};
  std::atomic<int> count_{0};
  std::vector<Share> shares_;                  // one for each worker
  alignas(64) std::atomic<uint32_t> loop_{0};  // its number
  alignas(64) std::atomic<int> unfinished_{0};
  std::atomic<int> failure_{0};

  alignas(64) std::atomic<int> active_{1};  // workers from this number on take no iterations
  std::atomic<int> num_sleeping_{0};        // of the active workers
  std::atomic<bool> stopped_{false};
  std::atomic<int> num_serving_{0};  // threads that use the pool
  std::mutex mutex_;
  std::condition_variable changed_;

  StallRest rest_;  // only the owner uses it

  std::vector<std::thread> threads_;
};

}  // namespace mlc
