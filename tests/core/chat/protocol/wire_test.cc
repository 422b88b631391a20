#include "chat/protocol/wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlc::wire {
namespace {

enum class Colour { kRed, kDarkRed };
Words WireWords(Colour) {
  static constexpr const char* kWords[] = {"red", "dark-red"};
  return {kWords, 2};
}

template <typename T>
Result<T> Read(const Json& json, const Limits& limits = Limits()) {
  T out{};
  MLC_RETURN_IF_ERROR(Codec<T>::Read(json, Path(), limits, &out));
  return out;
}

TEST(Path, PrintsMembersAndItems) {
  Path root;
  Path messages = root.Member("messages");
  Path second = messages.Item(1);
  EXPECT_EQ(root.ToString(), "");
  EXPECT_EQ(messages.ToString(), "messages");
  EXPECT_EQ(second.ToString(), "messages[1]");
  EXPECT_EQ(second.Member("content").ToString(), "messages[1].content");
  EXPECT_EQ(root.Item(0).Member("").ToString(), "[0].");
}

TEST(Path, CutsALongKeyBetweenCharacters) {
  std::string key = "x";
  for (int i = 0; i < 100; ++i) key += "é";
  std::string text = Path().Member(key).ToString();
  EXPECT_EQ(text.size(), 66u);  // 63 bytes, since the 64th begins a character, and "..."
  EXPECT_EQ(text.substr(text.size() - 5), "é...");
}

TEST(Codec, IntegersMayBeWrittenAsDecimals) {
  EXPECT_EQ(*Read<int64_t>(Json(3.0)), 3);
  EXPECT_EQ(*Read<int64_t>(Json(-9223372036854775808.0)), INT64_MIN);
  EXPECT_EQ(*Read<int64_t>(Json(INT64_MAX)), INT64_MAX);
  EXPECT_FALSE(Read<int64_t>(Json(9223372036854775808.0)).ok());
  EXPECT_FALSE(Read<int64_t>(Json(0.5)).ok());
  EXPECT_FALSE(Read<int64_t>(Json("3")).ok());
  EXPECT_FALSE(Read<int64_t>(Json(true)).ok());
}

TEST(Codec, EachBoundIsItsOwn) {
  struct Case {
    Limits limits;
    double inside, outside;
  } kCases[] = {
      {Limits().AtLeast(2), 2, 1.5},
      {Limits().Above(2), 2.5, 2},
      {Limits().AtMost(2), 2, 2.5},
      {Limits().Below(2), 1.5, 2},
  };
  for (const Case& c : kCases) {
    EXPECT_TRUE(Read<double>(Json(c.inside), c.limits).ok()) << c.inside;
    EXPECT_FALSE(Read<double>(Json(c.outside), c.limits).ok()) << c.outside;
  }
}

TEST(Codec, LengthIsInCharacters) {
  Limits two = Limits().MinLength(2).MaxLength(2);
  EXPECT_TRUE(Read<std::string>(Json("éé"), two).ok());
  EXPECT_TRUE(Read<std::string>(Json("é"), two).status().Is(Reason::kStringBelowMinLength));
  EXPECT_TRUE(Read<std::string>(Json("ééé"), two).status().Is(Reason::kStringAboveMaxLength));
  EXPECT_TRUE(Read<std::string>(Json(""), two).status().Is(Reason::kEmptyString));
}

TEST(Codec, ListsBoundTheirItemsAndTheirNumber) {
  Limits limits = Limits().AtMost(5).MinItems(1).MaxItems(2);
  EXPECT_EQ(*Read<std::vector<int64_t>>(Json(Json::Array{1, 5}), limits),
            (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(Read<std::vector<int64_t>>(Json(Json::Array{1, 6}), limits).status().param(), "[1]");
  EXPECT_FALSE(Read<std::vector<int64_t>>(Json::MakeArray(), limits).ok());
  EXPECT_FALSE(Read<std::vector<int64_t>>(Json(Json::Array{1, 2, 3}), limits).ok());
}

TEST(Codec, MapsByNumberTakeDecimalKeysOnly) {
  using Map = std::map<int64_t, double>;
  EXPECT_EQ(*Read<Map>(Json(Json::Object{{"7", 1.5}, {"0", 2}})), (Map{{0, 2}, {7, 1.5}}));
  for (const char* key : {"", "x", "-1", " 1", "1 ", "1.0", "0x1", "99999999999999999999"}) {
    EXPECT_FALSE(Read<Map>(Json(Json::Object{{key, 1}})).ok()) << key;
  }
  EXPECT_EQ(Codec<Map>::Write(Map{{7, 1.5}}).Dump(), R"({"7":1.5})");
}

TEST(Codec, ClosedEnumRefusesAndOpenEnumKeepsAnUnknownWord) {
  EXPECT_EQ(*Read<Colour>(Json("dark-red")), Colour::kDarkRed);
  EXPECT_TRUE(Read<Colour>(Json("blue")).status().Is(Reason::kInvalidValue));
  OpenEnum<Colour> blue = *Read<OpenEnum<Colour>>(Json("blue"));
  EXPECT_FALSE(blue.known().has_value());
  EXPECT_EQ(Codec<OpenEnum<Colour>>::Write(blue).Dump(), R"("blue")");
  EXPECT_EQ(OpenEnum<Colour>("red"), Colour::kRed);
  EXPECT_NE(OpenEnum<Colour>("red"), Colour::kDarkRed);
}

TEST(ObjectReader, KeepsTheFirstErrorAndStopsReading) {
  Json json(Json::Object{{"a", "x"}, {"b", 2}, {"c", "x"}});
  Path path;
  ObjectReader reader(json, path);
  int64_t b = 0;
  std::optional<int64_t> a, c;
  reader.Optional("a", &a).Required("b", &b).Optional("c", &c);
  EXPECT_EQ(reader.status().param(), "a");
  EXPECT_EQ(b, 0);
}

TEST(ObjectReader, OnlyKnownNamesTheStranger) {
  Json json(Json::Object{{"a", 1}, {"z", 2}});
  Path path;
  ObjectReader reader(json, path);
  EXPECT_TRUE(reader.OnlyKnown({"a", "z"}).status().ok());
  EXPECT_EQ(reader.OnlyKnown({"a"}).status().param(), "z");
}

}  // namespace
}  // namespace mlc::wire
