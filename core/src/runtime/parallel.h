// Work for all threads of the compute thread's worker pool, the one that the kernels run on.
#ifndef MLC_RUNTIME_PARALLEL_H_
#define MLC_RUNTIME_PARALLEL_H_

#include <functional>

namespace mlc {

// How many threads ParallelFor uses at most, the calling one included.
int MaxWorkers();

// Calls act(index, worker) once for each index below `count`, from several threads; `worker` is
// below MaxWorkers() and never at work twice at once. Returns when all are done. `act` must not
// throw. Call it from the thread that runs the model.
void ParallelFor(int count, const std::function<void(int index, int worker)>& act);

}  // namespace mlc

#endif  // MLC_RUNTIME_PARALLEL_H_
