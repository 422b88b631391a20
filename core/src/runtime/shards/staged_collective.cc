#include "runtime/shards/staged_collective.h"

#include <algorithm>

#include "runtime/tvm_convert.h"

namespace mlc {

class StagedCollective::Shard : public Collective {
 public:
  Shard(Collective* host, Device device) : host_(host), device_(device) {}

  int rank() const override { return host_->rank(); }
  int count() const override { return host_->count(); }

  Status Sum(const float* x, int64_t size, float* sum) override {
    MLC_RETURN_IF_ERROR(Read(x, size, size));
    MLC_RETURN_IF_ERROR(host_->Sum(given_.data(), size, made_.data()));
    return CopyToDevice(device_, made_.data(), sum, Bytes(size));
  }

  Status Join(const float* x, int64_t rows, int64_t width, float* joined) override {
    int64_t size = rows * width, all = rank() == 0 ? size * count() : 0;
    MLC_RETURN_IF_ERROR(Read(x, size, all));
    MLC_RETURN_IF_ERROR(host_->Join(given_.data(), rows, width, made_.data()));
    return all == 0 ? Status() : CopyToDevice(device_, made_.data(), joined, Bytes(all));
  }

 private:
  static int64_t Bytes(int64_t floats) { return floats * static_cast<int64_t>(sizeof(float)); }

  // Makes room for a result of `made` floats, too. The memory is kept for the next steps.
  Status Read(const float* x, int64_t size, int64_t made) {
    given_.resize(std::max(given_.size(), static_cast<size_t>(size)));
    made_.resize(std::max(made_.size(), static_cast<size_t>(made)));
    return CopyToHost(device_, x, given_.data(), Bytes(size));
  }

  Collective* host_;
  Device device_;
  std::vector<float> given_, made_;
};

StagedCollective::StagedCollective(const std::vector<Device>& devices)
    : host_(static_cast<int>(devices.size())) {
  for (Device device : devices) {
    auto rank = static_cast<int>(shards_.size());
    shards_.push_back(std::make_unique<Shard>(host_.shard(rank), device));
  }
}

StagedCollective::~StagedCollective() = default;

Collective* StagedCollective::shard(int rank) { return shards_[static_cast<size_t>(rank)].get(); }

void StagedCollective::Fail(int rank) {
  ShardGroup::Fail(rank);
  host_.Fail(rank);
}

Status StagedCollective::Reset() {
  MLC_RETURN_IF_ERROR(host_.Reset());
  return ShardGroup::Reset();
}

}  // namespace mlc
