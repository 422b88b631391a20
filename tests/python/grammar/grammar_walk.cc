// Random texts that grammars admit, for tests that judge them with other software.
//
// Reads lines {"kind": "schema" | "regex" | "ebnf" | "tag", "source": TEXT, "samples": 30,
// "seed": 1, "max_bytes": 2000} and answers each with {"texts": [...], "unfinished": 0, "seconds":
// 0.01} or {"error": TEXT}. A line with "admits": [TEXT, ...] is answered with {"admitted": [true,
// ...], "warnings": [...]}: which of them the grammar admits; "strict": false leaves out of schemas
// what cannot be enforced. Texts are walked byte by byte through the matcher's mask. With the name
// of a tokenizer.json, grammars are compiled for its vocabulary, to be timed; then a line may have
// "text", which the grammar admits, and is answered with the CPU time of the mask before each of
// its tokens and of accepting them: {"seconds": 0.01, "mask_us": [...], "accept_us": 0.5}. A line
// with "only_reads": true is answered with the CPU time of reading the source: {"read_s": 0.01,
// "warnings": [...]}, or "error" beside the time.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>

#include "base/json.h"
#include "base/utf8.h"
#include "grammar/grammar.h"
#include "grammar/schema/keywords.h"
#include "grammar/text/formats.h"
#include "platform/file.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

std::shared_ptr<const Tokenizer> tokenizer = testing::ByteTokenizer();

// The byte tokenizer's, or <|im_end|>.
int32_t End() { return tokenizer->vocab_size() == kByteVocab ? kEnd : 2; }

Result<Grammar> Compile(const Json& task) {
  static GrammarCompiler compiler(*tokenizer, tokenizer->vocab_size(), {End()});
  MLC_ASSIGN_OR_RETURN(std::string kind, GetString(task, "kind"));
  MLC_ASSIGN_OR_RETURN(std::string source, GetString(task, "source"));
  MLC_ASSIGN_OR_RETURN(bool is_strict, GetBoolOr(task, "strict", true));
  Strictness strictness = is_strict ? Strictness::kStrict : Strictness::kLenient;
  if (kind == "schema") return compiler.CompileJsonSchema(source, strictness);
  if (kind == "regex") return compiler.CompileRegex(source);
  if (kind == "ebnf") return compiler.CompileEbnf(source);
  return compiler.CompileStructuralTag(source, strictness);
}

Json Keywords() {
  constexpr const char* kVerdicts[] = {"enforced", "annotation"};
  Json keywords = Json::MakeArray(), formats = Json::MakeArray();
  for (const SchemaKeyword& keyword : SchemaKeywords()) {
    keywords.Append(Json()
                        .Set("name", keyword.name)
                        .Set("vocabulary", keyword.vocabulary)
                        .Set("verdict", kVerdicts[static_cast<int>(keyword.verdict)])
                        .Set("note", keyword.note));
  }
  for (const StringFormat& format : StringFormats()) {
    formats.Append(Json().Set("name", format.name).Set("is_enforced", !format.pattern.empty()));
  }
  return Json().Set("keywords", std::move(keywords)).Set("formats", std::move(formats));
}

std::vector<int32_t> AllowedBytes(const std::vector<int32_t>& mask) {
  std::vector<int32_t> allowed;
  for (int32_t token = 0; token < tokenizer->vocab_size(); ++token) {
    if (static_cast<uint32_t>(mask[static_cast<size_t>(token / 32)]) >> (token % 32) & 1) {
      allowed.push_back(token);
    }
  }
  return allowed;
}

// What closes a text, a list or an object is likelier the longer the text is, so that it ends.
int32_t Choose(const std::vector<int32_t>& allowed, size_t length, size_t most,
               std::mt19937* random) {
  std::vector<int32_t> closers, plain;
  for (int32_t token : allowed) {
    if (token == '"' || token == '}' || token == ']' || token == End()) closers.push_back(token);
    if (token < 128) plain.push_back(token);
  }
  bool is_late = (*random)() % most < length * 2 || (*random)() % 8 == 0;
  if (!closers.empty() && is_late) return closers[(*random)() % closers.size()];
  const std::vector<int32_t>& from = plain.empty() || (*random)() % 8 == 0 ? allowed : plain;
  return from[(*random)() % from.size()];
}

double masks_s = 0;  // of num_masks
int num_masks = 0;

std::optional<std::string> Walk(const Grammar& grammar, size_t most, std::mt19937* random) {
  GrammarMatcher matcher(grammar);
  std::string text;
  while (text.size() < most) {
    std::vector<int32_t> mask;
    auto begin = std::chrono::steady_clock::now();
    if (!matcher.FillMask(&mask).ok()) return "DEAD END: " + RepairUtf8(text);
    masks_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++num_masks;
    std::vector<int32_t> allowed = AllowedBytes(mask);
    int32_t token = Choose(allowed, text.size(), most, random);
    MLC_ICHECK(matcher.Accept(token));
    if (token == End()) return text;
    text += tokenizer->TokenBytes(token);
  }
  return std::nullopt;
}

double CpuMicroseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// Whether the whole text can be written byte by byte, and may end there.
bool Admits(const Grammar& grammar, const std::string& text) {
  GrammarMatcher matcher(grammar);
  for (char c : text) {
    if (!matcher.Accept(static_cast<unsigned char>(c))) return false;
  }
  return matcher.Accept(End());
}

Json WarningsOf(const Grammar& grammar) {
  Json warnings = Json::MakeArray();
  for (const SchemaWarning& warning : grammar.warnings()) {
    warnings.Append(Json().Set("path", warning.path).Set("message", warning.message));
  }
  return warnings;
}

// Each mask is filled several times, the fastest counts.
Result<Json> TimeMasks(const Grammar& grammar, const std::string& text) {
  constexpr int kRepeats = 5;
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, tokenizer->Encode(text));
  GrammarMatcher matcher(grammar);
  Json mask_us = Json::MakeArray();
  double accept_us = 0;
  for (int32_t token : tokens) {
    std::vector<int32_t> mask;
    double best = 1e9;
    for (int i = 0; i < kRepeats; ++i) {
      double begin = CpuMicroseconds();
      MLC_RETURN_IF_ERROR(matcher.FillMask(&mask));
      best = std::min(best, CpuMicroseconds() - begin);
    }
    mask_us.Append(best);
    double begin = CpuMicroseconds();
    if (!matcher.Accept(token)) return InvalidArgument("does not admit the text");
    accept_us += CpuMicroseconds() - begin;
  }
  return Json()
      .Set("mask_us", std::move(mask_us))
      .Set("accept_us", accept_us / static_cast<double>(std::max<size_t>(1, tokens.size())));
}

Json TimeReading(const Json& task) {
  double begin = CpuMicroseconds();
  Result<Grammar> grammar = Compile(task);
  Json answer = Json().Set("read_s", 1e-6 * (CpuMicroseconds() - begin));
  if (!grammar.ok()) return std::move(answer.Set("error", grammar.status().message()));
  return std::move(answer.Set("warnings", WarningsOf(*grammar)));
}

Result<Json> Answer(const std::string& line) {
  MLC_ASSIGN_OR_RETURN(Json task, Json::Parse(line));
  MLC_ASSIGN_OR_RETURN(std::string kind, GetString(task, "kind"));
  if (kind == "keywords") return Keywords();
  if (task.Find("only_reads") != nullptr) return TimeReading(task);
  auto begin = std::chrono::steady_clock::now();
  MLC_ASSIGN_OR_RETURN(Grammar grammar, Compile(task));
  MLC_RETURN_IF_ERROR(grammar.Prepare());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (const Json* wanted = task.Find("admits")) {
    Json admitted = Json::MakeArray();
    for (const Json& text : wanted->as_array()) admitted.Append(Admits(grammar, text.as_string()));
    return Json()
        .Set("admitted", std::move(admitted))
        .Set("warnings", WarningsOf(grammar))
        .Set("seconds", seconds.count());
  }
  if (task.Find("text") != nullptr) {
    MLC_ASSIGN_OR_RETURN(std::string text, GetString(task, "text"));
    MLC_ASSIGN_OR_RETURN(Json times, TimeMasks(grammar, text));
    return std::move(times.Set("seconds", seconds.count()));
  }
  MLC_ASSIGN_OR_RETURN(int64_t samples, GetIntOr(task, "samples", 30));
  MLC_ASSIGN_OR_RETURN(int64_t seed, GetIntOr(task, "seed", 1));
  MLC_ASSIGN_OR_RETURN(int64_t most, GetIntOr(task, "max_bytes", 2000));
  Json texts = Json::MakeArray();
  masks_s = num_masks = 0;
  int unfinished = 0;
  for (int64_t i = 0; i < samples; ++i) {
    std::mt19937 random(static_cast<uint32_t>(seed * 1000 + i));
    std::optional<std::string> text = Walk(grammar, static_cast<size_t>(most), &random);
    unfinished += !text;
    if (text) texts.Append(std::move(*text));
  }
  return Json()
      .Set("texts", std::move(texts))
      .Set("unfinished", unfinished)
      .Set("bytes", grammar.memory_bytes())
      .Set("seconds", seconds.count())
      .Set("mask_us", 1e6 * masks_s / std::max(1, num_masks));
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  if (argc > 1) {
    mlc::Result<std::string> text = mlc::ReadFile(argv[1]);
    MLC_ICHECK(text.ok());
    auto made = mlc::Tokenizer::FromJson(*text);
    MLC_ICHECK(made.ok());
    mlc::tokenizer = std::move(made).value();
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    mlc::Result<mlc::Json> answer = mlc::Answer(line);
    mlc::Json out = answer.ok() ? *answer : mlc::Json().Set("error", answer.status().message());
    std::cout << out.Dump() << std::endl;
  }
}
