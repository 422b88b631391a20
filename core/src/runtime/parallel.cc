#include "runtime/parallel.h"

#include <algorithm>
#include <atomic>

#include "runtime/tvm_convert.h"

// TVM's C interface for parallel loops of compiled code (tvm/runtime/c_backend_api.h, which is no
// part of tvm-ffi's headers).
extern "C" int TVMBackendParallelLaunch(int (*task)(int task_id, void* group, void* data),
                                        void* data, int num_tasks);

namespace mlc {
namespace {

struct Job {
  const std::function<void(int, int)>* act;
  int count;
  std::atomic<int> next{0};
};

// One of the workers: takes index after index, so that a slow one holds nobody up.
int Work(int worker, void*, void* data) {
  Job* job = static_cast<Job*>(data);
  for (int index = job->next++; index < job->count; index = job->next++) {
    (*job->act)(index, worker);
  }
  return 0;
}

}  // namespace

int MaxWorkers() {
  int workers = 1;
  (void)CatchTvm("thread pool", [&] {
    static const tvm::ffi::Function num_threads =
        tvm::ffi::Function::GetGlobalRequired("runtime.NumThreads");
    workers = num_threads().cast<int>();
  });
  return std::max(1, workers);
}

void ParallelFor(int count, const std::function<void(int index, int worker)>& act) {
  Job job{&act, count};
  int workers = std::min(count, MaxWorkers());
  if (workers > 1) {
    (void)TVMBackendParallelLaunch(Work, &job, workers);
  } else if (count > 0) {
    Work(0, nullptr, &job);
  }
}

}  // namespace mlc
