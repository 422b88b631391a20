#include "model/tvm_model.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu_features.h"

namespace mlc {
namespace {

constexpr const char* kPrefill = "batch_prefill";
constexpr const char* kHiddenStates = "batch_prefill_to_last_hidden_states";
constexpr const char* kVerify = "batch_verify";
constexpr const char* kLogits = "get_logits";
constexpr const char* kDecode = "batch_decode_tokens";

bool HasCopies(const Batch& batch) { return !batch.copy_source.empty(); }

// Every sequence has one row and every row wants logits: what batch_decode is compiled for.
bool IsDecode(const Batch& batch) {
  return batch.num_rows() == batch.num_sequences() &&
         batch.logit_rows.size() == batch.tokens.size();
}

ProgramInput InputOf(const std::vector<int32_t>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

// So many pages that steps of as many sequences seldom differ in it, which a record of their
// launches would have to follow.
size_t PaddedPages(size_t num_pages) {
  size_t padded = 16;
  while (padded < num_pages) padded *= 2;
  return padded;
}

// The hidden states of the logit_rows, which stand behind those of the hidden_rows.
const float* LastRows(const Batch& batch, const float* hidden_states, int64_t hidden_size) {
  return hidden_states + static_cast<int64_t>(batch.hidden_rows.size()) * hidden_size;
}

Status CheckFunctions(const ModelLibrary& library, const ModelInfo& info, const std::string& path) {
  std::vector<const char*> names = {"embed", "batch_prefill", "copy_kv_pages"};
  if (info.hidden_size > 0) names.insert(names.end(), {kHiddenStates, kLogits});
  for (const char* name : names) {
    if (!library.Has(name)) return Corrupt(path + ": has no function '" + name + "'");
  }
  return Status();
}

Status CheckShape(const Tensor& tensor, const Shape& expected) {
  if (tensor.shape() == expected && tensor.dtype() == DType::kFloat32) return Status();
  return Internal("the model returned a " + std::string(DTypeName(tensor.dtype())) +
                  " tensor of shape " + ShapeText(tensor.shape()) + " instead of float32 " +
                  ShapeText(expected));
}

// An instruction that the processor does not know would end the process.
Status CheckProcessor(const LibraryMetadata& metadata, const std::string& path) {
  std::vector<std::string> missing = MissingCpuFeatures(metadata.cpu_features);
  if (missing.empty()) return Status();
  return Unsupported(path + ": was compiled for processors with " + missing.front() +
                     ", which this one lacks; compile the model for this machine (mlc_llm compile "
                     "--device cpu)")
      .WithParam("model_lib");
}

Status CheckDevice(const LibraryMetadata& metadata, const std::string& path, Device device) {
  std::string kind = device.kind() == "cpu" ? "llvm" : device.kind();
  if (metadata.target_kind.empty() || metadata.target_kind == kind) return Status();
  std::string compiled = metadata.target_kind == "llvm" ? "cpu" : metadata.target_kind;
  return InvalidArgument(path + ": was compiled for the device '" + compiled +
                         "' and is to run on '" + device.name() +
                         "'; compile it again with --device " + device.kind() +
                         ", or leave model_lib out")
      .WithParam("model_lib");
}

struct OpenLibrary {
  std::unique_ptr<ModelLibrary> library;
  LibraryMetadata metadata;
};

Result<OpenLibrary> OpenFor(const ChatConfig& config, const std::string& path, Device device) {
  OpenLibrary open;
  MLC_ASSIGN_OR_RETURN(open.library, ModelLibrary::Load(path, device));
  MLC_ASSIGN_OR_RETURN(open.metadata, ParseLibraryMetadata(open.library->metadata_json(), path));
  MLC_RETURN_IF_ERROR(CheckDevice(open.metadata, path, device));
  MLC_RETURN_IF_ERROR(CheckProcessor(open.metadata, path));
  MLC_RETURN_IF_ERROR(CheckFunctions(*open.library, open.metadata.info, path));
  Status fits = CheckLibraryFitsModel(open.metadata, config);
  if (!fits.ok()) return std::move(fits).In(path);
  open.metadata.info.device = device;
  open.metadata.info.token_trees = open.library->Has(kVerify);
  // A layer's pages are one tensor (AllocatePages).
  int64_t layer_bytes = open.metadata.info.page_bytes / std::max(1, open.metadata.num_layers);
  open.metadata.info.max_pages = LargestTensorBytes(device) / std::max<int64_t>(1, layer_bytes);
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
  MLC_RETURN_IF_ERROR(model->LoadPrograms().In(library_path));
  return model;
}

Status TVMModel::LoadPrograms() {
  auto load = [this](const char* function) {
    return KernelProgram::Load(*library_, function, params_, metadata_.num_layers, device_);
  };
  if (device_.kind() != "cpu") {
    MLC_ASSIGN_OR_RETURN(decode_, load(kDecode));
    return Status();
  }
  MLC_ASSIGN_OR_RETURN(embed_, load("embed"));
  if (!embed_) return Status();
  MLC_ASSIGN_OR_RETURN(prefill_, load(kPrefill));
  MLC_ASSIGN_OR_RETURN(prefill_to_hidden_states_, load(kHiddenStates));
  MLC_ASSIGN_OR_RETURN(head_, load(kLogits));
  MLC_ASSIGN_OR_RETURN(verify_, load(kVerify));
  if (!verify_) metadata_.info.token_trees = false;
  if (prefill_ && prefill_to_hidden_states_ && head_) return Status();
  return Corrupt("has no programs of some functions");
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
  for (KernelProgram* program :
       {prefill_.get(), prefill_to_hidden_states_.get(), verify_.get(), decode_.get()}) {
    if (program != nullptr) program->SetPages(layers_);
  }
  return Status();
}

Result<Tensor> TVMModel::IntTensor(const std::vector<int32_t>& values) const {
  MLC_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kInt32, device_));
  MLC_RETURN_IF_ERROR(tensor.Write(0, values.data(), tensor.bytes()));
  return tensor;
}

Status TVMModel::CopyPages(const std::vector<int32_t>& source,
                           const std::vector<int32_t>& destination) {
  MLC_ASSIGN_OR_RETURN(Tensor from, IntTensor(source));
  MLC_ASSIGN_OR_RETURN(Tensor to, IntTensor(destination));
  return library_->CallVoid("copy_kv_pages", {from, to, pages_});
}

Status TVMModel::ReadPages(const std::vector<int32_t>& pages, char* out) const {
  int64_t bytes = info().page_bytes / static_cast<int64_t>(layers_.size());
  for (int32_t page : pages) {
    for (const Tensor& layer : layers_) {
      MLC_RETURN_IF_ERROR(layer.Read(page * bytes, out, bytes));
      out += bytes;
    }
  }
  return Status();
}

Status TVMModel::WritePages(const std::vector<int32_t>& pages, const char* data) {
  int64_t bytes = info().page_bytes / static_cast<int64_t>(layers_.size());
  for (int32_t page : pages) {
    for (Tensor& layer : layers_) {
      MLC_RETURN_IF_ERROR(layer.Write(page * bytes, data, bytes));
      data += bytes;
    }
  }
  return Status();
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

Result<Tensor> TVMModel::CallStep(const char* function, const Batch& batch,
                                  const std::vector<int32_t>& rows, int width) {
  MLC_ASSIGN_OR_RETURN(Tensor tokens, IntTensor(batch.tokens));
  MLC_ASSIGN_OR_RETURN(Tensor embeddings, library_->Call("embed", {tokens, params_}));
  std::vector<Argument> arguments = {embeddings};
  std::vector<const std::vector<int32_t>*> parts = {
      &batch.positions, &batch.slots, &batch.row_sequence, &batch.page_indptr, &batch.page_indices};
  if (HasCopies(batch)) parts.insert(parts.end(), {&batch.copy_source, &batch.copy_destination});
  parts.push_back(&rows);
  for (const std::vector<int32_t>* part : parts) {
    MLC_ASSIGN_OR_RETURN(Tensor tensor, IntTensor(*part));
    arguments.push_back(std::move(tensor));
  }
  arguments.push_back(pages_);
  arguments.push_back(params_);
  MLC_ASSIGN_OR_RETURN(Tensor result, library_->Call(function, arguments));
  MLC_RETURN_IF_ERROR(CheckShape(result, {static_cast<int64_t>(rows.size()), width}));
  return result;
}

Result<Tensor> TVMModel::DecodeOnDevice(const Batch& batch) {
  if (!decode_) {
    const char* function = library_->Has("batch_decode") ? "batch_decode" : kPrefill;
    return CallStep(function, batch, batch.logit_rows, info().vocab_size);
  }
  padded_pages_ = batch.page_indices;
  padded_pages_.resize(PaddedPages(batch.page_indices.size()), -1);
  const ProgramInput inputs[] = {InputOf(batch.tokens),      InputOf(batch.positions),
                                 InputOf(batch.slots),       InputOf(batch.row_sequence),
                                 InputOf(batch.page_indptr), InputOf(padded_pages_),
                                 InputOf(batch.logit_rows)};
  MLC_ASSIGN_OR_RETURN(Tensor logits, decode_->RunOnDevice(inputs, std::size(inputs)));
  MLC_RETURN_IF_ERROR(
      CheckShape(logits, {static_cast<int64_t>(batch.logit_rows.size()), info().vocab_size}));
  return logits;
}

Result<float*> TVMModel::RunStep(KernelProgram* program, const Batch& batch,
                                 const std::vector<int32_t>& rows) {
  ProgramInput tokens = InputOf(batch.tokens);
  MLC_ASSIGN_OR_RETURN(char* embeddings, embed_->Run(&tokens, 1));
  ProgramInput inputs[9] = {{embeddings, tokens.size},  InputOf(batch.positions),
                            InputOf(batch.slots),       InputOf(batch.row_sequence),
                            InputOf(batch.page_indptr), InputOf(batch.page_indices)};
  size_t count = 6;
  if (HasCopies(batch)) {
    inputs[count++] = InputOf(batch.copy_source);
    inputs[count++] = InputOf(batch.copy_destination);
  }
  inputs[count++] = InputOf(rows);
  MLC_ASSIGN_OR_RETURN(char* result, program->Run(inputs, count));
  return reinterpret_cast<float*>(result);
}

Result<float*> TVMModel::HiddenStates(const Batch& batch, const std::vector<int32_t>& rows) {
  if (embed_) return RunStep(prefill_to_hidden_states_.get(), batch, rows);
  MLC_ASSIGN_OR_RETURN(Tensor states, CallStep(kHiddenStates, batch, rows, info().hidden_size));
  MLC_ASSIGN_OR_RETURN(hidden_states_, states.OnHost());
  return static_cast<float*>(hidden_states_.data());
}

Result<Tensor> TVMModel::CallHead(const Batch& batch, const float* hidden_states) {
  int64_t num_rows = static_cast<int64_t>(batch.logit_rows.size()), size = info().hidden_size;
  MLC_ASSIGN_OR_RETURN(Tensor rows, Tensor::Empty({num_rows, size}, DType::kFloat32, device_));
  MLC_RETURN_IF_ERROR(rows.Write(0, LastRows(batch, hidden_states, size), rows.bytes()));
  MLC_ASSIGN_OR_RETURN(Tensor logits, library_->Call(kLogits, {rows, params_}));
  MLC_RETURN_IF_ERROR(CheckShape(logits, {num_rows, info().vocab_size}));
  return logits;
}

Result<float*> TVMModel::LogitsOfHiddenStates(const Batch& batch, const float* hidden_states) {
  if (head_) {
    ProgramInput input{LastRows(batch, hidden_states, info().hidden_size),
                       static_cast<int64_t>(batch.logit_rows.size())};
    MLC_ASSIGN_OR_RETURN(char* logits, head_->Run(&input, 1));
    return reinterpret_cast<float*>(logits);
  }
  MLC_ASSIGN_OR_RETURN(Tensor logits, CallHead(batch, hidden_states));
  MLC_ASSIGN_OR_RETURN(logits_, logits.OnHost());
  return static_cast<float*>(logits_.data());
}

Result<Tensor> TVMModel::LogitsOnDevice(const Batch& batch) {
  if (HasCopies(batch)) return CallStep(kVerify, batch, batch.logit_rows, info().vocab_size);
  if (IsDecode(batch)) return DecodeOnDevice(batch);
  return CallStep(kPrefill, batch, batch.logit_rows, info().vocab_size);
}

Result<float*> TVMModel::LogitsOnHost(const Batch& batch) {
  if (embed_) {
    KernelProgram* program = HasCopies(batch) ? verify_.get() : prefill_.get();
    return RunStep(program, batch, batch.logit_rows);
  }
  MLC_ASSIGN_OR_RETURN(Tensor logits, LogitsOnDevice(batch));
  MLC_ASSIGN_OR_RETURN(logits_, logits.OnHost());
  return static_cast<float*>(logits_.data());
}

Result<Outputs> TVMModel::Forward(const Batch& batch) {
  Outputs outputs;
  if (HasCopies(batch) && (!info().token_trees || !batch.hidden_rows.empty())) {
    return Unsupported("the model library computes no token trees in such a step");
  }
  if (batch.hidden_rows.empty()) {
    if (batch.keeps_logits) {
      MLC_ASSIGN_OR_RETURN(Tensor logits, LogitsOnDevice(batch));
      sampler_->SetLogits(std::move(logits));
      return outputs;
    }
    MLC_ASSIGN_OR_RETURN(outputs.logits, LogitsOnHost(batch));
    if (batch.logit_rows.empty()) outputs.logits = nullptr;
    return outputs;
  }
  if (info().hidden_size == 0) return Unsupported("the model library gives no hidden states");
  std::vector<int32_t> rows = batch.hidden_rows;
  rows.insert(rows.end(), batch.logit_rows.begin(), batch.logit_rows.end());
  MLC_ASSIGN_OR_RETURN(outputs.hidden_states, HiddenStates(batch, rows));
  if (batch.logit_rows.empty()) return outputs;
  if (batch.keeps_logits) {
    MLC_ASSIGN_OR_RETURN(Tensor logits, CallHead(batch, outputs.hidden_states));
    sampler_->SetLogits(std::move(logits));
    return outputs;
  }
  MLC_ASSIGN_OR_RETURN(outputs.logits, LogitsOfHiddenStates(batch, outputs.hidden_states));
  return outputs;
}

}  // namespace mlc
