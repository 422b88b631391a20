// What drafts by a part of the model cost and give when a known share of them is accepted: it
// drafts as always, then its tokens are replaced by the ones that the model says next, or by wrong
// ones. So random weights show the speed that real ones would have at that share.
//
// With --texts it takes real prompts instead, a JSON list of texts, and answers them with the
// part's drafts, with lookup in all texts, and with both.
//
//   mlc_drafts_bench --model=FOLDER --lib=LIBRARY [--draft=mtp|eagle|medusa]
//   [--rates=0.75,0.6,0.45,0] [--batch=1,4,16]
//                    [--tokens=96] [--runs=5] [--length=0] [--threads=2] [--texts=FILE]
//
// For each batch it measures first what a step with each number of drafts costs, and a draft. That
// gives the most that drafts can gain at a share: with the best fixed length, known before. Then an
// engine without drafts and one with them answer the same requests, step by step in turn. One line
// of JSON for the costs and for each case on stdout; tests/bench/speculation.py reads them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "platform/file.h"
#include "runtime/parallel.h"
#include "synthetic_drafts.h"

namespace mlc::bench {
namespace {

constexpr int kCostSteps = 8;  // of each length
constexpr int kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15};
constexpr int kCostRows = 48;  // of the largest step whose cost is measured

// What drafts of a part cost: milliseconds of a step without drafts, of a step with some for each
// sequence, by their number, and of one more draft for each (of the call, if it makes all).
struct Costs {
  double plain = 0, draft = 0;
  std::map<int, double> steps;
  bool at_once = false;
};

double Total(const std::map<int, SpecMetrics::Times>& times) {
  double sum = 0;
  for (const auto& [size, time] : times) sum += time.seconds;
  return sum;
}

Costs Measure(const ModelFiles& files, int batch, Engine* plain) {
  World world = MakeWorld(files, batch, kMaxDrafts);
  Costs costs;
  costs.at_once = world.drafter->drafts_at_once();
  Answers expected = Answer(plain, batch, (kCostSteps + batch) * (2 + kMaxDrafts));
  costs.plain = 1e3 * batch / expected.rate();
  world.drafter->Expect(&expected.texts(), 1, 0);
  double drafts = 0, seconds = 0;
  for (int length : kLengths) {
    int rows = batch * (1 + length);
    if (length > 1 && rows > kCostRows) break;
    world.drafter->most = length;
    world.engine->ResetMetrics();
    // A layer reads one sequence's prompt in a step, so `batch` steps pass until all have drafts.
    Answer(world.engine.get(), batch, (kCostSteps + batch) * (1 + length));
    const SpecMetrics made = world.engine->metrics().speculation;
    auto step = made.verify_times.find(rows);
    if (step == made.verify_times.end()) break;  // it makes no more drafts
    costs.steps[length] = 1e3 * step->second.seconds / static_cast<double>(step->second.count);
    seconds += Total(made.draft_times);
    for (const auto& [size, time] : made.draft_times) {
      drafts += static_cast<double>(time.count) * (costs.at_once ? 1 : length);
    }
  }
  if (drafts > 0) costs.draft = 1e3 * seconds / drafts;
  return costs;
}

// The most that drafts of a fixed length gain when each is right with probability `rate`, and that
// length.
std::pair<double, int> Best(const Costs& costs, double rate) {
  std::pair<double, int> best = {1, 0};
  for (const auto& [length, step] : costs.steps) {
    double tokens = 1;
    for (int i = 1; i <= length; ++i) tokens += std::pow(rate, i);
    double drafting = costs.draft * (costs.at_once ? 1 : length);
    best = std::max(best, std::make_pair(tokens * costs.plain / (step + drafting), length));
  }
  return best;
}

Json ToJson(const Costs& costs, int batch) {
  Json::Array steps;
  for (const auto& [length, ms] : costs.steps) steps.push_back(Json::Array{Json(length), Json(ms)});
  return Json()
      .Set("batch", batch)
      .Set("plain_ms", costs.plain)
      .Set("draft_ms", costs.draft)
      .Set("steps", steps);
}

bool SameTexts(const Texts& a, const Texts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.second.tokens == y.second.tokens;
  });
}

// Both engines answer at once, and the one that has made fewer tokens makes the next step. So a
// machine that is slow for a while slows both. The gain of all answers contains what the first
// trials lose; that of the median run does not.
Json Compare(World* plain, World* drafts, int batch, double rate, int tokens, int runs) {
  std::vector<double> without, with, gains;
  double plain_seconds = 0, seconds = 0;  // for each token
  Answers expected = Answer(plain->engine.get(), batch, tokens);
  for (int run = 0; run < runs; ++run) {
    drafts->drafter->Expect(&expected.texts(), rate, run);
    Answers first(plain->engine.get(), batch, tokens);
    Answers second(drafts->engine.get(), batch, tokens);
    while (!first.done() || !second.done()) {
      bool is_first = second.done() || (!first.done() && first.made() <= second.made());
      (is_first ? first : second).Step();
    }
    without.push_back(first.rate());
    with.push_back(second.rate());
    gains.push_back(with.back() / without.back());
    plain_seconds += 1 / without.back();
    seconds += 1 / with.back();
    bool is_same = SameTexts(second.texts(), expected.texts());
    if (!is_same) std::fprintf(stderr, "the drafts changed an answer\n"), std::exit(1);
  }
  const SpecMetrics counts = drafts->engine->metrics().speculation;
  double steps = counts.draft_count.empty() ? 0 : static_cast<double>(counts.draft_count[0]);
  double drafted = 0;
  for (size_t i = 1; i < counts.draft_count.size(); ++i) {
    drafted += static_cast<double>(counts.draft_count[i]);
  }
  Json::Array rows;  // of steps with drafts: rows, how many steps, milliseconds of each
  for (const auto& [size, times] : counts.verify_times) {
    double each = 1e3 * times.seconds / static_cast<double>(times.count);
    rows.push_back(Json::Array{Json(size), Json(times.count), Json(each)});
  }
  return Json()
      .Set("batch", batch)
      .Set("rate", rate)
      .Set("plain", Median(without))
      .Set("drafts", Median(with))
      .Set("gain", Median(gains))
      .Set("all", plain_seconds / seconds)
      .Set("length", steps > 0 ? drafted / steps : 0.0)
      .Set("draft_ms", drafted > 0 ? 1e3 * Total(counts.draft_times) / drafted : 0.0)
      .Set("rows", rows);
}

