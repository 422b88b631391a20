// The places in which blocks of prefixes are kept outside the device: the host's memory, and below
// it a folder. A block goes into each place that takes it, and comes from the first that has it.
#pragma once

#include "engine/kept/block_files.h"
#include "engine/kept/block_memory.h"

namespace mlc {

struct PrefixPlaces {
  int64_t memory_bytes = 0;  // 0: not in memory
  PrefixFolder folder;

  bool any() const { return memory_bytes > 0 || !folder.path.empty(); }
};

// Of one thread, but for Has, Wants and memory().
class BlockStore {
 public:
  explicit BlockStore(PrefixPlaces places)
      : memory_(places.memory_bytes), files_(std::move(places.folder)) {}

  BlockMemory& memory() { return memory_; }
  const BlockMemory& memory() const { return memory_; }
  BlockFiles& files() { return files_; }
  bool Has(const ContentHash& key) const { return memory_.Has(key) || files_.Has(key); }
  // Whether a place lacks the block and would take it.
  bool Wants(const ContentHash& key) const {
    return (memory_.takes_more() && !memory_.Has(key)) || (files_.writes() && !files_.Has(key));
  }
  // Marks the block as used now, wherever it is.
  void Use(const ContentHash& key) {
    (void)memory_.Use(key);
    (void)files_.Use(key);
  }
  KeptBytes Read(const ContentHash& key, std::string_view head, int64_t body_bytes) const {
    BlockMemory::Body body = memory_.Find(key);
    if (body == nullptr) return files_.Read(key, head, body_bytes);
    return {body, {body.get(), static_cast<size_t>(body_bytes)}};
  }
  // Whether a place has it afterwards.
  struct Written {
    bool anywhere = false, new_file = false;
  };
  Written Write(const ContentHash& key, std::string_view head, const BlockMemory::Body& body,
                int64_t body_bytes) {
    bool in_memory = memory_.Write(key, body, body_bytes), in_file = files_.Has(key);
    bool is_new =
        !in_file && files_.Write(key, head, {body.get(), static_cast<size_t>(body_bytes)});
    return {in_memory || in_file || is_new, is_new};
  }

 private:
  BlockMemory memory_;
  BlockFiles files_;
};

}  // namespace mlc
