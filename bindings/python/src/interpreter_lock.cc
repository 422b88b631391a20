#include "interpreter_lock.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include <atomic>
#include <chrono>
#include <thread>

namespace mlc {
namespace {

// The end does not wait longer for a callback that hangs.
constexpr std::chrono::seconds kLongestEnd(10);

std::atomic<bool> ended{false};
std::atomic<std::thread::id> ending_thread{};
std::atomic<int> inside{0};      // threads that ask for the lock, and callbacks that have it
thread_local int callbacks = 0;  // of this thread; they go on to their end

// False when the interpreter ends. Either EndLocking sees this thread inside, or this thread sees
// that it has ended.
bool Enter() {
  ++inside;
  if (!ended || callbacks > 0 || ending_thread.load() == std::this_thread::get_id()) return true;
  --inside;
  return false;
}

[[noreturn]] void WaitForTheEndOfTheProcess() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

#if !defined(_WIN32)
// The other threads stayed in the parent.
void ForgetOtherThreads() { inside = 0; }

[[maybe_unused]] const int kForkHandler = pthread_atfork(nullptr, nullptr, ForgetOtherThreads);
#endif

}  // namespace

WithoutLock::~WithoutLock() {
  if (!Enter()) WaitForTheEndOfTheProcess();
  PyEval_RestoreThread(state_);
  --inside;
}

WithLock::WithLock() : held(Enter()) {
  if (!held) return;
  ++callbacks;
  state_ = PyGILState_Ensure();
}

WithLock::~WithLock() {
  if (!held) return;
  PyGILState_Release(state_);
  --callbacks;
  --inside;
}

void EndLocking() {
  ending_thread = std::this_thread::get_id();
  ended = true;
  PyThreadState* state = PyEval_SaveThread();
  auto last = std::chrono::steady_clock::now() + kLongestEnd;
  while (inside > 0 && std::chrono::steady_clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PyEval_RestoreThread(state);
}

}  // namespace mlc
