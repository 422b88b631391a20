#include "runtime/shards/collective.h"

#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <utility>

#include "runtime/shards/host_collective.h"
#include "runtime/shards/nccl_collective.h"
#include "runtime/shards/staged_collective.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

using View = tvm::ffi::TensorView;

thread_local Collective* current = nullptr;

Collective* Current() {
  if (current == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "a program of shards runs without the other shards";
  }
  return current;
}

float* Data(const View& tensor) {
  return reinterpret_cast<float*>(static_cast<char*>(tensor.data_ptr()) + tensor.byte_offset());
}

// CatchTvm around the program gets an error of the same kind.
void Check(const Status& status) {
  if (status.ok()) return;
  const std::string& message = status.message();
  if (status.Is(Reason::kDeviceLost)) {
    TVM_FFI_THROW(DeviceLostError) << message.substr(0, message.rfind(kLostAdvice));
  }
  TVM_FFI_THROW(RuntimeError) << message;
}

void Sum(View x, View sum) { Check(Current()->Sum(Data(x), x.size(0) * x.size(1), Data(sum))); }

void Join(View x, View joined) {
  Check(Current()->Join(Data(x), x.size(0), x.size(1), Data(joined)));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("mlc.shards.sum", Sum)
      .def("mlc.shards.join", Join)
      .def("mlc.shards.rank", [] { return static_cast<int64_t>(Current()->rank()); });
}

}  // namespace

Result<std::unique_ptr<ShardGroup>> MakeShardGroup(const std::vector<Device>& devices) {
  if (devices.front().kind() == "cpu") {
    return std::unique_ptr<ShardGroup>(
        std::make_unique<HostCollective>(static_cast<int>(devices.size())));
  }
  if (NcclCollective::IsFor(devices.front())) return NcclCollective::Make(devices);
  return std::unique_ptr<ShardGroup>(std::make_unique<StagedCollective>(devices));
}

WithCollective::WithCollective(Collective* collective) { current = collective; }
WithCollective::~WithCollective() { current = nullptr; }

}  // namespace mlc
