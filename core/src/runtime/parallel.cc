#include "runtime/parallel.h"

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "platform/host.h"
#include "platform/shared_library.h"
#include "runtime/device.h"
#include "runtime/worker_pool.h"

namespace mlc {
namespace {

// TVM's C interface for parallel loops of compiled code (tvm/runtime/c_backend_api.h, which is no
// part of tvm-ffi's headers).
struct TvmLoop {
  void* sync_handle;  // for barriers within a loop, which our kernels do not have
  int num_tasks;
};
using TvmTask = int (*)(int task, TvmLoop* loop, void* data);
using TvmLaunch = int (*)(TvmTask task, void* data, int num_tasks);

// Parts of a kernel's loop for each thread: more balance better, fewer stream weights better.
constexpr int kPartsPerThread = 2;

// A thread's pool. A forked child has a copy without its threads, which it can neither use nor end.
struct ThreadPool {
  std::unique_ptr<WorkerPool> pool;
  int64_t process = ProcessNumber();

  ~ThreadPool() {
    if (ProcessNumber() != process) (void)pool.release();
  }
};

thread_local ThreadPool thread_pool;
thread_local int num_threads_asked = 0;  // 0: nobody has said
thread_local bool within_loop = false;

int NumThreads() { return num_threads_asked > 0 ? num_threads_asked : NumAvailableCores(); }

WorkerPool& Pool() {
  std::unique_ptr<WorkerPool>& pool = thread_pool.pool;
  if (!pool) pool = std::make_unique<WorkerPool>(NumThreads());
  return *pool;
}

// A loop within another one stays on its thread.
int RunLoop(WorkerPool::Task task, void* data, int count) {
  return within_loop ? WorkerPool::RunAlone(task, data, count) : Pool().Run(task, data, count);
}

struct WithinLoop {
  bool outer = std::exchange(within_loop, true);
  ~WithinLoop() { within_loop = outer; }
};

struct Launch {
  TvmTask task;
  void* data;
  TvmLoop loop;
  std::atomic<TVMFFIObjectHandle> error{nullptr};  // the last one that was raised
};

// TVM keeps a raised error with the thread that raised it.
void KeepError(Launch* launch) {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIObjectHandle other = launch->error.exchange(error);
  if (other != nullptr) TVMFFIObjectDecRef(other);
}

int RunTask(void* data, int index, int) {
  Launch* launch = static_cast<Launch*>(data);
  WithinLoop within;
  int result = launch->task(index, &launch->loop, launch->data);
  if (result != 0) KeepError(launch);
  return result;
}

int LaunchOnPool(TvmTask task, void* data, int num_tasks) {
  int active = within_loop ? 1 : Pool().num_active();
  if (num_tasks == 0) num_tasks = active == 1 ? 1 : active * kPartsPerThread;
  Launch launch{task, data, {nullptr, num_tasks}};
  if (RunLoop(RunTask, &launch, num_tasks) == 0) return 0;
  if (TVMFFIObjectHandle error = launch.error) {
    TVMFFIErrorSetRaised(error);
    TVMFFIObjectDecRef(error);
  }
  return -1;
}

int CallAct(void* data, int index, int worker) {
  WithinLoop within;
  (*static_cast<const std::function<void(int, int)>*>(data))(index, worker);
  return 0;
}

// The threads of a pool that is made later are the calling one's children, and as nice.
void StandBack() {
  const char* value = std::getenv("MLC_COMPUTE_NICE");
  LowerThreadPriority(value == nullptr ? 0 : std::atoi(value));
}

}  // namespace

void SetComputeThreads(int num_threads) {
  StandBack();
  num_threads_asked = num_threads;
  std::unique_ptr<WorkerPool>& pool = thread_pool.pool;
  if (pool && pool->num_threads() != num_threads) pool.reset();
}

int MaxWorkers() { return within_loop ? 1 : NumThreads(); }

void ParallelFor(int count, const std::function<void(int index, int worker)>& act) {
  (void)RunLoop(CallAct, const_cast<std::function<void(int, int)>*>(&act), count);
}

Status ShareLoopsOf(const std::string& library_path) {
  // The library is loaded: this is one more reference to it.
  void* library = OpenIfLoaded(library_path.c_str());
  if (library == nullptr) return Internal(library_path + ": is not loaded");
  // Pointers that TVM's runtime sets when it loads the library. A loop with barriers needs a thread
  // for each part, so a library that has one stays with TVM's pool.
  bool has_barriers = FindSymbol(library, "__TVMBackendParallelBarrier") != nullptr;
  void* launch = FindSymbol(library, "__TVMBackendParallelLaunch");
  if (launch != nullptr && !has_barriers) *static_cast<TvmLaunch*>(launch) = LaunchOnPool;
  CloseLibrary(library);
  return Status();
}

}  // namespace mlc
