// The tensors that hold keys and values: one tensor per layer, page after page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model_config.h"
#include "model/runner/library_call.h"
#include "runtime/model_library.h"
#include "runtime/tensor.h"

namespace mlc {

// Pages in the form of model.h: ReadPages, WritePages, CopyPages.
class PagePool {
 public:
  // `library` copies pages. `library` and `metadata` must outlive the pool.
  PagePool(ModelLibrary* library, const LibraryMetadata* metadata, Device device);

  // The most pages that a pool can have: all pages of a layer are one tensor.
  static int64_t MostPages(const LibraryMetadata& metadata, Device device);

  const std::vector<Tensor>& layers() const { return layers_; }
  // The pages of each group (kv/page_groups.h).
  Status Allocate(const std::vector<int>& num_pages);
  Status Copy(const std::vector<int32_t>& source, const std::vector<int32_t>& destination);
  Status Read(const std::vector<int32_t>& pages, char* out) const;
  Status Write(const std::vector<int32_t>& pages, const char* data);
  Status ClearSlots(int num_slots, size_t group, char* page) const;
  int64_t Discard(const std::vector<int32_t>& pages);

 private:
  size_t GroupOf(int32_t page) const { return page < num_pages_.front() ? 0 : 1; }
  size_t GroupOf(const LayerPages& layer) const { return layer.is_windowed ? 1 : 0; }
  // The number of a page in its group.
  int32_t NumberInGroup(int32_t page) const {
    return GroupOf(page) == 0 ? page : page - num_pages_.front();
  }
  // Calls f(layer, offset of the page in its tensor, bytes of the page) for each layer of its
  // group.
  template <typename F>
  Status ForLayersOf(int32_t page, F f) const;

  LibraryCall copy_;
  const LibraryMetadata* metadata_;
  Device device_;
  std::vector<int> num_pages_;
  std::vector<Tensor> layers_;
  TensorList list_;  // `layers_` as an argument for library functions
};

}  // namespace mlc
