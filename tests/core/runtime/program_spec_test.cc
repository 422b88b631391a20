#include "runtime/program_spec.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

constexpr const char* kProgram = R"({
  "inputs": [{"name": "x", "shape": ["n", 8], "dtype": "float32"},
             {"name": "rows", "shape": ["m"], "dtype": "int32"}],
  "buffers": [["n", 32], ["m", 64]],
  "temporaries": [{"shape": ["n", 2, 4], "dtype": "float32", "buffer": 0},
                  {"shape": ["m", 16], "dtype": "int32", "buffer": 1}],
  "calls": [["norm", "i0", "w3", "t0"], ["pick", "t0", "i1", "p1", "s2", "c0", "t1"]],
  "results": {"picked": "t1", "all": "t0"}})";

Result<ProgramSpec> Parse(const std::string& text) { return ParseProgram(*Json::Parse(text)); }

// The program above with one part of its text replaced.
std::string With(const std::string& part, const std::string& other) {
  std::string text = kProgram;
  size_t place = text.find(part);
  EXPECT_NE(place, std::string::npos) << part;
  return text.replace(place, part.size(), other);
}

TEST(ProgramSpec, SaysKernelsAndTensors) {
  Result<ProgramSpec> program = Parse(kProgram);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->num_sizes, 2);
  EXPECT_EQ(program->inputs[1].size, 1);
  EXPECT_EQ(program->temporaries[0].row, (Shape{2, 4}));
  EXPECT_EQ(program->temporaries[1].row_bytes(), 64);
  EXPECT_EQ(program->calls[1].kernel, "pick");
  EXPECT_EQ(program->calls[1].arguments[2].kind, ProgramSpec::Kind::kPages);
  EXPECT_EQ(program->calls[1].arguments[2].index, 1);
  ASSERT_EQ(program->named.size(), 2u);
  EXPECT_EQ(program->named[0].name, "x");
  EXPECT_EQ(program->named[0].size, "n");
  EXPECT_EQ(program->named[0].row, (Shape{8}));
  EXPECT_EQ(program->named[1].dtype, DType::kInt32);
  EXPECT_EQ(program->results,
            (std::vector<std::pair<std::string, int>>{{"picked", 1}, {"all", 0}}));
}

TEST(ProgramSpec, MarksWhatMustHaveNoRows) {
  Result<ProgramSpec> program = Parse(With("\"i1\", \"p1\"", "\"i1!\", \"p1\""));
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(program->calls[1].arguments[1].must_be_empty);
  EXPECT_EQ(program->calls[1].arguments[1].index, 1);
  EXPECT_FALSE(program->calls[1].arguments[0].must_be_empty);
  for (const char* name : {"i!", "!", "i1!!", "i!1"}) {
    EXPECT_FALSE(Parse(With("\"i1\", \"p1\"", "\"" + std::string(name) + "\", \"p1\"")).ok());
  }
}

// What no run changes, beside the rows.
TEST(ProgramSpec, HasTensorsOfFixedSize) {
  std::string text = With(R"([["n", 32], ["m", 64]])", R"([["n", 32], ["m", 64], ["", 48]])");
  std::string made = R"({"shape": ["m", 16], "dtype": "int32", "buffer": 1})";
  std::string fixed = R"(, {"shape": [3, 4], "dtype": "int32", "buffer": 2})";
  text.replace(text.find(made), made.size(), made + fixed);
  Result<ProgramSpec> program = Parse(text);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->temporaries[2].size, kFixedSize);
  EXPECT_EQ(program->temporaries[2].row, (Shape{3, 4}));
  EXPECT_EQ(program->buffers[2].size, kFixedSize);
  text.replace(text.find("[3, 4]"), 6, "[3, 5]");  // leaves its buffer
  EXPECT_FALSE(Parse(text).ok());
  EXPECT_FALSE(Parse(With(R"(["m"], "dtype")", R"([4], "dtype")")).ok());  // inputs are rows
}

TEST(ProgramSpec, KnowsHowManyTensorsThereMustBe) {
  ProgramSpec program = *Parse(kProgram);
  EXPECT_TRUE(program.Check(4, 2, 1, 3, 5).ok());
  EXPECT_FALSE(program.Check(3, 2, 1, 3, 5).ok());
  EXPECT_FALSE(program.Check(4, 1, 1, 3, 5).ok());
  EXPECT_FALSE(program.Check(4, 2, 0, 3, 5).ok());
  EXPECT_FALSE(program.Check(4, 2, 1, 2, 5).ok());
  EXPECT_FALSE(Parse(With("\"t0\", \"i1\"", "\"t2\", \"i1\""))->Check(4, 2, 1, 3, 5).ok());
  ProgramSpec adapted = *Parse(With("\"t0\", \"i1\"", "\"a4\", \"i1\""));
  EXPECT_TRUE(adapted.Check(4, 2, 1, 3, 5).ok());
  EXPECT_FALSE(adapted.Check(4, 2, 1, 3, 4).ok());
}

TEST(ProgramSpec, RefusesWhatCannotBe) {
  const std::pair<const char*, const char*> changes[] = {
      {"\"n\", 8", "8, 8"},                 // a fixed size
      {"\"n\", 8", "\"n\", -8"},            // a bad extent
      {"\"n\", 8", "\"n\", 1, 1, 1, 8"},    // too many
      {"float32", "float3"},                // no type
      {"[\"n\", 32]", "[\"k\", 32]"},       // a size of no input
      {"[\"n\", 32]", "[\"n\", 31]"},       // a temporary that does not fit
      {"[\"n\", 32]", "[\"m\", 32]"},       // a buffer of another size
      {"[\"n\", 32]", "[\"n\", 1e12]"},     // no integer
      {"\"buffer\": 1", "\"buffer\": 2"},   // no such buffer
      {"\"buffer\": 1", "\"buffer\": -1"},  //
      {"\"w3\"", "\"x3\""},                 // no kind of tensor
      {"\"w3\"", "\"w\""},                  // no number
      {"\"w3\"", "\"w-1\""},                //
      {"\"w3\"", "\"w99999999999\""},       //
      {"\"w3\"", "3"},                      //
      {"\"name\": \"rows\", ", ""},         // an input without a name
      {"\"all\": \"t0\"", "\"all\": \"t2\""},
      {"\"all\": \"t0\"", "\"all\": \"i0\""},
      {"\"picked\": \"t1\", \"all\": \"t0\"", ""},
      {"\"calls\"", "\"call\""}};
  for (auto [part, other] : changes) {
    Result<ProgramSpec> program = Parse(With(part, other));
    EXPECT_FALSE(program.ok()) << part << " -> " << other;
  }
  for (const char* text : {"null", "{}", "[]", "{\"inputs\": 3}"}) EXPECT_FALSE(Parse(text).ok());
}

}  // namespace
}  // namespace mlc
