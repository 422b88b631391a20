// Threads that submit requests for an event loop, which must not wait while a long prompt is
// rendered and tokenized. They never take the interpreter's lock.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mlc {

class Submitter {
 public:
  using Work = std::function<void()>;

  // Waits for all work. A fork's child, which has none of the threads, must not destroy it.
  ~Submitter();

  // Runs `work`, which does not throw, on a thread.
  void Push(Work work);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  size_t num_idle_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;  // started when they are needed
};

}  // namespace mlc
