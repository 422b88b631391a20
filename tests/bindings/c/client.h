/* A small client of the C ABI: loads, asks, waits for the whole answer. What goes wrong ends the
 * program, but for what load_model returns. */
#pragma once

#include <pthread.h>

#include "mlc_llm.h"
#include "text.h"

typedef struct {
  const char *model, *lib, *device;
} ModelOptions;

/* One answer, filled by the engine's callback thread. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  Text text, finish_reason, error;
  long chunks, prompt_tokens, completion_tokens;
  int ended;
  uint64_t id;
} Answer;

MLCEngine* make_engine(const char* more_config);
MLCStatus* load_model(MLCEngine* engine, const ModelOptions* options);
MLCEngine* make_loaded_engine(const ModelOptions* options, const char* more_config);

/* The request of one user message; `more` is further members: ", \"seed\": 1". */
Text chat_request(const char* prompt, const char* more);

void answer_init(Answer* answer);
void answer_submit(Answer* answer, MLCEngine* engine, const char* request);
/* Until `chunks` have come or it has ended. */
void answer_wait_chunks(Answer* answer, long chunks);
void answer_wait(Answer* answer);
void answer_free(Answer* answer);
