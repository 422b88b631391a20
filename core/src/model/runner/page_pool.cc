#include "model/runner/page_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/runner/library_functions.h"
#include "platform/memory.h"

namespace mlc {

int64_t PagePool::MostPages(const LibraryMetadata& metadata, Device device) {
  int64_t largest = 1;
  for (const LayerPages& layer : metadata.layers) largest = std::max(largest, layer.page_bytes);
  return LargestTensorBytes(device) / largest;
}

PagePool::PagePool(ModelLibrary* library, const LibraryMetadata* metadata, Device device)
    : copy_(library, metadata->functions.at(kCopyPages)), metadata_(metadata), device_(device) {}

Status PagePool::Allocate(int num_pages) {
  layers_.clear();
  list_ = TensorList();
  for (const LayerPages& layer : metadata_->layers) {
    Shape shape = layer.page_shape;
    shape.insert(shape.begin(), num_pages);
    MLC_ASSIGN_OR_RETURN(Tensor pages, Tensor::Empty(shape, layer.dtype, device_));
    layers_.push_back(std::move(pages));
  }
  list_ = TensorList(layers_);
  return Status();
}

Status PagePool::Copy(const std::vector<int32_t>& source, const std::vector<int32_t>& destination) {
  auto on_device = [this](const std::vector<int32_t>& pages) {
    return OnDevice(pages.data(), static_cast<int64_t>(pages.size()), {}, DType::kInt32, device_);
  };
  MLC_ASSIGN_OR_RETURN(Tensor from, on_device(source));
  MLC_ASSIGN_OR_RETURN(Tensor to, on_device(destination));
  return copy_({{"source", from}, {"destination", to}, {kPages, list_}}).status();
}

Status PagePool::Read(const std::vector<int32_t>& pages, char* out) const {
  for (int32_t page : pages) {
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      int64_t bytes = metadata_->layers[layer].page_bytes;
      MLC_RETURN_IF_ERROR(layers_[layer].Read(page * bytes, out, bytes));
      out += bytes;
    }
  }
  return Status();
}

Status PagePool::Write(const std::vector<int32_t>& pages, const char* data) {
  for (int32_t page : pages) {
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      int64_t bytes = metadata_->layers[layer].page_bytes;
      MLC_RETURN_IF_ERROR(layers_[layer].Write(page * bytes, data, bytes));
      data += bytes;
    }
  }
  return Status();
}

// Neighbouring pages go together: a page of a layer may be smaller than the system's pages.
int64_t PagePool::Discard(const std::vector<int32_t>& pages) {
  if (device_.kind() != "cpu") return 0;
  std::vector<int32_t> sorted = pages;
  std::sort(sorted.begin(), sorted.end());
  int64_t discarded = 0;
  for (size_t begin = 0, end; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end] == sorted[end - 1] + 1;) ++end;
    int64_t count = static_cast<int64_t>(end - begin);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      int64_t bytes = metadata_->layers[layer].page_bytes;
      char* data = static_cast<char*>(layers_[layer].data()) + sorted[begin] * bytes;
      discarded += DiscardMemory(data, count * bytes);
    }
  }
  return discarded;
}

Status PagePool::ClearSlots(int num_slots, char* page) const {
  for (const LayerPages& layer : metadata_->layers) {
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
