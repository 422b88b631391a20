#include "chat/load/memory_plan.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

constexpr int64_t kMB = int64_t{1} << 20;

PlanSubject SomeSubject(int64_t available) {
  PlanSubject subject;
  subject.name = "tiny";
  subject.device = "cpu:0";
  subject.available_bytes = available;
  ModelInfo& model = subject.model;
  model.model_type = "llama";
  model.quantization = "q4f32_1";
  model.context_window_size = 1024;
  model.prefill_chunk_size = 512;
  model.max_batch_size = 16;
  model.page_size = 16;
  model.page_bytes = kMB;
  model.kv_cache_dtype = "bf16";
  model.weight_bytes = 100 * kMB;
  model.row_bytes = kMB / 64;
  model.logit_row_bytes = kMB / 4;
  return subject;
}

TEST(PlanMemory, SaysWhatWouldBeAllocated) {
  Result<protocol::Plan> plan = PlanMemory(protocol::EngineConfig(), SomeSubject(1000 * kMB));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->fits);
  EXPECT_EQ(plan->mode, "local");
  EXPECT_EQ(plan->max_num_sequence, 16);
  EXPECT_EQ(plan->max_total_seq_length, 1024);
  EXPECT_EQ(plan->parameter_bytes, 100 * kMB);
  EXPECT_EQ(plan->kv_cache_bytes, 64 * kMB);
  EXPECT_EQ(plan->temporary_bytes, 12 * kMB);
  EXPECT_EQ(plan->total_bytes, 176 * kMB);
  EXPECT_EQ(plan->kv_bytes_per_token, kMB / 16);
  EXPECT_EQ(plan->kv_cache_dtype, "bf16");
  EXPECT_FALSE(plan->context_limit);
  ASSERT_EQ(plan->summary.size(), 3u);
  EXPECT_EQ(plan->summary[0],
            "The actual engine mode is \"local\". So max batch size is 16, max KV cache token "
            "capacity is 1024, prefill chunk size is 512.");
  EXPECT_EQ(plan->summary[1],
            "Estimated total memory usage: 176.000 MB (Parameters: 100.000 MB. KVCache: 64.000 MB. "
            "Temporary buffer: 12.000 MB). The actual usage might be slightly larger than the "
            "estimated number.");
  EXPECT_EQ(plan->summary[2], "A chat may have 1024 tokens.");
}

