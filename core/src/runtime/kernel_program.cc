#include "runtime/kernel_program.h"

#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <optional>

#include "runtime/launch_records.h"
#include "runtime/model_library_impl.h"
#include "runtime/program_memory.h"
#include "runtime/program_spec.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

namespace ffi = tvm::ffi;
using Kind = ProgramSpec::Kind;

// A DLTensor of `spec`. Each run sets its data and its first extent.
class Rows {
 public:
  Rows(const RowsSpec& spec, DLDevice device) : extents_(spec.row) {
    if (spec.size != kFixedSize) extents_.insert(extents_.begin(), 0);
    is_fixed_ = spec.size == kFixedSize;
    tensor_ = {
        nullptr, device, static_cast<int32_t>(extents_.size()), ToDL(spec.dtype), extents_.data(),
        nullptr, 0};
  }
  Rows(const Rows&) = delete;

  void Set(void* data, int64_t size) {
    tensor_.data = data;
    if (!is_fixed_) extents_[0] = size;
  }
  DLTensor* tensor() { return &tensor_; }
  ffi::ShapeView shape() const { return {extents_.data(), extents_.size()}; }

 private:
  Shape extents_;
  bool is_fixed_ = false;
  DLTensor tensor_;  // without strides, so it is compact
};

// A tensor in the memory of another tensor.
struct BorrowedMemory {
  void* data;
  Tensor whole;
  void AllocData(DLTensor* tensor) { tensor->data = data; }
  void FreeData(DLTensor*) { whole = Tensor(); }
};

}  // namespace

struct KernelProgram::Impl {
  struct Call {
    ffi::Function kernel;
    std::vector<ffi::AnyView> arguments;
    std::vector<int> sizes;        // the run-time sizes of its tensors, which must have rows
    std::vector<int> empty_sizes;  // those that must have none
  };

  struct Pointed {  // the argument of a call that is a tensor of the caller
    size_t call, argument;
    int tensor;
  };

  std::string name;
  ProgramSpec spec;
  std::vector<ffi::Tensor> weights, constants, pages, states, adapters;  // that calls point at
  std::vector<std::unique_ptr<Rows>> inputs, temporaries;
  std::vector<Call> calls;
  std::vector<Pointed> page_arguments, state_arguments, adapter_arguments;

  // The state of the current run. These are members, so that a run allocates nothing.
  std::vector<int64_t> sizes;
  ProgramMemory memory{Device{}};
  size_t next_call = 0;  // of a run in turns

  // Only used on a device.
  Device device;
  LaunchRecords records;  // by sizes

  Status FindKernels(const ModelLibrary::Impl& library);
  Status FindConstants(ModelLibrary::Impl* library, int64_t count);
  void PrepareCalls();
  void PointAt(const std::vector<Tensor>& tensors, const std::vector<Pointed>& places,
               std::vector<ffi::Tensor>* kept);
  // The list for arguments that are set later; null for others.
  std::vector<Pointed>* PlacesOf(Kind kind) {
    if (kind == Kind::kPages) return &page_arguments;
    if (kind == Kind::kState) return &state_arguments;
    return kind == Kind::kAdapter ? &adapter_arguments : nullptr;
  }
  const DLTensor* Argument(ProgramSpec::Name name) const;
  Status Bind(const ProgramInput* given, size_t count);
  Status Place(const ProgramInput* given);
  Status Launch();
  void Launch(const Call& call);
  std::optional<size_t> ResultNamed(std::string_view name) const;  // the index of a temporary
  int64_t Units(int size) const { return size == kFixedSize ? 1 : sizes[size]; }
  bool HasNothingToDo(const Call& call) const;
  bool on_host() const { return device.type == kDLCPU; }
  void Wait() const {
    DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
    if (!on_host()) tvm::runtime::DeviceAPI::Get(place)->StreamSync(place, nullptr);
  }
};

Status KernelProgram::Impl::FindKernels(const ModelLibrary::Impl& library) {
  for (const ProgramSpec::Call& call : spec.calls) {
    ffi::Optional<ffi::Function> kernel =
        library.executable.value()->GetFunction(call.kernel, true);
    if (!kernel.has_value()) {
      return Corrupt(library.path + ": has no kernel '" + call.kernel + "'").WithParam("model_lib");
    }
    calls.push_back({kernel.value(), {}, {}});
  }
  return Status();
}

