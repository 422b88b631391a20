#include "model/runner/sharded_runner.h"

#include <atomic>
#include <exception>
#include <functional>
#include <utility>

namespace mlc {
namespace {

using Shards = std::vector<std::unique_ptr<DeviceRunner>>;

// Calls f(shard) for all shards, up to the first error.
template <typename F>
Status ForEach(const Shards& shards, F f) {
  for (const std::unique_ptr<DeviceRunner>& shard : shards) MLC_RETURN_IF_ERROR(f(shard.get()));
  return Status();
}

// Calls f() of one shard. An exception must not leave its thread.
template <typename F>
auto Caught(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory is left");
  } catch (const std::exception& error) {
    return Internal(error.what());
  }
}

using LoadOf = std::function<Status(int rank, const LoadProgress& progress)>;

Status LoadInTurn(int count, const LoadOf& load, const LoadProgress& progress) {
  for (int rank = 0; rank < count; ++rank) {
    MLC_RETURN_IF_ERROR(load(
        rank, [&](double fraction) { return !progress || progress((rank + fraction) / count); }));
  }
  return Status();
}

// Each shard on its own threads. `progress` is called on the caller's.
Status LoadTogether(ShardThreads* threads, int count, const LoadOf& load,
                    const LoadProgress& progress) {
  std::vector<std::atomic<double>> loaded(static_cast<size_t>(count));
  std::vector<Status> found(loaded.size());
  std::atomic<bool> stops{false}, failed{false};
  bool is_cancelled = false;  // `progress` is not asked again
  auto act = [&](int rank) {
    auto index = static_cast<size_t>(rank);
    auto on_progress = [&](double fraction) {
      loaded[index] = fraction;
      return !stops;
    };
    Status status = Caught([&] { return load(rank, on_progress); });
    // the others stop then, which is no error of theirs
    if (!status.ok() && !failed.exchange(true)) found[index] = std::move(status);
    if (failed) stops = true;
  };
  threads->RunApart(act, [&] {
    if (!progress || stops) return;
    double sum = 0;
    for (const std::atomic<double>& one : loaded) sum += one;
    is_cancelled = !progress(sum / count);
    if (is_cancelled) stops = true;
  });
  for (Status& status : found) MLC_RETURN_IF_ERROR(std::move(status));
  return is_cancelled ? Cancelled("loading was cancelled") : Status();
}

// The sum of f(shard).
template <typename F>
int64_t SumOf(const Shards& shards, F f) {
  int64_t sum = 0;
  for (const std::unique_ptr<DeviceRunner>& shard : shards) sum += f(shard.get());
  return sum;
}

}  // namespace

Result<std::unique_ptr<ShardedRunner>> ShardedRunner::Make(std::unique_ptr<DeviceRunner> first,
                                                           const ByteSource& source,
                                                           const LoadProgress& progress,
                                                           const std::string& strips_prefix) {
  std::unique_ptr<ShardedRunner> made(new ShardedRunner());
  int count = first->info().num_shards;
  MLC_ASSIGN_OR_RETURN(made->devices_, DevicesOfShards(first->device(), count));
  MLC_ASSIGN_OR_RETURN(made->group_, MakeShardGroup(made->devices_));
  bool on_cpu = first->device().kind() == "cpu";
  MLC_ASSIGN_OR_RETURN(made->threads_, ShardThreads::Make(count, on_cpu));
  made->shards_.push_back(std::move(first));
  for (int rank = 1; rank < count; ++rank) {
    Device device = made->devices_[static_cast<size_t>(rank)];
    MLC_ASSIGN_OR_RETURN(made->shards_.emplace_back(), made->shards_.front()->ForShard(device));
  }
  LoadOf load = [&](int rank, const LoadProgress& of_shard) {
    auto index = static_cast<size_t>(rank);
    return made->shards_[index]->LoadWeights(source, of_shard, strips_prefix, rank);
  };
  MLC_RETURN_IF_ERROR(on_cpu ? LoadTogether(made->threads_.get(), count, load, progress)
                             : LoadInTurn(count, load, progress));
  return made;
}

Status ShardedRunner::AllocatePages(const std::vector<int>& num_pages) {
  first_windowed_ = num_pages.front();
  return ForEach(shards_, [&](DeviceRunner* shard) { return shard->AllocatePages(num_pages); });
}

