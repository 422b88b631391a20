#include "engine/kv_state.h"

#include <algorithm>
#include <new>

#include "base/file.h"

namespace mlc {
namespace {

std::vector<int32_t> WithoutHoles(std::vector<int32_t> pages) {
  pages.erase(std::remove(pages.begin(), pages.end(), kNoPage), pages.end());
  return pages;
}

Status SavedWithOther(const char* what) {
  return InvalidArgument(std::string("the conversation was saved with ") + what +
                         "; save it again with this one")
      .WithParam("path");
}

// Whether this model wrote these pages.
Status CheckFits(const KVFileHead& head, const ModelInfo& model) {
  if (head.weights_id != model.weights_id) return SavedWithOther("another model's weights");
  if (head.library_id != model.library_id) return SavedWithOther("another model library");
  bool slides = model.sliding_window_size > 0;
  bool same = head.page_size == model.page_size && head.page_bytes == model.page_bytes &&
              head.window == (slides ? model.sliding_window_size : 0) &&
              head.sink == (slides ? model.attention_sink_size : 0);
  if (!same) return Corrupt("the saved pages are not the model's").WithParam("path");
  for (int32_t token : head.tokens) {
    if (token < 0 || token >= model.vocab_size) {
      return Corrupt("a saved token is not in the model's vocabulary").WithParam("path");
    }
  }
  return Status();
}

Result<SavedKV> WriteKVFile(const KVState& state, const std::string& path) {
  std::string head = EncodeKVHead(state.head), tail = EncodeKVTail(state.page_bytes());
  MLC_RETURN_IF_ERROR(ReplaceFile(path, {head, state.page_bytes(), tail}));
  SavedKV saved;
  saved.num_tokens = static_cast<int>(state.head.tokens.size());
  saved.num_bytes = static_cast<int64_t>(head.size() + state.page_bytes().size() + tail.size());
  return saved;
}

// As large as a file can be whose pages fit into the cache.
int64_t MaxFileBytes(const EngineThread& thread) {
  constexpr int64_t kHeadBytes = 1 << 17;
  int64_t pages = thread.num_pages() * thread.info().page_bytes;
  return pages + kHeadBytes + 4 * static_cast<int64_t>(thread.max_length());
}

// The bytes that `file` lies in.
struct LoadedKV {
  std::string bytes;
  KVFile file;
};

Result<std::shared_ptr<LoadedKV>> ReadKVFile(const EngineThread& thread, const std::string& path) {
  auto loaded = std::make_shared<LoadedKV>();
  Result<std::string> bytes = ReadFile(path, MaxFileBytes(thread));
  if (!bytes.ok() && bytes.status().code() == StatusCode::kResourceExhausted) {
    return ResourceExhausted(bytes.status().message() +
                             ": the KV cache cannot hold it; raise max_total_seq_length");
  }
  if (!bytes.ok()) return bytes.status();
  loaded->bytes = std::move(bytes).value();
  MLC_ASSIGN_OR_RETURN(loaded->file, DecodeKVFile(loaded->bytes));
  MLC_RETURN_IF_ERROR(CheckFits(loaded->file.head, thread.info()));
  return loaded;
}

}  // namespace

Result<std::shared_ptr<KVState>> Engine::CopyState(uint64_t adapter,
                                                   const std::vector<int32_t>& tokens) const {
  KVCache::HeldPages held = cache_.FindPages(adapter, tokens);
  if (held.length == 0) {
    return ResourceExhausted("the conversation's pages were needed by others; save it again");
  }
  auto state = std::make_shared<KVState>();
  KVFileHead& head = state->head;
  head.weights_id = info().weights_id;
  head.library_id = info().library_id;
  head.adapter = adapter;
  head.page_size = info().page_size;
  head.page_bytes = info().page_bytes;
  head.window = cache_.options().window;
  head.sink = cache_.options().sink;
  head.num_slid = held.num_slid;
  head.tokens.assign(tokens.begin(), tokens.begin() + held.length);
  size_t bytes = static_cast<size_t>(head.num_pages() * head.page_bytes);
  state->pages.reset(new (std::nothrow) char[bytes]);
  if (state->pages == nullptr) {
    return ResourceExhausted("out of memory: " + std::to_string(bytes) +
                             " bytes to copy the conversation's pages");
  }
  MLC_RETURN_IF_ERROR(model_->ReadPages(WithoutHoles(held.pages), state->pages.get()));
  if (int rest = held.length % head.page_size) {
    MLC_RETURN_IF_ERROR(model_->ClearSlots(rest, state->pages.get() + bytes - head.page_bytes));
  }
  return state;
}

Result<int> Engine::AdoptState(const KVFile& file) {
  MLC_RETURN_IF_ERROR(CheckFits(file.head, info()));
  SequenceId id = next_sequence_++;
  int length = static_cast<int>(file.head.tokens.size());
  MLC_RETURN_IF_ERROR(cache_.AddFilled(id, file.head.adapter, length, file.head.num_slid));
  Status status = model_->WritePages(WithoutHoles(cache_.Pages(id)), file.pages.data());
  if (!status.ok()) {
    cache_.Remove(id);
    return status;
  }
  cache_.Retire(id, file.head.tokens, length);
  return NumHeld(file.head.adapter, file.head.tokens);
}

int Engine::NumHeld(uint64_t adapter, const std::vector<int32_t>& tokens) const {
  return cache_.FindPages(adapter, tokens).length;
}

void SaveKVState(EngineThread* thread, Request request, std::string path,
                 std::function<void(const Result<SavedKV>&)> done) {
  auto fail = [thread, done](const Status& status) {
    thread->Post([done, status] { done(status); });
  };
  uint64_t adapter = request.adapter;
  std::vector<int32_t> tokens = request.prompt_tokens;
  auto save = [=, path = std::move(path), tokens = std::move(tokens)](Engine* engine,
                                                                      const Status& computed) {
    if (!computed.ok()) return fail(computed);
    Result<std::shared_ptr<KVState>> state = engine->CopyState(adapter, tokens);
    if (!state.ok()) return fail(state.status());
    thread->DoFileWork([thread, done, path, state = *state] {
      Result<SavedKV> saved = WriteKVFile(*state, path);
      thread->Post([done, saved] { done(saved); });
    });
  };
  thread->WithPrompt(std::move(request), std::move(save));
}

Status LoadKVState(EngineThread* thread, const std::string& path,
                   std::function<void(const Result<int>&)> done) {
  Result<std::shared_ptr<LoadedKV>> loaded = ReadKVFile(*thread, path);
  if (!loaded.ok()) {
    bool has_place = loaded.status().message().rfind(path, 0) == 0;
    Status status = std::move(loaded).status();
    return (has_place ? std::move(status) : std::move(status).In(path)).WithParam("path");
  }
  thread->Do([thread, loaded = *loaded, done = std::move(done)](Engine* engine) {
    Result<int> adopted = engine->AdoptState(loaded->file);
    thread->Post([done, adopted] { done(adopted); });
  });
  return Status();
}

}  // namespace mlc
