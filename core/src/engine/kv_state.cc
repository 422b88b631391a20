#include "engine/kv_state.h"

#include <algorithm>
#include <map>
#include <new>

#include "platform/file.h"

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

// Checks that this model wrote these pages.
Status CheckFits(const KVFileHead& head, const ModelInfo& model) {
  if (!head.block.empty()) {
    return InvalidArgument("the file is a part of a kept prefix, and no conversation")
        .WithParam("path");
  }
  if (head.weights_id != model.weights_id) return SavedWithOther("another model's weights");
  if (head.library_id != model.library_id) return SavedWithOther("another model library");
  bool slides = model.sliding_window_size > 0;
  bool same = head.page_size == model.page_size && head.page_bytes == model.page_bytes &&
              head.state_bytes == model.state_bytes &&
              head.windowed.page_bytes == model.windowed_page_bytes &&
              head.windowed.window == model.layer_window &&
              head.window == (slides ? model.sliding_window_size : 0) &&
              head.sink == (slides || model.has_windowed_pages() ? model.attention_sink_size : 0);
  if (!same) return Corrupt("the saved pages are not the model's").WithParam("path");
  auto num_contents = static_cast<int32_t>(head.contents.size());
  for (int32_t token : head.tokens) {
    if (token < -num_contents || token >= model.vocab_size) {
      return Corrupt("a saved token is not in the model's vocabulary").WithParam("path");
    }
  }
  return Status();
}

Result<SavedKV> WriteKVFile(const KVState& state, const std::string& path) {
  std::string head = EncodeKVHead(state.head), tail = EncodeKVTail(state.body());
  MLC_RETURN_IF_ERROR(ReplaceFile(path, {head, state.body(), tail}));
  SavedKV saved;
  saved.num_tokens = static_cast<int>(state.head.tokens.size());
  saved.num_bytes = static_cast<int64_t>(head.size() + state.body().size() + tail.size());
  return saved;
}

// Writes the first `length` rows of the prompt into the head. Embedding rows are written as hashes.
void PutPrompt(const Prompt& prompt, int length, KVFileHead* head) {
  std::map<ContentHash, int32_t> numbers;
  for (const Prompt::Span& span : prompt.spans()) {
    int count = std::min(span.size, length - span.begin);
    if (count <= 0) break;
    if (span.rows == nullptr) {
      head->tokens.insert(head->tokens.end(), span.tokens.begin(), span.tokens.begin() + count);
      continue;
    }
    auto number = -1 - static_cast<int32_t>(head->contents.size());
    auto [at, is_new] = numbers.emplace(span.rows->hash(), number);
    if (is_new) head->contents.push_back(span.rows->hash());
    head->tokens.insert(head->tokens.end(), static_cast<size_t>(count), at->second);
  }
}

// The rows that PutPrompt wrote, as ids of this engine.
Result<std::vector<int32_t>> IdsOf(const KVFileHead& head, ContentNames* names) {
  std::vector<int32_t> own;
  for (const ContentHash& hash : head.contents) {
    MLC_ASSIGN_OR_RETURN(int32_t name, names->NameOf(hash));
    own.push_back(name);
  }
  std::vector<int32_t> ids = head.tokens;
  for (int32_t& id : ids) {
    if (id < 0) id = own[static_cast<size_t>(-1 - id)];
  }
  return ids;
}

// The size of the largest file whose pages fit into the cache.
int64_t MaxFileBytes(const EngineLoop& loop) {
  constexpr int64_t kHeadBytes = 1 << 21;
  return loop.pool_bytes() + loop.info().state_bytes + kHeadBytes +
         4 * static_cast<int64_t>(loop.max_length());
}

// A file in memory, and its bytes.
struct LoadedKV {
  std::string bytes;
  KVFile file;
};

Result<std::shared_ptr<LoadedKV>> ReadKVFile(const EngineLoop& loop, const std::string& path) {
  auto loaded = std::make_shared<LoadedKV>();
  Result<std::string> bytes = ReadFile(path, MaxFileBytes(loop));
  if (!bytes.ok() && bytes.status().code() == StatusCode::kResourceExhausted) {
    return ResourceExhausted(bytes.status().message() +
                             ": the KV cache cannot hold it; raise max_total_seq_length");
  }
  if (!bytes.ok()) return bytes.status();
  loaded->bytes = std::move(bytes).value();
  MLC_ASSIGN_OR_RETURN(loaded->file, DecodeKVFile(loaded->bytes));
  MLC_RETURN_IF_ERROR(CheckFits(loaded->file.head, loop.info()));
  return loaded;
}

}  // namespace

