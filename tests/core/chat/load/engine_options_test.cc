#include "chat/load/engine_options.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

constexpr int64_t kRoomy = int64_t{1} << 40;

ModelInfo SomeModel() {
  ModelInfo model;
  model.context_window_size = 4096;
  model.prefill_chunk_size = 512;
  model.max_batch_size = 32;
  model.page_size = 16;
  model.page_bytes = 1000;
  return model;
}

Result<EngineOptions> Resolve(const std::string& json, int64_t memory = kRoomy) {
  Result<protocol::EngineConfig> config = protocol::EngineConfig::Parse(*Json::Parse(json));
  if (!config.ok()) return std::move(config).status();
  if (!config->gpu_memory_utilization) config->gpu_memory_utilization = 1.0;
  return ResolveEngineOptions(*config, SomeModel(), memory);
}

struct Case {
  const char* config;
  int sequences, total_tokens, context, chunk;
};

TEST(ResolveEngineOptions, ModesAndWhatOverridesThem) {
  const Case cases[] = {
      {"{}", 16, 4096, 4096, 512},
      {R"({"mode": "local"})", 16, 4096, 4096, 512},
      {R"({"mode": "interactive"})", 1, 4096, 4096, 512},
      {R"({"mode": "server"})", 32, 32 * 4096, 4096, 512},
      {R"({"mode": "server", "max_num_sequence": 2})", 2, 32 * 4096, 4096, 512},
      {R"({"context_window_size": 1024})", 16, 1024, 1024, 512},
      {R"({"prefill_chunk_size": 64})", 16, 4096, 4096, 64},
      {R"({"prefill_chunk_size": 99999})", 16, 4096, 4096, 512},
      {R"({"max_total_seq_length": 100})", 16, 100, 4096, 512},
      {R"({"kv_cache_bytes": 10500})", 16, 160, 4096, 512},
      {R"({"max_num_sequence": 9223372036854775807})", 32, 4096, 4096, 512},
      {R"({"max_total_seq_length": 9223372036854775807})", 16, INT32_MAX / 2, 4096, 512},
  };
  for (const Case& c : cases) {
    Result<EngineOptions> options = Resolve(c.config);
    ASSERT_TRUE(options.ok()) << c.config << ": " << options.status().message();
    EXPECT_EQ(options->max_sequences, c.sequences) << c.config;
    EXPECT_EQ(options->max_total_tokens, c.total_tokens) << c.config;
    EXPECT_EQ(options->context_window_size, c.context) << c.config;
    EXPECT_EQ(options->prefill_chunk_size, c.chunk) << c.config;
  }
}

TEST(ResolveEngineOptions, FewRowsAStepSufficeOnACpu) {
  auto chunk_of = [](const ModelInfo& model, const protocol::EngineConfig& config = {}) {
    return ResolveEngineOptions(config, model, kRoomy)->prefill_chunk_size;
  };
  ModelInfo model = SomeModel();
  model.prefill_chunk_size = 2048;
  EXPECT_EQ(chunk_of(model), 512);
  protocol::EngineConfig larger;
  larger.prefill_chunk_size = 1024;
  EXPECT_EQ(chunk_of(model, larger), 1024);
  ModelInfo other = model;
  other.takes_cores = false;
  EXPECT_EQ(chunk_of(other), 2048);
  other = model;
  other.tower_bytes = 1;  // a picture may need more in one step
  EXPECT_EQ(chunk_of(other), 2048);
  other = model;
  other.is_encoder = true;  // a text needs one step
  EXPECT_EQ(chunk_of(other), 2048);
}

TEST(ResolveEngineOptions, TheCacheFitsTheDevicesLargestTensor) {
  ModelInfo model = SomeModel();
  model.max_pages = 100;
  Result<EngineOptions> options = ResolveEngineOptions({}, model, kRoomy);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->max_total_tokens, 100 * 16);
}

