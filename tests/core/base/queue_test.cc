#include "base/queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace mlc {
namespace {

TEST(BlockingQueue, FirstInFirstOut) {
  BlockingQueue<int> queue;
  for (int i = 0; i < 3; ++i) queue.Push(i);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(BlockingQueue, WhatWasPushedBeforeCloseComesOut) {
  BlockingQueue<std::unique_ptr<int>> queue;
  queue.Push(std::make_unique<int>(7));
  queue.Close();
  std::optional<std::unique_ptr<int>> item = queue.Pop();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(**item, 7);
  EXPECT_FALSE(queue.Pop().has_value());
  EXPECT_FALSE(queue.Pop().has_value());
}

TEST(BlockingQueue, CloseWakesEveryoneWhoWaits) {
  BlockingQueue<int> queue;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&queue] { EXPECT_FALSE(queue.Pop().has_value()); });
  }
  queue.Close();
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockingQueue, EveryItemComesOutOnceInTheOrderOfItsProducer) {
  constexpr int kProducers = 4, kItems = 500;
  BlockingQueue<int> queue;
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < kItems; ++i) queue.Push(p * kItems + i);
    });
  }
  std::vector<int> next(kProducers, 0);
  for (int n = 0; n < kProducers * kItems; ++n) {
    int item = *queue.Pop();
    EXPECT_EQ(item % kItems, next[item / kItems]++);
  }
  for (std::thread& producer : producers) producer.join();
}

}  // namespace
}  // namespace mlc
