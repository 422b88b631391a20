#include "client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(MLCStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", mlc_status_get_error_json(status));
  exit(1);
}

MLCEngine* make_engine(const char* more_config) {
  Text config = {NULL, 0};
  text_format(&config,
              "{\"mode\": \"local\", \"max_num_sequence\": 16, \"prefix_cache_mode\": "
              "\"disable\"%s}",
              more_config);
  MLCEngine* engine = NULL;
  check(mlc_engine_create(config.data, &engine));
  text_free(&config);
  return engine;
}

MLCStatus* load_model(MLCEngine* engine, const ModelOptions* options) {
  Text json = {NULL, 0};
  text_add(&json, "{\"model\": ", 10);
  text_add_quoted(&json, options->model);
  if (options->lib != NULL) {
    text_add(&json, ", \"model_lib\": ", 15);
    text_add_quoted(&json, options->lib);
  }
  text_add(&json, ", \"device\": ", 12);
  text_add_quoted(&json, options->device);
  text_add(&json, "}", 1);
  MLCStatus* status = mlc_engine_load(engine, json.data, NULL, NULL);
  text_free(&json);
  return status;
}

MLCEngine* make_loaded_engine(const ModelOptions* options, const char* more_config) {
  MLCEngine* engine = make_engine(more_config);
  check(load_model(engine, options));
  return engine;
}

Text chat_request(const char* prompt, const char* more) {
  static const char kHead[] = "{\"messages\": [{\"role\": \"user\", \"content\": ";
  Text json = {NULL, 0};
  text_add(&json, kHead, sizeof kHead - 1);
  text_add_quoted(&json, prompt);
  text_format(&json, "}]%s}", more);
  return json;
}

static void read_chunk(Answer* answer, const char* json) {
  const char* usage = json_at(json, "usage");
  if (!json_add_string(&answer->text, json_at(json, "choices/0/delta/content"))) {
    json_add_string(&answer->text, json_at(json, "choices/0/message/content"));
  }
  const char* reason = json_at(json, "choices/0/finish_reason");
  if (reason != NULL && *reason == '"') json_add_string(&answer->finish_reason, reason);
  if (usage != NULL && *usage == '{') {
    answer->prompt_tokens = (long)json_int(json_at(usage, "prompt_tokens"));
    answer->completion_tokens = (long)json_int(json_at(usage, "completion_tokens"));
  }
  ++answer->chunks;
}

static void on_event(void* user, int32_t kind, const char* json, size_t size) {
  Answer* answer = user;
  pthread_mutex_lock(&answer->mutex);
  if (kind == MLC_EVENT_ERROR) text_add(&answer->error, json, size);
  if (kind == MLC_EVENT_CHUNK || kind == MLC_EVENT_RESULT) read_chunk(answer, json);
  answer->ended = kind != MLC_EVENT_CHUNK;
  pthread_cond_broadcast(&answer->changed);
  pthread_mutex_unlock(&answer->mutex);
}

void answer_init(Answer* answer) {
  *answer = (Answer){.chunks = 0};
  pthread_mutex_init(&answer->mutex, NULL);
  pthread_cond_init(&answer->changed, NULL);
  text_add(&answer->text, "", 0);
}

void answer_submit(Answer* answer, MLCEngine* engine, const char* request) {
  check(mlc_engine_submit(engine, "chat.completions", request, strlen(request), NULL, 0, on_event,
                          answer, &answer->id));
}

void answer_wait_chunks(Answer* answer, long chunks) {
  pthread_mutex_lock(&answer->mutex);
  while (!answer->ended && answer->chunks < chunks) {
    pthread_cond_wait(&answer->changed, &answer->mutex);
  }
  pthread_mutex_unlock(&answer->mutex);
}

void answer_wait(Answer* answer) { answer_wait_chunks(answer, LONG_MAX); }

void answer_free(Answer* answer) {
  text_free(&answer->text);
  text_free(&answer->finish_reason);
  text_free(&answer->error);
  pthread_cond_destroy(&answer->changed);
  pthread_mutex_destroy(&answer->mutex);
}