TEST(PlanMemory, SaysWhatLimitsAChat) {
  PlanSubject subject = SomeSubject(500 * kMB);
  subject.model.context_window_size = 32768;
  Result<protocol::Plan> plan = PlanMemory(protocol::EngineConfig(), subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_LT(plan->max_total_seq_length, 8192);
  ASSERT_TRUE(plan->context_limit);
  EXPECT_EQ(plan->summary.back(), "A chat may have " + std::to_string(plan->max_total_seq_length) +
                                      " tokens of the model's 32768. " + *plan->context_limit);
  protocol::EngineConfig config;
  config.context_window_size = 512;
  plan = PlanMemory(config, subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->summary.back(),
            "A chat may have 512 tokens of the model's 32768. A larger context_window_size allows "
            "more, up to 32768.");
}

TEST(PlanMemory, AdaptersHaveRoomAndTemporaries) {
  PlanSubject subject = SomeSubject(1000 * kMB);
  auto spec = std::make_shared<AdapterSpec>();
  spec->layers = {{"layer", 16 * 1024, {16 * 1024}}};  // a group: 8 ranks of 2^15 floats
  subject.model.adapters = spec;
  subject.model.unit_bytes = 64;
  protocol::EngineConfig config;
  config.lora_ranks = 20;  // three groups
  Result<protocol::Plan> plan = PlanMemory(config, subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->lora_ranks, 24);
  EXPECT_EQ(plan->adapter_bytes, 3 * kMB);
  EXPECT_EQ(plan->temporary_bytes, 12 * kMB + 512 * 3 * 64);
  EXPECT_EQ(plan->total_bytes, 179 * kMB + 512 * 3 * 64);
  EXPECT_NE(plan->summary[1].find("Adapters: 3.000 MB."), std::string::npos);
  EXPECT_EQ(plan->summary[2],
            "Requests may choose adapters of 24 ranks in all; a rank takes 0.125 MB.");
  config.lora_bytes = 2 * kMB;
  plan = PlanMemory(config, subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->fits);
  EXPECT_EQ(plan->adapter_bytes, 3 * kMB);
  EXPECT_NE(plan->reason->find("set lora_ranks to at most 16"), std::string::npos);
  config.lora_ranks = 16;
  plan = PlanMemory(config, subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->fits);
}

TEST(PlanMemory, TablesThatStayInTheirFilesAreSaidAndNotCounted) {
  PlanSubject subject = SomeSubject(300 * kMB);
  subject.model.table_bytes = 1000 * kMB;
  Result<protocol::Plan> plan = PlanMemory(protocol::EngineConfig(), subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->fits);
  EXPECT_EQ(plan->parameter_bytes, 100 * kMB);
  EXPECT_EQ(plan->table_bytes, 1000 * kMB);
  EXPECT_EQ(plan->total_bytes, 176 * kMB);
  ASSERT_EQ(plan->summary.size(), 4u);
  EXPECT_NE(plan->summary[2].find("Tables of 1000.000 MB stay"), std::string::npos);
}

TEST(PlanMemory, OfADeviceWithItsOwnMemoryTheHostKeepsWhatItDrops) {
  PlanSubject subject = SomeSubject(1000 * kMB);
  protocol::EngineConfig config;
  auto plan = [&] {
    Result<protocol::Plan> made = PlanMemory(config, subject);
    return made.ok() ? *made : protocol::Plan();
  };
  EXPECT_EQ(plan().prefix_cache_ram_bytes, 0) << "a CPU has its pages in that memory";
  config.prefix_cache_ram_bytes = kMB;
  EXPECT_EQ(PlanMemory(config, subject).status().param(), "prefix_cache_ram_bytes");
  subject.model.takes_cores = false;
  EXPECT_EQ(plan().prefix_cache_ram_bytes, kMB) << "it was asked for";
  config.prefix_cache_ram_bytes.reset();
  EXPECT_EQ(plan().prefix_cache_ram_bytes, 0) << "a GPU that shares the host's memory";
  subject.model.has_own_memory = true;
  EXPECT_EQ(plan().prefix_cache_ram_bytes, 2 * 64 * kMB);
  EXPECT_EQ(plan().total_bytes, 176 * kMB) << "it is not the device's";
  ASSERT_EQ(plan().summary.size(), 4u);
  EXPECT_EQ(plan().summary[2],
            "Up to 128.000 MB of the host's memory keep what the prefix cache on the device has to "
            "drop.");
  config.prefix_cache_mode = protocol::PrefixCacheMode::kDisable;
  EXPECT_EQ(plan().prefix_cache_ram_bytes, 0);
}

TEST(PlanMemory, StatesOfRecurrentLayersCount) {
  PlanSubject subject = SomeSubject(1000 * kMB);
  subject.model.state_bytes = 2 * kMB;
  Result<protocol::Plan> plan = PlanMemory(protocol::EngineConfig(), subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  // Of four sequences: two slots each, and four for others to begin with.
  EXPECT_EQ(plan->kv_cache_bytes, (64 + 12 * 2) * kMB);
  EXPECT_EQ(plan->total_bytes, (173 + 12 * 2) * kMB);
  subject.model.state_bytes = 100 * kMB;
  plan = PlanMemory(protocol::EngineConfig(), subject);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->fits);
}

// Gemma 3's shapes: one head of 256 elements and a window of 512 in most layers.
PlanSubject Gemma3(int windowed_layers, int full_layers) {
  constexpr int64_t kLayerPage = 16 * 2 * 256 * 4;
  PlanSubject subject = SomeSubject(1000000 * kMB);
  subject.model.context_window_size = 32768;
  subject.model.prefill_chunk_size = 2048;
  std::vector<LayerState> layers(static_cast<size_t>(windowed_layers),
                                 {LayerKind::kAttention, kLayerPage, 512});
  layers.resize(static_cast<size_t>(windowed_layers + full_layers),
                {LayerKind::kAttention, kLayerPage, 0});
  subject.model.SetLayers(layers, /*two_tables=*/true);
  return subject;
}

TEST(PlanMemory, LayersWithAWindowTakeLittleMoreThanTheirWindows) {
  protocol::EngineConfig config;
  config.mode = protocol::EngineMode::kInteractive;
  for (auto [windowed, full] : {std::pair(15, 3), {22, 4}}) {  // 270M and 1B
    PlanSubject subject = Gemma3(windowed, full);
    Result<protocol::Plan> plan = PlanMemory(config, subject);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->max_total_seq_length, 32768);
    const ModelInfo& model = subject.model;
    int64_t needed = 32768 / 16 * model.page_bytes + 512 / 16 * model.windowed_page_bytes;
    EXPECT_GT(plan->kv_cache_bytes, needed);
    EXPECT_LT(plan->kv_cache_bytes, needed * 13 / 10);
    int64_t one_table = 32768 / 16 * (model.page_bytes + model.windowed_page_bytes);
    EXPECT_LT(plan->kv_cache_bytes, one_table / 4);
  }
}

