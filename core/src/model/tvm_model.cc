#include "model/tvm_model.h"

#include <algorithm>
#include <cstring>

namespace mlc {
namespace {

// Every sequence has one row and every row wants logits: what batch_decode is compiled for.
bool IsDecode(const Batch& batch) {
  return batch.num_rows() == batch.num_sequences() &&
         batch.logit_rows.size() == batch.tokens.size();
}

Status CheckFunctions(const ModelLibrary& library, const std::string& path) {
  for (const char* name : {"embed", "batch_prefill", "copy_kv_pages"}) {
    if (!library.Has(name)) return Corrupt(path + ": has no function '" + name + "'");
  }
  return Status();
}

struct OpenLibrary {
  std::unique_ptr<ModelLibrary> library;
  LibraryMetadata metadata;
};

Result<OpenLibrary> OpenFor(const ChatConfig& config, const std::string& path, Device device) {
  OpenLibrary open;
  MLC_ASSIGN_OR_RETURN(open.library, ModelLibrary::Load(path, device));
  MLC_RETURN_IF_ERROR(CheckFunctions(*open.library, path));
  MLC_ASSIGN_OR_RETURN(open.metadata, ParseLibraryMetadata(open.library->metadata_json(), path));
  Status fits = CheckLibraryFitsModel(open.metadata, config);
  if (!fits.ok()) return std::move(fits).In(path);
  return open;
}

}  // namespace

Result<ModelInfo> TVMModel::Inspect(const ChatConfig& config, const std::string& library_path,
                                    Device device) {
  MLC_ASSIGN_OR_RETURN(OpenLibrary open, OpenFor(config, library_path, device));
  return open.metadata.info;
}

Result<std::unique_ptr<TVMModel>> TVMModel::Load(const ByteSource& source, const ChatConfig& config,
                                                 const std::string& library_path, Device device,
                                                 const LoadProgress& progress) {
  MLC_ASSIGN_OR_RETURN(OpenLibrary open, OpenFor(config, library_path, device));
  Result<std::vector<Tensor>> weights = LoadWeights(source, open.metadata.params, device, progress);
  if (!weights.ok()) {
    Status error = weights.status();
    return error.param() == "model_lib" ? std::move(error).In(library_path) : error;
  }
  open.metadata.info.library_id = open.library->id();
  MLC_ASSIGN_OR_RETURN(open.metadata.info.weights_id, WeightsId(source));
  std::unique_ptr<TVMModel> model(
      new TVMModel(std::move(open.library), std::move(open.metadata), device));
  model->params_ = TensorList(*weights);
  return model;
}

Status TVMModel::AllocatePages(int num_pages) {
  Shape shape = metadata_.page_shape;
  shape.insert(shape.begin(), num_pages);
  layers_.clear();
  for (int layer = 0; layer < metadata_.num_layers; ++layer) {
    MLC_ASSIGN_OR_RETURN(Tensor pages, Tensor::Empty(shape, metadata_.page_dtype, device_));
    layers_.push_back(std::move(pages));
  }
  pages_ = TensorList(layers_);
  return Status();
}

Result<Tensor> TVMModel::IntTensor(const std::vector<int32_t>& values) const {
  MLC_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kInt32, device_));
  std::copy(values.begin(), values.end(), static_cast<int32_t*>(tensor.data()));
  return tensor;
}

Status TVMModel::CopyPages(const std::vector<int32_t>& source,
                           const std::vector<int32_t>& destination) {
  MLC_ASSIGN_OR_RETURN(Tensor from, IntTensor(source));
  MLC_ASSIGN_OR_RETURN(Tensor to, IntTensor(destination));
  return library_->CallVoid("copy_kv_pages", {from, to, pages_});
}

template <typename Visit>
Status TVMModel::ForEachPart(const std::vector<int32_t>& pages, Visit&& visit) const {
  constexpr int kCpu = 1;
  if (device_.type != kCpu) {
    return Unsupported("the state of a conversation cannot be copied from or to " + device_.name());
  }
  size_t part_bytes = static_cast<size_t>(info().page_bytes) / layers_.size();
  for (int32_t page : pages) {
    for (const Tensor& layer : layers_) {
      visit(static_cast<char*>(layer.data()) + static_cast<size_t>(page) * part_bytes, part_bytes);
    }
  }
  return Status();
}

Status TVMModel::ReadPages(const std::vector<int32_t>& pages, char* out) const {
  return ForEachPart(pages, [&out](const char* part, size_t bytes) {
    std::memcpy(out, part, bytes);
    out += bytes;
  });
}

Status TVMModel::WritePages(const std::vector<int32_t>& pages, const char* data) {
  return ForEachPart(pages, [&data](char* part, size_t bytes) {
    std::memcpy(part, data, bytes);
    data += bytes;
  });
}

Status TVMModel::ClearSlots(int num_slots, char* page) const {
  if (metadata_.slot_runs.empty()) {
    return Unsupported("the model library does not say how its pages lie: compile the model again");
  }
  size_t element = static_cast<size_t>(*TensorBytes({1}, metadata_.page_dtype));
  for (int layer = 0; layer < metadata_.num_layers; ++layer) {
    for (const SlotRun& run : metadata_.slot_runs) {
      size_t slot = static_cast<size_t>(run.width) * element, block = slot * info().page_size;
      for (int64_t i = 0; i < run.blocks; ++i, page += block) {
        std::memset(page + num_slots * slot, 0, block - num_slots * slot);
      }
    }
  }
  return Status();
}

Result<std::vector<Argument>> TVMModel::BatchArguments(const Batch& batch) {
  MLC_ASSIGN_OR_RETURN(Tensor tokens, IntTensor(batch.tokens));
  MLC_ASSIGN_OR_RETURN(Tensor embeddings, library_->Call("embed", {tokens, params_}));
  std::vector<Argument> arguments = {embeddings};
  for (const std::vector<int32_t>* part :
       {&batch.positions, &batch.slots, &batch.row_sequence, &batch.page_indptr,
        &batch.page_indices, &batch.logit_rows}) {
    MLC_ASSIGN_OR_RETURN(Tensor tensor, IntTensor(*part));
    arguments.push_back(std::move(tensor));
  }
  arguments.push_back(pages_);
  arguments.push_back(params_);
  return arguments;
}

Result<float*> TVMModel::Forward(const Batch& batch) {
  MLC_ASSIGN_OR_RETURN(std::vector<Argument> arguments, BatchArguments(batch));
  bool decode = IsDecode(batch) && library_->Has("batch_decode");
  MLC_ASSIGN_OR_RETURN(logits_,
                       library_->Call(decode ? "batch_decode" : "batch_prefill", arguments));
  Shape expected = {static_cast<int64_t>(batch.logit_rows.size()), info().vocab_size};
  if (logits_.shape() != expected || logits_.dtype() != DType::kFloat32) {
    return Internal("the model returned logits of shape " + ShapeText(logits_.shape()) +
                    " instead of " + ShapeText(expected));
  }
  return batch.logit_rows.empty() ? nullptr : static_cast<float*>(logits_.data());
}

}  // namespace mlc
