// The state of a conversation goes from one engine to another.
#include "engine/kv_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "engine/engine_driver.h"
#include "platform/file.h"
#include "support/embedding_rows.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::Outcome;
using testing::TempFolder;
using testing::TestInfo;

constexpr auto kPatience = std::chrono::seconds(60);  // only ever waited for by a bug

EngineOptions Options() {
  EngineOptions options;
  options.max_total_tokens = 160;
  return options;
}

// An engine on threads that answers by a hash of the whole history.
class Host {
 public:
  explicit Host(const ModelInfo& info = TestInfo(), const EngineOptions& options = Options()) {
    auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
    auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
    MLC_ICHECK(engine.ok());
    loop = std::make_unique<EngineLoop>(std::move(engine).value(), nullptr);
  }

  Request Ask(Prompt prompt, int max_tokens) {
    Request request;
    request.id = next_id_++;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    request.ignore_eos = true;
    return request;
  }
  Outcome Answer(Prompt prompt, int max_tokens) {
    auto outcome = std::make_shared<Outcome>();
    std::promise<void> ended;
    loop->Submit(Ask(std::move(prompt), max_tokens), [&, outcome](const RequestEvent& event) {
      outcome->Add(event);
      if (event.finished) ended.set_value();
    });
    EXPECT_EQ(ended.get_future().wait_for(kPatience), std::future_status::ready);
    return *outcome;
  }
  Result<SavedKV> Save(Prompt prompt, const std::string& path) {
    std::promise<Result<SavedKV>> saved;
    SaveKVState(loop.get(), Ask(std::move(prompt), 1), path, [&saved](const auto& result) {
      EXPECT_TRUE(EngineLoop::InCallback());
      saved.set_value(result);
    });
    return saved.get_future().get();
  }
  Result<int> Load(const std::string& path) {
    std::promise<Result<int>> loaded;
    Status status =
        LoadKVState(loop.get(), path, [&loaded](const auto& result) { loaded.set_value(result); });
    if (!status.ok()) return status;
    return loaded.get_future().get();
  }

  std::unique_ptr<EngineLoop> loop;

 private:
  RequestId next_id_ = 1;
};

std::vector<int32_t> Join(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

ModelInfo SlidingInfo() {
  ModelInfo info = TestInfo();
  info.sliding_window_size = 14;
  info.attention_sink_size = 3;
  return info;
}

// Some layers have a window, and pages of their own.
ModelInfo WindowedInfo() {
  ModelInfo info = TestInfo();
  info.windowed_page_bytes = info.page_bytes;
  info.layer_window = 14;
  info.attention_sink_size = 3;
  return info;
}

ModelInfo RecurrentInfo() {
  ModelInfo info = TestInfo();
  info.state_bytes = FakeModel::StateBytes(info);
  return info;
}

const std::vector<int32_t> kPrompt = Bytes("the quick brown fox jumps");  // 25: a part of a page

TEST(KVState, ANewEngineGoesOnWhereTheOldOneStopped) {
  TempFolder folder;
  Host first, second;
  std::vector<int32_t> answer = first.Answer(kPrompt, 6).choices[0].tokens;
  std::vector<int32_t> chat = Join(kPrompt, answer);
  chat.pop_back();  // the last token was never computed
  int64_t computed = first.loop->metrics().prefill_tokens;
  Result<SavedKV> saved = first.Save(chat, folder.Path("chat.kv"));
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->num_tokens, static_cast<int>(chat.size()));
  EXPECT_EQ(saved->num_bytes,
            static_cast<int64_t>(std::filesystem::file_size(folder.Path("chat.kv"))));
  EXPECT_EQ(first.loop->metrics().prefill_tokens, computed) << "the cache held it all";

  Result<int> loaded = second.Load(folder.Path("chat.kv"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*loaded, static_cast<int>(chat.size()));
  std::vector<int32_t> turn = Join(chat, Bytes("?!"));
  Outcome warm = second.Answer(turn, 8), cold = Host().Answer(turn, 8);
  EXPECT_EQ(warm.choices, cold.choices);
  EXPECT_EQ(warm.usage.cached_tokens, static_cast<int>(chat.size()));
  EXPECT_EQ(cold.usage.cached_tokens, 0);
}

TEST(KVState, WhatIsNotHeldIsComputedFirst) {
  TempFolder folder;
  Host first, second;
  Result<SavedKV> saved = first.Save(kPrompt, folder.Path("chat.kv"));
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->num_tokens, 25);
  ASSERT_TRUE(second.Load(folder.Path("chat.kv")).ok());
  ASSERT_TRUE(second.Load(folder.Path("chat.kv")).ok()) << "again";
  Outcome warm = second.Answer(kPrompt, 8);
  EXPECT_EQ(warm.choices, Host().Answer(kPrompt, 8).choices);
  EXPECT_EQ(warm.usage.cached_tokens, 24) << "all but the last, whose logits are wanted";
}

