// Copies the state of a conversation between the prefix cache and a file.
//
// The compute thread only copies pages. The caller's thread reads files, and a thread of its own
// writes them. Other requests go on meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine_loop.h"
#include "kv/kv_file.h"

namespace mlc {

// A copy of the state that the prefix cache holds for a prompt: pages, then the recurrent state.
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

// Saves the state of the request's prompt. The part that the cache does not hold is computed first.
// `done` is called once, on the callback thread.
void SaveKVState(EngineLoop* loop, Request request, std::string path,
                 std::function<void(const Result<SavedKV>&)> done);

// Reads and checks the file before it returns. Then the state goes into the prefix cache. `done`
// gets the number of tokens that requests can find; it runs on the callback thread, and only if
// this function succeeds. Errors: kNotFound, kCorrupt; kInvalidArgument for a file of another model
// or library; kResourceExhausted when the cache cannot hold the state.
Status LoadKVState(EngineLoop* loop, const std::string& path,
                   std::function<void(const Result<int>&)> done);

}  // namespace mlc
