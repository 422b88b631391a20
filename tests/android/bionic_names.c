/* What bionic exports and musl does not, and the function whose numbers differ: preloaded, it lets
 * musl's loader run a library that was made for Android. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

int* __errno_location(void);
int* __errno(void) { return __errno_location(); }
void android_set_abort_message(const char* text) { (void)text; }
int __android_log_write(int level, const char* tag, const char* text) {
  (void)level;
  ssize_t done = write(2, tag, 0);
  for (const char* at = text; at != NULL && *at != 0; ++at) done = write(2, at, 1);
  return (int)done;
}
pid_t pthread_gettid_np(unsigned long thread) {
  (void)thread;
  return gettid();
}

/* bionic's numbers (headers.py) to musl's */
long sysconf(int name) {
  static long (*next)(int);
  static const int pairs[][2] = {{6, 2},   {11, 4},  {38, 60}, {39, 30}, {40, 30},
                                 {96, 83}, {97, 84}, {98, 85}, {99, 86}};
  if (next == NULL) next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
    if (pairs[i][0] == name) return next(pairs[i][1]);
  }
  return -1;
}
