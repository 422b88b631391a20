#include "runtime/kernel_program.h"

#include <algorithm>
#include <cstring>

#include "runtime/launch_records.h"
#include "runtime/model_library_impl.h"
#include "runtime/program_spec.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

namespace ffi = tvm::ffi;
using Kind = ProgramSpec::Kind;

constexpr int64_t kAlignment = 64;  // the alignment that kernels assume
// Memory of a larger step is returned at the next small step.
constexpr int64_t kKeptBytes = int64_t{16} << 20;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

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

// Memory that grows with the size of a step. On the host it shrinks again after a much larger step.
// On a device it does not: it was counted when the model was loaded, and launch records use its
// addresses.
class Arena {
 public:
  explicit Arena(Device device) : device_(device) {}

  // Returns at least `bytes`. Their content is undefined.
  Result<char*> Reserve(int64_t bytes) {
    bool on_host = device_.type == Device{}.type;
    bool wasteful = on_host && capacity_ > kKeptBytes && bytes < capacity_ / 2;
    if (bytes > capacity_ || wasteful || !memory_.defined()) {
      memory_ = Tensor();
      capacity_ = 0;
      int64_t wanted = Aligned(std::max<int64_t>(bytes, 1));
      MLC_ASSIGN_OR_RETURN(memory_, Tensor::Empty({wanted}, DType::kUInt8, device_));
      capacity_ = wanted;
      ++number_;
    }
    return static_cast<char*>(memory_.impl()->tensor.data_ptr());
  }

  void Release() {
    memory_ = Tensor();
    capacity_ = 0;
  }

  Tensor& memory() { return memory_; }
  int64_t number() const { return number_; }  // changes when the memory changes

 private:
  Device device_;
  Tensor memory_;
  int64_t capacity_ = 0, number_ = 0;
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
  std::vector<char*> buffers;
  Arena arena{Device{}};
  size_t next_call = 0;  // of a run in turns

  // Only used on a device.
  Device device;
  std::vector<char> upload;  // the inputs, in the layout of the arena's beginning
  LaunchRecords records;     // by sizes

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
  char* PlaceInputs(const ProgramInput* given, char* next);
  Status Launch();
  void Launch(const Call& call);
  Rows* ResultNamed(std::string_view name);  // null: there is none
  int64_t Units(int size) const { return size == kFixedSize ? 1 : sizes[size]; }
  bool HasNothingToDo(const Call& call) const;
  bool on_host() const { return device.type == kDLCPU; }
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
  buffers.resize(spec.buffers.size());
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

// Gives every input and temporary its place in the arena. An aligned input on the host stays where
// the caller has it. On a device the inputs come first, so that all addresses depend only on the
// sizes.
Status KernelProgram::Impl::Place(const ProgramInput* given) {
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool copied = !on_host() || !IsAligned(given[i].data);
    if (copied) bytes += Aligned(given[i].size * spec.inputs[i].row_bytes());
  }
  int64_t input_bytes = bytes;
  for (const ProgramSpec::Buffer& b : spec.buffers) bytes += Aligned(Units(b.size) * b.bytes);
  Result<char*> reserved = arena.Reserve(bytes);
  if (!reserved.ok()) return Status(reserved.status()).In(name);
  if (!on_host()) upload.resize(static_cast<size_t>(input_bytes));
  char* next = PlaceInputs(given, *reserved);
  if (!on_host()) MLC_RETURN_IF_ERROR(arena.memory().Write(0, upload.data(), input_bytes));
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i] = next;
    next += Aligned(Units(spec.buffers[i].size) * spec.buffers[i].bytes);
  }
  for (size_t i = 0; i < temporaries.size(); ++i) {
    const RowsSpec& made = spec.temporaries[i];
    temporaries[i]->Set(buffers[made.buffer], Units(made.size));
  }
  return Status();
}

// Copies the inputs that must be copied: to `next` on the host, or to the upload buffer. Returns
// the end.
char* KernelProgram::Impl::PlaceInputs(const ProgramInput* given, char* next) {
  const char* begin = next;
  for (size_t i = 0; i < inputs.size(); ++i) {
    void* data = const_cast<void*>(given[i].data);
    if (!on_host() || !IsAligned(data)) {
      int64_t size = given[i].size * spec.inputs[i].row_bytes();
      char* to = on_host() ? next : upload.data() + (next - begin);
      if (size > 0) std::memcpy(to, data, static_cast<size_t>(size));
      data = next;
      next += Aligned(size);
    }
    inputs[i]->Set(data, given[i].size);
  }
  return next;
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
    if (!on_host() && records.Replay(sizes, arena.number(), launch)) return;
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
  impl->arena = Arena(device);
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
      if (std::chrono::steady_clock::now() >= until) break;
    }
  }));
  return next == impl_->calls.size();
}

void KernelProgram::Release() { impl_->arena.Release(); }

Rows* KernelProgram::Impl::ResultNamed(std::string_view name) {
  for (const auto& [key, index] : spec.results) {
    if (key == name) return temporaries[static_cast<size_t>(index)].get();
  }
  return nullptr;
}

char* KernelProgram::data(std::string_view result) {
  Rows* rows = impl_->ResultNamed(result);
  return rows == nullptr ? nullptr : static_cast<char*>(rows->tensor()->data);
}

Result<Tensor> KernelProgram::tensor(std::string_view result) {
  Rows* rows = impl_->ResultNamed(result);
  if (rows == nullptr) return Tensor();
  const DLTensor* tensor = rows->tensor();
  return FromTvm(ffi::Tensor::FromNDAlloc(BorrowedMemory{tensor->data, impl_->arena.memory()},
                                          rows->shape(), tensor->dtype, tensor->device));
}

}  // namespace mlc