TEST(KVState, AConversationForksWhereTurnsDiffer) {
  TempFolder folder;
  Host host;
  ASSERT_TRUE(Host().Save(kPrompt, folder.Path("chat.kv")).ok());
  ASSERT_TRUE(host.Load(folder.Path("chat.kv")).ok());
  for (const char* turn : {" over", " under", " over"}) {
    std::vector<int32_t> branch = Join(kPrompt, Bytes(turn));
    Outcome warm = host.Answer(branch, 8);
    EXPECT_EQ(warm.choices, Host().Answer(branch, 8).choices);
    EXPECT_GE(warm.usage.cached_tokens, static_cast<int>(kPrompt.size())) << turn;
  }
}

TEST(KVState, ASlidConversationIsSavedWithItsHoles) {
  TempFolder folder;
  // wherever the window's edge lies in a page; for all layers, or for those that have a window
  for (int i = 0; i < 100; ++i) {
    int length = 10 + i / 2;
    ModelInfo info = i % 2 == 0 ? SlidingInfo() : WindowedInfo();
    Host first(info), second(info);
    std::vector<int32_t> prompt;
    for (int at = 0; at < length; ++at) prompt.push_back(at * 7 % 200);
    ASSERT_TRUE(first.Save(prompt, folder.Path("chat.kv")).ok());
    Result<int> loaded = second.Load(folder.Path("chat.kv"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(*loaded, length);
    Outcome warm = second.Answer(prompt, 5);
    EXPECT_EQ(warm.choices, Host(info).Answer(prompt, 5).choices) << length;
    EXPECT_EQ(warm.usage.cached_tokens, length - 1);
  }
}

TEST(KVState, ARecurrentStateIsSavedWithItsPages) {
  TempFolder folder;
  for (int length = 1; length < 30; ++length) {
    Host first(RecurrentInfo()), second(RecurrentInfo());
    std::vector<int32_t> prompt;
    for (int i = 0; i < length; ++i) prompt.push_back(i * 7 % 200);
    // A longer chat is cached already, whose states lie elsewhere.
    first.Answer(Join(prompt, Bytes("and more")), 3);
    Result<SavedKV> saved = first.Save(prompt, folder.Path("chat.kv"));
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_EQ(saved->num_tokens, length);
    Result<int> loaded = second.Load(folder.Path("chat.kv"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(*loaded, length);
    std::vector<int32_t> turn = Join(prompt, Bytes("?!"));
    Outcome warm = second.Answer(turn, 5);
    EXPECT_EQ(warm.choices, Host().Answer(turn, 5).choices) << "as a model without states";
    EXPECT_EQ(warm.usage.cached_tokens, length);
  }
  ASSERT_TRUE(Host(RecurrentInfo()).Save(kPrompt, folder.Path("chat.kv")).ok());
  EXPECT_EQ(Host().Load(folder.Path("chat.kv")).status().code(), StatusCode::kCorrupt);
}

TEST(KVState, PicturesAreFoundByTheirContent) {
  TempFolder folder;
  auto see = [](int picture) {
    Prompt prompt({1, 2});
    prompt.Append(testing::Rows(picture, 6));
    prompt.Append({3});
    prompt.Append(testing::Rows(9, 2));
    prompt.Append({4, 5});
    return prompt;
  };
  Host first, second;
  ASSERT_TRUE(first.Answer(see(7), 3).status.ok());  // its names are others than the second's
  Result<SavedKV> saved = first.Save(see(1), folder.Path("chat.kv"));
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->num_tokens, 13);
  ASSERT_TRUE(second.Load(folder.Path("chat.kv")).ok());
  Outcome warm = second.Answer(see(1), 8), other = second.Answer(see(2), 8);
  EXPECT_EQ(warm.usage.cached_tokens, 12);
  EXPECT_EQ(other.usage.cached_tokens, 2) << "another picture";
  EXPECT_EQ(warm.choices, Host().Answer(see(1), 8).choices);
  EXPECT_EQ(other.choices, Host().Answer(see(2), 8).choices);
}

// Two prompts begin alike; what is cached of the longer one serves the shorter one, too.
TEST(KVState, NothingOfAnotherChatIsInTheFile) {
  TempFolder folder;
  Host host;
  host.Answer(Bytes("0123456789secret"), 3);
  ASSERT_TRUE(host.Save(Bytes("0123456789"), folder.Path("chat.kv")).ok());
  const std::string bytes = *ReadFile(folder.Path("chat.kv"));
  std::string_view pages = DecodeKVFile(bytes)->pages;
  ASSERT_EQ(pages.size(), 12 * sizeof(int32_t));
  const auto* slots = reinterpret_cast<const int32_t*>(pages.data());
  EXPECT_EQ(slots[9], '9');
  EXPECT_EQ(slots[10], -1);
  EXPECT_EQ(slots[11], -1);
}

TEST(KVState, RunningRequestsGoOn) {
  TempFolder folder;
  Host host, quiet;
  std::vector<int32_t> other = Bytes("what others ask");
  std::promise<void> ended;
  Outcome outcome;
  host.loop->Submit(host.Ask(other, 40), [&](const RequestEvent& event) {
    outcome.Add(event);
    if (event.finished) ended.set_value();
  });
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(host.Save(kPrompt, folder.Path("chat.kv")).ok());
    Result<int> loaded = host.Load(folder.Path("chat.kv"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  }
  ended.get_future().wait();
  EXPECT_EQ(outcome.choices, quiet.Answer(other, 40).choices);
}

TEST(KVState, OtherWeightsLibrariesAndShapesAreRefused) {
  TempFolder folder;
  ASSERT_TRUE(Host().Save(kPrompt, folder.Path("chat.kv")).ok());
  auto load_with = [&](const ModelInfo& info) {
    return Host(info).Load(folder.Path("chat.kv")).status();
  };
  ModelInfo weights = TestInfo(), library = TestInfo();
  weights.weights_id = "other";
  library.library_id = "other";
  EXPECT_EQ(load_with(weights).code(), StatusCode::kInvalidArgument);
  EXPECT_NE(load_with(weights).message().find("weights"), std::string::npos);
  EXPECT_EQ(load_with(library).code(), StatusCode::kInvalidArgument);
  EXPECT_NE(load_with(library).message().find("library"), std::string::npos);
  EXPECT_EQ(load_with(SlidingInfo()).code(), StatusCode::kCorrupt);
  EXPECT_EQ(Host().Load(folder.Path("absent.kv")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Host().Load(folder.path()).status().code(), StatusCode::kNotFound);
}

TEST(KVState, APoolThatIsTooSmallRefuses) {
  TempFolder folder;
  Host big;
  std::vector<int32_t> prompt(60, 65);
  ASSERT_TRUE(big.Save(prompt, folder.Path("chat.kv")).ok());
  EngineOptions options = Options();
  options.max_total_tokens = 32;
  Host small(TestInfo(), options);
  Result<int> loaded = small.Load(folder.Path("chat.kv"));
  EXPECT_EQ(loaded.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(small.loop->metrics().num_free_pages, 8);
  EXPECT_TRUE(small.Answer(kPrompt, 3).status.ok());
}

TEST(KVState, DamageIsRefusedAndTheEngineGoesOn) {
  TempFolder folder;
  Host host;
  ASSERT_TRUE(host.Save(kPrompt, folder.Path("chat.kv")).ok());
  const std::string bytes = *ReadFile(folder.Path("chat.kv"));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const std::string& damaged : {flipped, bytes.substr(0, at)}) {
      ASSERT_FALSE(host.Load(folder.Write("bad.kv", damaged)).ok()) << at;
    }
  }
  EXPECT_EQ(host.Answer(kPrompt, 5).choices, Host().Answer(kPrompt, 5).choices);
}

// Heads whose hashes fit and that name this very model.
TEST(KVState, ForgedHeadsDoNoHarm) {
  TempFolder folder;
  for (ModelInfo info : {TestInfo(), SlidingInfo(), WindowedInfo()}) {
    Host host(info);
    ASSERT_TRUE(host.Save(std::vector<int32_t>(40, 65), folder.Path("chat.kv")).ok());
    const std::string bytes = *ReadFile(folder.Path("chat.kv"));
    const KVFile saved = *DecodeKVFile(bytes);
    auto load = [&](const KVFileHead& head) {
      int64_t size = head.num_pages() * head.page_bytes + head.num_windowed_bytes();
      std::string pages(size > 0 && size < (1 << 20) ? static_cast<size_t>(size) : 0, '\1');
      std::string forged = EncodeKVHead(head) + pages + EncodeKVTail(pages);
      return host.Load(folder.Write("forged.kv", forged)).status().code();
    };
    for (int num_slid : {1, 5, 6, 7, 9, 10, 11, 1 << 24}) {
      KVFileHead head = saved.head;
      head.num_slid = num_slid;
      StatusCode code = load(head);
      bool may_be = num_slid <= 6 && info.sliding_window_size > 0;
      EXPECT_EQ(code, may_be ? StatusCode::kOk : StatusCode::kCorrupt) << num_slid;
      head = saved.head;
      head.windowed.num_slid = num_slid;
      may_be = num_slid <= 6 || info.layer_window == 0;
      EXPECT_EQ(load(head), may_be ? StatusCode::kOk : StatusCode::kCorrupt) << num_slid;
    }
    for (int32_t token : {-1, kByteVocab, INT32_MAX, INT32_MIN}) {
      KVFileHead head = saved.head;
      head.tokens[20] = token;
      EXPECT_EQ(load(head), StatusCode::kCorrupt);
    }
    for (int page_size : {1, 3, 5, 1 << 24}) {
      KVFileHead head = saved.head;
      head.page_size = page_size;
      EXPECT_EQ(load(head), StatusCode::kCorrupt);
    }
  }
}

TEST(KVState, APathThatCannotBeWrittenSaysSo) {
  TempFolder folder;
  Host host;
  Result<SavedKV> saved = host.Save(kPrompt, folder.Path("no/such/folder.kv"));
  EXPECT_EQ(saved.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(saved.status().param(), "path");
  std::filesystem::create_directory(folder.Path("folder"));
  EXPECT_FALSE(host.Save(kPrompt, folder.Path("folder")).ok());
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    num_files += entry.is_regular_file();
  }
  EXPECT_EQ(num_files, 0) << "something was left behind";
}

TEST(KVState, AnEngineThatEndsAnswersItsSaves) {
  TempFolder folder;
  std::atomic<int> num_answers{0};
  for (int round = 0; round < 20; ++round) {
    Host host;
    for (int i = 0; i < 3; ++i) {
      SaveKVState(host.loop.get(), host.Ask(kPrompt, 1), folder.Path("chat.kv"),
                  [&num_answers](const Result<SavedKV>&) { ++num_answers; });
    }
    host.loop.reset();
    EXPECT_EQ(num_answers, 3 * (round + 1));
  }
}

}  // namespace
}  // namespace mlc
