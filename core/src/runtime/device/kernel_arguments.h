// The arguments of a kernel's launch, as all device modules take them.
#pragma once

#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <cstring>

#include "runtime/device/kernel_table.h"

namespace mlc {

// The values of `arguments`: those of the kernel's args, then its extents. Throws TypeError if
// their number is another.
inline const TVMFFIAny* KernelValues(const KernelInfo& kernel, tvm::ffi::PackedArgs arguments) {
  if (arguments.size() != kernel.num_arguments()) {
    TVM_FFI_THROW(TypeError) << "the kernel " << kernel.name << " takes " << kernel.num_arguments()
                             << " arguments, not " << arguments.size();
  }
  return reinterpret_cast<const TVMFFIAny*>(arguments.data());
}

// A number in the bytes that a kernel takes.
struct KernelNumber {
  size_t size = 0;
  alignas(8) char bytes[8] = {};
};

inline KernelNumber KernelNumberOf(DLDataType type, const TVMFFIAny& value) {
  bool is_float = type.code == kDLFloat;
  if (type.bits != 32 && type.bits != 64) {
    TVM_FFI_THROW(RuntimeError) << "a kernel takes a number of " << int{type.bits}
                                << " bits, which this backend does not pass";
  }
  KernelNumber number;
  auto store = [&number](auto stored) {
    number.size = sizeof(stored);
    std::memcpy(number.bytes, &stored, sizeof(stored));
  };
  if (is_float && type.bits == 32) store(static_cast<float>(value.v_float64));
  if (is_float && type.bits == 64) store(value.v_float64);
  if (!is_float && type.bits == 32) store(static_cast<int32_t>(value.v_int64));
  if (!is_float && type.bits == 64) store(value.v_int64);
  return number;
}

}  // namespace mlc
