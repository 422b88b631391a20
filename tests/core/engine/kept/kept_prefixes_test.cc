// What one engine computed is found by the next one in files: the same tokens, and only the rest is
// computed.
#include "engine/kept/kept_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>

#include "engine/kept/kept_host.h"
#include "engine/kv_state.h"
#include "support/embedding_rows.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

namespace fs = testing::fs;
using Host = testing::KeptHost;
using testing::Bytes;
using testing::Cold;
using testing::FilesIn;
using testing::Join;
using testing::kBlock;
using testing::kByteVocab;
using testing::kEnd;
using testing::kPatience;
using testing::LongInfo;
using testing::Numbers;
using testing::Options;
using testing::Outcome;
using testing::TempFolder;

TEST(KeptPrefixes, AfterARestartOnlyTheRestIsComputed) {
  for (int length : {8, 9, 15, 16, 17, 60, 99, 100, 101}) {
    TempFolder folder;
    std::vector<int32_t> prompt = Numbers(length);
    Outcome first = Host(folder.path()).Answer(prompt);
    EXPECT_EQ(first.usage.cached_tokens, 0);
    Host host(folder.path());
    Outcome again = host.Answer(prompt);
    EXPECT_EQ(again.choices, first.choices);
    EXPECT_EQ(again.choices, Cold(prompt).choices);
    EXPECT_EQ(again.usage.cached_tokens, length - 1) << "all but the last, whose logits are wanted";
    EXPECT_EQ(host.loop->metrics().restored_tokens, length);
    EXPECT_EQ(host.loop->metrics().prefill_tokens, 1);
  }
}

TEST(KeptPrefixes, AChatGoesOn) {
  TempFolder folder;
  std::vector<int32_t> chat = Numbers(50);
  for (int turn = 0; turn < 4; ++turn) {
    Host host(folder.path());
    Outcome warm = host.Answer(chat, 11), cold = Cold(chat, 11);
    EXPECT_EQ(warm.choices, cold.choices) << turn;
    // the last token of an answer was never computed
    EXPECT_EQ(warm.usage.cached_tokens, turn == 0 ? 0 : static_cast<int>(chat.size()) - 6);
    chat = Join(Join(chat, warm.choices[0].tokens), Bytes("next?"));
  }
}

TEST(KeptPrefixes, BeginningsAreShared) {
  TempFolder folder;
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(100)).status.ok());
  for (size_t changed : {0, 7, 8, 50, 98}) {
    std::vector<int32_t> prompt = Numbers(100);
    prompt[changed] += 1;
    Outcome warm = Host(folder.path()).Answer(prompt);
    EXPECT_EQ(warm.choices, Cold(prompt).choices) << changed;
    EXPECT_EQ(warm.usage.cached_tokens, static_cast<int>(changed / kBlock * kBlock)) << changed;
  }
}

TEST(KeptPrefixes, WhatIsThereIsNotWrittenAgain) {
  TempFolder folder;
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(96)).status.ok());
  std::vector<fs::path> files = FilesIn(folder.path());
  EXPECT_EQ(files.size(), 13u) << "twelve blocks, and a part of the answer";
  Host host(folder.path());
  ASSERT_TRUE(host.Answer(Numbers(96)).status.ok());
  ASSERT_TRUE(host.Answer(Numbers(96)).status.ok());
  host.loop.reset();
  EXPECT_EQ(FilesIn(folder.path()).size(), files.size());
}

TEST(KeptPrefixes, WhatWasEvictedComesBack) {
  constexpr int kFiles = 15;  // 13 blocks with the answer's beginning, and two shorter ones
  TempFolder folder;
  Host host(folder.path(), LongInfo(), Options(128));
  auto is_written = [&](int64_t files) { return host.loop->metrics().written_blocks >= files; };
  for (int prompt = 1; prompt < 6; ++prompt) {
    EXPECT_EQ(host.Answer(Numbers(100, prompt)).usage.cached_tokens, 0);
    Clock::time_point end = Clock::now() + kPatience;
    while (!is_written(kFiles * prompt) && Clock::now() < end) std::this_thread::yield();
    ASSERT_TRUE(is_written(kFiles * prompt)) << prompt;
  }
  for (int prompt = 1; prompt < 6; ++prompt) {
    Outcome outcome = host.Answer(Numbers(100, prompt));
    EXPECT_EQ(outcome.choices, Cold(Numbers(100, prompt)).choices);
    EXPECT_EQ(outcome.usage.cached_tokens, 99) << prompt;
  }
  host.loop->TrimMemory();
  EXPECT_EQ(host.Answer(Numbers(100, 5)).usage.cached_tokens, 99);
}

