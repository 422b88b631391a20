#include "engine/kept/newest_blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace mlc {
namespace {

class Finder {
 public:
  Finder(const BlockFiles& files, const BlockKeys& keys) : files_(files), keys_(keys) {}

  // Adds what a file stands for, with all that stands before it. False if that is too much; the
  // first one is never too much.
  bool Add(const ContentHash& key, int most_tokens, int most_ends) {
    const Known* known = Get(key);
    const Known* last = known->block ? known : Get(known->before);
    if (!last->block) return true;  // another model's, or blocks before it are gone
    std::vector<PrefixBlock> ends = keys_.EndsOf(*last->block);
    if (known == last && !ends.empty()) return true;  // it is of no use without its end
    bool is_end = known != last;
    auto is_it = [&](const PrefixBlock& end) { return end.key == key; };
    if (is_end && std::none_of(ends.begin(), ends.end(), is_it)) return true;
    auto has = [this](const PrefixBlock& end) { return files_.Has(end.key); };
    if (!std::all_of(ends.begin(), ends.end(), has)) return true;
    if (is_end && num_ends_ == most_ends && added_.count(key) == 0) return false;
    if (num_tokens_ > 0 && num_tokens_ + NumNewTokens(*last) > most_tokens) return false;
    num_ends_ += is_end && added_.count(key) == 0 ? 1 : 0;
    AddBlocks(*last, ends);
    return true;
  }

  std::vector<NewestBlock> Take() { return std::move(blocks_); }

 private:
  struct Known {
    std::optional<PrefixBlock> block;  // nothing: it is no block of this model
    ContentHash before{};
    uint64_t adapter = 0;
    std::vector<int32_t> tokens;
  };

  // Reads the heads of the file and of those before it.
  const Known* Get(const ContentHash& key) {
    std::vector<std::pair<ContentHash, KVFileHead>> heads;  // the last one first
    ContentHash at = key;
    while (known_.count(at) == 0) {
      Known& known = known_[at];
      std::optional<KVFileHead> head = files_.Head(at);
      std::optional<ContentHash> before;
      if (head) before = ParseContentHash(head->before);
      if (!before) break;
      known.before = *before;
      heads.emplace_back(at, std::move(*head));
      at = *before;
    }
    for (auto head = heads.rbegin(); head != heads.rend(); ++head) {
      Known& known = known_[head->first];
      const std::optional<PrefixBlock>& before = known_[known.before].block;
      known.block = keys_.BlockOf(head->first, head->second, before);
      known.adapter = head->second.adapter;
      known.tokens = std::move(head->second.tokens);
    }
    return &known_[key];
  }

  const Known* Before(const Known& known) {
    return known.block->begin == 0 ? nullptr : &known_[known.before];
  }

  int NumNewTokens(const Known& last) {
    int count = 0;
    for (const Known* at = &last; at != nullptr; at = Before(*at)) {
      if (added_.count(at->block->key) == 0) count += at->block->end - at->block->begin;
    }
    return count;
  }

  void AddBlocks(const Known& last, const std::vector<PrefixBlock>& ends) {
    auto prefix = std::make_shared<PrefixIds>();
    prefix->adapter = last.adapter;
    prefix->ids.resize(static_cast<size_t>(last.block->end));
    std::vector<PrefixBlock> blocks;  // the last one first
    for (const Known* at = &last; at != nullptr; at = Before(*at)) {
      blocks.push_back(*at->block);
      std::copy(at->tokens.begin(), at->tokens.end(), prefix->ids.begin() + at->block->begin);
    }
    std::reverse(blocks.begin(), blocks.end());
    blocks.insert(blocks.end(), ends.begin(), ends.end());
    for (const PrefixBlock& block : blocks) {
      if (!added_.insert(block.key).second) continue;
      blocks_.push_back({prefix, block});
      num_tokens_ += block.part == KeptPart::kPages ? block.end - block.begin : 0;
    }
  }

  const BlockFiles& files_;
  const BlockKeys& keys_;
  std::map<ContentHash, Known> known_;
  std::set<ContentHash> added_;
  std::vector<NewestBlock> blocks_;
  int num_tokens_ = 0, num_ends_ = 0;
};

}  // namespace

std::vector<NewestBlock> FindNewestBlocks(const BlockFiles& files, const BlockKeys& keys,
                                          int most_tokens, int most_ends) {
  Finder finder(files, keys);
  for (const ContentHash& key : files.Newest()) {
    if (!finder.Add(key, most_tokens, most_ends)) break;
  }
  return finder.Take();
}

}  // namespace mlc
