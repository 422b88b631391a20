// What code that g++ compiled against a newer C library calls, and glibc 2.28 does not have. It is
// linked into each library of a wheel (build.py) and stays inside.
#include <pthread.h>
#include <time.h>

namespace {

constexpr long kNanosecondsPerSecond = 1000000000;

}  // namespace

// glibc 2.32: libstdc++ reads it to skip atomic operations. Zero: there may be several threads.
__attribute__((visibility("hidden"))) extern const char single_threaded __asm__(
    "__libc_single_threaded");
const char single_threaded = 0;

// glibc 2.30. A change of the wall clock may end the wait too late or too early, as it did with
// libstdc++ before that function: its callers check their condition and the clock again.
extern "C" __attribute__((visibility("hidden"))) int pthread_cond_clockwait(
    pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  wall.tv_sec += until->tv_sec - now.tv_sec;
  wall.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (wall.tv_nsec < 0) {
    wall.tv_nsec += kNanosecondsPerSecond;
    --wall.tv_sec;
  } else if (wall.tv_nsec >= kNanosecondsPerSecond) {
    wall.tv_nsec -= kNanosecondsPerSecond;
    ++wall.tv_sec;
  }
  if (wall.tv_sec < 0) wall = timespec{0, 0};
  return pthread_cond_timedwait(condition, mutex, &wall);
}
