// Remembers the ids of words. Thread-safe. The size is limited: a full shard takes no more words.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mlc {

class WordCache {
 public:
  // Appends the word's ids. Returns false if they are not in the cache.
  bool Find(std::string_view word, std::vector<int32_t>* ids) const {
    if (word.size() > kMaxWordBytes) return false;
    Shard& shard = ShardOf(word);
    std::lock_guard<std::mutex> lock(shard.mutex);
    auto found = shard.words.find(std::string(word));
    if (found == shard.words.end()) return false;
    ids->insert(ids->end(), found->second.begin(), found->second.end());
    return true;
  }

  void Add(std::string_view word, const int32_t* begin, const int32_t* end) const {
    if (word.size() > kMaxWordBytes) return;
    Shard& shard = ShardOf(word);
    std::lock_guard<std::mutex> lock(shard.mutex);
    if (shard.words.size() >= kMaxWordsPerShard) return;
    shard.words.emplace(std::string(word), std::vector<int32_t>(begin, end));
  }

 private:
  static constexpr size_t kShards = 16, kMaxWordsPerShard = 2048, kMaxWordBytes = 128;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<int32_t>> words;
  };
  Shard& ShardOf(std::string_view word) const {
    return shards_[std::hash<std::string_view>()(word) % kShards];
  }
  mutable std::array<Shard, kShards> shards_;
};

}  // namespace mlc
