// EngineLoop where there are no threads: a browser's page or worker calls TakeTurns.
#if defined(__EMSCRIPTEN__)
#include <algorithm>
#include <chrono>
#include <set>

#include "engine/engine_loop.h"
#include "engine/guarded.h"

namespace mlc {
namespace {

bool in_callback = false;

std::set<EngineLoop*>& Live() {
  static auto* live = new std::set<EngineLoop*>();
  return *live;
}

void RunAll(BlockingQueue<std::function<void()>>* queue) {
  while (queue->size() > 0) Guarded(*queue->Pop());
}

}  // namespace

EngineLoop::EngineLoop(std::unique_ptr<Engine> engine, std::function<void()> on_start)
    : engine_(std::move(engine)), metrics_(engine_->metrics()) {
  if (on_start) on_start();
  Live().insert(this);
}

EngineLoop::~EngineLoop() {
  Live().erase(this);
  stopping_ = true;
  RunOnce(std::move(commands_), /*stopping=*/true, /*paused=*/true);
  RunAll(&file_work_);
  RunCallbacks();
}

void EngineLoop::RunCallbacks() {
  in_callback = true;
  RunAll(&callbacks_);
  in_callback = false;
}

bool EngineLoop::Do(Command command) {
  if (stopping_) return false;
  commands_.push_back(std::move(command));
  return true;
}

// The next turn compiles. The callbacks of this turn come first.
void EngineLoop::Compile(RequestId id, Grammar grammar) {
  compile_work_.Push(CompileTask(id, std::move(grammar)));
}

void EngineLoop::DoFileWork(std::function<void()> work) { file_work_.Push(std::move(work)); }

void EngineLoop::Reset(Status status) { ResetEngine(status); }

void EngineLoop::Pause(bool paused) { paused_ = paused; }

bool EngineLoop::InCallback() { return in_callback; }

int EngineLoop::TakeTurn() {
  if (compile_work_.size() > 0) Guarded(*compile_work_.Pop());
  std::vector<Command> commands;
  commands.swap(commands_);
  RunOnce(std::move(commands), /*stopping=*/false, paused_);
  RunAll(&file_work_);
  RunCallbacks();
  bool steps = engine_->has_work() && !paused_;
  if (steps || !commands_.empty() || compile_work_.size() > 0 || callbacks_.size() > 0) return 0;
  std::optional<Clock::time_point> deadline = engine_->next_deadline();
  if (!deadline) return -1;
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 1, 60 * 1000));
}

int EngineLoop::TakeTurns() {
  int next_ms = -1;
  for (EngineLoop* thread : std::set<EngineLoop*>(Live())) {
    if (Live().count(thread) == 0) continue;  // a callback destroyed it
    int wait_ms = thread->TakeTurn();
    if (wait_ms >= 0 && (next_ms < 0 || wait_ms < next_ms)) next_ms = wait_ms;
  }
  return next_ms;
}

}  // namespace mlc
#endif
