// Calls a caller's callback.
#pragma once

#include <cstdio>

namespace mlc {

// An exception in a caller's callback must not end its process or the other requests.
template <typename Callback>
void Guarded(Callback&& callback) {
  try {
    callback();
  } catch (...) {
    std::fputs("mlc_llm: a callback threw an exception; it was ignored\n", stderr);
  }
}

}  // namespace mlc
