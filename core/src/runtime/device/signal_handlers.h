// A process's signal handlers are its own: Python's Ctrl-C, a Java machine's null checks. Drivers
// that bring a compiler (LLVM) put theirs in place.
#ifndef MLC_RUNTIME_DEVICE_SIGNAL_HANDLERS_H_
#define MLC_RUNTIME_DEVICE_SIGNAL_HANDLERS_H_

#include <signal.h>

namespace mlc {

// What was there when this was made is there again when it goes.
class KeptSignalHandlers {
 public:
  KeptSignalHandlers() {
    for (int signal = 1; signal < kSignals; ++signal) {
      known_[signal] = sigaction(signal, nullptr, &kept_[signal]) == 0;
    }
  }
  ~KeptSignalHandlers() {
    for (int signal = 1; signal < kSignals; ++signal) {
      if (known_[signal]) (void)sigaction(signal, &kept_[signal], nullptr);
    }
  }
  KeptSignalHandlers(const KeptSignalHandlers&) = delete;
  KeptSignalHandlers& operator=(const KeptSignalHandlers&) = delete;

 private:
  static constexpr int kSignals = 32;
  struct sigaction kept_[kSignals];
  bool known_[kSignals];
};

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_SIGNAL_HANDLERS_H_
