// CUDA graphs: launches that are recorded once and replayed as one.
#ifndef MLC_RUNTIME_DEVICE_CUDA_LAUNCH_GRAPH_H_
#define MLC_RUNTIME_DEVICE_CUDA_LAUNCH_GRAPH_H_

namespace mlc::cuda {

// Registers mlc.cuda.record(device index, act) -> replay, of functions without arguments. `act` is
// called once; what it launches on the device is recorded and not run. It must not allocate, wait
// or copy from the host. `replay` launches all of it again, with the same addresses and numbers,
// where the calling thread's launches go. Throws what `act` throws, and for what CUDA refuses; the
// device is then as it was.
void RegisterRecord();

}  // namespace mlc::cuda

#endif  // MLC_RUNTIME_DEVICE_CUDA_LAUNCH_GRAPH_H_