Status KernelProgram::Impl::FindConstants(ModelLibrary::Impl* library, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    ffi::Any value;
    MLC_RETURN_IF_ERROR(library->Call("_constant_" + std::to_string(i), {}, &value));
    std::optional<ffi::Tensor> tensor = value.try_cast<ffi::Tensor>();
    if (!tensor) {
      return Corrupt(library->path + ": a constant is no tensor").WithParam("model_lib");
    }
    constants.push_back(*std::move(tensor));
  }
  return Status();
}

const DLTensor* KernelProgram::Impl::Argument(ProgramSpec::Name name) const {
  switch (name.kind) {
    case Kind::kInput:
      return inputs[name.index]->tensor();
    case Kind::kTemporary:
      return temporaries[name.index]->tensor();
    case Kind::kWeight:
      return weights[name.index].GetDLTensorPtr();
    case Kind::kConstant:
      return constants[name.index].GetDLTensorPtr();
    case Kind::kPages:
    case Kind::kState:
    case Kind::kAdapter:
      break;
  }
  return nullptr;  // SetPages, SetStates and SetAdapters say
}

void KernelProgram::Impl::PrepareCalls() {
  DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
  for (const RowsSpec& input : spec.inputs) inputs.push_back(std::make_unique<Rows>(input, place));
  for (const RowsSpec& made : spec.temporaries) {
    temporaries.push_back(std::make_unique<Rows>(made, place));
  }
  sizes.resize(spec.num_sizes);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const ProgramSpec::Name& name : spec.calls[i].arguments) {
      std::vector<int>& those = name.must_be_empty ? calls[i].empty_sizes : calls[i].sizes;
      if (name.kind == Kind::kInput) those.push_back(spec.inputs[name.index].size);
      if (name.kind == Kind::kTemporary) those.push_back(spec.temporaries[name.index].size);
      if (name.must_be_empty) continue;
      std::vector<ffi::AnyView>& arguments = calls[i].arguments;
      if (auto* places = PlacesOf(name.kind)) {
        places->push_back({i, arguments.size(), name.index});
        arguments.emplace_back();
      } else {
        arguments.emplace_back(const_cast<DLTensor*>(Argument(name)));
      }
    }
  }
}

// Sets the run-time sizes. All inputs with the same size must agree.
Status KernelProgram::Impl::Bind(const ProgramInput* given, size_t count) {
  if (count != inputs.size()) return InvalidArgument(name + ": wrong number of inputs");
  std::fill(sizes.begin(), sizes.end(), -1);
  for (size_t i = 0; i < count; ++i) {
    int64_t& size = sizes[spec.inputs[i].size];
    if (given[i].size < 0 || (size >= 0 && size != given[i].size)) {
      return InvalidArgument(name + ": inputs of different sizes");
    }
    size = given[i].size;
  }
  return Status();
}

Status KernelProgram::Impl::Place(const ProgramInput* given) {
  Status placed = memory.Place(spec, given, sizes);
  if (!placed.ok()) return std::move(placed).In(name);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i]->Set(memory.input(i), given[i].size);
  for (size_t i = 0; i < temporaries.size(); ++i) {
    const RowsSpec& made = spec.temporaries[i];
    temporaries[i]->Set(memory.buffer(made.buffer), Units(made.size));
  }
  return Status();
}

// A step may want no logits, no hidden states, or copy no slots.
bool KernelProgram::Impl::HasNothingToDo(const Call& call) const {
  auto is_empty = [this](int size) { return Units(size) == 0; };
  return std::any_of(call.sizes.begin(), call.sizes.end(), is_empty) ||
         !std::all_of(call.empty_sizes.begin(), call.empty_sizes.end(), is_empty);
}

void KernelProgram::Impl::Launch(const Call& call) {
  if (HasNothingToDo(call)) return;
  ffi::Any nothing;
  call.kernel.CallPacked(call.arguments.data(), static_cast<int32_t>(call.arguments.size()),
                         &nothing);
}

Status KernelProgram::Impl::Launch() {
  return CatchTvm(name, [this] {
    auto launch = [this] {
      for (const Call& call : calls) Launch(call);
    };
    if (!on_host() && records.Replay(sizes, memory.number(), launch)) return;
    launch();
  });
}

KernelProgram::KernelProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelProgram::~KernelProgram() = default;

