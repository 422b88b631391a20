#include "engine/kept/block_memory.h"

#include <utility>

namespace mlc {

bool BlockMemory::Has(const ContentHash& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return by_key_.count(key) > 0;
}

BlockMemory::Body BlockMemory::Find(const ContentHash& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->body;
}

void BlockMemory::BeginPrefix() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++prefix_;
  is_full_ = false;
}

bool BlockMemory::Use(const ContentHash& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return false;
  found->second->prefix = prefix_;
  blocks_.splice(blocks_.end(), blocks_, found->second);
  return true;
}

bool BlockMemory::MakeRoom(int64_t bytes) {
  while (num_bytes_ + bytes > max_bytes_) {
    if (blocks_.empty() || blocks_.front().prefix == prefix_) return false;
    num_bytes_ -= blocks_.front().bytes;
    by_key_.erase(blocks_.front().key);
    blocks_.pop_front();
  }
  return true;
}

bool BlockMemory::Write(const ContentHash& key, Body body, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (by_key_.count(key) > 0) return true;
  if (is_full_ || !MakeRoom(bytes)) {
    is_full_ = true;  // what follows would be found only behind this block
    return false;
  }
  num_bytes_ += bytes;
  by_key_[key] = blocks_.insert(blocks_.end(), {key, std::move(body), bytes, prefix_});
  return true;
}

bool BlockMemory::takes_more() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return max_bytes_ > 0 && !is_full_;
}

void BlockMemory::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  by_key_.clear();
  blocks_.clear();
  num_bytes_ = 0;
}

void BlockMemory::Close() {
  Clear();
  std::lock_guard<std::mutex> lock(mutex_);
  max_bytes_ = 0;
}

int64_t BlockMemory::num_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return num_bytes_;
}

}  // namespace mlc