// Tokens a second of engines that draft in different ways, which answer each prompt at once, step
// by step as above. Engines of a run know the prompts before, and nothing of other runs.
Json CompareWays(const ModelFiles& plain, const ModelFiles& with_part,
                 const std::vector<std::string>& prompts, double rate, int tokens, int runs) {
  constexpr size_t kWays = 4;
  const char* const names[kWays] = {"off", "lookup", "part", "both"};
  double made[kWays] = {}, seconds[kWays] = {};
  SpecMetrics::Total found, all;
  for (int run = 0; run < runs; ++run) {
    World worlds[kWays] = {MakeWorld(plain, 1, 0), MakeWorld(plain, 1, 0, Lookup::kAllTexts),
                           MakeWorld(with_part, 1, 0),
                           MakeWorld(with_part, 1, 0, Lookup::kAllTexts)};
    RequestId id = 0;
    for (const std::string& text : prompts) {
      std::vector<int32_t> prompt = worlds[0].tokenizer->Encode(text).value();
      ++id;
      auto begin = [&](const World& world) {
        return Answers(world.engine.get(), id, prompt, tokens, world.stop_token_ids);
      };
      Answers expected = begin(worlds[0]);
      while (!expected.done()) expected.Step();
      std::vector<Answers> answers;
      for (World& world : worlds) {
        if (world.drafter != nullptr) world.drafter->Expect(&expected.texts(), rate, run);
        answers.push_back(begin(world));
      }
      auto less = [](const Answers& a, const Answers& b) {
        return std::make_pair(a.done(), a.made()) < std::make_pair(b.done(), b.made());
      };
      while (true) {
        auto next = std::min_element(answers.begin(), answers.end(), less);
        if (next->done()) break;
        next->Step();
      }
      for (size_t i = 0; i < answers.size(); ++i) {
        made[i] += answers[i].counted(), seconds[i] += answers[i].seconds();
        bool is_same = SameTexts(answers[i].texts(), expected.texts());
        if (!is_same) std::fprintf(stderr, "the drafts changed an answer\n"), std::exit(1);
      }
    }
    const SpecMetrics counts = worlds[kWays - 1].engine->metrics().speculation;
    found.Add(counts.prompt_lookup.drafts, counts.prompt_lookup.accepted);
    all.Add(counts.all.drafted, counts.all.accepted);
  }
  Json line;
  line.Set("rate", rate);
  for (size_t i = 0; i < kWays; ++i) line.Set(names[i], made[i] / seconds[i]);
  line.Set("looked_up", found.drafts).Set("found", found.accepted);
  return line.Set("drafted", all.drafts).Set("accepted", all.accepted);
}

void Print(const Json& line) {
  std::printf("%s\n", line.Dump().c_str());
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  ModelFiles files;
  files.folder = Option(argc, argv, "--model", "");
  files.library = Option(argc, argv, "--lib", "");
  files.device = *ParseDevice("cpu");
  SetComputeThreads(std::atoi(Option(argc, argv, "--threads", "2").c_str()));
  int tokens = std::atoi(Option(argc, argv, "--tokens", "96").c_str());
  int runs = std::atoi(Option(argc, argv, "--runs", "5").c_str());
  int length = std::atoi(Option(argc, argv, "--length", "0").c_str());
  ModelFiles with_part = files;
  with_part.draft_kind = Option(argc, argv, "--draft", kMtp);
  std::vector<double> rates = Numbers(Option(argc, argv, "--rates", "0.75,0.6,0.45,0"));
  if (std::string file = Option(argc, argv, "--texts", ""); !file.empty()) {
    Json texts = Json::Parse(ReadFile(file).value()).value();
    std::vector<std::string> prompts;
    for (const Json& text : texts.as_array()) prompts.push_back(text.as_string());
    for (double rate : rates) Print(CompareWays(files, with_part, prompts, rate, tokens, runs));
    return 0;
  }
  for (double size : Numbers(Option(argc, argv, "--batch", "1,4,16"))) {
    int batch = static_cast<int>(size);
    World plain = MakeWorld(files, batch, 0);
    Costs costs = Measure(with_part, batch, plain.engine.get());
    Print(ToJson(costs, batch));
    for (double rate : rates) {
      World drafts = MakeWorld(with_part, batch, length);  // its policy knows nothing yet
      auto [best, best_length] = Best(costs, rate);
      Print(Compare(&plain, &drafts, batch, rate, tokens, runs)
                .Set("best", best)
                .Set("best_length", best_length));
    }
  }
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) { return mlc::bench::Main(argc, argv); }
