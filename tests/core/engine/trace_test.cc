#include "engine/trace.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;

Request Ask(RequestId id, const std::string& prompt, int max_tokens, int priority = 0) {
  Request request;
  request.id = id;
  request.prompt = testing::Bytes(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.priority = priority;
  return request;
}

Driver Traced() {
  EngineOptions options = Driver::Options();
  options.max_sequences = 1;
  options.prefill_chunk_size = 4;
  options.enable_tracing = true;
  options.prefix_cache = false;  // what was preempted is computed again, for all to see
  return Driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
}

// "prefill decode ...": the events of a request, or of the engine (0), as the JSON has them.
std::string Events(const Trace& trace, int64_t request) {
  Result<Json> json = Json::Parse(trace.ToJson());
  EXPECT_TRUE(json.ok());
  std::string text;
  for (const Json& event : json->Find("traceEvents")->as_array()) {
    if (event.Find("ph")->as_string() == "M") continue;
    if (event.Find("tid")->as_int() / 128 != request) continue;
    text += event.Find("name")->as_string();
    if (const Json* rows = event.Find("args")->Find("rows")) {
      text += ":" + std::to_string(rows->as_int());
    }
    if (const Json* status = event.Find("args")->Find("status")) text += ":" + status->as_string();
    text += " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

TEST(Trace, TellsARequestsLife) {
  Driver driver = Traced();
  ASSERT_TRUE(driver.Add(Ask(1, "sixsix", 3)).ok());
  driver.Run();
  const Trace& trace = *driver.engine().trace();
  EXPECT_EQ(Events(trace, 1), "queued prefill:4 prefill:2 decode:1 decode:1 finish:ok");
  EXPECT_EQ(Events(trace, 0), "step:4 step:2 step:1 step:1");
}

TEST(Trace, TellsOfPreemptionAndOfFailure) {
  Driver driver = Traced();
  ASSERT_TRUE(driver.Add(Ask(1, "abc", 5)).ok());
  driver.Step();
  ASSERT_TRUE(driver.Add(Ask(2, "x", 1, /*priority=*/1)).ok());
  driver.Step();
  driver.Step();
  driver.engine().Abort(1, Cancelled("by the test"));
  EXPECT_EQ(Events(*driver.engine().trace(), 1),
            "queued prefill:3 preempted prefill:4 finish:"
            "cancelled");
  EXPECT_EQ(Events(*driver.engine().trace(), 2), "queued prefill:1 finish:ok");
}

TEST(Trace, KeepsTheNewestEvents) {
  Trace trace(/*capacity=*/5);
  RequestState request(Request(), {});
  for (RequestId id = 1; id <= 12; ++id) {
    request.request.id = id;
    trace.Finished(request, Status());
  }
  Json json = *Json::Parse(trace.ToJson());
  EXPECT_EQ(json.Find("otherData")->Find("dropped_events")->as_int(), 7);
  EXPECT_EQ(Events(trace, 7), "");
  EXPECT_EQ(Events(trace, 8), "finish:ok");
  EXPECT_EQ(Events(trace, 12), "finish:ok");
}

TEST(Trace, IsOffByDefault) {
  EXPECT_EQ(MakeEngine(FakeModel::HashOfHistory(kByteVocab))->trace(), nullptr);
}

}  // namespace
}  // namespace mlc
