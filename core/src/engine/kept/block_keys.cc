#include "engine/kept/block_keys.h"

#include <algorithm>

#include "platform/cpu_features.h"

namespace mlc {
namespace {

void AppendWord(uint32_t word, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(word >> (8 * i)));
}

std::string_view BytesOf(const ContentHash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// A token as its id. An embedding row as -1, which is no token, and the hash of its content.
void AppendId(const PrefixIds& prefix, int index, std::string* out) {
  int32_t id = prefix.ids[static_cast<size_t>(index)];
  AppendWord(static_cast<uint32_t>(id < 0 ? -1 : id), out);
  if (id < 0) *out += BytesOf(prefix.contents.at(id));
}

ContentHash EndKey(const ContentHash& block, KeptPart part) {
  return HashContent(std::string(BytesOf(block)) +
                     (part == KeptPart::kWindow ? "window" : "state"));
}

ContentHash KeyOf(const ContentHash& before, const PrefixIds& prefix, int begin, int end) {
  std::string bytes(BytesOf(before));
  for (int i = begin; i < end; ++i) AppendId(prefix, i, &bytes);
  return HashContent(bytes);
}

// The last bits of keys and values depend on the instructions that a library chooses for a CPU. So
// machines that share a folder find only what the same kind of machine computed.
std::string CpuText() {
  std::string text;
  for (const CpuFeature& feature : CpuFeatures()) {
    if (feature.present) text += std::string(feature.name) + ",";
  }
  return text;
}

}  // namespace

PrefixIds MakePrefixIds(uint64_t adapter, const Prompt& prompt, std::vector<int32_t> ids) {
  PrefixIds prefix;
  prefix.adapter = adapter;
  for (const Prompt::Span& span : prompt.spans()) {
    if (span.rows == nullptr) continue;
    prefix.contents.emplace(ids[static_cast<size_t>(span.begin)], span.rows->hash());
  }
  prefix.ids = std::move(ids);
  return prefix;
}

BlockKeys::BlockKeys(const ModelInfo& model, int block_tokens)
    : block_tokens_(std::max(1, block_tokens / model.page_size) * model.page_size) {
  model_.weights_id = model.weights_id;
  model_.library_id = model.library_id;
  model_.page_size = model.page_size;
  model_.page_bytes = model.page_bytes;
  if (model.sliding_window_size > 0) {
    model_.window = model.sliding_window_size;
    model_.sink = model.attention_sink_size;
  }
  model_.windowed = {model.windowed_page_bytes, model.layer_window, 0};
  if (model.has_windowed_pages()) model_.sink = model.attention_sink_size;
  model_.state_bytes = model.state_bytes;
  KVFileHead named = model_;
  named.tokens = {block_tokens_};
  root_ = HashContent(EncodeKVHead(named) + CpuText());
}

ContentHash BlockKeys::RootOf(uint64_t adapter) const {
  std::string bytes(BytesOf(root_));
  AppendWord(static_cast<uint32_t>(adapter), &bytes);
  AppendWord(static_cast<uint32_t>(adapter >> 32), &bytes);
  return HashContent(bytes);
}

ContentHash BlockKeys::KeyBefore(const PrefixIds& prefix,
                                 const std::vector<PrefixBlock>& full) const {
  return full.empty() ? RootOf(prefix.adapter) : full.back().key;
}

std::vector<PrefixBlock> BlockKeys::FullBlocks(const PrefixIds& prefix, int end,
                                               const Wanted& wanted) const {
  std::vector<PrefixBlock> blocks;
  for (int begin = 0; begin + block_tokens_ <= end; begin += block_tokens_) {
    PrefixBlock block{begin, begin + block_tokens_};
    block.before = KeyBefore(prefix, blocks);
    block.key = KeyOf(block.before, prefix, block.begin, block.end);
    if (wanted && !wanted(block)) break;
    blocks.push_back(block);
  }
  return blocks;
}

std::vector<PrefixBlock> BlockKeys::Tails(const PrefixIds& prefix,
                                          const std::vector<PrefixBlock>& full, int first_end,
                                          int last_end) const {
  std::vector<PrefixBlock> tails;
  int begin = full.empty() ? 0 : full.back().end;
  const ContentHash before = KeyBefore(prefix, full);
  std::string bytes(BytesOf(before));
  int most = std::min(begin + block_tokens_ - 1, static_cast<int>(prefix.ids.size()));
  for (int end = begin + 1; end <= std::min(last_end, most); ++end) {
    AppendId(prefix, end - 1, &bytes);
    if (end < first_end) continue;
    tails.push_back({begin, end, HashContent(bytes), KeptPart::kPages, before});
  }
  return tails;
}

std::string BlockKeys::FileHead(const PrefixIds& prefix, const PrefixBlock& block) const {
  KVFileHead head = model_;
  head.adapter = prefix.adapter;
  head.block = ContentHashText(block.key);
  head.before = ContentHashText(block.before);
  if (block.part != KeptPart::kState) head.state_bytes = 0;
  std::map<int32_t, int32_t> numbers;
  for (int i = block.begin; i < block.end; ++i) {
    int32_t id = prefix.ids[static_cast<size_t>(i)];
    if (id < 0) {
      auto number = -1 - static_cast<int32_t>(head.contents.size());
      auto [at, is_new] = numbers.emplace(id, number);
      if (is_new) head.contents.push_back(prefix.contents.at(id));
      id = at->second;
    }
    head.tokens.push_back(id);
  }
  return EncodeKVHead(head);
}

std::vector<PrefixBlock> BlockKeys::EndsOf(const PrefixBlock& block) const {
  std::vector<PrefixBlock> ends;
  auto add = [&](int begin, KeptPart part) {
    ends.push_back({begin, block.end, EndKey(block.key, part), part, block.key});
  };
  int first = std::max(0, block.end - model_.windowed.window) / model_.page_size;
  if (model_.windowed.page_bytes > 0) add(first * model_.page_size, KeptPart::kWindow);
  if (model_.state_bytes > 0) add(block.end - 1, KeptPart::kState);
  return ends;
}

std::optional<PrefixBlock> BlockKeys::BlockOf(const ContentHash& key, const KVFileHead& head,
                                              const std::optional<PrefixBlock>& before) const {
  PrefixIds own;
  own.ids = head.tokens;
  int size = static_cast<int>(own.ids.size());
  bool has_contents =
      std::any_of(own.ids.begin(), own.ids.end(), [](int32_t id) { return id < 0; });
  bool follows = !before || before->end % block_tokens_ == 0;
  if (has_contents || !follows || size > block_tokens_) return std::nullopt;
  PrefixBlock block;
  block.begin = before ? before->end : 0;
  block.end = block.begin + size;
  block.before = before ? before->key : RootOf(head.adapter);
  block.key = KeyOf(block.before, own, 0, size);
  return block.key == key ? std::optional(block) : std::nullopt;
}

int64_t BlockKeys::BodyBytes(const PrefixBlock& block) const {
  if (block.part == KeptPart::kState) return model_.state_bytes;
  auto pages_of = [page = model_.page_size](int tokens) { return (tokens + page - 1) / page; };
  int first = block.begin / model_.page_size, last = pages_of(block.end);
  if (block.part == KeptPart::kPages) return (last - first) * model_.page_bytes;
  int sinks = std::min(pages_of(model_.sink), first);
  return (sinks + last - first) * model_.windowed.page_bytes;
}

}  // namespace mlc
