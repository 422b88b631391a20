/* mlc_llm: the C interface of the engine, and the only public header.
 *
 * JSON goes in, JSON comes out. Handles are opaque. No exception, no abort and no C++ type crosses
 * this interface. Every function may be called from any thread. A function that can fail returns an
 * MLCStatus*. NULL is success; the caller must free any other value with mlc_status_free.
 *
 *   MLCEngine* engine;
 *   MLCStatus* status = mlc_engine_create("{}", &engine);
 *   status = mlc_engine_load(engine, "{\"model\":\"dist/SmolLM2-MLC\",\"model_lib\":\"lib.so\"}",
 *                            NULL, NULL);
 *   status = mlc_engine_submit(engine, "chat.completions", request_json, NULL, 0, on_event, self,
 *                              &request_id);
 *   ...
 *   mlc_engine_destroy(engine);
 */
#ifndef MLC_LLM_H_
#define MLC_LLM_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(MLC_LLM_EXPORTS) /* in the engine itself */
#define MLC_LLM_API __declspec(dllexport)
#elif defined(_WIN32)
#define MLC_LLM_API
#else
#define MLC_LLM_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every binding compares it when it loads the library, and refuses a library of another version. */
#define MLC_LLM_ABI_VERSION 1
MLC_LLM_API int32_t mlc_abi_version(void);
/* The hash of the schema (codegen/schema) that the JSON messages follow. Static storage. */
MLC_LLM_API const char* mlc_schema_hash(void);
/* "0.1.0". Static storage. */
MLC_LLM_API const char* mlc_version(void);

/* ---- Errors -------------------------------------------------------------------------------- */

typedef struct MLCStatus MLCStatus;

/* ---- Errors: generated from codegen/schema by `python -m codegen`; do not edit. ---- */
typedef enum {
  MLC_OK = 0,
  /* The caller's request or option is wrong. */
  MLC_INVALID_ARGUMENT = 1,
  /* A file, model or function that was named does not exist. */
  MLC_NOT_FOUND = 2,
  /* A file exists but does not hold what it must. */
  MLC_CORRUPT = 3,
  /* The request is understood, but not offered. */
  MLC_UNSUPPORTED = 4,
  /* Memory, disk, pages or the queue are full. */
  MLC_RESOURCE_EXHAUSTED = 5,
  /* The caller aborted it. */
  MLC_CANCELLED = 6,
  /* Not possible now, but perhaps later. */
  MLC_UNAVAILABLE = 7,
  /* A time limit has passed. */
  MLC_DEADLINE_EXCEEDED = 8,
  /* A mistake of the engine or of this package. */
  MLC_INTERNAL = 9,
} mlc_status_code;

