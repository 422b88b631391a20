// The arguments of a kernel's launch, as all device modules take them.
#pragma once

#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

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

}  // namespace mlc
