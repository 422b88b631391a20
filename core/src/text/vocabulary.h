// The tokens of a model: text to id and back.
#ifndef MLC_TEXT_VOCABULARY_H_
#define MLC_TEXT_VOCABULARY_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

  std::optional<int32_t> TokenToId(std::string_view token) const {
    auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // nullptr if the id is not a token.
  const std::string* IdToToken(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return nullptr;
    return tokens_[id];
  }
  int32_t num_tokens() const { return static_cast<int32_t>(ids_.size()); }
  int32_t max_id() const { return static_cast<int32_t>(tokens_.size()) - 1; }

 private:
  std::deque<std::string> storage_;  // its elements never move; the two members below point to them
  std::unordered_map<std::string_view, int32_t> ids_;
  std::vector<const std::string*> tokens_;
};

}  // namespace mlc

#endif  // MLC_TEXT_VOCABULARY_H_