TEST(PlanMemory, AShortMemoryHoldsTheWindowsAndFewerTokens) {
  protocol::EngineConfig config;
  config.mode = protocol::EngineMode::kInteractive;
  PlanSubject subject = Gemma3(15, 3);
  subject.model.weight_bytes = 0;
  for (int64_t kv_bytes : {4 * kMB, 60 * kMB, 150 * kMB}) {
    config.kv_cache_bytes = kv_bytes;
    Result<protocol::Plan> plan = PlanMemory(config, subject);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan->fits);
    EXPECT_LE(plan->kv_cache_bytes, kv_bytes);
    EXPECT_GT(plan->kv_cache_bytes,
              kv_bytes - subject.model.page_bytes - subject.model.windowed_page_bytes);
  }
}

TEST(PlanMemory, AShortMemoryShrinksTheCacheThenDoesNotFit) {
  Result<protocol::Plan> tight = PlanMemory(protocol::EngineConfig(), SomeSubject(160 * kMB));
  ASSERT_TRUE(tight.ok());
  EXPECT_TRUE(tight->fits);
  EXPECT_EQ(tight->kv_cache_bytes, 24 * kMB);  // 0.85 x 160 - 100 - 12
  Result<protocol::Plan> none = PlanMemory(protocol::EngineConfig(), SomeSubject(120 * kMB));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->fits);
  EXPECT_NE(none->reason->find("KV cache"), std::string::npos);
  EXPECT_EQ(none->total_bytes, 176 * kMB);
}

TEST(PlanMemory, ALimitIsWhatIsAvailable) {
  protocol::EngineConfig config;
  config.memory_limit_bytes = 110 * kMB;
  Result<protocol::Plan> plan = PlanMemory(config, SomeSubject(1000 * kMB));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->available_bytes, 110 * kMB);
  EXPECT_FALSE(plan->fits);  // 2 pages do not fit beside weights and temporaries
  config.memory_limit_bytes = 2000 * kMB;
  plan = PlanMemory(config, SomeSubject(1000 * kMB));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->available_bytes, 1000 * kMB);
  EXPECT_TRUE(plan->fits);
}

TEST(PlanMemory, WrongSettingsAreErrors) {
  protocol::EngineConfig config;
  config.context_window_size = 1 << 20;
  Result<protocol::Plan> plan = PlanMemory(config, SomeSubject(1000 * kMB));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().param(), "context_window_size");
}

}  // namespace
}  // namespace mlc
