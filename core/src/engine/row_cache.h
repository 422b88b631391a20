// Rows of pictures that a tower made, kept for later requests: in a chat each answer shows all
// earlier pictures again. Any thread may use it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/content_hash.h"
#include "model/late_rows.h"

namespace mlc {

class RowCache {
 public:
  // `most_bytes`: of all values together. The ones that were not used for longest go first.
  explicit RowCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Null if it holds none.
  RowValues Find(const ContentHash& key);
  void Put(const ContentHash& key, RowValues values);
  void Clear();

  int64_t num_bytes() const;
  int64_t num_hits() const;  // since ResetHits
  void ResetHits();

 private:
  using Recent = std::list<std::pair<ContentHash, RowValues>>;  // the last used one comes first
  const int64_t most_bytes_;
  mutable std::mutex mutex_;
  int64_t num_bytes_ = 0, num_hits_ = 0;
  Recent recent_;
  std::map<ContentHash, Recent::iterator> places_;
};

}  // namespace mlc
