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
  // Reads an object {"token": id, ...}. Ids may have gaps, but not so large that the table of ids
  // would dwarf the tokens (a damaged id must not allocate gigabytes).
  static Result<Vocabulary> FromJson(const JsonView& view);

  // A second token of the same text takes its place in TokenToId.
  void Add(std::string_view token, int32_t id);

  std::optional<int32_t> TokenToId(std::string_view token) const {
    auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // nullptr when the id names no token.
  const std::string* IdToToken(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return nullptr;
    return tokens_[id];
  }
  int32_t num_tokens() const { return static_cast<int32_t>(ids_.size()); }
  int32_t max_id() const { return static_cast<int32_t>(tokens_.size()) - 1; }

 private:
  std::deque<std::string> storage_;  // stable addresses for the two below
  std::unordered_map<std::string_view, int32_t> ids_;
  std::vector<const std::string*> tokens_;
};

}  // namespace mlc

#endif  // MLC_TEXT_VOCABULARY_H_
