#include "runtime/worker_pool.h"

#include <gtest/gtest.h>

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/resource.h>
#define MLC_TEST_LIMITS
#endif

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

namespace mlc {
namespace {

using std::chrono::milliseconds;
using Act = std::function<int(int index, int worker)>;

int Call(void* data, int index, int worker) { return (*static_cast<Act*>(data))(index, worker); }

int RunLoop(WorkerPool* pool, int count, Act act) { return pool->Run(Call, &act, count); }

TEST(WorkerPool, SharesEachLoopOnce) {
  for (int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (int loop = 0; loop < 3000; ++loop) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(loop % 40));
      int failure = RunLoop(&pool, loop % 40, [&](int index, int worker) {
        EXPECT_TRUE(worker >= 0 && worker < threads);
        ++calls[static_cast<size_t>(index)];
        return 0;
      });
      EXPECT_EQ(failure, 0);
      for (const std::atomic<int>& n : calls) ASSERT_EQ(n, 1) << loop;
    }
  }
}

// Returns 0 when it is done, or 1 if that takes too long.
template <typename Done>
int Await(Done&& done) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return 1;
    std::this_thread::yield();
  }
  return 0;
}

void AwaitAllActive(WorkerPool* pool) {
  ASSERT_EQ(Await([pool] { return pool->num_active() == pool->num_threads(); }), 0);
}

TEST(WorkerPool, EveryThreadTakesPart) {
  WorkerPool pool(3);
  std::atomic<int> taken[3] = {};
  for (int loop = 0; loop < 3; ++loop) {  // after a sleep, too
    AwaitAllActive(&pool);
    int failure = RunLoop(&pool, 3, [&](int, int worker) {
      ++taken[worker];
      return Await([&] { return taken[0] + taken[1] + taken[2] == 3 * (loop + 1); });
    });
    EXPECT_EQ(failure, 0);
    std::this_thread::sleep_for(milliseconds(5));
  }
  for (std::atomic<int>& n : taken) EXPECT_EQ(n, 3);
}

// Each worker's first iteration waits until all workers have one: nobody can take another one's.
TEST(WorkerPool, AWorkerBeginsWithTheSamePartOfEachLoop) {
  constexpr int kThreads = 3;
  WorkerPool pool(kThreads);
  for (int count : {3, 12, 300000}) {
    AwaitAllActive(&pool);
    std::atomic<int> first[kThreads] = {-1, -1, -1}, begun{0};
    std::vector<std::atomic<char>> calls(static_cast<size_t>(count));
    int failure = RunLoop(&pool, count, [&](int index, int worker) {
      ++calls[static_cast<size_t>(index)];
      if (first[worker] >= 0) return 0;
      first[worker] = index;
      ++begun;
      return Await([&] { return begun == kThreads; });
    });
    EXPECT_EQ(failure, 0);
    for (std::atomic<char>& n : calls) ASSERT_EQ(n, 1) << count;
    for (int worker = 0; worker < kThreads; ++worker) {
      EXPECT_EQ(first[worker], count / kThreads * worker) << count;
    }
  }
}

TEST(WorkerPool, OthersTakeTheEndOfASlowWorkersShare) {
  WorkerPool pool(2);
  AwaitAllActive(&pool);
  std::atomic<bool> begun{false};
  std::atomic<int> of_owner{0};
  std::vector<int> order;
  int failure = RunLoop(&pool, 8, [&](int index, int worker) {
    if (worker == 1) {
      begun = true;
      return Await([&] { return of_owner == 7; });
    }
    order.push_back(index);
    ++of_owner;
    return Await([&] { return begun.load(); });
  });
  EXPECT_EQ(failure, 0);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 7, 6, 5}));
}

TEST(WorkerPool, TellsOfAFailureAndGoesOn) {
  for (int threads : {1, 4}) {
    WorkerPool pool(threads);
    int calls = 0;
    std::atomic<int> shared{0};
    EXPECT_EQ(RunLoop(&pool, 50, [&](int index, int) { return ++shared, index == 7 ? 3 : 0; }), 3);
    EXPECT_EQ(shared, 50);
    EXPECT_EQ(RunLoop(&pool, 1, [&](int, int) { return ++calls, 0; }), 0);
    EXPECT_EQ(calls, 1);
  }
}

// A worker that the system takes the core from, as the owner sees it.
void Stall(WorkerPool* pool) {
  std::atomic<bool> taken{false};
  RunLoop(pool, 2, [&](int, int worker) {
    if (worker != 0) {
      taken = true;
      std::this_thread::sleep_for(milliseconds(30));
    }
    while (!taken) std::this_thread::yield();
    return 0;
  });
}

// More than once where the machine is so busy that the pool's rest is over before it is looked at.
bool DoesWithoutAThreadAfterStalls(WorkerPool* pool) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    AwaitAllActive(pool);
    Stall(pool);  // would wait for ever without the second thread
    if (pool->num_active() == 1) return true;
  }
  return false;
}

TEST(WorkerPool, DoesWithoutAThreadThatIsHeldUpForAWhile) {
  WorkerPool pool(2);
  EXPECT_TRUE(DoesWithoutAThreadAfterStalls(&pool));
  RunLoop(&pool, 100, [&](int, int worker) { return worker; });  // mostly the owner alone
  EXPECT_TRUE(DoesWithoutAThreadAfterStalls(&pool));
}

#ifdef MLC_TEST_LIMITS
// In a process of its own, which gets no more memory for the stacks of threads.
[[noreturn]] void ComputeWithoutThreads() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlim_t most = pages * 4096 + (rlim_t{64} << 20);
  rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  WorkerPool pool(512);
  std::atomic<int> calls{0};
  RunLoop(&pool, 2000, [&](int, int worker) { return calls += worker < pool.num_threads(), 0; });
  std::exit(pool.num_threads() < 512 && calls == 2000 ? 0 : 1);
}

TEST(WorkerPoolDeathTest, DoesWithFewerThreadsThanItWasAskedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ComputeWithoutThreads(), ::testing::ExitedWithCode(0), "of 512 threads");
}
#endif

}  // namespace
}  // namespace mlc
