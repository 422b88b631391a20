/* The commands of tests/bindings/README.md over the C ABI, but for `vectors`. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"

static const char kRoom[] = ", \"max_total_seq_length\": 32768";
static const char kIgnoreEos[] = ", \"debug_config\": {\"ignore_eos\": true}";
static const char kStream[] = ", \"stream\": true, \"stream_options\": {\"include_usage\": true}";

typedef struct {
  ModelOptions model;
  const char *prompt, *seed, *max_tokens, *temperature;
  int ignore_eos;
  long tokens, streams, repeats;
} Options;

/* ---- Asking -------------------------------------------------------------------------------- */

static void ask(Answer* answer, MLCEngine* engine, const char* prompt, const char* more) {
  Text request = chat_request(prompt, more);
  answer_init(answer);
  answer_submit(answer, engine, request.data);
  text_free(&request);
}

static void must_end_well(Answer* answer) {
  answer_wait(answer);
  if (answer->error.data == NULL) return;
  fprintf(stderr, "%s\n", answer->error.data);
  exit(1);
}

static void print_text(Text* out) {
  puts(out->data);
  text_free(out);
}

static void print_quoted(Text* out, const char* key, const char* value) {
  text_format(out, "%s\"%s\": ", out->size == 0 ? "{" : ", ", key);
  text_add_quoted(out, value);
}

/* The members of `stream` and `complete`. */
static void add_members(Text* more, const Options* options, int stream) {
  text_add(more, "", 0);
  if (options->seed) text_format(more, ", \"seed\": %s", options->seed);
  if (options->max_tokens) text_format(more, ", \"max_tokens\": %s", options->max_tokens);
  if (options->temperature) text_format(more, ", \"temperature\": %s", options->temperature);
  if (options->ignore_eos) text_format(more, "%s", kIgnoreEos);
  if (stream) text_format(more, "%s", kStream);
}

/* ---- Commands ------------------------------------------------------------------------------ */

static void one_answer(const Options* options, int stream) {
  MLCEngine* engine = make_loaded_engine(&options->model, "");
  Text more = {NULL, 0}, out = {NULL, 0};
  Answer answer;
  add_members(&more, options, stream);
  ask(&answer, engine, options->prompt, more.data);
  must_end_well(&answer);
  print_quoted(&out, "text", answer.text.data);
  print_quoted(&out, "finish_reason", answer.finish_reason.data);
  text_format(&out, ", \"chunks\": %ld, \"prompt_tokens\": %ld, \"completion_tokens\": %ld}",
              answer.chunks, answer.prompt_tokens, answer.completion_tokens);
  mlc_engine_destroy(engine);
  print_text(&out);
  text_free(&more);
  answer_free(&answer);
}

static void stream_command(const Options* options) { one_answer(options, 1); }
static void complete_command(const Options* options) { one_answer(options, 0); }

static void read_pages(MLCEngine* engine, long* pages_free, long* pages_total) {
  char* json = NULL;
  if (mlc_engine_metrics(engine, &json) != NULL) exit(1);
  *pages_free = (long)json_int(json_at(json, "kv_pages_free"));
  *pages_total = (long)json_int(json_at(json, "kv_pages_total"));
  mlc_string_free(json);
}

static void cancel_command(const Options* options) {
  MLCEngine* engine = make_loaded_engine(&options->model, "");
  Text more = {NULL, 0}, out = {NULL, 0};
  Answer answer, after;
  long pages_free = 0, pages_total = 0;
  text_format(&more, ", \"max_tokens\": 4000, \"seed\": 1%s%s", kIgnoreEos, kStream);
  ask(&answer, engine, options->prompt, more.data);
  answer_wait_chunks(&answer, 3);
  if (mlc_engine_abort(engine, answer.id) != NULL) exit(1);
  answer_wait(&answer);
  for (int i = 0; i < 6000; ++i) {
    read_pages(engine, &pages_free, &pages_total);
    if (pages_free == pages_total) break;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  ask(&after, engine, options->prompt, ", \"max_tokens\": 8, \"seed\": 1");
  must_end_well(&after);
  text_format(&out, "{\"chunks_before_cancel\": 3, \"pages_total\": %ld, \"pages_free\": %ld",
              pages_total, pages_free);
  print_quoted(&out, "answer_after", after.text.data);
  text_add(&out, "}", 1);
  mlc_engine_destroy(engine);
  print_text(&out);
  text_free(&more);
  answer_free(&answer);
  answer_free(&after);
}

static void* load_on_thread(void* options) { return make_loaded_engine(options, ""); }

static void parallel_command(const Options* options) {
  pthread_t threads[2];
  void* engines[2];
  Answer answers[8];
  Text out = {NULL, 0};
  ModelOptions model = options->model;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, load_on_thread, &model);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], &engines[i]);
  for (int i = 0; i < 8; ++i) {
    Text prompt = {NULL, 0}, more = {NULL, 0};
    text_format(&prompt, "%s %d", options->prompt, i);
    text_format(&more, ", \"max_tokens\": 24, \"seed\": %d%s", i, kStream);
    ask(&answers[i], engines[i / 4], prompt.data, more.data);
    text_free(&prompt);
    text_free(&more);
  }
  text_add(&out, "{\"texts\": [", 11);
  for (int i = 0; i < 8; ++i) {
    must_end_well(&answers[i]);
    if (i > 0) text_add(&out, ", ", 2);
    text_add_quoted(&out, answers[i].text.data);
    answer_free(&answers[i]);
  }
  text_add(&out, "]}", 2);
  for (int i = 0; i < 2; ++i) mlc_engine_destroy(engines[i]);
  print_text(&out);
}

