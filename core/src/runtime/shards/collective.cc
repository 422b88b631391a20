#include "runtime/shards/collective.h"

#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <utility>

namespace mlc {
namespace {

using Tensor = tvm::ffi::TensorView;

thread_local Collective* current = nullptr;

Collective* Current() {
  if (current == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "a program of shards runs without the other shards";
  }
  return current;
}

float* Data(const Tensor& tensor) {
  return reinterpret_cast<float*>(static_cast<char*>(tensor.data_ptr()) + tensor.byte_offset());
}

void Check(const Status& status) {
  if (!status.ok()) TVM_FFI_THROW(RuntimeError) << status.message();
}

void Sum(Tensor x, Tensor sum) { Check(Current()->Sum(Data(x), x.size(0) * x.size(1), Data(sum))); }

void Join(Tensor x, Tensor joined) {
  Check(Current()->Join(Data(x), x.size(0), x.size(1), Data(joined)));
}

// The rows of this shard's part of the vocabulary, which has `entries` tokens; -1: another's.
void OwnTokens(Tensor ids, Tensor own, int64_t entries) {
  int64_t first = Current()->rank() * entries;
  const auto* from = static_cast<const int32_t*>(static_cast<const void*>(Data(ids)));
  auto* to = static_cast<int32_t*>(static_cast<void*>(Data(own)));
  for (int64_t i = 0; i < ids.size(0); ++i) {
    int64_t row = from[i] - first;
    to[i] = row >= 0 && row < entries ? static_cast<int32_t>(row) : -1;
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("mlc.shards.sum", Sum)
      .def("mlc.shards.join", Join)
      .def("mlc.shards.own_tokens", OwnTokens);
}

}  // namespace

WithCollective::WithCollective(Collective* collective) { current = collective; }
WithCollective::~WithCollective() { current = nullptr; }

}  // namespace mlc
