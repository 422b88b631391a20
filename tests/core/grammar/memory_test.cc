// What sources out of nowhere may take of memory. Each is compiled and followed for a while in a
// child process, as the peak of a process never sinks.
#include <gtest/gtest.h>

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "grammar/grammar.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;
using Compile = std::function<Result<Grammar>(GrammarCompiler*)>;

constexpr int64_t kMostMegabytes = 150;

std::string Listed(int count, const std::function<std::string(int)>& item) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i > 0 ? "," : "") + item(i);
  return out;
}

std::string Repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

Compile Schema(std::string text) {
  return [text](GrammarCompiler* c) { return c->CompileJsonSchema(text, Strictness::kLenient); };
}
Compile Ebnf(std::string text) {
  return [text](GrammarCompiler* c) { return c->CompileEbnf(text); };
}
Compile Tag(std::string text) {
  return [text](GrammarCompiler* c) { return c->CompileStructuralTag(text, Strictness::kLenient); };
}

// A value of 2^levels leaves, of which all is forced.
std::string Doubling(int levels) {
  auto next = [](int i) { return "{\"$ref\":\"#/$defs/a" + std::to_string(i + 1) + "\"}"; };
  return "{\"$ref\":\"#/$defs/a0\",\"$defs\":{" +
         Listed(levels,
                [&](int i) {
                  return "\"a" + std::to_string(i) + R"(":{"type":"object","properties":{"l":)" +
                         next(i) + ",\"r\":" + next(i) + R"(},"required":["l","r"]})";
                }) +
         ",\"a" + std::to_string(levels) + "\":{\"const\":1}}}";
}

std::string Arrays() {
  std::string schema = R"({"const":"a constant"})";
  for (int count : {3, 1000, 1000}) {
    std::string length = std::to_string(count);
    schema = R"({"type":"array","minItems":)" + length + ",\"maxItems\":" + length +
             ",\"items\":" + schema + "}";
  }
  return schema;
}

std::string Values(int count) {
  auto value = [](int i) {
    std::string letters(80, static_cast<char>('a' + i % 26));
    return "\"" + std::to_string(i * 7919) + letters + std::to_string(i) + "\"";
  };
  return "{\"enum\":[" + Listed(count, value) + "]}";
}

// A sequence of tags, each with a schema that is hard to read.
std::string HardTags() {
  auto tag = [](int i) {
    return R"({"type":"json_schema","json_schema":{"type":"string","pattern":"(a|b)*a(a|b|)" +
           std::to_string(i) + "){9}\"}}";
  };
  return R"({"type":"structural_tag","format":{"type":"sequence","elements":[)" +
         Listed(3000, tag) + "]}}";
}

struct Case {
  const char* name;
  Compile compile;
  const char* says;  // in the error that ends it; null: it goes on
};

std::vector<Case> Cases() {
  auto long_value = [](int i) { return "\"" + std::string(25000, 'x') + std::to_string(i) + "\""; };
  std::string optional = Repeated(R"(("x" | [a-z]{1,1000}){0,1000} )", 200);
  return {
      {"doubling references, 20 levels", Schema(Doubling(20)), nullptr},
      {"doubling references, 60 levels", Schema(Doubling(60)), nullptr},
      {"3,000,000 constants", Schema(Arrays()), nullptr},
      {"sets of long values",
       Schema(R"({"uniqueItems":true,"items":{"enum":[)" + Listed(7, long_value) + "]}}"),
       "too large"},
      {"3,000 values of 90 letters", Schema(Values(3000)), nullptr},
      {"10,000 values of 90 letters", Schema(Values(10000)), "too large"},
      {"tags with hard schemas", Tag(HardTags()), nullptr},
      {"every way to split a text", Ebnf("root ::= root root | \"a\""), "too long"},
      {"every way to split words", Ebnf(R"(root ::= s
s ::= s s s | s s | "a" | "ab" | "b" | "")"),
       "too long"},
      {"an expression with 300 places", Ebnf("root ::= [ab]* \"a\" " + Repeated("[ab] ", 300)),
       "too much memory"},
      {"repetitions in repetitions",
       Ebnf(R"(root ::= (((("a"{1,1000}){1,1000}){1,1000}){1,1000}){1,1000})"), "too long"},
      {"many repetitions in a row", Ebnf("root ::= " + optional), "too much memory"},
      {"long repetitions of words", Ebnf("root ::= " + Repeated(R"("abcdefghij"{128} )", 9000)),
       nullptr},
  };
}

int64_t PeakKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6));
  }
  return 0;
}

// Takes any token that does not end the text. Returns the error that ends this.
Status Follow(const Grammar& grammar) {
  GrammarMatcher matcher(grammar);
  std::vector<int32_t> mask;
  for (uint32_t step = 0; step < 1500 && !matcher.finished(); ++step) {
    (void)matcher.ForcedText();
    MLC_RETURN_IF_ERROR(matcher.FillMask(&mask));
    int32_t token = static_cast<int32_t>(step * 7919 % kEnd);
    auto is_allowed = [&] {
      return static_cast<uint32_t>(mask[static_cast<size_t>(token / 32)]) >> (token % 32) & 1;
    };
    for (int i = 0; i < kEnd && !is_allowed(); ++i) token = (token + 1) % kEnd;
    if (!is_allowed()) return Status();
    // When a limit is reached, the next mask says so.
    (void)matcher.Accept(token);
  }
  return Status();
}

struct Outcome {
  int64_t kilobytes = 0;
  char error[400] = "";
};

Outcome Run(const Compile& compile) {
  Outcome outcome;
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  int64_t before = PeakKilobytes();
  Result<Grammar> grammar = compile(&compiler);
  Status status = grammar.ok() ? grammar->Prepare() : grammar.status();
  if (status.ok()) status = Follow(*grammar);
  outcome.kilobytes = PeakKilobytes() - before;
  status.message().copy(outcome.error, sizeof(outcome.error) - 1);
  return outcome;
}

Outcome RunInChild(const Compile& compile) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    Outcome outcome = Run(compile);
    bool is_sent = write(ends[1], &outcome, sizeof(outcome)) == sizeof(outcome);
    _exit(is_sent ? 0 : 1);
  }
  close(ends[1]);
  Outcome outcome;
  EXPECT_EQ(read(ends[0], &outcome, sizeof(outcome)), static_cast<ssize_t>(sizeof(outcome)));
  close(ends[0]);
  int exit_status = 0;
  EXPECT_EQ(waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
  return outcome;
}

TEST(GrammarMemory, IsBoundedWhateverTheSource) {
  for (const Case& c : Cases()) {
    Outcome outcome = RunInChild(c.compile);
    std::string error = outcome.error;
    EXPECT_LT(outcome.kilobytes, kMostMegabytes * 1024) << c.name;
    if (c.says == nullptr) EXPECT_EQ(error, "") << c.name;
    if (c.says != nullptr)
      EXPECT_NE(error.find(c.says), std::string::npos) << c.name << ": " << error;
  }
}

}  // namespace
}  // namespace mlc
#endif
