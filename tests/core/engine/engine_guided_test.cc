// Guided sequences beside free ones: in one batch, with forced text computed ahead, and while
// grammars are still being compiled.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "engine/engine_driver.h"
#include "engine/engine_loop.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;

constexpr char kSchema[] =
    R"({"type": "object", "properties": {"description": {"enum": ["long", "short"]},
        "number_of_things": {"type": "integer", "minimum": 10, "maximum": 99}},
        "required": ["description", "number_of_things"]})";

Request Ask(RequestId id, const std::string& prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = testing::Bytes(prompt);
  request.max_tokens = max_tokens;
  request.stop_token_ids = {kEnd};
  request.sampling.seed = id;
  return request;
}

struct Answers {
  std::map<RequestId, Outcome> outcomes;
  Metrics metrics;
};

// Guided and free requests with all that sampling offers, under few or many pages.
enum class Jumps { kYes, kNotInTheEngine, kNotInTheRequests };

Answers AnswerAll(Jumps jumps, int max_total_tokens, double masks_ahead_from_s = 0) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  EngineOptions options = Driver::Options();
  options.max_sequences = 6;
  options.max_total_tokens = max_total_tokens;
  options.jump_forward = jumps != Jumps::kNotInTheEngine;
  options.masks_ahead_from_s = masks_ahead_from_s;
  options.draft_shape.length = 8;  // a fake model's steps take no time that could be measured
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
  for (RequestId id = 1; id <= 12; ++id) {
    Request request = Ask(id, "prompt " + std::to_string(id), 70);
    if (id % 3 != 0) request.grammar = *compiler.CompileJsonSchema(kSchema);
    if (id % 4 == 0) request.n = 2;
    if (id % 5 == 0) request.stop_strings = {"things"};
    request.jump_forward = jumps != Jumps::kNotInTheRequests;
    request.sampling.logprobs = id % 2 == 0;
    request.sampling.top_logprobs = id % 2 == 0 ? 2 : 0;
    request.sampling.frequency_penalty = id % 6 == 1 ? 0.5 : 0;
    EXPECT_TRUE(driver.Add(std::move(request)).ok());
  }
  driver.Run();
  Answers answers;
  for (RequestId id = 1; id <= 12; ++id) answers.outcomes[id] = driver.Take(id);
  answers.metrics = driver.engine().metrics();
  return answers;
}

TEST(GuidedEngine, ForcedTextComputedAheadChangesNothing) {
  for (int max_total_tokens : {4096, 256}) {
    bool by_request = max_total_tokens == 256;
    Answers with = AnswerAll(Jumps::kYes, max_total_tokens);
    Answers without =
        AnswerAll(by_request ? Jumps::kNotInTheRequests : Jumps::kNotInTheEngine, max_total_tokens);
    for (RequestId id = 1; id <= 12; ++id) {
      EXPECT_TRUE(with.outcomes[id].status.ok()) << with.outcomes[id].status.message();
      EXPECT_EQ(with.outcomes[id].choices, without.outcomes[id].choices) << id;
    }
    EXPECT_GT(with.metrics.speculation.jump_forward.accepted, 0);
    EXPECT_EQ(without.metrics.speculation.jump_forward.drafts, 0);
    EXPECT_LT(with.metrics.num_steps, without.metrics.num_steps);
  }
}

TEST(GuidedEngine, MasksFilledBesideTheModelChangeNothing) {
  for (Jumps jumps : {Jumps::kYes, Jumps::kNotInTheEngine}) {
    for (int max_total_tokens : {4096, 256}) {
      Answers ahead = AnswerAll(jumps, max_total_tokens),
              behind = AnswerAll(jumps, max_total_tokens, 1e9);
      for (RequestId id = 1; id <= 12; ++id) {
        EXPECT_EQ(ahead.outcomes[id].choices, behind.outcomes[id].choices) << id;
      }
      EXPECT_EQ(ahead.metrics.num_steps, behind.metrics.num_steps);
    }
  }
}

TEST(GuidedEngine, AnswersAreOfTheirShape) {
  Answers answers = AnswerAll(Jumps::kYes, 4096);
  for (RequestId id : {1, 2, 4, 7, 8, 11}) {
    for (const auto& [index, choice] : answers.outcomes[id].choices) {
      Result<Json> json = Json::Parse(choice.text);
      ASSERT_TRUE(json.ok()) << choice.text;
      EXPECT_GE(json->Find("number_of_things")->as_int(), 10);
    }
  }
  EXPECT_EQ(answers.outcomes[5].choices[0].text.find("things"), std::string::npos);
}

