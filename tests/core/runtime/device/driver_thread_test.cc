#include "runtime/device/driver_thread.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace mlc {
namespace {

TEST(DriverThread, RunsCallsInOrderAndWaits) {
  DriverThread thread;
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(thread.Run([&] { sum = 2 * sum % 1009 + i; }));
  }
  int expected = 0;
  for (int i = 0; i < 100; ++i) expected = 2 * expected % 1009 + i;
  EXPECT_EQ(sum, expected);
}

#if !defined(_WIN32)  // an abort ends the process there (abort_guard_windows.cc)

TEST(DriverThread, AnAbortEndsTheThreadAlone) {
  DriverThread thread;
  EXPECT_TRUE(thread.Run([] {}));
  bool returned = false;
  EXPECT_FALSE(thread.Run([&] {
    std::abort();
    returned = true;
  }));
  EXPECT_FALSE(returned);
  bool ran = false;
  EXPECT_FALSE(thread.Run([&] { ran = true; }));
  EXPECT_FALSE(ran);
  DriverThread another;  // a second abort in the same process
  EXPECT_FALSE(another.Run([] { std::abort(); }));
}

TEST(DriverThread, TheHandlerOfBeforeIsThereAgain) {
  struct sigaction before, after;
  sigaction(SIGABRT, nullptr, &before);
  {
    DriverThread thread;
    EXPECT_FALSE(thread.Run([] { std::abort(); }));
  }
  sigaction(SIGABRT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_EQ(before.sa_flags, after.sa_flags);
}

// As engines on several devices do: each owner loses its driver, and takes another.
TEST(DriverThread, ManyAbortAtOnce) {
  struct sigaction before, after;
  sigaction(SIGABRT, nullptr, &before);
  std::atomic<int> sum{0};
  std::vector<std::thread> owners;
  for (int owner = 0; owner < 4; ++owner) {
    owners.emplace_back([&sum] {
      for (int round = 0; round < 25; ++round) {
        DriverThread thread;
        for (int call = 0; call < 5; ++call) EXPECT_TRUE(thread.Run([&] { ++sum; }));
        if (round % 5 == 4) continue;  // this one ends without
        EXPECT_FALSE(thread.Run([] { std::abort(); }));
        EXPECT_FALSE(thread.Run([&] { ++sum; }));
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(sum, 4 * 25 * 5);
  sigaction(SIGABRT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

// An aborted call is never continued, and what it holds is never let go.
TEST(DriverThread, ALockOfAnAbortedCallStaysHeld) {
  static std::mutex held;
  DriverThread thread;
  EXPECT_FALSE(thread.Run([] {
    std::lock_guard<std::mutex> lock(held);
    std::abort();
  }));
  EXPECT_FALSE(held.try_lock());
}

TEST(DriverThreadDeathTest, OtherThreadsAbortAsEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        DriverThread thread;
        thread.Run([] {
          std::thread other([] { std::abort(); });
          other.join();
        });
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

#endif

}  // namespace
}  // namespace mlc
