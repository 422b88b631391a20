// Which schemas say the same at different places.
#include "grammar/schema/same_schemas.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

bool SayTheSame(const std::string& a, const std::string& b) {
  Result<Json> first = Json::Parse(a), second = Json::Parse(b);
  MLC_ICHECK(first.ok() && second.ok());
  MisspeltKeywords misspelt;
  SameSchemas same(&misspelt);
  EXPECT_EQ(&same.FirstOf(*first), &*first);
  return &same.FirstOf(*second) == &*first;
}

TEST(SameSchemas, AnnotationsDoNotCount) {
  EXPECT_TRUE(SayTheSame(R"({"type": "string", "title": "a"})",
                         R"({"description": "b", "type": "string", "x-own": 1})"));
  EXPECT_TRUE(SayTheSame(R"({"items": {"anyOf": [{"title": "a"}, true]}})",
                         R"({"items": {"anyOf": [{}, true]}})"));
}

TEST(SameSchemas, WhatAValueMustFitCounts) {
  // A member may have the name of an annotation.
  EXPECT_FALSE(SayTheSame(R"({"properties": {"title": {}}})", R"({"properties": {}})"));
  EXPECT_FALSE(
      SayTheSame(R"({"properties": {"a": {}, "b": {}}})", R"({"properties": {"b": {}, "a": {}}})"));
  EXPECT_FALSE(SayTheSame(R"({"enum": [1]})", R"({"enum": [1.0]})"));
  EXPECT_FALSE(SayTheSame(R"({"enum": [{"title": 1}]})", R"({"enum": [{}]})"));
  EXPECT_FALSE(SayTheSame(R"({"items": {}})", R"({"items": [{}]})"));
  EXPECT_FALSE(SayTheSame(R"({"type": "string"})", R"({"type": "string", "minLenght": 1})"));
  EXPECT_FALSE(SayTheSame("true", "{}"));
}

}  // namespace
}  // namespace mlc
