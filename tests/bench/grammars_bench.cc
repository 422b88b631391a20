// What a grammar costs and admits: ours, and xgrammar's own converter of JSON Schema, in one
// program on the same tokenizer.
//
//   mlc_grammars_bench tokenizer.json
//
// Reads lines {"engine": "ours" | "xgrammar", "source": SCHEMA, "strict": true, "texts": [TEXT,
// ...]} and answers each with {"compile_ms": 3.5, "admitted": [true, ...], "mask_us": [...]}, the
// CPU time of the mask before each token of the texts that are admitted, or with {"error": TEXT}.
#include <time.h>
#include <xgrammar/lazy_masks.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/grammar.h"
#include "platform/file.h"

namespace mlc {
namespace {

constexpr int64_t kMostWork = 300'000'000;  // about 10 s on a CPU core of 2020

double CpuMicroseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// A place in a grammar, of either kind.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void FillMask() = 0;
  virtual bool Accept(int32_t token) = 0;
};
using MakeCursor = std::function<std::unique_ptr<Cursor>()>;

class OurCursor : public Cursor {
 public:
  explicit OurCursor(const Grammar& grammar) : matcher_(grammar) {}
  void FillMask() override { MLC_ICHECK(matcher_.FillMask(&mask_).ok()); }
  bool Accept(int32_t token) override { return matcher_.Accept(token); }

 private:
  GrammarMatcher matcher_;
  std::vector<int32_t> mask_;
};

class XGrammarCursor : public Cursor {
 public:
  XGrammarCursor(const xgrammar::CompiledGrammar& grammar, int vocab_size)
      : matcher_(grammar), mask_(static_cast<size_t>((vocab_size + 31) / 32)) {
    size_ = static_cast<int64_t>(mask_.size());
    view_.data = mask_.data();
    view_.device = DLDevice{kDLCPU, 0};
    view_.ndim = 1;
    view_.dtype = DLDataType{kDLInt, 32, 1};
    view_.shape = &size_;
    view_.strides = nullptr;
    view_.byte_offset = 0;
  }
  void FillMask() override { matcher_.FillNextTokenBitmask(&view_); }
  bool Accept(int32_t token) override { return matcher_.AcceptToken(token); }

 private:
  xgrammar::GrammarMatcher matcher_;
  std::vector<int32_t> mask_;
  int64_t size_;
  DLTensor view_;
};

class Bench {
 public:
  explicit Bench(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        end_(*tokenizer.TokenToId("<|im_end|>")),
        ours_(tokenizer, tokenizer.vocab_size(), {end_}),
        theirs_(Vocabulary(tokenizer, end_), /*max_threads=*/1, /*cache_enabled=*/false) {
    // What either needs once a vocabulary is not the first schema's.
    (void)ours_.CompileJsonSchema("{\"type\":\"null\"}")->Prepare();
    (void)theirs_.CompileJSONSchema("{\"type\":\"null\"}");
  }

  Result<Json> Answer(const std::string& line) {
    MLC_ASSIGN_OR_RETURN(Json task, Json::Parse(line));
    MLC_ASSIGN_OR_RETURN(std::string engine, GetString(task, "engine"));
    double begin = CpuMicroseconds();
    Result<MakeCursor> make = engine == "ours" ? CompileOurs(task) : CompileTheirs(task);
    Json answer = Json().Set("compile_ms", 1e-3 * (CpuMicroseconds() - begin));
    if (!make.ok()) return std::move(answer.Set("error", make.status().message()));
    Json admitted = Json::MakeArray(), mask_us = Json::MakeArray();
    const Json* texts = task.Find("texts");
    for (const Json& text : texts->as_array()) {
      admitted.Append(Follow(make.value()().get(), text.as_string(), &mask_us));
    }
    return std::move(
        answer.Set("admitted", std::move(admitted)).Set("mask_us", std::move(mask_us)));
  }

 private:
  static xgrammar::TokenizerInfo Vocabulary(const Tokenizer& tokenizer, int32_t end) {
    std::vector<std::string> bytes(static_cast<size_t>(tokenizer.vocab_size()));
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (!tokenizer.IsSpecial(id)) bytes[static_cast<size_t>(id)] = tokenizer.TokenBytes(id);
    }
    return xgrammar::TokenizerInfo(bytes, xgrammar::VocabType::RAW, tokenizer.vocab_size(),
                                   std::vector<int32_t>{end});
  }

  Result<MakeCursor> CompileOurs(const Json& task) {
    MLC_ASSIGN_OR_RETURN(std::string source, GetString(task, "source"));
    MLC_ASSIGN_OR_RETURN(bool is_strict, GetBoolOr(task, "strict", true));
    MLC_ASSIGN_OR_RETURN(
        Grammar grammar,
        ours_.CompileJsonSchema(source, is_strict ? Strictness::kStrict : Strictness::kLenient));
    MLC_RETURN_IF_ERROR(grammar.Prepare());
    return MakeCursor([grammar] { return std::make_unique<OurCursor>(grammar); });
  }

  Result<MakeCursor> CompileTheirs(const Json& task) {
    MLC_ASSIGN_OR_RETURN(std::string source, GetString(task, "source"));
    xgrammar::allowance.work_left = kMostWork;
    try {
      xgrammar::CompiledGrammar grammar = theirs_.CompileJSONSchema(source);
      xgrammar::MakeAllMasks(grammar);  // as it does without our edits
      xgrammar::allowance.work_left = INT64_MAX;
      int vocab_size = tokenizer_.vocab_size();
      return MakeCursor(
          [grammar, vocab_size] { return std::make_unique<XGrammarCursor>(grammar, vocab_size); });
    } catch (const std::exception& error) {
      xgrammar::allowance.work_left = INT64_MAX;
      return InvalidArgument(error.what());
    }
  }

  // Whether the whole text may be written; then the times of its masks are added.
  bool Follow(Cursor* cursor, const std::string& text, Json* mask_us) const {
    Result<std::vector<int32_t>> tokens = tokenizer_.Encode(text);
    MLC_ICHECK(tokens.ok());
    tokens->push_back(end_);
    std::vector<double> times;
    for (int32_t token : *tokens) {
      double begin = CpuMicroseconds();
      cursor->FillMask();
      times.push_back(CpuMicroseconds() - begin);
      if (!cursor->Accept(token)) return false;
    }
    for (double time : times) mask_us->Append(time);
    return true;
  }

  const Tokenizer& tokenizer_;
  int32_t end_;
  GrammarCompiler ours_;
  xgrammar::GrammarCompiler theirs_;
};

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: mlc_grammars_bench tokenizer.json\n";
    return 2;
  }
  mlc::Result<std::string> text = mlc::ReadFile(argv[1]);
  MLC_ICHECK(text.ok());
  auto tokenizer = mlc::Tokenizer::FromJson(*text);
  MLC_ICHECK(tokenizer.ok());
  mlc::Bench bench(**tokenizer);
  std::string line;
  while (std::getline(std::cin, line)) {
    mlc::Result<mlc::Json> answer = bench.Answer(line);
    mlc::Json out = answer.ok() ? *answer : mlc::Json().Set("error", answer.status().message());
    std::cout << out.Dump() << std::endl;
  }
}
