// Numbers for embedding rows of prompts. In a sequence of ids they take the place of token ids, so
// that the ids describe everything that was computed. All rows of one content have the same number,
// which is below zero.
//
// Whole contents follow one another. So if two sequences of ids begin alike, their contents begin
// alike too: the ids before a row say which row of its content it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

#include "base/content_hash.h"
#include "base/status.h"

namespace mlc {

class ContentNames {
 public:
  // Remembers the last `most` contents. A content that comes again later gets a new number; then
  // its cached state is not found and it is computed again.
  explicit ContentNames(size_t most = 1 << 16) : most_(most) {}

  // Returns kResourceExhausted after 2^31 contents.
  Result<int32_t> NameOf(const ContentHash& content);

 private:
  using Recent = std::list<std::pair<ContentHash, int32_t>>;  // the last used one comes first
  size_t most_;
  int32_t last_name_ = 0;
  Recent recent_;
  std::map<ContentHash, Recent::iterator> places_;
};

}  // namespace mlc