static void load_error_command(const Options* options) {
  MLCEngine* engine = make_engine("");
  MLCStatus* status = load_model(engine, &options->model);
  if (status == NULL) {
    puts("{\"type\": null}");
  } else { /* the members of {"error": {...}} */
    Text out = {NULL, 0};
    const char* error = json_at(mlc_status_get_error_json(status), "error");
    static const char* const kKeys[] = {"type", "code", "param", "status", "message"};
    for (int i = 0; i < 5; ++i) {
      Text value = {NULL, 0};
      text_add(&value, "", 0);
      int is_text = json_add_string(&value, json_at(error, kKeys[i]));
      print_quoted(&out, kKeys[i], is_text ? value.data : NULL);
      text_free(&value);
    }
    text_add(&out, "}", 1);
    print_text(&out);
  }
  mlc_status_free(status);
  mlc_engine_destroy(engine);
}

static void order_command(const Options* options) {
  MLCEngine* engine = make_loaded_engine(&options->model, kRoom);
  Text more = {NULL, 0}, out = {NULL, 0};
  Answer streamed, whole;
  text_format(&more, ", \"max_tokens\": %ld, \"seed\": 1%s",
              options->tokens ? options->tokens : 10000, kIgnoreEos);
  ask(&whole, engine, "order", more.data);
  text_add(&more, kStream, sizeof kStream - 1);
  ask(&streamed, engine, "order", more.data);
  must_end_well(&whole);
  must_end_well(&streamed);
  text_format(&out, "{\"chunks\": %ld, \"completion_tokens\": %ld, \"same\": %s, \"text\": ",
              streamed.chunks, streamed.completion_tokens,
              strcmp(streamed.text.data, whole.text.data) == 0 ? "true" : "false");
  text_add_quoted(&out, streamed.text.data);
  text_add(&out, "}", 1);
  mlc_engine_destroy(engine);
  print_text(&out);
  text_free(&more);
  answer_free(&streamed);
  answer_free(&whole);
}

/* ---- bench --------------------------------------------------------------------------------- */

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* All streams at once, to their ends; returns how many chunks came. */
static long run_streams(MLCEngine* engine, Answer* answers, long streams, long tokens) {
  long chunks = 0;
  for (long i = 0; i < streams; ++i) {
    Text prompt = {NULL, 0}, more = {NULL, 0};
    text_format(&prompt, "bench %ld", i);
    text_format(&more, ", \"max_tokens\": %ld, \"seed\": %ld, \"stream\": true%s", tokens, i,
                kIgnoreEos);
    ask(&answers[i], engine, prompt.data, more.data);
    text_free(&prompt);
    text_free(&more);
  }
  for (long i = 0; i < streams; ++i) {
    must_end_well(&answers[i]);
    chunks += answers[i].chunks;
    answer_free(&answers[i]);
  }
  return chunks;
}

static void bench_command(const Options* options) {
  MLCEngine* engine = make_loaded_engine(&options->model, kRoom);
  long streams = options->streams ? options->streams : 1;
  long tokens = options->tokens ? options->tokens : 256;
  long repeats = options->repeats ? options->repeats : 9;
  Answer* answers = calloc((size_t)streams, sizeof *answers);
  if (answers == NULL) abort();
  long chunks = run_streams(engine, answers, streams, tokens);
  printf("{\"streams\": %ld, \"tokens\": %ld, \"chunks\": %ld, \"us_per_chunk\": [", streams,
         tokens, chunks);
  for (long i = 0; i < repeats; ++i) {
    double begin = now_us();
    chunks = run_streams(engine, answers, streams, tokens);
    printf("%s%.3f", i == 0 ? "" : ", ", (now_us() - begin) / (double)chunks);
  }
  printf("]}\n");
  free(answers);
  mlc_engine_destroy(engine);
}

/* ---- Command line -------------------------------------------------------------------------- */

static int set_option(Options* options, const char* name, const char* value) {
  if (strcmp(name, "--model") == 0) return options->model.model = value, 1;
  if (strcmp(name, "--lib") == 0) return options->model.lib = value, 1;
  if (strcmp(name, "--device") == 0) return options->model.device = value, 1;
  if (strcmp(name, "--prompt") == 0) return options->prompt = value, 1;
  if (strcmp(name, "--seed") == 0) return options->seed = value, 1;
  if (strcmp(name, "--max-tokens") == 0) return options->max_tokens = value, 1;
  if (strcmp(name, "--temperature") == 0) return options->temperature = value, 1;
  if (strcmp(name, "--ignore-eos") == 0) return options->ignore_eos = atoi(value), 1;
  if (strcmp(name, "--tokens") == 0) return options->tokens = atol(value), 1;
  if (strcmp(name, "--streams") == 0) return options->streams = atol(value), 1;
  if (strcmp(name, "--repeats") == 0) return options->repeats = atol(value), 1;
  return 0;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const Options*);
  } kCommands[] = {
      {"stream", stream_command},         {"complete", complete_command},
      {"cancel", cancel_command},         {"parallel", parallel_command},
      {"load-error", load_error_command}, {"order", order_command},
      {"bench", bench_command},
  };
  Options options = {.prompt = "", .model = {NULL, NULL, "auto"}};
  for (int i = 2; i < argc; i += 2) {
    if (i + 1 < argc && set_option(&options, argv[i], argv[i + 1])) continue;
    fprintf(stderr, "unknown option, or one without a value: %s\n", argv[i]);
    return 2;
  }
  for (size_t i = 0; argc > 1 && i < sizeof kCommands / sizeof *kCommands; ++i) {
    if (strcmp(argv[1], kCommands[i].name) == 0) return kCommands[i].run(&options), 0;
  }
  fprintf(stderr, "usage: program COMMAND [--name value]...; see tests/bindings/README.md\n");
  return 2;
}
