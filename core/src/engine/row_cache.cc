#include "engine/row_cache.h"

#include <utility>

namespace mlc {
namespace {

int64_t BytesOf(const RowValues& values) {
  return static_cast<int64_t>(values->size() * sizeof(float));
}

}  // namespace

RowValues RowCache::Find(const ContentHash& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  ++num_hits_;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->second;
}

void RowCache::Put(const ContentHash& key, RowValues values) {
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t bytes = BytesOf(values);
  if (bytes > most_bytes_ || places_.count(key) > 0) return;
  for (; num_bytes_ + bytes > most_bytes_; recent_.pop_back()) {
    num_bytes_ -= BytesOf(recent_.back().second);
    places_.erase(recent_.back().first);
  }
  recent_.emplace_front(key, std::move(values));
  places_[key] = recent_.begin();
  num_bytes_ += bytes;
}

void RowCache::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  recent_.clear();
  places_.clear();
  num_bytes_ = 0;
}

int64_t RowCache::num_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return num_bytes_;
}

int64_t RowCache::num_hits() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return num_hits_;
}

void RowCache::ResetHits() {
  std::lock_guard<std::mutex> lock(mutex_);
  num_hits_ = 0;
}

}  // namespace mlc
