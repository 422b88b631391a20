// The state of a conversation between the prefix cache and a file.
//
// The compute thread copies pages and no more: files are read on the caller's thread and written on
// one of their own. What is done meanwhile by others goes on.
#ifndef MLC_ENGINE_KV_STATE_H_
#define MLC_ENGINE_KV_STATE_H_

#include <functional>
#include <memory>
#include <string>

#include "engine/engine_thread.h"
#include "kv/kv_file.h"

namespace mlc {

// A copy of what the prefix cache holds of a prompt: pages, then the recurrent state.
struct KVState {
  KVFileHead head;
  std::unique_ptr<char[]> bytes;
  std::string_view body() const {
    return {bytes.get(), static_cast<size_t>(head.num_body_bytes())};
  }
};

struct SavedKV {
  int num_tokens = 0;
  int64_t num_bytes = 0;
};

// Saves the state of the request's prompt, which is computed first where the cache does not hold
// it. `done` is called once, on the callback thread.
void SaveKVState(EngineThread* thread, Request request, std::string path,
                 std::function<void(const Result<SavedKV>&)> done);

// Reads the file and checks it, before it returns; then puts it into the prefix cache. `done` gets
// the tokens that requests can find, on the callback thread; not called when this fails. Errors:
// kNotFound, kCorrupt; kInvalidArgument for another model's or library's file; kResourceExhausted
// when the cache cannot hold it.
Status LoadKVState(EngineThread* thread, const std::string& path,
                   std::function<void(const Result<int>&)> done);

}  // namespace mlc

#endif  // MLC_ENGINE_KV_STATE_H_
