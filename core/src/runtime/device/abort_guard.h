// Survives calls that end the process instead of returning an error.
//
// wgpu-native's wgpuQueueSubmit and wgpuDevicePoll cannot report a lost device: they panic, which
// calls abort(). Here the calling thread leaves abort() and continues.
#ifndef MLC_RUNTIME_DEVICE_ABORT_GUARD_H_
#define MLC_RUNTIME_DEVICE_ABORT_GUARD_H_

namespace mlc {

// Runs call(data). Returns false when it aborted. Then everything that it held stays held, and Rust
// counts the thread as panicking, so Rust's destructors do little on it. Therefore use
// DriverThread, which ends its thread after an abort. `call` must not have variables with
// destructors. The aborts of other threads do what they did before.
bool SurvivesAbort(void (*call)(void*), void* data);

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_ABORT_GUARD_H_