/* The words of an error's `code`. docs/errors.md says what to do about each.
 *   "invalid_request": MLC_INVALID_ARGUMENT. The request is wrong.
 *   "not_found": MLC_NOT_FOUND. What was named does not exist.
 *   "corrupt_file": MLC_CORRUPT. A file is damaged.
 *   "unsupported": MLC_UNSUPPORTED. This is not offered.
 *   "out_of_resources": MLC_RESOURCE_EXHAUSTED. Memory or another resource has run out.
 *   "request_cancelled": MLC_CANCELLED. The request was cancelled.
 *   "unavailable": MLC_UNAVAILABLE. This is not possible now.
 *   "deadline_exceeded": MLC_DEADLINE_EXCEEDED. The request's own `timeout_ms` passed.
 *   "internal_error": MLC_INTERNAL. The engine made a mistake.
 *   "invalid_type": MLC_INVALID_ARGUMENT. A value has another JSON type.
 *   "invalid_value": MLC_INVALID_ARGUMENT. A value is not one of those offered.
 *   "missing_required_parameter": MLC_INVALID_ARGUMENT. A field is missing.
 *   "unknown_parameter": MLC_INVALID_ARGUMENT. There is no field of that name.
 *   "logit_processor_failed": MLC_INVALID_ARGUMENT. A request's logit processor failed.
 *   "integer_below_min_value": MLC_INVALID_ARGUMENT. A whole number is too small.
 *   "integer_above_max_value": MLC_INVALID_ARGUMENT. A whole number is too large.
 *   "decimal_below_min_value": MLC_INVALID_ARGUMENT. A number is too small.
 *   "decimal_above_max_value": MLC_INVALID_ARGUMENT. A number is too large.
 *   "empty_string": MLC_INVALID_ARGUMENT. A text is empty.
 *   "string_below_min_length": MLC_INVALID_ARGUMENT. A text is too short.
 *   "string_above_max_length": MLC_INVALID_ARGUMENT. A text is too long.
 *   "empty_array": MLC_INVALID_ARGUMENT. A list is empty.
 *   "array_below_min_length": MLC_INVALID_ARGUMENT. A list is too short.
 *   "array_above_max_length": MLC_INVALID_ARGUMENT. A list is too long.
 *   "invalid_function_parameters": MLC_INVALID_ARGUMENT. A tool's parameters are no JSON Schema of
 *     an object.
 *   "unsupported_parameter": MLC_UNSUPPORTED. A field of OpenAI's API that is not offered here.
 *   "context_length_exceeded": MLC_INVALID_ARGUMENT. The prompt is longer than the model's context.
 *   "too_many_tokens": MLC_RESOURCE_EXHAUSTED. A text has more tokens than its reader allows.
 *   "image_parse_error": MLC_INVALID_ARGUMENT. A picture is damaged, or no picture at all.
 *   "unsupported_image_media_type": MLC_UNSUPPORTED. A picture has a format that is not read.
 *   "image_too_large": MLC_INVALID_ARGUMENT. A picture has more pixels than are allowed.
 *   "image_file_too_large": MLC_INVALID_ARGUMENT. A picture's file has more bytes than are allowed.
 *   "failed_to_download_image": MLC_INVALID_ARGUMENT. A picture could not be fetched from its
 *     address.
 *   "no_chat_template": MLC_UNSUPPORTED. The model has no chat template.
 *   "template_error": MLC_INVALID_ARGUMENT. The model's chat template refuses the conversation.
 *   "file_not_found": MLC_NOT_FOUND. A file does not exist.
 *   "model_library_not_sealed": MLC_UNSUPPORTED. A model library was not finished by `mlc_llm
 *     compile`.
 *   "model_not_loaded": MLC_UNAVAILABLE. No model is loaded.
 *   "model_unloaded": MLC_UNAVAILABLE. The model was unloaded before the request ended.
 *   "device_lost": MLC_UNAVAILABLE. The model's device has failed.
 *   "adapter_not_found": MLC_NOT_FOUND. No adapter of this name is loaded.
 *   "adapters_full": MLC_RESOURCE_EXHAUSTED. There is no room for this adapter.
 *   "queue_full": MLC_RESOURCE_EXHAUSTED. Too many requests are waiting.
 *   "kv_cache_exhausted": MLC_RESOURCE_EXHAUSTED. The KV cache has no room for this request.
 *   "pinned_prompts_full": MLC_RESOURCE_EXHAUSTED. Pinned prompts take all the room that they may
 *     have.
 */
/* ---- End of errors. ---- */

/* All accept NULL (success). The strings live as long as the status. */
MLC_LLM_API int32_t mlc_status_get_code(const MLCStatus* status);
MLC_LLM_API const char* mlc_status_get_message(const MLCStatus* status);
/* OpenAI's shape, and the status as a word: {"error": {"message", "type", "param", "code",
 * "status"}}. */
MLC_LLM_API const char* mlc_status_get_error_json(const MLCStatus* status);
MLC_LLM_API void mlc_status_free(MLCStatus* status);

/* Frees a string that a function here returned through a char**. Accepts NULL. */
MLC_LLM_API void mlc_string_free(char* text);

/* ---- Process ------------------------------------------------------------------------------- */

/* Sets the folders that the engine may use: a Directories (codegen/schema) such as {"cache":
 * "/data/user/0/com.example/cache"}. An app must set them, because it may write only to its own
 * folders. They hold for the whole process and replace what was set before. Call it before the
 * first load. */
MLC_LLM_API MLCStatus* mlc_set_directories(const char* directories_json);

/* ---- Engine -------------------------------------------------------------------------------- */

typedef struct MLCEngine MLCEngine;

/* `config_json`: an EngineConfig (codegen/schema), "{}" for the defaults. An unknown member of it
   is an error. An unknown member of a request is ignored, unless the config has
   "refuse_unknown_fields": true. Then it is an error whose param is its path, so a program finds
   its misspelt fields. */