Result<std::unique_ptr<KernelProgram>> KernelProgram::Load(const ModelLibrary& library,
                                                           const std::string& function,
                                                           const TensorList& weights, Kept kept,
                                                           Device device) {
  if (!library.Has("_programs")) return std::unique_ptr<KernelProgram>();
  MLC_ASSIGN_OR_RETURN(std::string text, library.impl()->Text("_programs"));
  MLC_ASSIGN_OR_RETURN(Json all, Json::Parse(text));
  const Json* json = all.Find(function);
  if (json == nullptr) return std::unique_ptr<KernelProgram>();
  auto impl = std::make_unique<Impl>();
  impl->name = function;
  impl->device = device;
  impl->memory = ProgramMemory(device);
  impl->records = LaunchRecords(device);
  MLC_ASSIGN_OR_RETURN(impl->spec, ParseProgram(*json));
  MLC_ASSIGN_OR_RETURN(int64_t constants, GetInt(all, "constants"));
  for (const ffi::Tensor& weight : weights.impl()->tensors) impl->weights.push_back(weight);
  MLC_RETURN_IF_ERROR(impl->FindConstants(library.impl(), constants));
  MLC_RETURN_IF_ERROR(
      impl->spec.Check(static_cast<int>(impl->weights.size()), static_cast<int>(kept.pages),
                       static_cast<int>(impl->constants.size()), static_cast<int>(kept.states),
                       static_cast<int>(kept.adapters)));
  MLC_RETURN_IF_ERROR(impl->FindKernels(*library.impl()));
  impl->PrepareCalls();
  return std::unique_ptr<KernelProgram>(new KernelProgram(std::move(impl)));
}

void KernelProgram::Impl::PointAt(const std::vector<Tensor>& tensors,
                                  const std::vector<Pointed>& places,
                                  std::vector<ffi::Tensor>* kept) {
  kept->clear();
  records.Clear();
  for (const Tensor& tensor : tensors) kept->push_back(tensor.impl()->tensor);
  for (const Pointed& place : places) {
    const DLTensor* tensor = (*kept)[place.tensor].GetDLTensorPtr();
    calls[place.call].arguments[place.argument] = ffi::AnyView(const_cast<DLTensor*>(tensor));
  }
}

void KernelProgram::SetPages(const std::vector<Tensor>& pages) {
  impl_->PointAt(pages, impl_->page_arguments, &impl_->pages);
}

void KernelProgram::SetStates(const std::vector<Tensor>& states) {
  impl_->PointAt(states, impl_->state_arguments, &impl_->states);
}

void KernelProgram::SetAdapters(const std::vector<Tensor>& adapters) {
  impl_->PointAt(adapters, impl_->adapter_arguments, &impl_->adapters);
}

const std::vector<InputSpec>& KernelProgram::inputs() const { return impl_->spec.named; }

Status KernelProgram::Run(const ProgramInput* inputs, size_t num_inputs) {
  MLC_RETURN_IF_ERROR(Begin(inputs, num_inputs));
  return impl_->Launch();
}

Status KernelProgram::Begin(const ProgramInput* inputs, size_t num_inputs) {
  MLC_RETURN_IF_ERROR(impl_->Bind(inputs, num_inputs));
  impl_->next_call = 0;
  return impl_->Place(inputs);
}

Result<bool> KernelProgram::Continue(std::chrono::steady_clock::time_point until) {
  size_t& next = impl_->next_call;
  MLC_RETURN_IF_ERROR(CatchTvm(impl_->name, [&] {
    while (next < impl_->calls.size()) {
      impl_->Launch(impl_->calls[next++]);
      impl_->Wait();  // a device returns before the kernel has run
      if (std::chrono::steady_clock::now() >= until) break;
    }
  }));
  return next == impl_->calls.size();
}

void KernelProgram::Release() { impl_->memory.Release(); }

std::optional<size_t> KernelProgram::Impl::ResultNamed(std::string_view name) const {
  for (const auto& [key, index] : spec.results) {
    if (key == name) return static_cast<size_t>(index);
  }
  return std::nullopt;
}

char* KernelProgram::data(std::string_view result) {
  std::optional<size_t> index = impl_->ResultNamed(result);
  return index ? static_cast<char*>(impl_->temporaries[*index]->tensor()->data) : nullptr;
}

Result<Tensor> KernelProgram::tensor(std::string_view result) {
  std::optional<size_t> index = impl_->ResultNamed(result);
  if (!index) return Tensor();
  Rows& rows = *impl_->temporaries[*index];
  const Tensor& owner = impl_->memory.owner(impl_->spec.temporaries[*index].buffer);
  const DLTensor& tensor = *rows.tensor();
  return FromTvm(ffi::Tensor::FromNDAlloc(BorrowedMemory{tensor.data, owner}, rows.shape(),
                                          tensor.dtype, tensor.device));
}

}  // namespace mlc
