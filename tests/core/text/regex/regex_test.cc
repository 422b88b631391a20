#include "text/regex/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mlc {
namespace {

// The matches of `pattern` in `text`, or the error's message.
std::vector<std::string> Matches(const std::string& pattern, const std::string& text) {
  Result<Regex> regex = Regex::Compile(pattern);
  if (!regex.ok()) return {"error: " + regex.status().message()};
  std::vector<Regex::Match> matches;
  Status status = regex->FindAll(text, &matches);
  if (!status.ok()) return {"error: " + status.message()};
  std::vector<std::string> out;
  for (const auto& [begin, end] : matches) out.push_back(text.substr(begin, end - begin));
  return out;
}

using Strings = std::vector<std::string>;

struct Case {
  const char* pattern;
  const char* text;
  Strings matches;
};

TEST(RegexTest, MatchesAsOnigurumaDoes) {
  const Case kCases[] = {
      {"ab|a", "abaab", {"ab", "a", "ab"}},
      {"a{2}", "aaaaa", {"aa", "aa"}},
      {"a{1,2}?", "aaa", {"a", "a", "a"}},
      {"a{,2}b", "aaab b", {"aab", "b"}},
      {"a{x", "a{x", {"a{x"}},
      {"x*", "axx", {"", "xx"}},
      {"(?:ab)+", "ababxab", {"abab", "ab"}},
      {"(?:a|ab)(?:c|bcd)", "abcd", {"abcd"}},
      {"a+?b", "aab", {"aab"}},
      {"a++a", "aaa", {}},
      {"(?>a|ab)c", "abc", {}},
      {"(?:ab|a)++b", "abab", {}},
      {"(?:a|b)*?c", "abac", {"abac"}},
      {"a(?=b)", "abac", {"a"}},
      {"a(?!b)", "abac", {"a"}},
      {"(?<=a)b", "abcb", {"b"}},
      {"(?<!a)b", "abcb", {"b"}},
      {"(?<=a|bc)d", "ad bcd cd", {"d", "d"}},
      {"(?i:straSSE)", "STRASSe", {"STRASSe"}},
      {"(?i)'s|T", "'\xC5\xBF t", {"'\xC5\xBF", "t"}},
      {"a(?i)b|c", "aB C", {"aB"}},
      {"(?i:[^a])", "aAb", {"b"}},
      {"[a-c&&[^b]]+", "abcca", {"a", "cca"}},
      {"[]a]+", "]a", {"]a"}},
      {"[a\\-z-]+", "a-z", {"a-z"}},
      {"[[:digit:][:^punct:]]+", "1a!", {"1a"}},
      {"\\p{Lu}\\p{^Lu}\\P{Lu}", "Aab", {"Aab"}},
      {"\\p{Han}+", "a\xE6\x97\xA5\xE6\x9C\xAC", {"\xE6\x97\xA5\xE6\x9C\xAC"}},
      {"\\s+", "a\xC2\xA0 \xE3\x80\x80z", {"\xC2\xA0 \xE3\x80\x80"}},
      {"\\d+|\\h+|\\w+", "12 ff \xC3\xA9", {"12", "ff", "\xC3\xA9"}},
      {"\\w+", "a² ½", {"a²", "½"}},
      {"[\\w.]+", "a² b.½é", {"a", "b.", "é"}},
      {"[\\W]+|[[:^word:]]x", "a² ½x¾xb", {"² ½", "¾"}},
      {"\\x41\\x{42}\\u0043\\t", "ABC\t", {"ABC\t"}},
      {"\\R", "\r\n\n", {"\r\n", "\n"}},
      {"^a$", "a\nb\na", {"a", "a"}},
      {"\\Aa|a\\z|a\\Z", "aaa", {"a", "a"}},
      {"\\ba\\B", "ab a", {"a"}},
      {".", "\na", {"a"}},
      {"(?m:.)", "\n", {"\n"}},
      {"(?x: a # comment\n b )", "ab", {"ab"}},
      {"(?<name>a)(?#note)b", "ab", {"ab"}},
      {"(?:)*a", "a", {"a"}},
      {"(a*)*b", "aab", {"aab"}},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Matches(c.pattern, c.text), c.matches) << c.pattern << " on " << c.text;
  }
}

TEST(RegexTest, RefusesWhatItCannotRun) {
  const std::pair<const char*, StatusCode> kCases[] = {
      {"(a", StatusCode::kInvalidArgument},      {"a)", StatusCode::kInvalidArgument},
      {"[a", StatusCode::kInvalidArgument},      {"*a", StatusCode::kInvalidArgument},
      {"a\\", StatusCode::kInvalidArgument},     {"[z-a]", StatusCode::kInvalidArgument},
      {"a{3,2}", StatusCode::kInvalidArgument},  {"\\x{110000}", StatusCode::kInvalidArgument},
      {"a{2049}", StatusCode::kInvalidArgument}, {"\\p{L", StatusCode::kInvalidArgument},
      {"(a)\\1", StatusCode::kUnsupported},      {"\\p{Klingon}", StatusCode::kUnsupported},
      {"(?<=a+)b", StatusCode::kUnsupported},    {"(?~a)", StatusCode::kUnsupported},
      {"\\X", StatusCode::kUnsupported},         {"[[:what:]]", StatusCode::kUnsupported},
  };
  for (const auto& [pattern, code] : kCases) {
    Result<Regex> regex = Regex::Compile(pattern);
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_EQ(regex.status().code(), code) << pattern;
  }
}

TEST(RegexTest, DepthAndSizeAreBounded) {
  EXPECT_FALSE(Regex::Compile(std::string(5000, '(') + std::string(5000, ')')).ok());
  EXPECT_FALSE(Regex::Compile(std::string(5000, '[') + std::string(5000, ']')).ok());
  EXPECT_FALSE(Regex::Compile("a" + std::string(5000, '*')).ok());
  EXPECT_FALSE(Regex::Compile("(?:(?:(?:ab){1000}){1000}){1000}").ok());
  EXPECT_FALSE(Regex::Compile(std::string(70000, 'a')).ok());
}

TEST(RegexTest, HostileTextRunsOutOfStepsNotOfTime) {
  Result<Regex> regex = Regex::Compile("(?:a+)+b");
  ASSERT_TRUE(regex.ok());
  std::vector<Regex::Match> matches;
  Status status = regex->FindAll(std::string(1000, 'a'), &matches);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST(RegexTest, AMegabyteOfOneCharacterIsOneMatch) {
  std::string text(1 << 20, 'a');
  EXPECT_EQ(Matches("\\p{L}+", text), Strings{text});
  EXPECT_EQ(Matches("(?:a|b)+", std::string(100000, 'a')), Strings{std::string(100000, 'a')});
}

TEST(RegexTest, LiteralMatchesItself) {
  Regex regex = Regex::Literal("a.b");
  std::vector<Regex::Match> matches;
  ASSERT_TRUE(regex.FindAll("a.b axb a.b", &matches).ok());
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[1].begin, 8u);
}

}  // namespace
}  // namespace mlc
