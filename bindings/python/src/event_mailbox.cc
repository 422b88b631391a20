#include "event_mailbox.h"

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

#include <mutex>
#include <system_error>
#include <utility>

#include "interpreter_lock.h"
#include "mlc_llm.h"

namespace py = pybind11;

namespace mlc {
namespace {

// A pipe, of which no end blocks.
class Pipe {
 public:
  ~Pipe() {
#if !defined(_WIN32)
    for (int end : ends_) {
      if (end >= 0) close(end);
    }
#endif
  }

  // Windows has none that an event loop can watch.
  void Open() {
#if !defined(_WIN32)
    if (pipe(ends_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    for (int end : ends_) {
      fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
      fcntl(end, F_SETFD, FD_CLOEXEC);
    }
#endif
  }

  int reader() const { return ends_[0]; }

  void Write() const {
#if !defined(_WIN32)
    // A full pipe is readable as well.
    [[maybe_unused]] ssize_t written = write(ends_[1], "", 1);
#endif
  }

  void Empty() const {
#if !defined(_WIN32)
    char bytes[64];
    while (read(ends_[0], bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {
    }
#endif
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

struct EventMailbox::Slot::Box {
  struct Event {
    uint64_t number;
    int32_t kind;
    std::string json;
  };

  ~Box() {
    WithLock lock;
    if (lock.held) {
      wake = py::object();
    } else {
      wake.release();  // it goes with the process
    }
  }

  void Wake() const {
    if (!wake) {
      pipe.Write();
      return;
    }
    WithLock lock;
    if (!lock.held) return;
    try {
      wake();
    } catch (py::error_already_set&) {  // the loop is closed: nobody waits any more
    }
  }

  std::mutex mutex;
  std::vector<Event> events;
  bool told = false;  // the loop was woken, and has not looked yet
  Pipe pipe;
  py::object wake;
};

EventMailbox::EventMailbox() : box_(std::make_shared<Slot::Box>()) { box_->pipe.Open(); }

int EventMailbox::file_descriptor() const { return box_->pipe.reader(); }

void EventMailbox::WakeBy(py::object wake) { box_->wake = std::move(wake); }

py::list EventMailbox::Take() {
  box_->pipe.Empty();
  std::vector<Slot::Box::Event> events;
  {
    std::lock_guard<std::mutex> lock(box_->mutex);
    events.swap(box_->events);
    box_->told = false;
  }
  py::list taken(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    taken[i] = py::make_tuple(events[i].number, events[i].kind, py::str(events[i].json));
  }
  return taken;
}

void EventMailbox::Slot::Put(int32_t kind, std::string json) const {
  bool told;
  {
    std::lock_guard<std::mutex> lock(box_->mutex);
    box_->events.push_back({number_, kind, std::move(json)});
    told = std::exchange(box_->told, true);
  }
  if (!told) box_->Wake();
}

void EventMailbox::OnEvent(void* user, int32_t kind, const char* json, size_t size) {
  auto* slot = static_cast<Slot*>(user);
  slot->Put(kind, std::string(json, size));
  if (kind != MLC_EVENT_CHUNK) delete slot;
}

}  // namespace mlc
