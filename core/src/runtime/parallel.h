// Loops shared by the threads of the compute thread's worker pool: ours, and those of kernels.
#ifndef MLC_RUNTIME_PARALLEL_H_
#define MLC_RUNTIME_PARALLEL_H_

#include <functional>
#include <string>

#include "base/status.h"

namespace mlc {

// How many threads share the loops that the calling thread begins, itself included. Each thread
// that runs a model has its own pool; absent a call, one of NumAvailableCores().
// MLC_COMPUTE_NICE (Linux) lowers these threads' share of a processor that others want too: a
// server sets it, so that its connections do not wait for a slice of the kernels'.
void SetComputeThreads(int num_threads);
int MaxWorkers();

// Calls act(index, worker) once for each index below `count`, from several threads; `worker` is
// below MaxWorkers() and never at work twice at once. Returns when all are done. `act` must not
// throw. Within `act` and within a kernel's loop it runs on one thread.
void ParallelFor(int count, const std::function<void(int index, int worker)>& act);

// Lets the kernels of a loaded library share their loops that way. (TVM's own pool uses half of the
// processors it finds on x86-64, binds threads to cores, and waits for whoever is held up.)
Status ShareLoopsOf(const std::string& library_path);

}  // namespace mlc

#endif  // MLC_RUNTIME_PARALLEL_H_
