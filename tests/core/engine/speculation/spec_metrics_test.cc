#include "engine/speculation/spec_metrics.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(SpecMetrics, SharesAreThoseOfMlcLlm) {
  SpecMetrics metrics;
  metrics.AddDrafts(3, 3);
  metrics.AddDrafts(3, 1);
  metrics.AddDrafts(1, 0);
  metrics.AddDrafts(1, 1);
  metrics.verify_times[4] = {2, 0.5};
  Json out;
  metrics.AddTo(&out);
  EXPECT_EQ(out.Dump(), R"({"spec_decode":{"draft_count":[4,4,2,2],"accept_count":[4,3,1,1],)"
                        R"("accept_prob":{"accept_prob{step=0}":1.0,"accept_prob{step=1}":0.75,)"
                        R"("accept_prob{step=2}":0.5,"accept_prob{step=3}":0.5},)"
                        R"("accept_rate":{"accept_rate{step=1}":0.75,)"
                        R"("accept_rate{step=2}":0.3333333333333333,"accept_rate{step=3}":1.0},)"
                        R"("accept_len":{"accept_len{step=0}":1.0,"accept_len{step=1}":1.75,)"
                        R"("accept_len{step=2}":2.25,"accept_len{step=3}":2.75}},)"
                        R"("draft_time_by_batch_size":{},"verify_time_by_batch_size":)"
                        R"({"mean{batch_size=4}":0.25,"count{batch_size=4}":2}})");
}

TEST(SpecMetrics, SayOnlyWhatHappened) {
  Json out = Json::MakeObject();
  SpecMetrics metrics;
  metrics.AddTo(&out);
  EXPECT_EQ(out.Dump(), "{}");
  metrics.prediction.Add(5, 3);
  metrics.prediction.Add(1, 0);
  metrics.AddTo(&out);
  EXPECT_EQ(out.Dump(), R"({"prediction":{"draft_count":6,"accept_count":3}})");
  metrics.all = {6, 3, 4.0, 5.0};
  Json all = Json::MakeObject();
  metrics.AddTo(&all);
  EXPECT_EQ(all.Find("drafted_tokens_sum")->as_int(), 6);
  EXPECT_EQ(all.Find("accepted_draft_tokens_sum")->as_int(), 3);
  EXPECT_DOUBLE_EQ(all.Find("draft_gain")->as_double(), 1.25);
  metrics.failure = "device lost";
  metrics.AddTo(&out);
  EXPECT_EQ(out.Find("spec_decode")->Find("failure")->as_string(), "device lost");
}

}  // namespace
}  // namespace mlc
