/* Opens libmlc_llm.so as an app does, loads a model and prints the events of requests, one a line:
 * `chat CORE MODEL_JSON REQUEST_JSON...`; each request begins when the one before it has ended. It is linked with musl, whose loader stands in for
 * Android's (bionic_names.c has what musl lacks). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef void (*event_callback)(void* user, int32_t kind, const char* json, size_t size);
static volatile int ended;

static void on_event(void* user, int32_t kind, const char* json, size_t size) {
  (void)user;
  printf("%d %.*s\n", (int)kind, (int)size, json);
  fflush(stdout);
  if (kind != 0) ended = 1;
}

static const char* (*message)(const void*);

static int failed(const char* what, void* status) {
  if (status == NULL) return 0;
  printf("%s: %s\n", what, message(status));
  return 1;
}

int main(int count, char** words) {
  if (count < 4) return 2;
  void* core = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (core == NULL) {
    puts(dlerror());
    return 1;
  }
  message = (const char* (*)(const void*))dlsym(core, "mlc_status_get_message");
  void* (*create)(const char*, void**) =
      (void* (*)(const char*, void**))dlsym(core, "mlc_engine_create");
  void* (*load)(void*, const char*, void*, void*) =
      (void* (*)(void*, const char*, void*, void*))dlsym(core, "mlc_engine_load");
  void* (*submit)(void*, const char*, const char*, size_t, void*, size_t, event_callback, void*,
                  void*) =
      (void* (*)(void*, const char*, const char*, size_t, void*, size_t, event_callback, void*,
                 void*))dlsym(core, "mlc_engine_submit");
  void (*destroy)(void*) = (void (*)(void*))dlsym(core, "mlc_engine_destroy");
  void* engine = NULL;
  if (failed("create", create("{}", &engine))) return 1;
  if (failed("load", load(engine, words[2], NULL, NULL))) return 1;
  struct timespec pause = {0, 10000000};
  for (int at = 3; at < count; ++at) {
    const char* body = words[at];
    ended = 0;
    void* status =
        submit(engine, "chat.completions", body, strlen(body), NULL, 0, on_event, NULL, NULL);
    if (failed("submit", status)) return 1;
    while (!ended) nanosleep(&pause, NULL);
  }
  destroy(engine);
  return 0;
}