TEST(KeptPrefixes, DamageCostsOneLineAndNoToken) {
  std::vector<int32_t> prompt = Numbers(100);
  const Outcome cold = Cold(prompt);
  for (int kind = 0; kind < 3; ++kind) {
    TempFolder folder;
    ASSERT_TRUE(Host(folder.path()).Answer(prompt).status.ok());
    std::vector<fs::path> files = FilesIn(folder.path());
    for (const fs::path& path : files) {
      std::string bytes = *ReadFile(path.u8string());
      if (kind == 0) bytes.resize(bytes.size() / 2);
      if (kind == 1) bytes[30] ^= 1;
      if (kind == 2) bytes[bytes.size() - 12] ^= 1;
      folder.Write(path.filename().u8string(), bytes);
    }
    ::testing::internal::CaptureStderr();
    Host host(folder.path());
    Outcome outcome = host.Answer(prompt);
    EXPECT_EQ(outcome.choices, cold.choices);
    EXPECT_EQ(outcome.usage.cached_tokens, 0);
    host.loop.reset();  // it writes again
    std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    EXPECT_NE(log.find("is damaged"), std::string::npos) << log;
    EXPECT_EQ(FilesIn(folder.path()).size(), files.size());
    EXPECT_EQ(Host(folder.path()).Answer(prompt).choices, cold.choices);
  }
}

// A file under the name of another block of the same model.
TEST(KeptPrefixes, AFileUnderAnotherNameIsNotTaken) {
  TempFolder folder, others;
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(8), 1).status.ok());
  ASSERT_TRUE(Host(others.path()).Answer(Numbers(8, 3), 1).status.ok());
  ASSERT_EQ(FilesIn(folder.path()).size(), 1u);
  fs::copy_file(FilesIn(others.path())[0], FilesIn(folder.path())[0],
                fs::copy_options::overwrite_existing);
  Outcome outcome = Host(folder.path()).Answer(Numbers(8));
  EXPECT_EQ(outcome.choices, Cold(Numbers(8)).choices);
  EXPECT_EQ(outcome.usage.cached_tokens, 0);
}

TEST(KeptPrefixes, OtherModelsFindNothing) {
  TempFolder folder;
  ASSERT_TRUE(Host(folder.path()).Answer(Numbers(100)).status.ok());
  ModelInfo weights = LongInfo(), library = LongInfo();
  weights.weights_id = "other";
  library.library_id = "other";
  for (const ModelInfo& info : {weights, library}) {
    Outcome outcome = Host(folder.path(), info).Answer(Numbers(100));
    EXPECT_EQ(outcome.usage.cached_tokens, 0);
    EXPECT_EQ(outcome.choices, Cold(Numbers(100)).choices);
  }
  EXPECT_EQ(Host(folder.path()).Answer(Numbers(100)).usage.cached_tokens, 99);
}

TEST(KeptPrefixes, PicturesAreFoundByTheirContent) {
  TempFolder folder;
  auto see = [](int picture) {
    Prompt prompt({1, 2});
    prompt.Append(testing::Rows(picture, 20));
    prompt.Append({3, 4, 5});
    return prompt;
  };
  Host(folder.path()).Answer(see(1));
  Host host(folder.path());
  host.Answer(Prompt({9, 9, 9}));
  Outcome other = host.Answer(see(2)), warm = host.Answer(see(1));
  EXPECT_EQ(warm.usage.cached_tokens, 24);
  EXPECT_EQ(warm.choices, Cold(see(1)).choices);
  EXPECT_EQ(other.usage.cached_tokens, 0);
  EXPECT_EQ(other.choices, Cold(see(2)).choices);
}

TEST(KeptPrefixes, TwoEnginesShareAFolder) {
  TempFolder folder;
  std::vector<std::thread> processes;
  for (int i = 0; i < 3; ++i) {
    processes.emplace_back([&folder, i] {
      for (int round = 0; round < 6; ++round) {
        Host host(folder.path(), LongInfo(), Options(160));
        for (int prompt = 1; prompt <= 4; ++prompt) {
          std::vector<int32_t> tokens = Numbers(60 + 10 * prompt, (prompt + i) % 4 + 1);
          EXPECT_EQ(host.Answer(tokens).choices, Cold(tokens).choices);
        }
      }
    });
  }
  for (std::thread& process : processes) process.join();
  for (const fs::path& path : FilesIn(folder.path())) EXPECT_EQ(path.extension(), ".kv") << path;
}

