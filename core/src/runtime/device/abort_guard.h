// Isolates calls that end the process instead of returning an error.
//
// wgpu-native's wgpuQueueSubmit and wgpuDevicePoll cannot report a lost device: they panic, which
// calls abort(). Here only the thread ends that called them.
#pragma once

#include <atomic>

namespace mlc {

// Runs call(data). When it aborts, `*aborted` becomes true, and the calling thread sleeps until the
// process ends: no code of the driver runs on it again, and everything that it held stays held.
// DriverThread is such a thread. The aborts of other threads do what they did before.
void RunIsolated(void (*call)(void*), void* data, std::atomic<bool>* aborted);

// To be called once by the thread that sees `*aborted`, in place of the one that sleeps.
void EndIsolated();

}  // namespace mlc
