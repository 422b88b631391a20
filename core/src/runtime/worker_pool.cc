#include "runtime/worker_pool.h"

#include <algorithm>
#include <cstdio>

#include "base/try_thread.h"
#include "platform/host.h"
#include "runtime/spin.h"

namespace mlc {
namespace {

using std::chrono::microseconds;

// How long a thread without work spins. It covers the pauses between the loops of a step, not the
// pauses between steps.
constexpr microseconds kSpin{100};
// If the owner waits this much longer than twice what its own iterations took, a thread was
// delayed.
constexpr microseconds kStall{200};
constexpr int kStallLoops = 2;

// On Windows a thread that ends destroys its pool under a lock of the system's loader, which the
// pool's threads need for their own end. So it waits until they have left the pool; then they still
// return through this library.
#if defined(_WIN32)
constexpr bool kJoins = false;
#else
constexpr bool kJoins = true;
#endif

// A ticket has 16 bits for the number of a piece. A piece is one iteration, or several if a loop
// has more than this.
constexpr int kMostPieces = 0xffff;

int NumPieces(int count) { return std::min(count, kMostPieces); }
int FirstOfPiece(int count, uint32_t piece) {
  return static_cast<int>(int64_t{count} * piece / NumPieces(count));
}

// What a ticket says.
struct Range {
  uint32_t loop;
  uint32_t begin, end;

  explicit Range(uint64_t ticket)
      : loop(static_cast<uint32_t>(ticket >> 32)),
        begin(static_cast<uint32_t>(ticket >> 16 & kMostPieces)),
        end(static_cast<uint32_t>(ticket & kMostPieces)) {}
  Range(uint32_t loop, int begin, int end)
      : loop(loop), begin(static_cast<uint32_t>(begin)), end(static_cast<uint32_t>(end)) {}