MLC_LLM_API MLCStatus* mlc_engine_create(const char* config_json, MLCEngine** out);

/* Called with 0.0 .. 1.0 and the current work, on the thread that called mlc_engine_load.
 * Returning non-zero cancels the load. */
typedef int32_t (*mlc_progress_callback)(void* user, double fraction, const char* what);

/* Loads a model folder, replacing a loaded model. `model_json`: {"model": folder with
 * mlc-chat-config.json, "model_lib": compiled library, "device": "cpu:0",
 * "name": the model's name in answers (default: the folder's name), "draft": {"model", "model_lib"}
 * of a smaller model with the same vocabulary, for an engine with speculative_mode small_draft,
 * "strips": what the path of a file begins with, in an existing folder, in which the weights that a
 * CPU reads in another order are kept, so that later loads map them; absent: they are laid out in
 * memory in each load}. On the device "fake" a script answers, without weights and library. It is
 * for tests and benchmarks of everything except the model. If `model_json` cannot be read, the
 * engine keeps its model. If the load fails later, the engine has no model, and can load another.
 */
MLC_LLM_API MLCStatus* mlc_engine_load(MLCEngine* engine, const char* model_json,
                                       mlc_progress_callback progress, void* user);

/* Returns what mlc_engine_load of the same `model_json` would allocate, without loading: a Plan
 * (codegen/schema) with the bytes of weights, KV cache and temporaries, and whether they fit. Free
 * it with mlc_string_free. */
MLC_LLM_API MLCStatus* mlc_engine_plan(MLCEngine* engine, const char* model_json, char** out_json);

/* Ends every request with an error of code "model_unloaded" and frees the model's memory. Like
 * mlc_engine_load it waits for running callbacks. Inside a callback both are refused
 * (MLC_INVALID_ARGUMENT). */
MLC_LLM_API MLCStatus* mlc_engine_unload(MLCEngine* engine);

/* Unloads the model and frees the engine. Cancels a load that runs on another thread. Accepts NULL.
 * Returns after the last callback has returned. Must not be called inside a callback of this
 * engine. */
MLC_LLM_API void mlc_engine_destroy(MLCEngine* engine);

/* ---- Requests ------------------------------------------------------------------------------ */

typedef enum {
  MLC_EVENT_CHUNK = 0,  /* `json`: one chunk of a streamed answer */
  MLC_EVENT_RESULT = 1, /* `json`: the whole answer; last event, sent when not streaming */
  MLC_EVENT_DONE = 2,   /* a streamed answer is complete; last event; `json` is "" */
  MLC_EVENT_ERROR = 3   /* `json`: {"error": {...}}; last event */
} mlc_event_kind;

/* Called in order, from one thread of the engine, never twice at the same time for one request. The
 * last event is exactly one RESULT, DONE or ERROR in all cases. `json` is valid until the callback
 * returns. */
typedef void (*mlc_event_callback)(void* user, int32_t kind, const char* json, size_t json_size);

/* Bytes beside the JSON, for example a picture's file. An `image_url` of a message refers to them
 * as "buffer:0", "buffer:1", ... They are copied before mlc_engine_submit returns. */
typedef struct {
  const void* data;
  size_t size;
} mlc_buffer;

/* ---- Routes: generated from codegen/schema by `python -m codegen`; do not edit. ---- */
/* What mlc_engine_submit takes as `route`, and the types (codegen/schema) of its JSON:
 *   "chat.completions": ChatCompletionRequest -> ChatCompletion; streams ChatCompletionChunk
 *   "completions": CompletionRequest -> Completion; streams Completion
 *   "embeddings": EmbeddingRequest -> EmbeddingResponse
 *   "rerank": RerankRequest -> RerankResponse
 *   "tokenize": TokenizeRequest -> TokenizeResponse
 *   "detokenize": DetokenizeRequest -> DetokenizeResponse
 *   "render": ChatCompletionRequest -> RenderResponse
 *   "input_tokens": ChatCompletionRequest -> InputTokensResponse
 *   "kv.save": KVSaveRequest -> KVSaveResponse
 *   "kv.load": KVLoadRequest -> KVLoadResponse
 *   "kv.held": KVHeldRequest -> KVHeldResponse
 *   "memory.trim": TrimRequest -> TrimResponse
 *   "prewarm": PrewarmRequest -> PrewarmResponse
 *   "thermal.set": ThermalHint -> ThermalLimits
 *   "adapters.load": AdapterLoadRequest -> AdapterList
 *   "adapters.unload": AdapterUnloadRequest -> AdapterList
 *   "adapters.list": AdapterListRequest -> AdapterList
 *   "trace": {}. What the engine did last, in Chrome's trace format; needs `enable_tracing` in the
 *     EngineConfig.
 */