TEST(ResolveEngineOptions, TheCacheFitsTheMemory) {
  EXPECT_EQ(Resolve("{}", 100000)->max_total_tokens, 1600);
  EXPECT_EQ(Resolve(R"({"kv_cache_bytes": 1000000})", 100000)->max_total_tokens, 1600);
  EXPECT_EQ(Resolve("{}", 2000)->max_total_tokens, 32);
  EXPECT_EQ(Resolve(R"({"gpu_memory_utilization": 0.5})", 100000)->max_total_tokens, 800);
  EXPECT_EQ(Resolve(R"({"memory_limit_bytes": 50000})", 100000)->max_total_tokens, 800);
  for (int64_t memory : {int64_t{1999}, int64_t{0}, int64_t{-5}}) {
    Result<EngineOptions> options = Resolve("{}", memory);
    ASSERT_FALSE(options.ok()) << memory;
    EXPECT_EQ(options.status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(options.status().param(), "max_total_seq_length");
  }
}

TEST(ResolveEngineOptions, SaysWhatAllowsALongerSequence) {
  ModelInfo model = SomeModel();
  model.context_window_size = 100000;
  protocol::EngineConfig config;
  config.gpu_memory_utilization = 1.0;
  struct Room {
    int64_t bytes;
    int tokens;
    const char* advice;  // how it begins
  };
  const Room rooms[] = {
      {100000, 1600, "More do not fit into the memory beside the weights"},
      {1000000, 8192, "A larger max_total_seq_length allows more: 16000 tokens fit"},
      {30000000, 8192, "A larger max_total_seq_length allows more: 100000 tokens fit"},
  };
  for (const Room& room : rooms) {
    EngineOptions options = *ResolveEngineOptions(config, model, room.bytes);
    EXPECT_EQ(options.max_total_tokens, room.tokens) << room.bytes;
    std::string advice = room.advice;
    EXPECT_EQ(options.longer_by.substr(0, advice.size()), advice);
  }
  config.max_total_seq_length = 100000;
  EXPECT_EQ(ResolveEngineOptions(config, model, kRoomy)->longer_by, "");
  config.context_window_size = 2048;
  EXPECT_EQ(ResolveEngineOptions(config, model, kRoomy)->longer_by,
            "A larger context_window_size allows more, up to 100000.");
}

TEST(ResolveEngineOptions, AModelOfStatesAloneNeedsRoomForThem) {
  ModelInfo model = SomeModel();
  model.page_bytes = 0;
  model.state_bytes = 1000;
  protocol::EngineConfig config;
  config.gpu_memory_utilization = 1.0;
  config.max_num_sequence = 2;  // two states each, and four that are kept
  EXPECT_EQ(ResolveEngineOptions(config, model, 8000)->max_total_tokens, 4096);
  Result<EngineOptions> options = ResolveEngineOptions(config, model, 7999);
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(options.status().param(), "max_num_sequence");
  EXPECT_EQ(options.status().message().substr(0, 82),
            "the states of 2 sequences (max_num_sequence) need 8000 bytes and may take 7999, be");
}

TEST(ResolveEngineOptions, FewerSequencesWhereEachHasAState) {
  ModelInfo model = SomeModel();
  model.state_bytes = 1000;
  EXPECT_EQ(ResolveEngineOptions(protocol::EngineConfig(), model, kRoomy)->max_sequences, 4);
}

TEST(ResolveEngineOptions, WeightsAndTemporariesComeFirst) {
  ModelInfo model = SomeModel();
  model.weight_bytes = 60000;
  model.step_bytes = 7000;
  model.row_bytes = 10;         // 512 rows
  model.logit_row_bytes = 100;  // 16 sequences
  model.decode_row_bytes = 20;
  protocol::EngineConfig config;
  config.gpu_memory_utilization = 1.0;
  int64_t taken = 60000 + 7000 + 5120 + 1600 + 320;
  EXPECT_EQ(ResolveEngineOptions(config, model, taken + 3000)->max_total_tokens, 48);
  EXPECT_FALSE(ResolveEngineOptions(config, model, taken + 1999).ok());
}

TEST(ResolveEngineOptions, AChunkIsNoLargerThanWhatAModeKeeps) {
  EXPECT_EQ(Resolve(R"({"context_window_size": 100})")->prefill_chunk_size, 100);
  EXPECT_EQ(Resolve(R"({"mode": "interactive", "context_window_size": 100})")->prefill_chunk_size,
            100);
  EXPECT_EQ(Resolve(R"({"mode": "server", "context_window_size": 100})")->prefill_chunk_size, 512);
}

TEST(ResolveEngineOptions, AWindowBeyondTheModelsIsRefused) {
  Result<EngineOptions> options = Resolve(R"({"context_window_size": 99999})");
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(options.status().param(), "context_window_size");
}

TEST(ResolveEngineOptions, WhatIsNotThereIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"tensor_parallel_shards", "2"}, {"pipeline_parallel_stages", "2"},
      {"sliding_window_size", "1024"}, {"max_history_size", "4"},
      {"kv_cache_dtype", "\"q8\""},    {"mmproj", "\"tower.gguf\""},
  };
  for (const auto& [name, value] : cases) {
    Result<EngineOptions> options = Resolve("{\"" + std::string(name) + "\": " + value + "}");
    ASSERT_FALSE(options.ok()) << name;
    EXPECT_EQ(options.status().code(), StatusCode::kUnsupported) << options.status().message();
    EXPECT_EQ(options.status().param(), name);
    EXPECT_NE(options.status().message().find(name), std::string::npos);
  }
  EXPECT_TRUE(Resolve(R"({"speculative_mode": "disable", "prefix_cache_mode": "disable",
                          "prefill_mode": "hybrid", "tensor_parallel_shards": 1})")
                  .ok());
}

TEST(ResolveEngineOptions, EachShardHasAThreadAndNoAdapters) {
  ModelInfo model = SomeModel();
  model.num_shards = 4;
  auto resolve = [&](const char* config) {
    return ResolveEngineOptions(*protocol::EngineConfig::Parse(*Json::Parse(config)), model, kRoomy)
        .status();
  };
  EXPECT_TRUE(resolve(R"({"num_threads": 4})").ok());
  Status few = resolve(R"({"num_threads": 3})");
  EXPECT_EQ(few.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(few.param(), "num_threads");
  Status adapters = resolve(R"({"lora_ranks": 8})");
  EXPECT_EQ(adapters.param(), "lora_ranks");
  EXPECT_NE(adapters.message().find("--lora and one shard"), std::string::npos);
}

TEST(ResolveEngineOptions, TheSchedulersSettings) {
  Result<EngineOptions> options = Resolve("{}");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->prefill_mode, PrefillMode::kHybrid);
  EXPECT_EQ(options->max_queued_requests, 1024);
  options = Resolve(R"({"prefill_mode": "chunked", "max_queued_requests": 3})");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->prefill_mode, PrefillMode::kChunked);
  EXPECT_EQ(options->max_queued_requests, 3);
}

}  // namespace
}  // namespace mlc
