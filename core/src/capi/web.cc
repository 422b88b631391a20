// What the page calls beside the C interface (bindings/web/runtime/module.ts): the turns of the
// engines, and functions whose callbacks are the page's.
#if defined(__EMSCRIPTEN__)
#include <cstdint>

#include "chat/turns.h"
#include "mlc_llm.h"
#include "platform/web/page.h"

// An event of the request that was submitted as `user`. `json` is valid until it returns.
MLC_PAGE(event) void mlc_page_event(uint32_t user, int32_t kind, const char* json, uint32_t size);
// Returns non-zero to cancel the load.
MLC_PAGE(progress) int32_t mlc_page_progress(double fraction, const char* what);

// Changes the logits in place; returns what went wrong, or null.
MLC_PAGE(logits)
const char* mlc_page_logits(uint32_t user, const int32_t* tokens, uint32_t num_tokens,
                            uint32_t num_prompt, float* logits, uint32_t vocab_size);

namespace {

const char* OnLogits(void* user, const int32_t* tokens, size_t num_tokens, size_t num_prompt,
                     float* logits, size_t vocab_size) {
  return mlc_page_logits(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(user)), tokens,
                         num_tokens, num_prompt, logits, vocab_size);
}

void OnEvent(void* user, int32_t kind, const char* json, size_t size) {
  mlc_page_event(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(user)), kind, json, size);
}

int32_t OnProgress(void*, double fraction, const char* what) {
  return mlc_page_progress(fraction, what);
}

}  // namespace

#define MLC_WEB(name) extern "C" __attribute__((export_name(#name)))

// May suspend, as mlc_web_load and mlc_engine_plan.
MLC_WEB(mlc_web_turn) int32_t mlc_web_turn() { return mlc::TakeTurns(); }

MLC_WEB(mlc_web_load) MLCStatus* mlc_web_load(MLCEngine* engine, const char* model_json) {
  return mlc_engine_load(engine, model_json, OnProgress, nullptr);
}

// `user` 0: removes it.
MLC_WEB(mlc_web_set_logit_processor)
MLCStatus* mlc_web_set_logit_processor(MLCEngine* engine, const char* name, uint32_t user) {
  void* handle = reinterpret_cast<void*>(static_cast<uintptr_t>(user));
  return mlc_engine_set_logit_processor(engine, name, user == 0 ? nullptr : OnLogits, nullptr,
                                        handle);
}

MLC_WEB(mlc_web_submit)
MLCStatus* mlc_web_submit(MLCEngine* engine, const char* route, const char* json, uint32_t size,
                          const mlc_buffer* buffers, uint32_t num_buffers, uint32_t user,
                          uint64_t* request_id) {
  void* handle = reinterpret_cast<void*>(static_cast<uintptr_t>(user));
  return mlc_engine_submit(engine, route, json, size, buffers, num_buffers, OnEvent, handle,
                           request_id);
}

#endif
