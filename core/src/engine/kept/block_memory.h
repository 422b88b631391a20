// Blocks of prefixes in the host's memory, within a budget: what a device with a memory of its own
// has to drop is copied back from here.
//
// Blocks that were not used for the longest time go first, but none of the prefix that is being
// written: of a prefix that does not fit, the beginning stays.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/content_hash.h"

namespace mlc {

// Thread-safe.
class BlockMemory {
 public:
  // `max_bytes`: 0 is no such memory.
  explicit BlockMemory(int64_t max_bytes) : max_bytes_(max_bytes) {}

  using Body = std::shared_ptr<const char[]>;
  bool Has(const ContentHash& key) const;
  // Null if it is not there.
  Body Find(const ContentHash& key) const;
  // What is used and written from now on belongs to one prefix.
  void BeginPrefix();
  // Marks the block as used now. False if it is not there.
  bool Use(const ContentHash& key);
  // Whether the block is there afterwards.
  bool Write(const ContentHash& key, Body body, int64_t bytes);
  // Whether it may have room for another block of the prefix.
  bool takes_more() const;
  void Clear();
  // Clears it, and takes nothing any more.
  void Close();
  int64_t num_bytes() const;

 private:
  struct Block {
    ContentHash key;
    Body body;
    int64_t bytes;
    int64_t prefix;  // the number of the last prefix that it was used for
  };
  using Blocks = std::list<Block>;

  // Drops others until so many bytes are free. False if there are not so many.
  bool MakeRoom(int64_t bytes);

  mutable std::mutex mutex_;
  int64_t max_bytes_, num_bytes_ = 0, prefix_ = 0;
  bool is_full_ = false;  // of the prefix
  Blocks blocks_;         // used for the longest time not: first
  std::map<ContentHash, Blocks::iterator> by_key_;
};

}  // namespace mlc
