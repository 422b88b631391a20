// A thread for driver calls that may abort. An abort ends only this thread: it is left behind, and
// sleeps until the process ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <type_traits>

namespace mlc {

class DriverThread {
 public:
  DriverThread() : thread_([this] { Loop(); }) {}
  ~DriverThread();

  // Runs call() on the thread and waits for it. Returns false if this call or an earlier one
  // aborted. Only one caller at a time.
  template <typename Call>
  bool Run(Call&& call) {
    return RunTask([](void* data) { (*static_cast<std::remove_reference_t<Call>*>(data))(); },
                   &call);
  }

 private:
  bool RunTask(void (*task)(void*), void* data);
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  void (*task_)(void*) = nullptr;  // the current task; null: none
  void* data_ = nullptr;
  bool stop_ = false;
  bool dead_ = false;  // the thread sleeps for ever
  std::atomic<bool> aborted_{false};
  std::thread thread_;  // the last member, because the thread uses the others
};

}  // namespace mlc
