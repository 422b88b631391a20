#include "engine/speculation/ngram_table.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace mlc {
namespace {

constexpr int kTokenBits = 20;  // the largest vocabularies have less than 2^19 tokens
constexpr uint32_t kTokenMask = (1u << kTokenBits) - 1;

// Where an n-gram's entry is, and what the entry begins with.
struct Place {
  size_t index;
  uint32_t check;  // not 0
};

// `tokens`: the n-gram. None if it has an id that is not a token.
std::optional<Place> PlaceOf(const int32_t* tokens, int length) {
  uint64_t hash = static_cast<uint64_t>(length);
  for (int i = 0; i < length; ++i) {
    if (tokens[i] < 0) return std::nullopt;
    hash = (hash ^ static_cast<uint64_t>(tokens[i])) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  uint32_t check = static_cast<uint32_t>(hash) << kTokenBits;
  return Place{static_cast<size_t>(hash >> (64 - NgramTable::kIndexBits)),
               check | 1u << kTokenBits};
}

}  // namespace

void NgramTable::Learn(const std::vector<int32_t>& tokens, int begin) {
  if (entries_.empty()) entries_.resize(kBytes / sizeof(uint32_t));
  for (int at = begin; at < static_cast<int>(tokens.size()); ++at) {
    int32_t token = tokens[static_cast<size_t>(at)];
    if (token < 0 || static_cast<uint32_t>(token) > kTokenMask) continue;
    for (int length : kLengths) {
      if (at < length) continue;
      std::optional<Place> place = PlaceOf(tokens.data() + at - length, length);
      if (place) entries_[place->index] = place->check | static_cast<uint32_t>(token);
    }
  }
}

Drafts NgramTable::LookUp(const std::vector<int32_t>& tokens, int max_drafts,
                          int longer_than) const {
  if (entries_.empty()) return Drafts();
  int longest = *std::begin(kLengths), known = static_cast<int>(tokens.size());
  std::vector<int32_t> text(tokens.end() - std::min(longest, known), tokens.end());
  auto next = [&]() -> std::optional<int32_t> {
    for (int length : kLengths) {
      if (length <= longer_than || length > static_cast<int>(text.size())) continue;
      std::optional<Place> place = PlaceOf(text.data() + text.size() - length, length);
      if (!place) continue;
      uint32_t entry = entries_[place->index];
      if ((entry & ~kTokenMask) == place->check) return static_cast<int32_t>(entry & kTokenMask);
    }
    return std::nullopt;
  };
  Drafts drafts;
  while (drafts.size() < max_drafts) {
    std::optional<int32_t> token = next();
    if (!token) break;
    drafts.Append(*token);
    text.push_back(*token);
    longer_than = 0;
  }
  return drafts;
}

}  // namespace mlc