  uint32_t size() const { return end - begin; }
  uint64_t ticket() const { return uint64_t{loop} << 32 | begin << 16 | end; }
};

}  // namespace

WorkerPool::WorkerPool(int num_threads) {
  num_threads = kHasThreads ? std::max(1, num_threads) : 1;
  active_ = num_threads;
  shares_ = std::vector<Share>(static_cast<size_t>(num_threads));
  if (!kJoins && num_threads > 1) KeepThisLibraryOpen();
  for (int worker = 1; worker < num_threads; ++worker) {
    std::thread thread;
    bool started = TryThread(&thread, [this, worker] {
      ++num_serving_;
      Serve(worker);
      --num_serving_;  // the last use of the pool
    });
    if (!started) break;
    threads_.push_back(std::move(thread));
  }
  if (this->num_threads() < num_threads) {
    active_ = this->num_threads();
    std::fprintf(stderr, "mlc_llm: the system gives %d of %d threads; it computes with these\n",
                 this->num_threads(), num_threads);
  }
  while (!kJoins && num_serving_ < static_cast<int>(threads_.size())) std::this_thread::yield();
}

WorkerPool::~WorkerPool() {
  stopped_ = true;
  Wake();
  while (!kJoins && num_serving_ > 0) std::this_thread::yield();
  for (std::thread& thread : threads_) kJoins ? thread.join() : thread.detach();
}

int WorkerPool::num_active() {
  int active = active_.load(std::memory_order_relaxed);
  if (active == num_threads() || !rest_.IsOver(Clock::now())) return active;
  SetActive(active + 1);
  rest_.Renew(Clock::now());
  return active + 1;
}

int WorkerPool::Run(Task task, void* data, int count) {
  if (count < 2 || threads_.empty() || num_active() == 1) return RunAlone(task, data, count);
  task_.store(task, std::memory_order_relaxed);
  data_.store(data, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  unfinished_.store(count, std::memory_order_relaxed);
  failure_.store(0, std::memory_order_relaxed);
  uint32_t loop = Deal(count, active_.load(std::memory_order_relaxed));
  if (num_sleeping_.load(std::memory_order_seq_cst) > 0) Wake();
  Clock::time_point begin = Clock::now();
  Work(0, loop);
  WaitForOthers(Clock::now() - begin);
  return failure_.load(std::memory_order_relaxed);
}

int WorkerPool::RunAlone(Task task, void* data, int count) {
  int failure = 0;
  for (int index = 0; index < count; ++index) {
    int result = task(data, index, 0);
    if (result != 0) failure = result;
  }
  return failure;
}

// Begins the next loop and returns its number: each of the first `workers` gets a share. If there
// are fewer iterations, the owner, which is awake, gets the first.
uint32_t WorkerPool::Deal(int count, int workers) {
  uint32_t loop = loop_.load(std::memory_order_relaxed) + 1;
  int begin = 0, worker = 0;
  for (Share& share : shares_) {
    int64_t dealt = std::min(++worker, workers);
    int end = static_cast<int>((NumPieces(count) * dealt + workers - 1) / workers);
    share.ticket.store(Range(loop, begin, end).ticket(), std::memory_order_release);
    begin = end;
  }
  // Sequentially consistent with num_sleeping_: either a thread that is about to sleep sees the
  // loop, or this thread sees that it sleeps.
  loop_.store(loop, std::memory_order_seq_cst);
  return loop;
}

// Takes iterations until the loop has none left, or is over.
void WorkerPool::Work(int worker, uint32_t loop) {
  while (Share* share = NextShare(worker, loop)) Take(share, worker, loop);
}

// The worker's own share; if nothing of that is left, the largest one, the next behind its own if
// there are several. Null if nothing of the loop is left.
WorkerPool::Share* WorkerPool::NextShare(int worker, uint32_t loop) {
  Share* largest = nullptr;
  uint32_t most = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    Share* share = &shares_[(static_cast<size_t>(worker) + i) % shares_.size()];
    Range left(share->ticket.load(std::memory_order_relaxed));
    if (left.loop != loop || left.size() <= most) continue;
    most = left.size();
    largest = share;
    if (i == 0) break;
  }
  return largest;
}

// Runs a piece of a share, unless another thread takes one at the same time: the first of the
// worker's own share, the last of others.
void WorkerPool::Take(Share* share, int worker, uint32_t loop) {
  uint64_t ticket = share->ticket.load(std::memory_order_acquire);
  Range left(ticket);
  if (left.loop != loop || left.size() == 0) return;
  Task task = task_.load(std::memory_order_relaxed);
  void* data = data_.load(std::memory_order_relaxed);
  int count = count_.load(std::memory_order_relaxed);
  bool is_own = share == &shares_[static_cast<size_t>(worker)];
  uint32_t piece = is_own ? left.begin++ : --left.end;
  if (!share->ticket.compare_exchange_strong(ticket, left.ticket(), std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
    return;
  }
  int begin = FirstOfPiece(count, piece), end = FirstOfPiece(count, piece + 1);
  for (int index = begin; index < end; ++index) {
    int result = task(data, index, worker);
    if (result != 0) failure_.store(result, std::memory_order_relaxed);
  }
  unfinished_.fetch_sub(end - begin, std::memory_order_release);
}

// Waits until every iteration is done. `own_time`: what those on this thread took.
void WorkerPool::WaitForOthers(Clock::duration own_time) {
  auto finished = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (finished()) return;
  Clock::time_point begin = Clock::now();
  SpinOrYield(finished);
  Clock::time_point now = Clock::now();
  if (now - begin <= kStall + kStallLoops * own_time) return;
  rest_.Begin(now, now - begin);
  SetActive(active_.load(std::memory_order_relaxed) - 1);
}

void WorkerPool::SetActive(int active) {
  active_.store(active, std::memory_order_relaxed);
  Wake();
}

void WorkerPool::Wake() {
  mutex_.lock();  // so that no thread is between its check and its sleep
  mutex_.unlock();
  changed_.notify_all();
}

void WorkerPool::Serve(int worker) {
  uint32_t seen = 0;
  while (AwaitLoop(worker, seen)) {
    seen = loop_.load(std::memory_order_acquire);
    Work(worker, seen);
  }
}

// Waits until there is a loop other than `seen` and this worker is active. Returns false when the
// pool ends.
bool WorkerPool::AwaitLoop(int worker, uint32_t seen) {
  auto ready = [this, worker, seen] {
    return loop_.load(std::memory_order_acquire) != seen &&
           worker < active_.load(std::memory_order_relaxed);
  };
  while (!Spin(kSpin, ready)) {
    if (!Sleep(worker, seen)) return false;
  }
  return !stopped_;
}

bool WorkerPool::Sleep(int worker, uint32_t seen) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return worker < active_ || stopped_; });
  ++num_sleeping_;
  changed_.wait(lock, [&] {
    return loop_.load(std::memory_order_seq_cst) != seen || worker >= active_ || stopped_;
  });
  --num_sleeping_;
  return !stopped_;
}

}  // namespace mlc
