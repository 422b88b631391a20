#include "runtime/device/abort_guard.h"

#include <signal.h>
#include <unistd.h>

#include <mutex>

namespace mlc {
namespace {

thread_local std::atomic<bool>* isolated = nullptr;  // where to say that this thread aborted

// The handler is installed while any thread is inside RunIsolated.
std::mutex mutex;
int inside = 0;
struct sigaction before;

void OnAbort(int signal, siginfo_t* info, void* context) {
  if (isolated != nullptr) {
    *isolated = true;
    while (true) sleep(1u << 20);  // every signal is blocked here
  }
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
  sigfillset(&action.sa_mask);
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

void RunIsolated(void (*call)(void*), void* data, std::atomic<bool>* aborted) {
  Enter();
  isolated = aborted;
  call(data);
  isolated = nullptr;
  Leave();
}

void EndIsolated() { Leave(); }

}  // namespace mlc