TEST(KeptPrefixes, AHeldRequestCanBeAbortedAndTimesOut) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(100));
  Host host(folder.path());
  std::shared_ptr<std::promise<void>> gate = host.HoldFiles();
  Request aborted = host.Ask(Numbers(100), 8), late = host.Ask(Numbers(100), 8);
  late.timeout = std::chrono::milliseconds(20);
  RequestId id = aborted.id;
  std::future<Outcome> first = host.Start(std::move(aborted)), second = host.Start(std::move(late));
  host.loop->Abort(id, Cancelled("by the test"));
  EXPECT_EQ(Host::Wait(std::move(first)).status.message(), "by the test");
  EXPECT_EQ(Host::Wait(std::move(second)).status.code(), StatusCode::kDeadlineExceeded);
  std::future<Outcome> third = host.Start(host.Ask(Numbers(100), 8));
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout) << "held";
  gate->set_value();
  Outcome outcome = Host::Wait(std::move(third));
  EXPECT_EQ(outcome.choices, Cold(Numbers(100)).choices);
  EXPECT_EQ(outcome.usage.cached_tokens, 99);
}

TEST(KeptPrefixes, AnEngineEndsWhileRequestsAreHeld) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(100));
  for (int round = 0; round < 20; ++round) {
    Host host(folder.path());
    std::vector<std::future<Outcome>> outcomes;
    for (int i = 0; i < 3; ++i) outcomes.push_back(host.Start(host.Ask(Numbers(100), 8)));
    host.loop.reset();
    for (std::future<Outcome>& outcome : outcomes) {
      EXPECT_EQ(Host::Wait(std::move(outcome)).num_ends, 1);
    }
  }
}

TEST(KeptPrefixes, GrammarsAreCompiledBehindTheReading) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(100));
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  bool is_compiled = false;
  auto ask = [&](Host* host) {
    Request request = host->Ask(Numbers(100), 20);
    request.ignore_eos = false;
    request.stop_token_ids = {kEnd};
    request.grammar = *compiler.CompileJsonSchema(R"({"enum": ["one", "two", "three"]})");
    EXPECT_EQ(request.grammar->ready(), is_compiled);
    is_compiled = true;  // once for both
    return Host::Wait(host->Start(std::move(request)));
  };
  Host host(folder.path()), cold("");
  Outcome guided = ask(&host);
  EXPECT_EQ(guided.choices, ask(&cold).choices);
  EXPECT_EQ(guided.usage.cached_tokens, 99);
}

TEST(KeptPrefixes, WhatHasNoRoomIsLeftOut) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(200));
  Host host(folder.path(), LongInfo(), Options(256));
  // Another request has most of the pages, and goes on.
  std::future<Outcome> running = host.Start(host.Ask(Numbers(150, 3), 60));
  Outcome outcome = host.Answer(Numbers(200), 4);
  EXPECT_EQ(outcome.choices, Cold(Numbers(200), 4).choices);
  EXPECT_EQ(Host::Wait(std::move(running)).choices, Cold(Numbers(150, 3), 60).choices);
}

TEST(KeptPrefixes, AFolderThatCannotBeWritten) {
  TempFolder folder;
  folder.Write("file", "no folder");
  ::testing::internal::CaptureStderr();
  {
    Host host(folder.Path("file"));
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(host.Answer(Numbers(100)).choices, Cold(Numbers(100)).choices);
    }
  }
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(KeptPrefixes, OfASlidingWindowTheFirstOneIsKept) {
  ModelInfo info = LongInfo();
  info.sliding_window_size = 40;
  info.attention_sink_size = 3;
  for (int length : {20, 39, 40, 41, 60, 90}) {
    TempFolder folder;
    Host(folder.path(), info).Answer(Numbers(length));
    Outcome cold = Host("", info).Answer(Numbers(length));
    Outcome warm = Host(folder.path(), info).Answer(Numbers(length));
    EXPECT_EQ(warm.choices, cold.choices) << length;
    if (length <= 40) {
      EXPECT_EQ(warm.usage.cached_tokens, length - 1);
    }
    EXPECT_LE(warm.usage.cached_tokens, 40);
  }
}

