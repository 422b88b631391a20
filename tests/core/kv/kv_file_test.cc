#include "kv/kv_file.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace mlc {
namespace {

KVFileHead SmallHead() {
  KVFileHead head;
  head.weights_id = "weights";
  head.library_id = "library";
  head.adapter = 7;
  head.page_size = 4;
  head.page_bytes = 3;
  head.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return head;
}

std::string FileOf(const KVFileHead& head, const std::string& pages) {
  return EncodeKVHead(head) + pages + EncodeKVTail(pages);
}

TEST(KVFile, GivesBackWhatWasWritten) {
  std::string bytes = FileOf(SmallHead(), "aaabbbccc");
  Result<KVFile> file = DecodeKVFile(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->head.weights_id, "weights");
  EXPECT_EQ(file->head.library_id, "library");
  EXPECT_EQ(file->head.adapter, 7u);
  EXPECT_EQ(file->head.page_size, 4);
  EXPECT_EQ(file->head.page_bytes, 3);
  EXPECT_EQ(file->head.tokens, SmallHead().tokens);
  EXPECT_EQ(file->pages, "aaabbbccc");
}

TEST(KVFile, PagesThatSlidAwayAreNotThere) {
  KVFileHead head = SmallHead();
  head.window = 4;
  head.sink = 2;
  head.num_slid = 2;  // the second of three pages is a hole
  EXPECT_EQ(head.num_pages(), 2);
  Result<KVFile> file = DecodeKVFile(FileOf(head, "aaaccc"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->head.num_slid, 2);
}

TEST(KVFile, AModelWithoutPagesHasTheStateAlone) {
  KVFileHead head = SmallHead();
  head.page_bytes = 0;
  head.state_bytes = 5;
  const std::string bytes = FileOf(head, "state");
  Result<KVFile> file = DecodeKVFile(bytes);  // it points into the bytes
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->pages, "");
  EXPECT_EQ(file->state, "state");
  EXPECT_FALSE(DecodeKVFile(FileOf(head, "states")).ok());
}

TEST(KVFile, AnyFlippedBitIsSeen) {
  const std::string bytes = FileOf(SmallHead(), "aaabbbccc");
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Result<KVFile> file = DecodeKVFile(damaged);
    ASSERT_FALSE(file.ok()) << "bit " << bit;
    bool is_version = bit / 8 >= 5 && bit / 8 < 8;
    EXPECT_EQ(file.status().code(), is_version ? StatusCode::kUnsupported : StatusCode::kCorrupt);
  }
}

TEST(KVFile, AnyOtherLengthIsSeen) {
  const std::string bytes = FileOf(SmallHead(), "aaabbbccc");
  for (size_t length = 0; length < bytes.size(); ++length) {
    Result<KVFile> file = DecodeKVFile(bytes.substr(0, length));
    ASSERT_FALSE(file.ok()) << length;
    EXPECT_EQ(file.status().code(), StatusCode::kCorrupt) << length;
  }
  EXPECT_FALSE(DecodeKVFile(bytes + "x").ok());
  EXPECT_FALSE(DecodeKVFile(bytes + bytes).ok());
}

// A file whose hashes fit, whatever stands in it.
std::string Forged(uint64_t text_bytes, uint64_t num_tokens, const std::string& text,
                   size_t real_tokens, const std::string& pages) {
  auto number = [](uint64_t value) {
    std::string out;
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
    return out;
  };
  std::string head = "MLCKV002" + number(text_bytes) + number(num_tokens) + text;
  head.append(4 * real_tokens, '\1');
  return head + number(HashWords(head)) + pages + number(HashLanes(pages));
}

TEST(KVFile, AHostileHeadIsCorrupt) {
  const std::string good =
      R"({"weights_id": "w", "library_id": "l", "adapter": 0, "page_size": 4, "page_bytes": 3,)"
      R"( "window": 0, "sink": 0, "num_slid": 0})";
  ASSERT_TRUE(DecodeKVFile(Forged(good.size(), 2, good, 2, "abc")).ok());

  auto refuse = [](const std::string& bytes) {
    Result<KVFile> file = DecodeKVFile(bytes);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), StatusCode::kCorrupt) << file.status().message();
  };
  constexpr uint64_t kHuge = ~uint64_t{0};
  for (uint64_t count : {kHuge, kHuge / 4, kHuge - good.size(), uint64_t{1} << 62,
                         uint64_t{1} << 24, uint64_t{0}, uint64_t{3}}) {
    refuse(Forged(good.size(), count, good, 2, "abc"));
  }
  for (uint64_t length : {kHuge, kHuge - 24, uint64_t{1} << 63, uint64_t{65537}, uint64_t{0}}) {
    refuse(Forged(length, 2, good, 2, "abc"));
  }
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    refuse(Forged(text.size(), 2, text, 2, "abc"));
  };
  for (const char* value : {"0", "-1", "9223372036854775807", "1e30", "null", "\"4\"", "[]"}) {
    with("\"page_size\": 4", std::string("\"page_size\": ") + value);
  }
  for (const char* value : {"0", "-3", "2", "9223372036854775807"}) {
    with("\"page_bytes\": 3", std::string("\"page_bytes\": ") + value);
  }
  with("\"num_slid\": 0", "\"num_slid\": -1");
  with("\"num_slid\": 0", "\"num_slid\": 1");  // then there would be no page
  with("\"num_slid\": 0", "\"num_slid\": 99999999999");
  with("\"sink\": 0", "\"sink\": -1");
  with("{", "[");
  with("\"weights_id\": \"w\",", "");
}

}  // namespace
}  // namespace mlc
