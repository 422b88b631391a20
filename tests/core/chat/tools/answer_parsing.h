// Parses answers whole and in pieces, and shows what was found as a text.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "chat/tools/answer_parser.h"

namespace mlc::testing {

using Kind = AnswerPart::Kind;

inline const OfferedTools& Tools() {
  static const OfferedTools tools = [] {
    Result<Json> weather = Json::Parse(
        R"({"type": "object", "properties": {"city": {"type": "string"},
            "days": {"type": "integer"}, "code": {"type": "string"}}})");
    MLC_ICHECK(weather.ok());
    return OfferedTools{{"get_weather", *weather, false}, {"now", Json(), false}};
  }();
  return tools;
}

inline AnswerPlan PlanFor(const std::string& format) {
  AnswerPlan plan;
  plan.tools = FindToolFormat(format);
  plan.offered = Tools();
  return plan;
}

inline AnswerPlan Thinking(const std::string& reasoning, const std::string& tools = "") {
  AnswerPlan plan = PlanFor(tools);
  plan.reasoning = FindReasoningFormat(reasoning);
  return plan;
}

// Parts as a text: content as it is, thoughts in (( )), calls as @NAME and their arguments behind.
inline std::string Describe(const std::vector<AnswerPart>& parts) {
  std::string out;
  int call = -1;
  for (const AnswerPart& part : parts) {
    if (part.kind == Kind::kContent) out += part.text;
    if (part.kind == Kind::kReasoning) out += "((" + part.text + "))";
    if (part.kind == Kind::kCall) {
      out += "@" + part.text;
      EXPECT_EQ(part.call, ++call);
    }
    if (part.kind == Kind::kArguments) {
      out += part.text;
      EXPECT_EQ(part.call, call);
    }
  }
  return out;
}

inline void Join(std::vector<AnswerPart> more, std::vector<AnswerPart>* parts) {
  for (AnswerPart& part : more) {
    bool joins = !parts->empty() && part.kind != Kind::kCall && parts->back().kind == part.kind &&
                 parts->back().call == part.call;
    if (joins) {
      parts->back().text += part.text;
    } else {
      parts->push_back(std::move(part));
    }
  }
}

// Parses `text` cut into pieces of the lengths that `next_length` gives.
template <typename NextLength>
std::string ParseInPieces(const AnswerPlan& plan, const std::string& text, NextLength next_length) {
  AnswerParser parser(std::make_shared<const AnswerPlan>(plan));
  std::vector<AnswerPart> parts;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min<size_t>(next_length(), text.size() - at);
    Join(parser.Put(std::string_view(text).substr(at, length)), &parts);
    at += length;
  }
  Join(parser.Finish(), &parts);
  return Describe(parts);
}

// The same whole, byte by byte, and in random pieces.
inline std::string Parse(const AnswerPlan& plan, const std::string& text) {
  std::string whole = ParseInPieces(plan, text, [&] { return std::max<size_t>(text.size(), 1); });
  EXPECT_EQ(ParseInPieces(plan, text, [] { return 1; }), whole) << text;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    EXPECT_EQ(ParseInPieces(plan, text, [&] { return 1 + random() % 7; }), whole) << text;
  }
  return whole;
}

struct Case {
  const char* text;
  const char* expected;
};

inline void Check(const AnswerPlan& plan, const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(Parse(plan, c.text), c.expected) << c.text;
}

}  // namespace mlc::testing
