// Numbers for contents that stand in a sequence in the place of token ids, so that a sequence of
// ids says all of what was computed: the rows of one content have one number, below zero.
//
// Whole contents follow one another, so that equal beginnings of two sequences of numbers are
// equal beginnings of the contents: where in a content a row stands follows from what is before it.
#ifndef MLC_KV_CONTENT_NAMES_H_
#define MLC_KV_CONTENT_NAMES_H_

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
  // Remembers the `most` contents that were used last. One that comes again later gets another
  // number: what is cached of it under the old one is not found any more, and nothing worse.
  explicit ContentNames(size_t most = 1 << 16) : most_(most) {}

  // kResourceExhausted after 2^31 contents.
  Result<int32_t> NameOf(const ContentHash& content);

 private:
  using Recent = std::list<std::pair<ContentHash, int32_t>>;  // used last, first
  size_t most_;
  int32_t last_name_ = 0;
  Recent recent_;
  std::map<ContentHash, Recent::iterator> places_;
};

}  // namespace mlc

#endif  // MLC_KV_CONTENT_NAMES_H_
