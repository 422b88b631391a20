#include "kv/kv_file.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/json.h"

namespace mlc {
namespace {

constexpr std::string_view kMagic = "MLCKV002";
constexpr size_t kKindBytes = 5;  // the first bytes of the magic; the version follows
constexpr size_t kFixedBytes = 24, kHashBytes = 8;
constexpr size_t kMaxTextBytes = 1 << 20;
constexpr size_t kMaxTokens = 1 << 24;  // the largest position
constexpr int64_t kMaxStateBytes = int64_t{1} << 40;
constexpr int64_t kMaxWindowedBytes = int64_t{1} << 36;  // of a page: all pages fit in 64 bits

void AppendNumber(uint64_t value, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t NumberAt(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

Status Damaged(const char* how) {
  return Corrupt(std::string("the file of a saved conversation is damaged: ") + how +
                 "; save the conversation again");
}

Json TextOf(const KVFileHead& head) {
  Json text;
  text.Set("weights_id", head.weights_id)
      .Set("library_id", head.library_id)
      .Set("adapter", static_cast<int64_t>(head.adapter))
      .Set("page_size", head.page_size)
      .Set("page_bytes", head.page_bytes)
      .Set("window", head.window)
      .Set("sink", head.sink)
      .Set("num_slid", head.num_slid);
  if (head.state_bytes > 0) text.Set("state_bytes", head.state_bytes);
  if (head.windowed.page_bytes > 0) {
    Json windowed;
    windowed.Set("page_bytes", head.windowed.page_bytes)
        .Set("window", head.windowed.window)
        .Set("num_slid", head.windowed.num_slid);
    text.Set("windowed", std::move(windowed));
  }
  if (!head.block.empty()) text.Set("block", head.block).Set("before", head.before);
  if (head.contents.empty()) return text;
  Json contents = Json::MakeArray();
  for (const ContentHash& hash : head.contents) contents.Append(ContentHashText(hash));
  text.Set("contents", std::move(contents));
  return text;
}

Result<std::vector<ContentHash>> GetContents(const Json& text) {
  std::vector<ContentHash> contents;
  const Json* list = text.Find("contents");
  if (list == nullptr) return contents;  // the prompt has only tokens
  if (!list->is_array()) return InvalidArgument("contents must be a list");
  for (const Json& item : list->as_array()) {
    std::optional<ContentHash> hash;
    if (item.is_string()) hash = ParseContentHash(item.as_string());
    if (!hash) return InvalidArgument("contents holds something that is no hash");
    contents.push_back(*hash);
  }
  return contents;
}

Result<int> GetCount(const Json& text, const char* key, int64_t min) {
  MLC_ASSIGN_OR_RETURN(int64_t value, GetInt(text, key));
  if (value < min || value > static_cast<int64_t>(kMaxTokens)) {
    return InvalidArgument(std::string(key) + " is out of bounds");
  }
  return static_cast<int>(value);
}

Result<KVFileHead::Windowed> GetWindowed(const Json& text) {
  KVFileHead::Windowed windowed;
  const Json* given = text.Find("windowed");
  if (given == nullptr) return windowed;  // all pages are of one kind
  MLC_ASSIGN_OR_RETURN(windowed.page_bytes, GetInt(*given, "page_bytes"));
  if (windowed.page_bytes < 1 || windowed.page_bytes > kMaxWindowedBytes) {
    return InvalidArgument("page_bytes is out of bounds");
  }
  MLC_ASSIGN_OR_RETURN(windowed.window, GetCount(*given, "window", 1));
  MLC_ASSIGN_OR_RETURN(windowed.num_slid, GetCount(*given, "num_slid", 0));
  return windowed;
}

Result<KVFileHead> ParseText(std::string_view bytes) {
  KVFileHead head;
  MLC_ASSIGN_OR_RETURN(Json text, Json::Parse(bytes));
  MLC_ASSIGN_OR_RETURN(head.weights_id, GetString(text, "weights_id"));
  MLC_ASSIGN_OR_RETURN(head.library_id, GetString(text, "library_id"));
  MLC_ASSIGN_OR_RETURN(int64_t adapter, GetInt(text, "adapter"));
  head.adapter = static_cast<uint64_t>(adapter);
  if (text.Find("block") != nullptr) {
    MLC_ASSIGN_OR_RETURN(head.block, GetString(text, "block"));
    MLC_ASSIGN_OR_RETURN(head.before, GetString(text, "before"));
  }
  MLC_ASSIGN_OR_RETURN(head.page_size, GetCount(text, "page_size", 1));
  MLC_ASSIGN_OR_RETURN(head.page_bytes, GetInt(text, "page_bytes"));
  MLC_ASSIGN_OR_RETURN(head.state_bytes, GetIntOr(text, "state_bytes", 0));
  if (head.state_bytes < 0 || head.state_bytes > kMaxStateBytes) {
    return InvalidArgument("state_bytes is out of bounds");
  }
  if (head.page_bytes < 0) return InvalidArgument("page_bytes is out of bounds");
  MLC_ASSIGN_OR_RETURN(head.window, GetCount(text, "window", 0));
  MLC_ASSIGN_OR_RETURN(head.sink, GetCount(text, "sink", 0));
  MLC_ASSIGN_OR_RETURN(head.num_slid, GetCount(text, "num_slid", 0));
  MLC_ASSIGN_OR_RETURN(head.windowed, GetWindowed(text));
  MLC_ASSIGN_OR_RETURN(head.contents, GetContents(text));
  return head;
}

// Decodes the head; `end` is the offset behind it. Nothing is used before the hash is checked.
Result<KVFileHead> DecodeHead(std::string_view bytes, size_t* end) {
  if (bytes.size() < kFixedBytes) return Damaged("it was cut off");
  if (bytes.substr(0, kKindBytes) != kMagic.substr(0, kKindBytes)) {
    return Corrupt("is no file of a saved conversation");
  }
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return Unsupported(
        "was saved by another version of the engine, or is damaged; save the conversation again");
  }
  uint64_t text_bytes = NumberAt(bytes, 8), num_tokens = NumberAt(bytes, 16);
  if (text_bytes > kMaxTextBytes || num_tokens < 1 || num_tokens > kMaxTokens) {
    return Damaged("its head is out of bounds");
  }
  size_t tokens_at = kFixedBytes + text_bytes, hash_at = tokens_at + 4 * num_tokens;
  *end = hash_at + kHashBytes;
  if (bytes.size() < *end) return Damaged("it was cut off");
  if (NumberAt(bytes, hash_at) != HashWords(bytes.substr(0, hash_at))) {
    return Damaged("its head does not match its hash");
  }
  Result<KVFileHead> head = ParseText(bytes.substr(kFixedBytes, text_bytes));
  if (!head.ok()) return Damaged(head.status().message().c_str());
  head->tokens.resize(num_tokens);
  std::memcpy(head->tokens.data(), bytes.data() + tokens_at, 4 * num_tokens);
  return head;
}

}  // namespace

int64_t KVFileHead::NumPages(int slid) const {
  auto pages_of = [this](int64_t num_tokens) { return (num_tokens + page_size - 1) / page_size; };
  int64_t all = pages_of(static_cast<int64_t>(tokens.size()));
  return all - std::min(all, std::max<int64_t>(0, slid - pages_of(sink)));
}

std::string EncodeKVHead(const KVFileHead& head) {
  std::string text = TextOf(head).Dump(), out(kMagic);
  AppendNumber(text.size(), &out);
  AppendNumber(head.tokens.size(), &out);
  out += text;
  out.append(reinterpret_cast<const char*>(head.tokens.data()), 4 * head.tokens.size());
  AppendNumber(HashWords(out), &out);
  return out;
}

std::string EncodeKVTail(std::string_view body) {
  std::string out;
  AppendNumber(HashLanes(body), &out);
  return out;
}

Result<KVFileHead> DecodeKVHead(std::string_view bytes) {
  size_t end = 0;
  return DecodeHead(bytes, &end);
}

Result<KVFile> DecodeKVFile(std::string_view bytes) {
  KVFile file;
  size_t begin = 0;
  MLC_ASSIGN_OR_RETURN(file.head, DecodeHead(bytes, &begin));
  if (bytes.size() - begin < kHashBytes) return Damaged("it was cut off");
  std::string_view body = bytes.substr(begin, bytes.size() - begin - kHashBytes);
  int64_t size = static_cast<int64_t>(body.size()) - file.head.state_bytes;
  int64_t windowed = file.head.num_windowed_bytes();
  size -= windowed;
  int64_t page = file.head.page_bytes;  // 0: all layers have states instead
  bool fits = page == 0 ? size == 0 : size % page == 0 && size / page == file.head.num_pages();
  if (size < 0 || !fits) {
    return Damaged("it is not as long as its head says");
  }
  if (NumberAt(bytes, bytes.size() - kHashBytes) != HashLanes(body)) {
    return Damaged("its pages do not match their hash");
  }
  size_t num_page_bytes = static_cast<size_t>(size + windowed);
  file.pages = body.substr(0, num_page_bytes);
  file.state = body.substr(num_page_bytes);
  return file;
}

}  // namespace mlc
