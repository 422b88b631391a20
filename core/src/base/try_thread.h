// Starts a thread where the program can do without it.
//
//   std::thread helper;
//   if (!TryThread(&helper, [this] { Help(); })) DoItAlone();
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace mlc {

// False, and `act` is never called: the system gives no thread (a limit of threads or of memory).
template <typename Act>
bool TryThread(std::thread* thread, Act act) {
  try {
    *thread = std::thread(std::move(act));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace mlc
