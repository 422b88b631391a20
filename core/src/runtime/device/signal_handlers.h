// Keeps a process's signal handlers, for example Python's Ctrl-C or a Java machine's null checks.
// Drivers that contain a compiler (LLVM) install their own handlers.
#pragma once

#include <signal.h>

namespace mlc {

// The destructor restores the handlers that were installed at construction.
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
