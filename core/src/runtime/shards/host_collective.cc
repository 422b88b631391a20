#include "runtime/shards/host_collective.h"

#include <algorithm>
#include <cstring>

#include "runtime/parallel.h"
#include "runtime/spin.h"

namespace mlc {
namespace {

constexpr int64_t kLine = 16;          // floats of a cache line, which one shard writes
constexpr int64_t kBlock = 16 * 1024;  // floats that one thread of a shard adds at a time

}  // namespace

class HostCollective::Shard : public Collective {
 public:
  Shard(HostCollective* group, int rank, int count) : group_(group), rank_(rank), count_(count) {}

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  // Each shard adds a slice, and writes it to all shards.
  Status Sum(const float* x, int64_t size, float* sum) override {
    MLC_RETURN_IF_ERROR(Show(x, sum));
    int64_t lines = (size + kLine - 1) / kLine;
    int64_t begin = std::min(size, lines * rank_ / count_ * kLine);
    int64_t end = std::min(size, lines * (rank_ + 1) / count_ * kLine);
    auto blocks = static_cast<int>((end - begin + kBlock - 1) / kBlock);
    ParallelFor(blocks, [&](int block, int) {
      int64_t first = begin + block * kBlock;
      Add(first, std::min(kBlock, end - first));
    });
    return Meet();
  }

  Status Join(const float* x, int64_t rows, int64_t width, float* joined) override {
    MLC_RETURN_IF_ERROR(Show(x, joined));
    for (int64_t row = 0; rank_ == 0 && row < rows; ++row) {
      for (int rank = 0; rank < count_; ++rank, joined += width) {
        const float* from = group_->shards_[static_cast<size_t>(rank)]->x_ + row * width;
        std::memcpy(joined, from, static_cast<size_t>(width) * sizeof(float));
      }
    }
    return Meet();
  }

 private:
  // Waits until all shards have shown their tensors.
  Status Show(const float* x, float* made) {
    x_ = x;
    made_ = made;
    return Meet();
  }

  Status Meet() { return group_->Meet() ? Status() : group_->HasFailed(); }

  void Add(int64_t first, int64_t size) {
    float* sum = made_ + first;
    std::memcpy(sum, group_->shards_[0]->x_ + first, static_cast<size_t>(size) * sizeof(float));
    for (int rank = 1; rank < count_; ++rank) {
      const float* x = group_->shards_[static_cast<size_t>(rank)]->x_ + first;
      for (int64_t i = 0; i < size; ++i) sum[i] += x[i];
    }
    for (int rank = 0; rank < count_; ++rank) {
      if (rank == rank_) continue;
      float* other = group_->shards_[static_cast<size_t>(rank)]->made_ + first;
      std::memcpy(other, sum, static_cast<size_t>(size) * sizeof(float));
    }
  }

  HostCollective* group_;
  int rank_, count_;
  // The barrier makes these visible to the other shards.
  alignas(64) const float* x_ = nullptr;
  float* made_ = nullptr;
};

HostCollective::HostCollective(int count) {
  for (int rank = 0; rank < count; ++rank) {
    shards_.push_back(std::make_unique<Shard>(this, rank, count));
  }
}

HostCollective::~HostCollective() = default;

Collective* HostCollective::shard(int rank) { return shards_[static_cast<size_t>(rank)].get(); }

Status HostCollective::Reset() {
  arrived_.store(0, std::memory_order_relaxed);
  return ShardGroup::Reset();
}

bool HostCollective::Meet() {
  uint32_t meeting = meeting_.load(std::memory_order_acquire);
  auto all = static_cast<int>(shards_.size());
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
    arrived_.store(0, std::memory_order_relaxed);
    meeting_.store(meeting + 1, std::memory_order_release);
    return failed() < 0;
  }
  SpinOrYield([&] { return meeting_.load(std::memory_order_acquire) != meeting || failed() >= 0; });
  return failed() < 0;
}

}  // namespace mlc
