#include "runtime/parallel.h"

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>

#include "platform/host.h"
#include "platform/shared_library.h"
#include "runtime/device.h"
#include "runtime/worker_pool.h"

namespace mlc {

// TVM's C interface for parallel loops of compiled code (tvm/runtime/c_backend_api.h, which
// tvm-ffi's headers do not include).
struct TvmLoop {
  void* sync_handle;  // for barriers within a loop, which our kernels do not have
  int num_tasks;
};
using TvmTask = int (*)(int task, TvmLoop* loop, void* data);
using TvmLaunch = int (*)(TvmTask task, void* data, int num_tasks);

namespace {

// How many parts of a kernel's loop each thread gets. More parts balance better where a thread is
// slower for a while; fewer parts read weights in longer runs. So loops that take long get parts
// that take about kPartTime.
constexpr int kPartsPerThread = 2;
constexpr int kMostPartsPerThread = 16;
constexpr std::chrono::microseconds kPartTime{250};

// The pool of a thread. It cannot be destroyed where its threads are gone: in a forked child, which
// gets a copy without them, and at the end of a process that has ended them.
struct ThreadPool {
  std::unique_ptr<WorkerPool> pool;
  int64_t process = ProcessNumber();

  ~ThreadPool() {
    if (ProcessNumber() != process || ProcessIsEnding()) (void)pool.release();
  }
};

using Clock = std::chrono::steady_clock;

// What loops of kernels took the last time. It is a hint: it may be of a library that is gone.
constexpr size_t kMostLoopTimes = 1024;
thread_local std::unordered_map<TvmTask, Clock::duration> loop_times;
thread_local ThreadPool thread_pool;
thread_local int num_threads_asked = 0;  // 0: SetComputeThreads was not called
thread_local bool within_loop = false;

int NumThreads() { return num_threads_asked > 0 ? num_threads_asked : NumAvailableCores(); }

WorkerPool& Pool() {
  std::unique_ptr<WorkerPool>& pool = thread_pool.pool;
  if (!pool) pool = std::make_unique<WorkerPool>(NumThreads());
  return *pool;
}

// A loop inside another loop stays on its thread.
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
  std::atomic<TVMFFIObjectHandle> error{nullptr};  // the last error
};

// TVM keeps a raised error in the thread that raised it.
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

int NumParts(int threads, Clock::duration last) {
  auto parts = std::min<int64_t>(last / kPartTime, kMostPartsPerThread);
  return threads * std::max(static_cast<int>(parts), kPartsPerThread);
}

// Cuts a loop into as many parts as suit the pool, if `num_tasks` is 0.
int RunTasks(Launch* launch, int num_tasks) {
  int active = within_loop ? 1 : Pool().num_active();
  if (num_tasks != 0 || active == 1) {
    launch->loop.num_tasks = std::max(num_tasks, 1);
    return RunLoop(RunTask, launch, launch->loop.num_tasks);
  }
  if (loop_times.size() > kMostLoopTimes) loop_times.clear();
  Clock::duration& last = loop_times[launch->task];
  launch->loop.num_tasks = NumParts(active, last);
  Clock::time_point begin = Clock::now();
  int result = RunLoop(RunTask, launch, launch->loop.num_tasks);
  last = Clock::now() - begin;
  return result;
}

int LaunchOnPool(TvmTask task, void* data, int num_tasks) {
  Launch launch{task, data, {nullptr, 0}};
  if (RunTasks(&launch, num_tasks) == 0) return 0;
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

// The threads of a pool that is created later inherit the calling thread's priority.
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

struct PartPool::Impl {
  ThreadPool threads;
};

PartPool::PartPool() : impl_(std::make_unique<Impl>()) {}
PartPool::~PartPool() = default;

void PartPool::Run(int num_threads, const std::function<void()>& act) {
  std::unique_ptr<WorkerPool>& pool = impl_->threads.pool;
  if (pool && pool->num_threads() != num_threads) pool.reset();
  int asked = std::exchange(num_threads_asked, num_threads);
  pool.swap(thread_pool.pool);
  act();
  pool.swap(thread_pool.pool);
  num_threads_asked = asked;
}

void ParallelFor(int count, const std::function<void(int index, int worker)>& act) {
  (void)RunLoop(CallAct, const_cast<std::function<void(int, int)>*>(&act), count);
}

Status ShareLoopsOf(const std::string& library_path) {
  if (!kHasThreads) return Status();  // TVM's loops run here then, too
  // The library is loaded already: this adds a reference to it.
  void* library = OpenIfLoaded(library_path.c_str());
  if (library == nullptr) return Internal(library_path + ": is not loaded");
  // TVM's runtime sets these pointers when it loads the library. A loop with barriers needs one
  // thread for each part, so a library with barriers keeps TVM's pool.
  bool has_barriers = FindSymbol(library, "__TVMBackendParallelBarrier") != nullptr;
  void* launch = FindSymbol(library, "__TVMBackendParallelLaunch");
  if (launch != nullptr && !has_barriers) *static_cast<TvmLaunch*>(launch) = LaunchOnPool;
  CloseLibrary(library);
  return Status();
}

}  // namespace mlc

extern "C" int mlc_backend_launch_loops(mlc::TvmTask task, void* data, int num_tasks) {
  return mlc::LaunchOnPool(task, data, num_tasks);
}
