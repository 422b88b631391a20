// What a device has to drop comes back from the host's memory, within its budget.
#include "engine/kept/block_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "engine/kept/kept_host.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

using Host = testing::KeptHost;
using testing::Cold;
using testing::FilesIn;
using testing::LongInfo;
using testing::Numbers;
using testing::Options;
using testing::Outcome;
using testing::TempFolder;

constexpr int64_t kMuch = int64_t{1} << 30;
// The device has room for one prompt with its answer.
constexpr int kPrompt = 100, kDevice = 128;

ContentHash Key(int number) { return HashContent(std::to_string(number)); }

BlockMemory::Body Bytes(char value) {
  std::shared_ptr<char[]> body(new char[10]);
  std::memset(body.get(), value, 10);
  return body;
}

std::string Have(const BlockMemory& memory) {
  std::string have;
  for (int number = 0; number < 10; ++number) {
    if (memory.Has(Key(number))) have += std::to_string(number);
  }
  return have;
}

TEST(BlockMemory, TheOldestGoFirst) {
  BlockMemory memory(45);
  for (int number = 0; number < 4; ++number) {
    memory.BeginPrefix();
    EXPECT_FALSE(memory.Use(Key(number)));
    EXPECT_TRUE(memory.Write(Key(number), Bytes(static_cast<char>('a' + number)), 10));
  }
  EXPECT_TRUE(memory.Use(Key(0)));
  memory.BeginPrefix();
  EXPECT_TRUE(memory.Write(Key(4), Bytes('e'), 10));
  EXPECT_EQ(Have(memory), "0234");
  EXPECT_EQ(memory.num_bytes(), 40);
  EXPECT_EQ(memory.Find(Key(2))[9], 'c');
  EXPECT_EQ(memory.Find(Key(1)), nullptr);
  memory.Clear();
  EXPECT_EQ(Have(memory) + std::to_string(memory.num_bytes()), "0");
  EXPECT_TRUE(memory.takes_more());
  memory.Close();
  EXPECT_FALSE(memory.takes_more());
  EXPECT_FALSE(memory.Write(Key(1), Bytes('b'), 10));
}

TEST(BlockMemory, OfAPrefixThatDoesNotFitTheBeginningStays) {
  BlockMemory memory(45);
  memory.BeginPrefix();
  EXPECT_TRUE(memory.Write(Key(9), Bytes('z'), 10));
  memory.BeginPrefix();
  for (int number = 0; number < 6; ++number) {
    EXPECT_EQ(memory.Write(Key(number), Bytes('a'), 10), number < 4) << number;
    EXPECT_EQ(memory.takes_more(), number < 4) << number;
  }
  EXPECT_FALSE(memory.Write(Key(6), Bytes('a'), 1)) << "nobody would find it";
  EXPECT_EQ(Have(memory), "0123");
  memory.BeginPrefix();
  EXPECT_TRUE(memory.takes_more());
  EXPECT_TRUE(memory.Write(Key(7), Bytes('a'), 10));
}

ModelInfo With(bool window, bool state) {
  ModelInfo info = LongInfo();
  if (window) {
    info.windowed_page_bytes = info.page_bytes;
    info.layer_window = 14;
    info.attention_sink_size = 3;
  }
  if (state) info.state_bytes = FakeModel::StateBytes(info);
  return info;
}

TEST(KeptInMemory, WhatTheDeviceDroppedComesBack) {
  for (const ModelInfo& info : {With(false, false), With(true, false), With(false, true)}) {
    Host host("", info, Options(kDevice), false, kMuch);
    for (int prompt = 1; prompt < 6; ++prompt) {
      EXPECT_EQ(host.Answer(Numbers(kPrompt, prompt)).usage.cached_tokens, 0);
      host.WaitForFiles();
    }
    int cached = info.state_bytes > 0 ? 96 : 99;  // a state is kept at the end of a page
    for (int prompt = 1; prompt < 6; ++prompt) {
      Outcome outcome = host.Answer(Numbers(kPrompt, prompt));
      EXPECT_EQ(outcome.choices, Host("", info).Answer(Numbers(kPrompt, prompt)).choices);
      EXPECT_EQ(outcome.usage.cached_tokens, cached) << prompt;
    }
    Metrics metrics = host.loop->metrics();
    EXPECT_GE(metrics.restored_tokens, 4 * cached);
    EXPECT_GT(metrics.kept_memory_bytes, 5 * kPrompt / info.page_size * info.page_bytes);
    EXPECT_EQ(metrics.written_blocks, 0) << "there are no files";
  }
}

TEST(KeptInMemory, ItIsGivenBack) {
  for (bool resets : {false, true}) {
    Host host("", LongInfo(), Options(kDevice), false, kMuch);
    ASSERT_TRUE(host.Answer(Numbers(kPrompt)).status.ok());
    host.WaitForFiles();
    if (resets) host.loop->Reset(Status());
    if (!resets) host.loop->TrimMemory();
    Outcome outcome = host.Answer(Numbers(kPrompt));
    EXPECT_EQ(outcome.usage.cached_tokens, 0);
    EXPECT_EQ(outcome.choices, Cold(Numbers(kPrompt)).choices);
  }
}

TEST(KeptInMemory, TheBudgetHolds) {
  Host first("", LongInfo(), Options(kDevice), false, kMuch);
  ASSERT_TRUE(first.Answer(Numbers(kPrompt)).status.ok());
  first.WaitForFiles();
  int64_t each = first.loop->metrics().kept_memory_bytes, budget = 5 * each / 2;
  ASSERT_GT(each, 0);
  Host host("", LongInfo(), Options(kDevice), false, budget);
  for (int prompt = 1; prompt < 5; ++prompt) {
    ASSERT_TRUE(host.Answer(Numbers(kPrompt, prompt)).status.ok());
    host.WaitForFiles();
    EXPECT_LE(host.loop->metrics().kept_memory_bytes, budget);
  }
  EXPECT_EQ(host.Answer(Numbers(kPrompt, 3)).usage.cached_tokens, kPrompt - 1);
  EXPECT_EQ(host.Answer(Numbers(kPrompt, 1)).usage.cached_tokens, 0) << "the oldest";
}

TEST(KeptInMemory, FilesAreBelow) {
  TempFolder folder;
  {
    Host host(folder.path(), LongInfo(), Options(kDevice), false, kMuch);
    ASSERT_TRUE(host.Answer(Numbers(kPrompt)).status.ok());
    host.WaitForFiles();
    ASSERT_TRUE(host.Answer(Numbers(kPrompt, 3)).status.ok());
    host.WaitForFiles();
    size_t files = FilesIn(folder.path()).size();
    EXPECT_EQ(host.loop->metrics().written_blocks, static_cast<int64_t>(files));
    for (const auto& path : FilesIn(folder.path())) testing::fs::remove(path);
    Outcome outcome = host.Answer(Numbers(kPrompt));
    EXPECT_EQ(outcome.usage.cached_tokens, kPrompt - 1) << "the memory has it";
    host.WaitForFiles();
    EXPECT_EQ(FilesIn(folder.path()).size(), files / 2) << "and the files lacked it";
    host.loop->TrimMemory();
    EXPECT_EQ(host.Answer(Numbers(kPrompt)).usage.cached_tokens, kPrompt - 1) << "out of files";
  }
  Outcome outcome = Host(folder.path()).Answer(Numbers(kPrompt));
  EXPECT_EQ(outcome.usage.cached_tokens, kPrompt - 1);
  EXPECT_EQ(outcome.choices, Cold(Numbers(kPrompt)).choices);
}

}  // namespace
}  // namespace mlc