Status ShardedRunner::CopyPages(const std::vector<int32_t>& source,
                                const std::vector<int32_t>& destination) {
  return ForEach(shards_,
                 [&](DeviceRunner* shard) { return shard->CopyPages(source, destination); });
}

int64_t ShardedRunner::PartBytes(size_t group) const {
  return info().PageBytes()[group] / info().num_shards;
}

template <typename F>
Status ShardedRunner::ForPartsOf(int32_t page, F f) const {
  int64_t bytes = PartBytes(page < first_windowed_ ? 0 : 1), offset = 0;
  for (const std::unique_ptr<DeviceRunner>& shard : shards_) {
    MLC_RETURN_IF_ERROR(f(shard.get(), offset));
    offset += bytes;
  }
  return Status();
}

Status ShardedRunner::ReadPages(const std::vector<int32_t>& pages, char* out) const {
  for (int32_t page : pages) {
    MLC_RETURN_IF_ERROR(ForPartsOf(page, [&](DeviceRunner* shard, int64_t offset) {
      return shard->ReadPages({page}, out + offset);
    }));
    out += info().PageBytes()[page < first_windowed_ ? 0 : 1];
  }
  return Status();
}

Status ShardedRunner::WritePages(const std::vector<int32_t>& pages, const char* data) {
  for (int32_t page : pages) {
    MLC_RETURN_IF_ERROR(ForPartsOf(page, [&](DeviceRunner* shard, int64_t offset) {
      return shard->WritePages({page}, data + offset);
    }));
    data += info().PageBytes()[page < first_windowed_ ? 0 : 1];
  }
  return Status();
}

Status ShardedRunner::ClearSlots(int num_slots, size_t group, char* page) const {
  return ForEach(shards_, [&](DeviceRunner* shard) {
    Status status = shard->ClearSlots(num_slots, group, page);
    page += PartBytes(group);
    return status;
  });
}

Status ShardedRunner::AllocateStates(int num_slots) {
  return ForEach(shards_, [&](DeviceRunner* shard) { return shard->AllocateStates(num_slots); });
}

Status ShardedRunner::ReadState(int32_t slot, char* out) const {
  return ForEach(shards_, [&](DeviceRunner* shard) {
    Status status = shard->ReadState(slot, out);
    out += info().state_bytes / info().num_shards;
    return status;
  });
}

Status ShardedRunner::WriteState(int32_t slot, const char* data) {
  return ForEach(shards_, [&](DeviceRunner* shard) {
    Status status = shard->WriteState(slot, data);
    data += info().state_bytes / info().num_shards;
    return status;
  });
}

Status ShardedRunner::AllocateAdapters(int) { return Unsupported("shards take no adapters"); }
Status ShardedRunner::WriteAdapter(const std::vector<int32_t>&, const AdapterWeights&) {
  return Unsupported("shards take no adapters");
}

int64_t ShardedRunner::DiscardPages(const std::vector<int32_t>& pages) {
  return SumOf(shards_, [&](DeviceRunner* shard) { return shard->DiscardPages(pages); });
}

int64_t ShardedRunner::DropWeights() {
  return SumOf(shards_, [](DeviceRunner* shard) { return shard->DropWeights(); });
}

int64_t ShardedRunner::TouchWeights() {
  std::atomic<int64_t> bytes{0};
  threads_->Run([&](int rank) { bytes += shards_[static_cast<size_t>(rank)]->TouchWeights(); });
  return bytes;
}

Result<Outputs> ShardedRunner::Forward(const Batch& batch) {
  if (group_->failed() >= 0) {
    for (const std::unique_ptr<DeviceRunner>& shard : shards_) shard->ForgetRecords();
    MLC_RETURN_IF_ERROR(group_->Reset());
  }
  Outputs outputs;
  std::vector<Status> found(shards_.size());
  threads_->Run([&](int rank) {
    auto index = static_cast<size_t>(rank);
    WithCollective with(group_->shard(rank));
    Result<Outputs> made = Caught([&] { return shards_[index]->Forward(batch); });
    if (!made.ok()) {
      group_->Fail(rank);
      found[index] = made.status();
    } else if (rank == 0) {
      outputs = *made;
    }
  });
  int failed = group_->failed();
  if (failed < 0) return outputs;
  return std::move(found[static_cast<size_t>(failed)]).In("shard " + std::to_string(failed));
}

}  // namespace mlc
