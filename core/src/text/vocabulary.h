// The tokens of a model: text to id and back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"

namespace mlc {

class Vocabulary {
 public:
  // Reads an object {"token": id, ...}. Ids may have gaps. Very large gaps are refused: a damaged
  // id must not allocate gigabytes.
  static Result<Vocabulary> FromJson(const JsonView& view);

  // If two tokens have the same text, TokenToId returns the second one.
  void Add(std::string_view token, int32_t id);

  std::optional<int32_t> TokenToId(std::string_view token) const;
  // nullptr if the id is not a token.
  const std::string* IdToToken(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return nullptr;
    return tokens_[id];
  }
  int32_t num_tokens() const { return num_tokens_; }
  int32_t max_id() const { return static_cast<int32_t>(tokens_.size()) - 1; }

 private:
  // Reading a tokenizer looks up three tokens for each merge. So this is a table with open
  // addressing, which is at most half full: a look-up reads one or two places of memory.
  struct Slot {
    const std::string* token = nullptr;  // null: empty
    int32_t id = 0;
    uint32_t hash = 0;
  };
  // Where the token is, or where it belongs. There must be slots.
  size_t SlotOf(std::string_view token, uint32_t hash) const;
  void Resize(size_t num_slots);

  std::deque<std::string> storage_;  // its elements never move; the two members below point to them
  std::vector<Slot> slots_;          // a power of two
  std::vector<const std::string*> tokens_;
  int32_t num_tokens_ = 0;
};

}  // namespace mlc