/* ---- End of routes. ---- */

/* Queues a request of one of the routes above. A request that is wrong is refused here, with no
 * event. `request_id` may be NULL; it may be written after the last event. */
MLC_LLM_API MLCStatus* mlc_engine_submit(MLCEngine* engine, const char* route, const char* json,
                                         size_t json_size, const mlc_buffer* buffers,
                                         size_t num_buffers, mlc_event_callback callback,
                                         void* user, uint64_t* request_id);

/* Changes `logits` [vocab_size] in place before a token is chosen from them. `tokens`: the
   `num_prompt` ids of the prompt, then those of the answer so far; an id below zero stands for a
   row of a picture. A logit becomes a number or -infinity. Returns NULL, or what went wrong ("has
   no table", behind "the request's logit processor"): static storage, or valid until the next call
   on this thread; it ends the request with an error of code "logit_processor_failed". Called on the
   engine's thread, never two at a time; all requests wait until it returns. It must not call the
   engine. */
typedef const char* (*mlc_logit_processor)(void* user, const int32_t* tokens, size_t num_tokens,
                                           size_t num_prompt, float* logits, size_t vocab_size);

/* Registers a processor for the requests with "logit_processor": `name`, or replaces it; NULL
   removes it. `release` (may be NULL) gets `user` when the processor is removed and the requests
   that use it have ended, or when the call fails; from any thread. */
MLC_LLM_API MLCStatus* mlc_engine_set_logit_processor(MLCEngine* engine, const char* name,
                                                      mlc_logit_processor processor,
                                                      void (*release)(void* user), void* user);

/* Ends the request with an error of code "request_cancelled". Unknown or ended ids are ignored. */
MLC_LLM_API MLCStatus* mlc_engine_abort(MLCEngine* engine, uint64_t request_id);

/* Stops a running request, or lets it continue at the same place. It is for callers whose reader is
 * slow. After the events that are already queued, a paused request makes no events. Other requests
 * may take its pages, but its answer stays the same. Its `timeout_ms` and aborts still end it.
 * Unknown or ended ids are ignored. May be called inside a callback. */
MLC_LLM_API MLCStatus* mlc_engine_pause_request(MLCEngine* engine, uint64_t request_id);
MLC_LLM_API MLCStatus* mlc_engine_resume_request(MLCEngine* engine, uint64_t request_id);

/* Aborts every request and clears metrics and caches; the model stays loaded. */
MLC_LLM_API MLCStatus* mlc_engine_reset(MLCEngine* engine);

/* Returns a JSON object of counters, with the names of MLC-LLM's /metrics. Free it with
 * mlc_string_free. */
MLC_LLM_API MLCStatus* mlc_engine_metrics(MLCEngine* engine, char** out_json);

/* No step begins between pause and resume; requests wait. For apps that go to the background. */
MLC_LLM_API MLCStatus* mlc_engine_pause(MLCEngine* engine);
MLC_LLM_API MLCStatus* mlc_engine_resume(MLCEngine* engine);

/* Frees caches and spare buffers, which can be computed or allocated again. */
MLC_LLM_API MLCStatus* mlc_engine_trim_memory(MLCEngine* engine);

/* Lists the devices in MLC-LLM's order: [{"name": "cuda:0", "found": false, "reason": "..."}, ...].
 */
MLC_LLM_API MLCStatus* mlc_list_devices(char** out_json);

/* Returns the device that a name means ("auto", "cpu", "opencl:1"): {"name": "opencl:1",
 * "probes": [...]}. The probes have the form of mlc_list_devices and list the devices that were
 * looked at. It opens only drivers of devices that the name can mean. MLC_INVALID_ARGUMENT: there
 * is no such name. MLC_NOT_FOUND: there is no such device; the message says why. Free it with
 * mlc_string_free. */
MLC_LLM_API MLCStatus* mlc_choose_device(const char* device, char** out_json);

#ifdef __cplusplus
}
#endif

#endif /* MLC_LLM_H_ */