// Layers with a window have their own pages: what is kept ends with a window.
TEST(KeptPrefixes, OfLayersWithAWindowTheLastOnesAreKept) {
  ModelInfo info = LongInfo();
  info.windowed_page_bytes = info.page_bytes;
  info.layer_window = 14;
  info.attention_sink_size = 3;
  for (int length : {3, 16, 17, 40, 41, 90, 203}) {
    TempFolder folder;
    std::vector<int32_t> prompt = Numbers(length);
    Outcome cold = Host("", info).Answer(prompt, 60);
    EXPECT_EQ(Host(folder.path(), info).Answer(prompt, 60).choices, cold.choices);
    Outcome warm = Host(folder.path(), info).Answer(prompt, 60);
    EXPECT_EQ(warm.choices, cold.choices) << length;
    EXPECT_EQ(warm.usage.cached_tokens, length - 1) << "behind the prompt";
    std::vector<int32_t> next = Join(Join(prompt, cold.choices[0].tokens), {7, 7, 7});
    Outcome turn = Host(folder.path(), info).Answer(next, 5);
    EXPECT_EQ(turn.choices, Host("", info).Answer(next, 5).choices) << length;
    EXPECT_EQ(turn.usage.cached_tokens, length + 59) << "behind the answer";
  }
}

// A state cannot be cut shorter: what is kept ends where the prefix cache has one.
TEST(KeptPrefixes, OfRecurrentLayersTheStatesAtTheEndsAreKept) {
  ModelInfo info = LongInfo();
  info.state_bytes = FakeModel::StateBytes(info);
  for (bool has_windows : {false, true}) {
    if (has_windows) {
      info.windowed_page_bytes = info.page_bytes;
      info.layer_window = 14;
    }
    for (int length : {3, 9, 16, 17, 40, 41, 90, 203}) {
      TempFolder folder;
      std::vector<int32_t> prompt = Numbers(length);
      Outcome cold = Host("", info).Answer(prompt, 60);
      EXPECT_EQ(Host(folder.path(), info).Answer(prompt, 60).choices, cold.choices);
      Outcome warm = Host(folder.path(), info).Answer(prompt, 60);
      EXPECT_EQ(warm.choices, cold.choices) << length;
      EXPECT_EQ(warm.usage.cached_tokens, (length - 1) / 4 * 4) << "at the end of a page";
      std::vector<int32_t> next = Join(Join(prompt, cold.choices[0].tokens), {7, 7, 7});
      Outcome turn = Host(folder.path(), info).Answer(next, 5);
      EXPECT_EQ(turn.choices, Host("", info).Answer(next, 5).choices) << length;
      EXPECT_EQ(turn.usage.cached_tokens, length + 59) << "behind the answer";
    }
  }
}

// Of two prompts that are alike up to some place, the second one begins at the first one's end even
// if files have more blocks of the second one.
TEST(KeptPrefixes, ARequestGoesBackToABlockWithAState) {
  TempFolder folder;
  ModelInfo info = LongInfo();
  info.state_bytes = FakeModel::StateBytes(info);
  ASSERT_TRUE(Host(folder.path(), info).Answer(Numbers(22), 1).status.ok());
  ASSERT_TRUE(Host(folder.path(), info).Answer(Numbers(60), 1).status.ok());
  std::vector<int32_t> prompt = Join(Numbers(36), {1, 2, 3});
  Outcome warm = Host(folder.path(), info).Answer(prompt);
  EXPECT_EQ(warm.choices, Host("", info).Answer(prompt).choices);
  EXPECT_EQ(warm.usage.cached_tokens, 22);
}

TEST(KeptPrefixes, EnginesWithoutPrefixesKeepNothing) {
  TempFolder folder;
  EngineOptions without = Options();
  without.prefix_cache = false;
  EXPECT_TRUE(Host(folder.path(), LongInfo(), without).Answer(Numbers(100)).status.ok());
  EXPECT_TRUE(FilesIn(folder.path()).empty());
}

TEST(KeptPrefixes, ABlockIsNoConversation) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(8), 1);
  Host host("");
  Status status =
      LoadKVState(host.loop.get(), FilesIn(folder.path())[0].u8string(), [](const Result<int>&) {});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("kept prefix"), std::string::npos) << status.message();
}

// Prompts whose every row is read must not wait for files.
TEST(KeptPrefixes, ScoredPromptsAreComputed) {
  TempFolder folder;
  Host(folder.path()).Answer(Numbers(100));
  Host host(folder.path());
  Request request = host.Ask(Numbers(100), 1);
  request.prompt_logprobs = true;
  Outcome outcome = Host::Wait(host.Start(std::move(request)));
  EXPECT_EQ(outcome.prompt.size(), 100u);
  EXPECT_EQ(host.loop->metrics().restored_tokens, 0);
}

}  // namespace
}  // namespace mlc
