// Threads that share the iterations of a loop with the thread that owns them.
//
//   WorkerPool pool(4);                       // three threads beside the caller's
//   pool.Run(Sum, &job, 16);                  // Sum(&job, 0, worker) ... Sum(&job, 15, worker)
//
// A decode step is some hundred loops of 5 to 50 us, so a loop must begin within a microsecond: who
// has nothing to do spins a while before it sleeps. Iterations are taken one after another by
// whoever is free, so that a thread which the system holds up costs its share and not the step.
// Where that goes on (another process on its core) the pool does without one thread for a while:
// the others would wait for the iteration that it holds.
#ifndef MLC_RUNTIME_WORKER_POOL_H_
#define MLC_RUNTIME_WORKER_POOL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace mlc {

class WorkerPool {
 public:
  // One iteration. `worker` is below num_threads() and never at work twice at once; 0 is the
  // owner's thread. Returns 0, or a number that says what failed. Must not throw.
  using Task = int (*)(void* data, int index, int worker);

  // `num_threads`: the owner's included, at least 1.
  explicit WorkerPool(int num_threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

  // How many threads the next loop is shared by: fewer than num_threads() after a stall.
  int num_active();

  // Calls `task` once for each index below `count` and returns when all are done: 0, or one of the
  // numbers that were not. Only from the owner's thread, and not from within a task.
  int Run(Task task, void* data, int count);
  // The same on the calling thread alone, as worker 0.
  static int RunAlone(Task task, void* data, int count);

 private:
  using Clock = std::chrono::steady_clock;

  int Work(int worker);
  void WaitForOthers(Clock::duration own_iteration);
  void Retreat(Clock::time_point now);
  void SetActive(int active);
  void Wake();
  void Serve(int worker);
  bool AwaitLoop(int worker, uint32_t seen);
  bool Sleep(int worker, uint32_t seen);

  // The loop that is running: written by the owner before its ticket is, while nobody works.
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> data_{nullptr};
  std::atomic<int> count_{0};
  // Its number (upper half) and how many of its iterations nobody has taken. Whoever lowers it has
  // taken one; that fails once the loop is another, so that the fields above are of one loop.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int> unfinished_{0};
  std::atomic<int> failure_{0};

  alignas(64) std::atomic<int> active_{1};  // workers from this one on take nothing
  std::atomic<int> num_sleeping_{0};        // of the active ones
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable changed_;

  // The owner's alone.
  uint32_t loop_ = 0;
  Clock::duration rest_{0};
  Clock::time_point rest_until_{};

  std::vector<std::thread> threads_;
};

}  // namespace mlc

#endif  // MLC_RUNTIME_WORKER_POOL_H_
