#include "base/json.h"

#include <gtest/gtest.h>

#include "base/request_json.h"
#include "base/utf8.h"

namespace mlc {
namespace {

TEST(Json, RoundTripKeepsOrderAndExactIntegers) {
  const char* text = R"({"b":1,"a":[true,null,-9223372036854775808,1.5,"é\n"],"c":{}})";
  Result<Json> json = Json::Parse(text);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->Dump(), text);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "NaN", "[1] 2", "\"\xff\"", "'a'",
                           "// c\n1", "\"\\ud800\""}) {
    Result<Json> json = Json::Parse(text);
    EXPECT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Json, ANulIsNoEnd) {
  using namespace std::string_view_literals;
  for (std::string_view text :
       {"{}\0"sv, "\0{}"sv, "[1\0]"sv, "{\"a\":1}\0{\"a\":2}"sv, "\"\0\""sv}) {
    Status status = Json::Parse(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(Json::Parse(R"("\u0000")")->as_string(), "\0"sv);
}

TEST(Json, ARequestHasSoManyValues) {
  auto array_of = [](size_t count) {
    std::string text = "[0";
    for (size_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(ParseRequestJson(array_of(kMaxRequestValues - 1)).ok());  // and the array
  Status status = ParseRequestJson(array_of(kMaxRequestValues)).status();
  EXPECT_NE(status.message().find("too many values"), std::string::npos) << status.message();
  EXPECT_TRUE(Json::Parse(array_of(kMaxRequestValues)).ok());
}

TEST(Json, ErrorNamesLineAndColumn) {
  Status status = Json::Parse("{\n  \"a\": x\n}").status();
  EXPECT_NE(status.message().find("line 2"), std::string::npos) << status.message();
}

TEST(Json, ErrorsAreValidUtf8) {
  Status status = Json::Parse("{\"a\": \xff\xfe}").status();
  EXPECT_TRUE(IsValidUtf8(status.message())) << status.message();
}

TEST(Json, AResultWithAValueHasAnOkStatus) {
  EXPECT_TRUE(Json::Parse("1").status().ok());
  EXPECT_FALSE(Result<int>(Status()).ok());
  EXPECT_FALSE(Result<int>(Status()).status().ok());
}

TEST(Json, DepthIsBounded) {
  std::string deep(100000, '[');
  EXPECT_FALSE(Json::Parse(deep).ok());
  std::string fine = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(Json::Parse(fine).ok());
}

TEST(Json, OfEqualKeysTheLastCounts) {
  Result<Json> json = Json::Parse(R"({"a":1,"a":2})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("a")->as_int(), 2);
}

TEST(Json, LargeIntegersBecomeDoubles) {
  Result<Json> json = Json::Parse("18446744073709551616");
  ASSERT_TRUE(json.ok());
  EXPECT_FALSE(json->is_int());
  EXPECT_DOUBLE_EQ(json->as_double(), 18446744073709551616.0);
}

TEST(Json, TypedLookupsNameTheField) {
  Result<Json> json = Json::Parse(R"({"layers":"four","hidden":null})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(GetInt(*json, "layers").status().param(), "layers");
  EXPECT_EQ(GetInt(*json, "absent").status().param(), "absent");
  EXPECT_EQ(GetIntOr(*json, "hidden", 7).value(), 7);
  EXPECT_FALSE(GetIntOr(*json, "layers", 7).ok());
}

TEST(Json, SetReplacesAndAppendGrows) {
  Json json;
  json.Set("a", 1).Set("b", "x").Set("a", 2.5);
  Json list;
  list.Append(json);
  EXPECT_EQ(list.Dump(), R"([{"a":2.5,"b":"x"}])");
  EXPECT_EQ(list.Dump(1), "[\n {\n  \"a\": 2.5,\n  \"b\": \"x\"\n }\n]");
}

}  // namespace
}  // namespace mlc
