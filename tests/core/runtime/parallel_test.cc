#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/model_library.h"

namespace mlc {
namespace {

TEST(ParallelFor, CallsEachIndexOnceAndNoWorkerTwiceAtATime) {
  for (int threads : {1, 2, 4}) {
    std::thread([threads] {  // with a pool of its own
      SetComputeThreads(threads);
      int workers = MaxWorkers();
      EXPECT_GE(workers, 1);
      EXPECT_LE(workers, threads);
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

}  // namespace
}  // namespace mlc
