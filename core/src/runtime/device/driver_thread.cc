#include "runtime/device/driver_thread.h"

#include <chrono>

#include "runtime/device/abort_guard.h"

namespace mlc {
namespace {

// A thread that aborted can tell nobody, so it is looked at this often.
constexpr std::chrono::milliseconds kLookAgain{10};

}  // namespace

DriverThread::~DriverThread() {
  if (dead_) {
    thread_.detach();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool DriverThread::RunTask(void (*task)(void*), void* data) {
  if (dead_) return false;
  std::unique_lock<std::mutex> lock(mutex_);
  task_ = task;
  data_ = data;
  changed_.notify_all();
  while (!changed_.wait_for(lock, kLookAgain, [this] { return task_ == nullptr; })) {
    if (!aborted_) continue;
    dead_ = true;
    EndIsolated();
    return false;
  }
  return true;
}

void DriverThread::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || task_ != nullptr; });
    if (stop_) return;
    lock.unlock();
    RunIsolated(task_, data_, &aborted_);
    lock.lock();
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace mlc
