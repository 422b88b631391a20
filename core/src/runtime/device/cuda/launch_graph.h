// CUDA graphs: launches that are recorded once and replayed together.
#pragma once

namespace mlc::cuda {

// Registers mlc.cuda.record(device index, act) -> replay. `act` and `replay` have no arguments.
// `act` is called once; its launches on the device are recorded and not run. It must not allocate,
// wait or copy from the host. `replay` launches all of them again, with the same addresses and
// numbers, on the calling thread's stream. Throws the errors of `act` and of CUDA; the device is
// unchanged then.
void RegisterRecord();

}  // namespace mlc::cuda
