#include "engine/metrics.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

Usage SomeUsage() {
  Usage usage;
  usage.prompt_tokens = 10;
  usage.completion_tokens = 5;
  usage.cached_tokens = 2;
  usage.ttft_s = 0.5;
  usage.prefill_s = 0.25;
  usage.decode_s = 2;
  usage.end_to_end_s = 2.5;
  return usage;
}

TEST(Metrics, AStepsTimeIsSharedOutByRows) {
  Metrics metrics;
  metrics.AddStep(/*prefill_rows=*/6, /*decode_rows=*/2, 4.0);
  metrics.AddStep(0, 1, 1.0);
  EXPECT_DOUBLE_EQ(metrics.prefill_s, 3.0);
  EXPECT_DOUBLE_EQ(metrics.decode_s, 2.0);
  Json json = metrics.ToJson();
  EXPECT_EQ(json.Find("prefill_tokens_sum")->as_int(), 6);
  EXPECT_EQ(json.Find("decode_tokens_sum")->as_int(), 3);
  EXPECT_DOUBLE_EQ(json.Find("prefill_tokens_per_s")->as_double(), 2.0);
  EXPECT_DOUBLE_EQ(json.Find("decode_tokens_per_s")->as_double(), 1.5);
  EXPECT_EQ(json.Find("num_steps")->as_int(), 2);
  EXPECT_EQ(json.Find("last_finished_request"), nullptr);
}

TEST(Metrics, StepsThatDecodeAloneByTheirSize) {
  Metrics metrics;
  metrics.AddDecode(4, 0.5);
  metrics.AddDecode(4, 1.5);
  metrics.AddDecode(1, 0.25);
  EXPECT_EQ(metrics.ToJson().Find("decode_time_by_batch_size")->Dump(),
            R"({"mean{batch_size=1}":0.25,"count{batch_size=1}":1,)"
            R"("mean{batch_size=4}":1.0,"count{batch_size=4}":2})");
}

TEST(Metrics, EveryNameOfTheSurfaceIsThere) {
  Metrics metrics;
  metrics.AddFinished(SomeUsage());
  Json json = metrics.ToJson();
  for (const char* name :
       {"engine_prefill_time_sum", "engine_decode_time_sum", "engine_jump_forward_time_sum",
        "prompt_tokens_sum", "prefill_tokens_sum", "decode_tokens_sum", "jump_forward_tokens_sum",
        "completion_tokens_sum", "prefill_tokens_per_s", "decode_tokens_per_s",
        "last_finished_request", "decode_time_by_batch_size", "num_running_sequences",
        "num_waiting_sequences", "num_queued_requests", "kv_pages_total", "kv_pages_free"}) {
    EXPECT_NE(json.Find(name), nullptr) << name;
  }
}

TEST(Metrics, NothingYetIsZerosAndNotNan) {
  std::string text = Metrics().ToJson().Dump();
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  EXPECT_EQ(UsageExtra(Usage()).Dump().find("null"), std::string::npos);
}

TEST(Metrics, FinishedRequestsAddUp) {
  Metrics metrics;
  metrics.AddFinished(SomeUsage());
  metrics.AddFinished(SomeUsage());
  EXPECT_EQ(metrics.num_finished, 2);
  EXPECT_EQ(metrics.prompt_tokens, 20);
  EXPECT_EQ(metrics.completion_tokens, 10);
  EXPECT_EQ(metrics.ToJson().Find("last_finished_request")->Find("prompt_tokens")->as_int(), 10);
}

TEST(UsageExtra, RatesCountWhatWasComputed) {
  Json extra = UsageExtra(SomeUsage());
  EXPECT_EQ(extra.Find("prefill_tokens")->as_int(), 8);
  EXPECT_EQ(extra.Find("decode_tokens")->as_int(), 4);
  EXPECT_DOUBLE_EQ(extra.Find("prefill_tokens_per_s")->as_double(), 32);
  EXPECT_DOUBLE_EQ(extra.Find("decode_tokens_per_s")->as_double(), 2);
  EXPECT_DOUBLE_EQ(extra.Find("inter_token_latency_s")->as_double(), 0.5);
  EXPECT_EQ(extra.Find("draft_gain"), nullptr) << "there was no draft";
}

TEST(UsageExtra, TellsWhatDraftsGained) {
  Usage usage = SomeUsage();
  usage.drafts.Add({6, 4, 0, 0});
  usage.drafts.Add({2, 0, 2.0, 3.0});
  Json extra = UsageExtra(usage);
  EXPECT_EQ(extra.Find("drafted_tokens")->as_int(), 8);
  EXPECT_EQ(extra.Find("accepted_draft_tokens")->as_int(), 4);
  EXPECT_DOUBLE_EQ(extra.Find("draft_gain")->as_double(), 1.5);
}

}  // namespace
}  // namespace mlc
