// The interpreter's lock (GIL), given up and taken by threads that may outlive the interpreter.
//
// Before Python 3.14 a thread that asks for the lock of an ending interpreter is ended by
// pthread_exit. That unwinds its C++ frames, where a destructor that must not throw calls
// std::terminate: the process aborts. So a thread that comes too late never asks: it waits for the
// end of the process, as in Python 3.14.
#pragma once

#include <Python.h>

namespace mlc {

// Without the lock as long as it lives.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

// With the lock as long as it lives, if `held`. The interpreter waits for it before it ends; when
// it has begun to end, the lock is not taken.
class WithLock {
 public:
  WithLock();
  ~WithLock();
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

  const bool held;

 private:
  PyGILState_STATE state_{};
};

// To be called once by the thread that ends the interpreter, with the lock (`atexit`).
void EndLocking();

}  // namespace mlc