// ---- Compiling beside the steps ----------------------------------------------------------------

class Inbox {
 public:
  EventSink Sink() {
    return [this](RequestEvent event) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (event.finished) ended_.emplace_back(event.id, event.status);
      changed_.notify_all();
    };
  }
  std::vector<std::pair<RequestId, Status>> WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return ended_.size() >= count; }));
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<RequestId, Status>> ended_;
};

// One that takes the compiler a while.
std::string SlowSchema(int variant) {
  std::string values;
  for (int i = 0; i < 4000; ++i) {
    values += (i > 0 ? ",\"" : "\"") + std::to_string(i * 7919 + variant) + "\"";
  }
  return "{\"enum\":[" + values + "]}";
}

std::unique_ptr<EngineLoop> Start() {
  EngineOptions options = Driver::Options();
  options.max_sequences = 4;
  return std::make_unique<EngineLoop>(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options),
                                      nullptr);
}

TEST(GuidedEngineLoop, OthersGoOnWhileAGrammarIsCompiled) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  Request guided = Ask(1, "guided", 40);
  guided.grammar = *compiler.CompileJsonSchema(SlowSchema(0));
  EXPECT_FALSE(guided.grammar->ready());
  loop->Submit(std::move(guided), inbox.Sink());
  loop->Submit(Ask(2, "free", 4), inbox.Sink());
  auto ended = inbox.WaitFor(2);
  EXPECT_EQ(ended[0].first, 2u);
  for (const auto& [id, status] : ended) EXPECT_TRUE(status.ok()) << id << status.message();
}

TEST(GuidedEngineLoop, OneSchemaIsCompiledOnceForAll) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  for (RequestId id = 1; id <= 8; ++id) {
    Request request = Ask(id, "guided", 40);
    request.grammar = *compiler.CompileJsonSchema(SlowSchema(1));
    loop->Submit(std::move(request), inbox.Sink());
  }
  for (const auto& [id, status] : inbox.WaitFor(8)) EXPECT_TRUE(status.ok()) << id;
  EXPECT_EQ(compiler.stats().compiled, 1);
}

TEST(GuidedEngineLoop, AnErrorOfTheCompilerEndsItsRequest) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  Request wrong = Ask(1, "guided", 4);
  wrong.grammar =
      compiler.CompileStructuralTag(R"({"type": "structural_tag", "format": {"type": "nothing"}})")
          ->For("response_format");
  loop->Submit(std::move(wrong), inbox.Sink());
  Status status = inbox.WaitFor(1)[0].second;
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "response_format");
}

TEST(GuidedEngineLoop, ARequestCanBeAbortedWhileItsGrammarIsCompiled) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  constexpr size_t kMany = 8;  // so that the last one waits for long
  for (RequestId id = 1; id <= kMany; ++id) {
    Request guided = Ask(id, "guided", 40);
    guided.grammar = *compiler.CompileJsonSchema(SlowSchema(static_cast<int>(id) + 1));
    loop->Submit(std::move(guided), inbox.Sink());
  }
  for (RequestId id = kMany; id > 0; --id) loop->Abort(id, Cancelled("no more"));
  for (const auto& [id, status] : inbox.WaitFor(kMany)) {
    StatusCode code = status.code();
    EXPECT_TRUE(code == StatusCode::kCancelled || (code == StatusCode::kOk && id < kMany)) << id;
  }
  loop->Submit(Ask(kMany + 1, "free", 4), inbox.Sink());
  EXPECT_TRUE(inbox.WaitFor(kMany + 1)[kMany].second.ok());
}

TEST(GuidedEngineLoop, UnloadingEndsWhatIsBeingCompiled) {
  constexpr int kCompileThreads = 2;
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Inbox inbox;
  std::vector<Request> requests;
  for (RequestId id = 1; id <= 6; ++id) {
    requests.push_back(Ask(id, "guided", 40));
    requests.back().grammar = *compiler.CompileJsonSchema(SlowSchema(static_cast<int>(id) + 2));
  }
  std::unique_ptr<EngineLoop> loop = Start();
  for (Request& request : requests) loop->Submit(std::move(request), inbox.Sink());
  auto compiled = compiler.stats().compiled;
  loop.reset();
  for (const auto& [id, status] : inbox.WaitFor(6)) {
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUnavailable) << id;
  }
  EXPECT_LE(compiler.stats().compiled, compiled + kCompileThreads)
      << "what has not begun is not compiled";
}

}  // namespace
}  // namespace mlc
