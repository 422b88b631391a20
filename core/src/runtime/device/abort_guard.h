// Calls that end the process in place of failing.
//
// wgpu-native's wgpuQueueSubmit and wgpuDevicePoll have no way to report a lost device: they panic,
// which calls abort(). Here the calling thread leaves abort() and goes on.
#ifndef MLC_RUNTIME_DEVICE_ABORT_GUARD_H_
#define MLC_RUNTIME_DEVICE_ABORT_GUARD_H_

namespace mlc {

// Runs call(data); false when it aborted: what it held stays held, and the thread counts as
// panicking for Rust, whose destructors do little then. So use DriverThread, which is at its end
// after an abort. `call` must not have variables with destructors. Other threads' aborts do what
// they did before.
bool SurvivesAbort(void (*call)(void*), void* data);

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_ABORT_GUARD_H_
