#include "runtime/device/driver_thread.h"

#include "runtime/device/abort_guard.h"

namespace mlc {

DriverThread::~DriverThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool DriverThread::RunTask(void (*task)(void*), void* data) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (dead_) return false;
  task_ = task;
  data_ = data;
  changed_.notify_all();
  changed_.wait(lock, [this] { return task_ == nullptr; });
  return !dead_;
}

void DriverThread::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!dead_) {
    changed_.wait(lock, [this] { return stop_ || task_ != nullptr; });
    if (stop_) return;
    lock.unlock();
    bool survived = SurvivesAbort(task_, data_);
    lock.lock();
    dead_ = !survived;
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace mlc
