#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fixture_paths.h"
#include "platform/shared_library.h"
#if defined(_WIN32)
#include "platform/windows/system.h"
#endif

namespace mlc {
namespace {

TEST(ParallelFor, CallsEachIndexOnceAndNoWorkerTwiceAtATime) {
  for (int threads : {1, 2, 4}) {
    std::thread([threads] {  // with a pool of its own
      SetComputeThreads(threads);
      int workers = MaxWorkers();
      EXPECT_EQ(workers, threads);
      for (int count : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
        std::vector<std::atomic<bool>> busy(static_cast<size_t>(workers));
        ParallelFor(count, [&](int index, int worker) {
          EXPECT_FALSE(busy[static_cast<size_t>(worker)].exchange(true));
          ++calls[static_cast<size_t>(index)];
          busy[static_cast<size_t>(worker)] = false;
        });
        for (const std::atomic<int>& n : calls) EXPECT_EQ(n, 1);
      }
    })
        .join();
  }
}

TEST(ParallelFor, RunsOnOneThreadWithinALoop) {
  std::thread([] {
    SetComputeThreads(4);
    std::atomic<int> calls{0};
    ParallelFor(8, [&](int, int) {
      EXPECT_EQ(MaxWorkers(), 1);
      ParallelFor(5, [&](int, int worker) {
        EXPECT_EQ(worker, 0);
        ++calls;
      });
    });
    EXPECT_EQ(calls, 40);
  }).join();
}

// What TVM's code generator makes of a parallel loop.
struct Loop {
  void* sync_handle;
  int num_tasks;
};
using Task = int (*)(int task, Loop* loop, void* data);

class KernelLoop : public ::testing::Test {
 protected:
  KernelLoop() {
    library_ = OpenLibrary(MLC_TVM_LOOP_LIBRARY, LibraryScope::kLocal);
    EXPECT_NE(library_, nullptr) << LibraryError();
    run_ = reinterpret_cast<int (*)(Task, void*, int)>(FindSymbol(library_, "RunLoop"));
  }
  ~KernelLoop() override { CloseLibrary(library_); }

  void* library_;
  int (*run_)(Task task, void* data, int num_tasks);
};

struct Calls {
  std::atomic<int> all{0}, tasks{0};
};

int Count(int task, Loop* loop, void* data) {
  Calls* calls = static_cast<Calls*>(data);
  EXPECT_TRUE(task >= 0 && task < loop->num_tasks);
  calls->tasks = loop->num_tasks;
  ++calls->all;
  return 0;
}

int FailAtTwo(int task, Loop* loop, void* data) {
  Count(task, loop, data);
  return task == 2 ? -1 : 0;
}

TEST_F(KernelLoop, RunsOnTheThreadsPool) {
  ASSERT_TRUE(ShareLoopsOf(MLC_TVM_LOOP_LIBRARY).ok());
  for (int threads : {1, 3}) {
    std::thread([this, threads] {
      SetComputeThreads(threads);
      Calls chosen, given, failed;
      EXPECT_EQ(run_(Count, &chosen, 0), 0);
      EXPECT_EQ(chosen.all, chosen.tasks);
      EXPECT_GE(chosen.all, 1);
      EXPECT_EQ(run_(Count, &given, 7), 0);
      EXPECT_EQ(given.all, 7);
      EXPECT_EQ(given.tasks, 7);
      EXPECT_EQ(run_(FailAtTwo, &failed, 5), -1);
      ParallelFor(1, [&](int, int) { EXPECT_EQ(run_(Count, &given, 0), 0); });
      EXPECT_EQ(given.all, 8);
    }).join();
  }
}

int CountLinked(int task, TvmLoop* loop, void* data) {
  return Count(task, reinterpret_cast<Loop*>(loop), data);
}

TEST(LinkedKernelLoop, RunsOnTheThreadsPool) {
  std::thread([] {
    SetComputeThreads(3);
    Calls chosen, given;
    EXPECT_EQ(mlc_backend_launch_loops(CountLinked, &chosen, 0), 0);
    EXPECT_EQ(chosen.all, chosen.tasks);
    EXPECT_EQ(mlc_backend_launch_loops(CountLinked, &given, 7), 0);
    EXPECT_EQ(given.all, 7);
    ParallelFor(1, [&](int, int) {  // within a loop: on this thread alone
      EXPECT_EQ(mlc_backend_launch_loops(CountLinked, &given, 0), 0);
    });
    EXPECT_EQ(given.all, 8);
  }).join();
}

int SleepLinked(int task, TvmLoop* loop, void* data) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return CountLinked(task, loop, data);
}

TEST(LinkedKernelLoop, IsCutIntoMorePartsWhereItTakesLong) {
  std::thread([] {
    SetComputeThreads(2);
    Calls first;
    EXPECT_EQ(mlc_backend_launch_loops(SleepLinked, &first, 0), 0);
    // A delayed thread leaves the loop to the other one for a while.
    auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    int parts = 0;
    while (parts <= first.tasks && std::chrono::steady_clock::now() < end) {
      Calls next;
      EXPECT_EQ(mlc_backend_launch_loops(SleepLinked, &next, 0), 0);
      EXPECT_EQ(next.all, next.tasks);
      parts = next.tasks;
    }
    EXPECT_GT(parts, first.tasks);
  }).join();
}

TEST(ShareLoopsOf, WantsALoadedLibrary) { EXPECT_FALSE(ShareLoopsOf("/no/such/library.so").ok()); }

#if defined(_WIN32)
// The pool of a thread that uses a DLL. (A program's own destructors run while its threads live.)
int UsePoolOfLibrary(int num_threads) {
  void* library = OpenLibrary(MLC_POOL_LIBRARY, LibraryScope::kLocal);
  if (library == nullptr) return -1;
  int calls = reinterpret_cast<int (*)(int)>(FindSymbol(library, "UsePool"))(num_threads);
  CloseLibrary(library);
  return calls;
}

// The system ends the other threads first. A pool that waited for them would wait for ever.
TEST(PoolLibraryDeathTest, TheProcessEnds) {
  EXPECT_EXIT(ExitProcess(UsePoolOfLibrary(3) == 100 ? 7 : 8), ::testing::ExitedWithCode(7), "");
}

// Its detached threads return through its code.
TEST(PoolLibrary, StaysOpenForItsThreads) {
  std::thread([] { EXPECT_EQ(UsePoolOfLibrary(1), 100); }).join();
  EXPECT_EQ(OpenIfLoaded(MLC_POOL_LIBRARY), nullptr);  // there was no thread
  std::thread([] { EXPECT_EQ(UsePoolOfLibrary(3), 100); }).join();
  EXPECT_NE(OpenIfLoaded(MLC_POOL_LIBRARY), nullptr);
}
#endif

}  // namespace
}  // namespace mlc
