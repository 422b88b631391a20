// Loops on the worker pool of the compute thread: our own loops, and those of kernels.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace mlc {

// Sets how many threads run the loops that the calling thread starts, itself included. Each thread
// that runs a model has its own pool; the default is one of NumAvailableCores() threads.
// MLC_COMPUTE_NICE (Linux) lowers the priority of these threads. A server sets it, so that its
// connections get CPU time while kernels run.
void SetComputeThreads(int num_threads);
int MaxWorkers();

// Calls act(index, worker) once for each index below `count`, from several threads. `worker` is
// below MaxWorkers(), and one worker runs one call at a time. Returns when all calls are done.
// `act` must not throw. Inside `act` or inside a kernel's loop it uses only the calling thread.
void ParallelFor(int count, const std::function<void(int index, int worker)>& act);

// Threads for the loops of a part of what a thread computes. Beside them the thread keeps its own
// pool.
class PartPool {
 public:
  PartPool();
  ~PartPool();
  // Calls `act`; the loops that it starts run on so many threads. `act` must not throw.
  void Run(int num_threads, const std::function<void()>& act);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Makes the kernels of a loaded library use this pool for their loops. (TVM's own pool uses half of
// the CPUs that it finds on x86-64, binds threads to cores, and waits for every thread that is
// delayed.)
Status ShareLoopsOf(const std::string& library_path);

struct TvmLoop;

}  // namespace mlc

// What a model library that is linked into a program calls in place of TVM's function of the same
// arguments (compiler/archive.py): it has no pointer that ShareLoopsOf could set. Runs task(index,
// loop, data) for each index below `num_tasks`; 0: as many as suit the pool. Returns 0, or -1 if a
// task returned another number.
extern "C" __attribute__((visibility("default"))) int mlc_backend_launch_loops(
    int (*task)(int task, mlc::TvmLoop* loop, void* data), void* data, int num_tasks);
