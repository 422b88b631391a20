#include "chat/tools/json_scanner.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/json.h"

namespace mlc {
namespace {

using State = JsonScanner::State;

// How much of `text` the value at its beginning takes; npos when there is none.
size_t EndOf(const std::string& text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    State state = scanner.Put(text[i]);
    if (state == State::kEnd) return i + 1;
    if (state == State::kEndBefore) return i;
    if (state == State::kBad) break;
  }
  return std::string::npos;
}

TEST(JsonScanner, FindsTheEndOfAValue) {
  for (const char* value :
       {"{}", "[]", "{\"a\": [1, -2.5e+3, 0, true, null], \"b\": {\"c\": \"}]\\\"\\u00e9\"}}",
        "\"text\"", "false", " \n{ \"a\" : 1 }", "[[[[]]]]", "{\"é\": \"😀\"}"}) {
    EXPECT_EQ(EndOf(std::string(value) + "} more"), std::string(value).size()) << value;
  }
  EXPECT_EQ(EndOf("12.5]"), 4u);
  EXPECT_EQ(EndOf("0 "), 1u);
}

TEST(JsonScanner, RefusesWhatIsNoJson) {
  for (const char* text : {"{a: 1}", "{'a': 1}", "{\"a\" 1}", "{\"a\": 1,}", "[1 2]", "[1,]", "nil",
                           "{\"a\": 01}", "[1.]", "[-]", "[1e]", "\"\\x\"", "\"\\u12g4\"", "\"\n\"",
                           "{]", "[}", ",", "[+1]", "[.5]"}) {
    EXPECT_EQ(EndOf(text), std::string::npos) << text;
  }
}

// Against the parser: random texts of JSON's characters, and values with one character changed.
TEST(JsonScanner, AgreesWithTheParser) {
  std::mt19937 random(1);
  const std::string alphabet = "{}[],:\"\\ 01-.eE+tru nlfasd";
  const std::string value = R"({"a": [1.5, true, {"b": null}], "c": "x\ny", "d": [[], {}]})";
  int num_values = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = value;
    text[random() % text.size()] = alphabet[random() % alphabet.size()];
    bool parses = Json::Parse(text).ok();
    num_values += parses;
    EXPECT_EQ(EndOf(text) == text.size(), parses) << text;
  }
  EXPECT_GT(num_values, 1000);
}

}  // namespace
}  // namespace mlc
