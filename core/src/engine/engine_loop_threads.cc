// The threads of EngineLoop. Without threads engine_loop_turns.cc takes their place.
#if !defined(__EMSCRIPTEN__)
#include <future>

#include "base/try_thread.h"
#include "engine/engine_loop.h"
#include "engine/guarded.h"

namespace mlc {
namespace {

thread_local bool is_callback_thread = false;
// Each step queues one callback. No step begins while more than kMaxBacklog callbacks wait, until
// only kSmallBacklog are left. Otherwise the events of a caller that is slower than the model would
// fill the memory.
constexpr size_t kMaxBacklog = 256, kSmallBacklog = 64;

// What a thread for such work does until the queue is closed.
void Work(BlockingQueue<std::function<void()>>* queue) {
  while (std::optional<std::function<void()>> next = queue->Pop()) Guarded(*next);
}

}  // namespace

EngineLoop::EngineLoop(std::unique_ptr<Engine> engine, std::function<void()> on_start)
    : engine_(std::move(engine)), metrics_(engine_->metrics()) {
  callback_thread_ = std::thread([this] { CallbackLoop(); });
  auto compute = [this, on_start = std::move(on_start)] { ComputeLoop(on_start); };
  if (TryThread(&compute_thread_, std::move(compute))) return;
  callbacks_.Close();
  callback_thread_.join();
  throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
}

EngineLoop::~EngineLoop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  compute_thread_.join();
  compile_work_.Close();
  for (std::thread& thread : compile_threads_) thread.join();
  file_work_.Close();
  if (file_thread_.joinable()) file_thread_.join();
  callbacks_.Close();
  callback_thread_.join();
}

bool EngineLoop::Do(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return false;
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
  return true;
}

// Two threads compile, so that one slow grammar does not delay all others.
void EngineLoop::Compile(RequestId id, Grammar grammar) {
  constexpr size_t kThreads = 2;
  std::thread thread;
  if (compile_threads_.size() < kThreads && TryThread(&thread, [this] { Work(&compile_work_); })) {
    compile_threads_.push_back(std::move(thread));
  }
  std::function<void()> task = CompileTask(id, std::move(grammar));
  compile_threads_.empty() ? Guarded(task) : compile_work_.Push(std::move(task));
}

void EngineLoop::DoFileWork(std::function<void()> work) {
  bool is_there = file_thread_.joinable();
  if (!is_there && !TryThread(&file_thread_, [this] { Work(&file_work_); })) return Guarded(work);
  file_work_.Push(std::move(work));
}

void EngineLoop::Reset(Status status) {
  // shared, because set_value may still run when the wait is over
  auto done = std::make_shared<std::promise<void>>();
  Do([this, done, status = std::move(status)](Engine*) {
    ResetEngine(status);
    done->set_value();
  });
  done->get_future().wait();  // waits for the current step: every other wait is shorter
}

void EngineLoop::Pause(bool paused) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    paused_ = paused;
  }
  changed_.notify_one();
}

void EngineLoop::ComputeLoop(const std::function<void()>& on_start) {
  if (on_start) on_start();
  bool stopping = false;
  while (!stopping) {
    std::vector<Command> commands;
    bool paused;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      WaitForWork(&lock);
      commands.swap(commands_);
      stopping = stopping_;
      paused = paused_ || CallbacksAreBehind();
    }
    RunOnce(std::move(commands), stopping, paused);
  }
  if (kept_ != nullptr) kept_->Finish();
}

void EngineLoop::WaitForWork(std::unique_lock<std::mutex>* lock) {
  auto wakes = [this] {
    if (stopping_ || !commands_.empty()) return true;
    return engine_->has_work() && !paused_ && !CallbacksAreBehind();
  };
  if (std::optional<Clock::time_point> deadline = engine_->next_deadline()) {
    changed_.wait_until(*lock, *deadline, wakes);
  } else {
    changed_.wait(*lock, wakes);
  }
}

bool EngineLoop::CallbacksAreBehind() {
  if (callbacks_.size() <= kMaxBacklog) return false;
  waits_for_callbacks_ = true;
  // They may have been called before that was set. Then no callback would wake this thread.
  return callbacks_.size() > kSmallBacklog;
}

bool EngineLoop::InCallback() { return is_callback_thread; }

void EngineLoop::CallbackLoop() {
  is_callback_thread = true;
  while (std::optional<std::function<void()>> callback = callbacks_.Pop()) {
    Guarded(*callback);
    if (!waits_for_callbacks_ || callbacks_.size() > kSmallBacklog) continue;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waits_for_callbacks_ = false;
    }
    changed_.notify_one();
  }
}

}  // namespace mlc
#endif
