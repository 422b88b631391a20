#include "runtime/device/abort_guard.h"

#include <setjmp.h>
#include <signal.h>

#include <mutex>

namespace mlc {
namespace {

thread_local sigjmp_buf* back = nullptr;

// The handler is installed while any thread is inside SurvivesAbort.
std::mutex mutex;
int inside = 0;
struct sigaction before;

void OnAbort(int signal, siginfo_t* info, void* context) {
  if (back != nullptr) siglongjmp(*back, 1);
  // The abort of another thread: do what the previous handler did. With the default handler,
  // abort() ends the process when this function returns.
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

void Enter() {
  std::lock_guard<std::mutex> lock(mutex);
  if (inside++ > 0) return;
  sigaction(SIGABRT, nullptr, &before);  // read first, because another thread's abort may need it
  struct sigaction action = {};
  action.sa_sigaction = OnAbort;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGABRT, &action, nullptr);
}

void Leave() {
  std::lock_guard<std::mutex> lock(mutex);
  if (--inside > 0) return;
  struct sigaction now;
  sigaction(SIGABRT, &before, &now);
  bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == OnAbort;
  // other code has installed its own handler meanwhile
  if (!ours) sigaction(SIGABRT, &now, nullptr);
}

}  // namespace

bool SurvivesAbort(void (*call)(void*), void* data) {
  sigjmp_buf place;
  sigjmp_buf* outer = back;
  Enter();
  if (sigsetjmp(place, 1) == 0) {
    back = &place;
    call(data);
    back = outer;
    Leave();
    return true;
  }
  back = outer;
  Leave();
  return false;
}

}  // namespace mlc
