#include "model/runner/page_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/runner/library_functions.h"
#include "platform/memory.h"

namespace mlc {
namespace {

constexpr int64_t kShortHistory = 4 << 20;  // bytes of a layer's pages

// Nothing is copied where there are no pages.
FunctionSpec CopyOf(const FunctionSpecs& functions) {
  auto found = functions.find(kCopyPages);
  return found == functions.end() ? FunctionSpec() : found->second;
}

}  // namespace

int64_t PagePool::MostPages(const LibraryMetadata& metadata, Device device) {
  int64_t largest = 1;
  for (const LayerPages& layer : metadata.layers) largest = std::max(largest, layer.page_bytes);
  return LargestTensorBytes(device) / largest;
}

PagePool::PagePool(ModelLibrary* library, const LibraryMetadata* metadata, Device device)
    : copy_(library, CopyOf(metadata->functions)), metadata_(metadata), device_(device) {}

Status PagePool::Allocate(const std::vector<int>& num_pages) {
  num_pages_ = num_pages;
  layers_.clear();
  list_ = TensorList();
  for (const LayerPages& layer : metadata_->layers) {
    Shape shape = layer.page_shape;
    shape.insert(shape.begin(), num_pages_[GroupOf(layer)]);
    MLC_ASSIGN_OR_RETURN(Tensor pages, Tensor::Empty(shape, layer.dtype, device_));
    // Each step reads a long history from end to end. A short one lies at the beginning, and would
    // take up to 2 MB more of each layer.
    if (device_.kind() == "cpu" && pages.bytes() > kShortHistory) {
      UseLargePages(static_cast<char*>(pages.data()) + kShortHistory,
                    pages.bytes() - kShortHistory);
    }
    layers_.push_back(std::move(pages));
  }
  list_ = TensorList(layers_);
  return Status();
}

Status PagePool::Copy(const std::vector<int32_t>& source, const std::vector<int32_t>& destination) {
  std::vector<NamedArgument> arguments = {{kPages, list_}};
  constexpr const char* kNames[][2] = {{"source", "destination"},
                                       {"windowed_source", "windowed_destination"}};
  for (size_t group = 0; group < num_pages_.size(); ++group) {
    for (const std::vector<int32_t>* pages : {&source, &destination}) {
      std::vector<int32_t> own;
      for (int32_t page : *pages) {
        if (GroupOf(page) == group) own.push_back(NumberInGroup(page));
      }
      if (own.empty()) own = {0};  // onto itself: kernels do not start for nothing
      auto count = static_cast<int64_t>(own.size());
      MLC_ASSIGN_OR_RETURN(Tensor numbers, OnDevice(own.data(), count, {}, DType::kInt32, device_));
      arguments.emplace_back(kNames[group][pages == &source ? 0 : 1], numbers);
    }
  }
  return copy_(arguments).status();
}

template <typename F>
Status PagePool::ForLayersOf(int32_t page, F f) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerPages& layer = metadata_->layers[i];
    if (GroupOf(layer) != GroupOf(page)) continue;
    MLC_RETURN_IF_ERROR(f(i, NumberInGroup(page) * layer.page_bytes, layer.page_bytes));
  }
  return Status();
}

Status PagePool::Read(const std::vector<int32_t>& pages, char* out) const {
  auto read = [&](size_t layer, int64_t offset, int64_t bytes) {
    Status status = layers_[layer].Read(offset, out, bytes);
    out += bytes;
    return status;
  };
  for (int32_t page : pages) MLC_RETURN_IF_ERROR(ForLayersOf(page, read));
  return Status();
}

Status PagePool::Write(const std::vector<int32_t>& pages, const char* data) {
  auto write = [&](size_t layer, int64_t offset, int64_t bytes) {
    Status status = layers_[layer].Write(offset, data, bytes);
    data += bytes;
    return status;
  };
  for (int32_t page : pages) MLC_RETURN_IF_ERROR(ForLayersOf(page, write));
  return Status();
}

// Neighbouring pages go together: a page of a layer may be smaller than the system's pages.
int64_t PagePool::Discard(const std::vector<int32_t>& pages) {
  if (device_.kind() != "cpu") return 0;
  std::vector<int32_t> sorted = pages;
  std::sort(sorted.begin(), sorted.end());
  int64_t discarded = 0;
  auto follows = [&](size_t i) {
    return sorted[i] == sorted[i - 1] + 1 && GroupOf(sorted[i]) == GroupOf(sorted[i - 1]);
  };
  for (size_t begin = 0, end; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && follows(end);) ++end;
    int64_t count = static_cast<int64_t>(end - begin);
    (void)ForLayersOf(sorted[begin], [&](size_t layer, int64_t offset, int64_t bytes) {
      char* data = static_cast<char*>(layers_[layer].data()) + offset;
      discarded += DiscardMemory(data, count * bytes);
      return Status();
    });
  }
  return discarded;
}

Status PagePool::ClearSlots(int num_slots, size_t group, char* page) const {
  for (const LayerPages& layer : metadata_->layers) {
    if (GroupOf(layer) != group) continue;
    size_t element = static_cast<size_t>(*TensorBytes({1}, layer.dtype));
    for (const SlotRun& run : layer.slot_runs) {
      size_t slot = static_cast<size_t>(run.width) * element;
      size_t block = slot * static_cast<size_t>(metadata_->info.page_size);
      for (int64_t i = 0; i < run.blocks; ++i, page += block) {
        std::memset(page + num_slots * slot, 0, block - num_slots * slot);
      }
    }
  }
  return Status();
}

}  // namespace mlc