Result<std::shared_ptr<KVState>> Engine::CopyState(uint64_t adapter, const Prompt& prompt) {
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, PromptIds(prompt, &names_));
  KVCache::HeldPages held = cache_.FindPages(adapter, ids);
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
  head.num_slid = held.num_slid.of[0];
  head.windowed = {info().windowed_page_bytes, info().layer_window, held.num_slid.of[1]};
  PutPrompt(prompt, held.length, &head);
  head.state_bytes = info().state_bytes;
  size_t bytes = static_cast<size_t>(head.num_body_bytes());
  state->bytes.reset(new (std::nothrow) char[bytes]);
  if (state->bytes == nullptr) {
    return ResourceExhausted("out of memory: " + std::to_string(bytes) +
                             " bytes to copy the conversation's pages");
  }
  char* end = state->bytes.get();
  for (size_t g = 0; g < cache_.num_groups(); ++g) {
    std::vector<int32_t> pages = WithoutHoles(held.pages[g]);
    MLC_RETURN_IF_ERROR(model_->ReadPages(pages, end));
    int64_t page_bytes = info().PageBytes()[g];
    end += static_cast<int64_t>(pages.size()) * page_bytes;
    if (int rest = held.length % head.page_size) {
      MLC_RETURN_IF_ERROR(model_->ClearSlots(rest, g, end - page_bytes));
    }
  }
  if (head.state_bytes > 0) MLC_RETURN_IF_ERROR(model_->ReadState(held.state, end));
  return state;
}

Result<int> Engine::AdoptState(const KVFile& file) {
  MLC_RETURN_IF_ERROR(CheckFits(file.head, info()));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, IdsOf(file.head, &names_));
  SequenceId id = next_sequence_++;
  int length = static_cast<int>(ids.size());
  PageCounts num_slid{{file.head.num_slid, file.head.windowed.num_slid}};
  MLC_RETURN_IF_ERROR(cache_.AddFilled(id, file.head.adapter, length, num_slid));
  std::vector<int32_t> pages;
  for (size_t g = 0; g < cache_.num_groups(); ++g) {
    std::vector<int32_t> own = WithoutHoles(cache_.Pages(id, g));
    pages.insert(pages.end(), own.begin(), own.end());
  }
  Status status = model_->WritePages(pages, file.pages.data());
  if (status.ok() && info().state_bytes > 0) {
    status = model_->WriteState(cache_.StateOf(id), file.state.data());
  }
  if (!status.ok()) {
    cache_.Remove(id);
    return status;
  }
  cache_.Retire(id, ids, length);
  return cache_.FindPages(file.head.adapter, ids).length;
}

int Engine::NumHeld(uint64_t adapter, const Prompt& prompt) {
  Result<std::vector<int32_t>> ids = PromptIds(prompt, &names_);
  return ids.ok() ? cache_.FindPages(adapter, *ids).length : 0;
}

void SaveKVState(EngineLoop* loop, Request request, std::string path,
                 std::function<void(const Result<SavedKV>&)> done) {
  auto fail = [loop, done](const Status& status) { loop->Post([done, status] { done(status); }); };
  uint64_t adapter = request.adapter;
  Prompt prompt = request.prompt;
  auto save = [=, path = std::move(path), prompt = std::move(prompt)](Engine* engine,
                                                                      const Status& computed) {
    if (!computed.ok()) return fail(computed);
    Result<std::shared_ptr<KVState>> state = engine->CopyState(adapter, prompt);
    if (!state.ok()) return fail(state.status());
    loop->DoFileWork([loop, done, path, state = *state] {
      Result<SavedKV> saved = WriteKVFile(*state, path);
      loop->Post([done, saved] { done(saved); });
    });
  };
  loop->WithPrompt(std::move(request), std::move(save));
}

Status LoadKVState(EngineLoop* loop, const std::string& path,
                   std::function<void(const Result<int>&)> done) {
  Result<std::shared_ptr<LoadedKV>> loaded = ReadKVFile(*loop, path);
  if (!loaded.ok()) {
    bool has_place = loaded.status().message().rfind(path, 0) == 0;
    Status status = std::move(loaded).status();
    return (has_place ? std::move(status) : std::move(status).In(path)).WithParam("path");
  }
  loop->Do([loop, loaded = *loaded, done = std::move(done)](Engine* engine) {
    Result<int> adopted = engine->AdoptState(loaded->file);
    loop->Post([done, adopted] { done(adopted); });
  });
  return Status();
}

}  // namespace mlc
