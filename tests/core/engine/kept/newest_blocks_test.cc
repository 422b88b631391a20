// When an engine starts, what was used last comes back before a request asks for it.
#include "engine/kept/newest_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "engine/kept/kept_host.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

namespace fs = testing::fs;
using Host = testing::KeptHost;
using testing::Cold;
using testing::FilesIn;
using testing::LongInfo;
using testing::Numbers;
using testing::Options;
using testing::Outcome;
using testing::TempFolder;

ModelInfo WindowedInfo() {
  ModelInfo info = LongInfo();
  info.windowed_page_bytes = info.page_bytes;
  info.layer_window = 14;
  info.attention_sink_size = 3;
  return info;
}

ModelInfo RecurrentInfo() {
  ModelInfo info = LongInfo();
  info.state_bytes = FakeModel::StateBytes(info);
  return info;
}

// A damaged block takes away what stands behind it, and no other prefix.
TEST(NewestBlocks, ComeBackBesideADamagedOne) {
  TempFolder folder;
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(100, 3)).status.ok());
  std::vector<fs::path> whole = FilesIn(folder.path());
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(100)).status.ok());
  for (const fs::path& path : FilesIn(folder.path())) {
    if (std::count(whole.begin(), whole.end(), path) > 0) continue;
    std::string bytes = *ReadFile(path.u8string());
    bytes[bytes.size() - 12] ^= 1;  // of its pages
    folder.Write(path.filename().u8string(), bytes);
  }
  ::testing::internal::CaptureStderr();
  Host host(folder.path(), LongInfo(), Options(), /*brings_newest=*/true);
  host.WaitForFiles();
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  std::shared_ptr<std::promise<void>> gate = host.HoldFiles();
  Outcome warm = host.Answer(Numbers(100, 3));
  gate->set_value();
  EXPECT_EQ(warm.usage.cached_tokens, 99);
  EXPECT_EQ(warm.choices, Cold(Numbers(100, 3)).choices);
  EXPECT_EQ(host.Answer(Numbers(100)).choices, Cold(Numbers(100)).choices);
}

TEST(NewestBlocks, ComeBackAtTheStart) {
  for (const ModelInfo& info : {LongInfo(), WindowedInfo(), RecurrentInfo()}) {
    TempFolder folder;
    ASSERT_TRUE(Host(folder.path(), info).Answer(Numbers(150, 3)).status.ok());
    ASSERT_TRUE(Host(folder.path(), info).Answer(Numbers(150)).status.ok());
    Outcome cold = Host("", info).Answer(Numbers(150));
    Host host(folder.path(), info, Options(400), /*brings_newest=*/true);
    host.WaitForFiles();
    int64_t restored = host.loop->metrics().restored_tokens;
    EXPECT_GE(restored, 157);
    EXPECT_LE(restored, 200) << "half of the 400 tokens, so not all of the older prompt too";
    std::shared_ptr<std::promise<void>> gate = host.HoldFiles();
    Outcome warm = host.Answer(Numbers(150));
    gate->set_value();
    EXPECT_EQ(warm.choices, cold.choices);
    EXPECT_EQ(warm.usage.cached_tokens, info.state_bytes > 0 ? 148 : 149);
    EXPECT_EQ(host.Answer(Numbers(150, 3)).choices, Host("", info).Answer(Numbers(150, 3)).choices)
        << "when it is asked for";
  }
}

TEST(NewestBlocks, OthersFilesAndDamageAreLeftOut) {
  TempFolder folder;
  ModelInfo other = LongInfo();
  other.weights_id = "other";
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(100)).status.ok());
  std::vector<fs::path> own = FilesIn(folder.path());
  ASSERT_TRUE(Host(folder.path(), other).Answer(Numbers(100)).status.ok());
  for (int kind = 0; kind < 2; ++kind) {
    for (const fs::path& path : own) {
      std::string bytes = *ReadFile(path.u8string());
      kind == 0 ? bytes.resize(20) : void(bytes[bytes.size() - 12] ^= 1);
      folder.Write(path.filename().u8string(), bytes);
    }
    ::testing::internal::CaptureStderr();
    Host host(folder.path(), LongInfo(), Options(), /*brings_newest=*/true);
    host.WaitForFiles();
    EXPECT_EQ(host.loop->metrics().restored_tokens, 0);
    EXPECT_EQ(host.Answer(Numbers(100)).choices, Cold(Numbers(100)).choices);
    host.loop.reset();
    std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 2) << log;
    own = FilesIn(folder.path());
  }
}

}  // namespace
}  // namespace mlc
