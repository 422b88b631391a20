#include "model/fake_model.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "base/hash.h"

namespace mlc {
namespace {

uint32_t HashOf(const std::vector<int32_t>& history) {
  uint32_t hash = 2166136261u;
  for (int32_t token : history) hash = (hash ^ static_cast<uint32_t>(token)) * 16777619u;
  return hash;
}

constexpr int32_t kNeverWritten = -1;

// The id of a row that is not a plain token: -2 or below, so it differs from "never written".
template <typename T>
int32_t NegativeToken(const T* values, size_t count) {
  auto bytes = std::string_view(reinterpret_cast<const char*>(values), count * sizeof(T));
  return -2 - static_cast<int32_t>(Fnv1a(bytes) & 0x3fffffff);
}

// Numbers in [-1, 1).
void AddHiddenState(uint32_t hash, int size, std::vector<float>* out) {
  for (int i = 0; i < size; ++i) {
    out->push_back(static_cast<float>(hash >> 8) / static_cast<float>(1 << 23) - 1.0f);
    hash = hash * 1664525u + 1013904223u;
  }
}

}  // namespace

FakeModel::FakeModel(ModelInfo info, Script script)
    : info_(std::move(info)), script_(std::move(script)) {}

Status FakeModel::AllocatePages(const std::vector<int>& num_pages) {
  first_slots_ = {0};
  for (int pages : num_pages) first_slots_.push_back(first_slots_.back() + pages * info_.page_size);
  slots_.assign(static_cast<size_t>(first_slots_.back()), kNeverWritten);
  return Status();
}

Status FakeModel::CopyPages(const std::vector<int32_t>& source,
                            const std::vector<int32_t>& destination) {
  for (size_t i = 0; i < source.size(); ++i) {
    std::copy_n(SlotsOf(source[i]), info_.page_size, SlotsOf(destination[i]));
  }
  return Status();
}

Status FakeModel::ReadPages(const std::vector<int32_t>& pages, char* out) const {
  size_t page_bytes = static_cast<size_t>(info_.page_bytes);
  for (int32_t page : pages) {
    std::memcpy(out, SlotsOf(page), page_bytes);
    out += page_bytes;
  }
  return Status();
}

Status FakeModel::WritePages(const std::vector<int32_t>& pages, const char* data) {
  size_t page_bytes = static_cast<size_t>(info_.page_bytes);
  for (int32_t page : pages) {
    std::memcpy(SlotsOf(page), data, page_bytes);
    data += page_bytes;
  }
  return Status();
}

Status FakeModel::ClearSlots(int num_slots, size_t, char* page) const {
  constexpr int kNegative = 0xff;  // kNeverWritten in each slot
  size_t kept = 4 * static_cast<size_t>(num_slots);
  std::memset(page + kept, kNegative, static_cast<size_t>(info_.page_bytes) - kept);
  return Status();
}

int64_t FakeModel::DiscardPages(const std::vector<int32_t>& pages) {
  for (int32_t page : pages) std::fill_n(SlotsOf(page), info_.page_size, kNeverWritten);
  return static_cast<int64_t>(pages.size()) * info_.page_bytes;
}

Status FakeModel::AllocateAdapters(int num_groups) {
  if (num_groups > 0 && info_.adapters == nullptr) return Internal("adapters of a model without");
  adapters_.assign(static_cast<size_t>(num_groups), 0);
  return Status();
}

Status FakeModel::WriteAdapter(const std::vector<int32_t>& groups, const AdapterWeights& adapter) {
  if (static_cast<int>(groups.size()) != adapter.num_groups) return Internal("not its groups");
  for (size_t i = 0; i < groups.size(); ++i) {
    adapters_[groups[i]] = static_cast<int32_t>(adapter.hash ^ adapter.hash >> 32) + 31 * i;
  }
  return Status();
}

int64_t FakeModel::DropWeights() {
  weights_in_memory_ = false;
  return info_.weight_bytes;
}

int64_t FakeModel::TouchWeights() {
  weights_in_memory_ = true;
  return info_.weight_bytes;
}

Status FakeModel::AllocateStates(int num_slots) {
  if (num_slots > 0 && !has_states()) return Internal("states of a model without");
  states_.assign(static_cast<size_t>(num_slots), {});
  return Status();
}

// A state is the number of its tokens, then the tokens.
Status FakeModel::ReadState(int32_t slot, char* out) const {
  const std::vector<int32_t>& state = states_[static_cast<size_t>(slot)];
  auto count = static_cast<int32_t>(state.size());
  std::memset(out, 0, static_cast<size_t>(info_.state_bytes));
  std::memcpy(out, &count, sizeof(count));
  std::memcpy(out + sizeof(count), state.data(), sizeof(int32_t) * state.size());
  return Status();
}

Status FakeModel::WriteState(int32_t slot, const char* data) {
  int32_t count = 0;
  std::memcpy(&count, data, sizeof(count));
  if (count < 0 || count > info_.context_window_size) return Corrupt("a state of a bad length");
  std::vector<int32_t>& state = states_[static_cast<size_t>(slot)];
  state.resize(static_cast<size_t>(count));
  std::memcpy(state.data(), data + sizeof(count), sizeof(int32_t) * state.size());
  return Status();
}

Result<std::vector<std::vector<int32_t>>> FakeModel::RunStates(const Batch& batch,
                                                               const std::vector<int32_t>& tokens) {
  std::vector<std::vector<int32_t>> histories;
  for (int r = 0; r < batch.num_rows(); ++r) {
    bool is_first = r == 0 || batch.row_sequence[r] != batch.row_sequence[r - 1];
    int32_t source = batch.state_source[batch.row_sequence[r]];
    std::vector<int32_t> history;
    if (!is_first) history = histories.back();
    if (is_first && source >= 0) history = states_[static_cast<size_t>(source)];
    if (static_cast<int>(history.size()) != batch.positions[r]) {
      return Internal("a row does not go on where its state is");
    }
    history.push_back(tokens[r]);
    histories.push_back(std::move(history));
  }
  for (size_t i = 0; i < batch.state_writes.size(); ++i) {
    int32_t slot = batch.state_writes[i];
    if (slot >= 0) states_[static_cast<size_t>(slot)] = histories[i];
  }
  return histories;
}

std::vector<int32_t> FakeModel::TokensOf(const Batch& batch) const {
  std::vector<int32_t> tokens = batch.tokens;
  for (size_t i = 0; i < batch.embedding_rows.size(); ++i) {
    tokens[batch.embedding_rows[i]] =
        NegativeToken(batch.embeddings[i], static_cast<size_t>(info_.embedding_size));
  }
  for (size_t r = 0; 3 * r < batch.rotary.size(); ++r) {
    int32_t own = batch.positions[r], time = batch.rotary[3 * r];
    int32_t height = batch.rotary[3 * r + 1], width = batch.rotary[3 * r + 2];
    if (time == own && height == own && width == own) continue;
    const int32_t key[] = {tokens[r], time, height, width};
    tokens[r] = NegativeToken(key, std::size(key));
  }
  for (size_t r = 0; r < batch.token_types.size(); ++r) {
    if (batch.token_types[r] == 0) continue;
    const int32_t key[] = {tokens[r], batch.token_types[r]};
    tokens[r] = NegativeToken(key, std::size(key));
  }
  for (size_t u = 0; u < batch.adapter_rows.size(); ++u) {
    int32_t& token = tokens[batch.adapter_rows[u]];
    const int32_t key[] = {token, adapters_[batch.adapter_groups[u]], batch.adapter_scales[u]};
    token = NegativeToken(key, std::size(key));
  }
  return tokens;
}

Result<std::vector<int32_t>> FakeModel::Read(const Batch& batch, int row, size_t group,
                                             int window) const {
  int sequence = batch.row_sequence[row];
  const std::vector<int32_t>& indices = group == 0 ? batch.page_indices : batch.windowed_indices;
  std::vector<int32_t> history;
  for (int position = 0; position <= batch.positions[row]; ++position) {
    bool reads = window <= 0 || position < info_.attention_sink_size ||
                 position > batch.positions[row] - window;
    if (!reads) continue;
    int page_at = batch.page_indptr[sequence] + position / info_.page_size;
    if (page_at >= batch.page_indptr[sequence + 1]) return Internal("a position without a page");
    int32_t page = indices[page_at];
    if (page < 0) return Internal("a row reads a page that was given up");
    int32_t slot = page * info_.page_size + position % info_.page_size;
    int32_t token = slots_[first_slots_[group] + slot];
    if (token == kNeverWritten) return Internal("a position that was never written");
    history.push_back(token);
  }
  return history;
}

std::vector<float> FakeModel::HiddenState(const std::vector<int32_t>& history, int size,
                                          int layer) {
  std::vector<float> state;
  AddHiddenState(HashOf(history) + static_cast<uint32_t>(layer), size, &state);
  return state;
}

Result<std::vector<int32_t>> FakeModel::History(const Batch& batch, int row) const {
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> history,
                       Read(batch, row, 0, info_.sliding_window_size));
  if (!info_.has_windowed_pages()) return history;
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> windowed, Read(batch, row, 1, info_.layer_window));
  size_t sinks = static_cast<size_t>(info_.attention_sink_size);
  std::vector<int32_t> expected = history;
  size_t surplus = history.size() - windowed.size();
  if (surplus > 0) {
    auto first = expected.begin() + static_cast<std::ptrdiff_t>(sinks);
    expected.erase(first, first + static_cast<std::ptrdiff_t>(surplus));
  }
  if (windowed != expected) return Internal("a window of other tokens");
  return history;
}

Result<Outputs> FakeModel::Forward(const Batch& batch) {
  if (num_forwards_++ == fail_at_) return failure_;
  MLC_RETURN_IF_ERROR(CheckBatch(batch));
  std::vector<int32_t> tokens = TokensOf(batch);
  for (int r = 0; r < batch.num_rows(); ++r) slots_[batch.slots[r]] = tokens[r];
  for (size_t i = 0; i < batch.copy_source.size(); ++i) {
    slots_[batch.copy_destination[i]] = slots_[batch.copy_source[i]];
  }
  if (info_.has_windowed_pages()) {
    int32_t* windowed = &slots_[first_slots_[1]];
    for (int r = 0; r < batch.num_rows(); ++r) windowed[batch.windowed_slots[r]] = tokens[r];
    for (size_t i = 0; i < batch.windowed_copy_source.size(); ++i) {
      windowed[batch.windowed_copy_destination[i]] = windowed[batch.windowed_copy_source[i]];
    }
  }
  std::vector<std::vector<int32_t>> states;
  if (has_states()) {
    MLC_ASSIGN_OR_RETURN(states, RunStates(batch, tokens));
  }
  auto history_of = [&](int32_t row) -> Result<std::vector<int32_t>> {
    MLC_ASSIGN_OR_RETURN(std::vector<int32_t> history, History(batch, row));
    if (!has_states()) return history;
    bool same = history == states[row] || info_.sliding_window_size > 0;
    return same ? Result<std::vector<int32_t>>(states[row]) : Internal("a state of other tokens");
  };
  logits_.assign(batch.logit_rows.size() * info_.vocab_size, 0.0f);
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(std::vector<int32_t> history, history_of(batch.logit_rows[i]));
    script_(history, logits_.data() + i * info_.vocab_size);
  }
  hidden_states_.clear();
  layer_states_.clear();
  for (int32_t row : batch.hidden_rows) {
    MLC_ASSIGN_OR_RETURN(std::vector<int32_t> history, history_of(row));
    AddHiddenState(HashOf(history), info_.hidden_size, &hidden_states_);
    for (int layer = 0; layer < info_.num_chosen_layers; ++layer) {
      AddHiddenState(HashOf(history) + static_cast<uint32_t>(layer), info_.hidden_size,
                     &layer_states_);
    }
  }
  Outputs outputs;
  if (!logits_.empty()) outputs.logits = logits_.data();
  if (!hidden_states_.empty()) outputs.hidden_states = hidden_states_.data();
  if (!layer_states_.empty()) outputs.layer_states = layer_states_.data();
  return outputs;
}

Result<const float*> FakeModel::RunHead(const std::vector<float>& vectors, int num_vectors) {
  if (info_.head_size == 0) return Unsupported("no head");
  size_t width = static_cast<size_t>(info_.hidden_size);
  if (vectors.size() != static_cast<size_t>(num_vectors) * width) return Internal("bad vectors");
  scores_.clear();
  if (!info_.is_reranker) {
    scores_.resize(static_cast<size_t>(num_vectors) * static_cast<size_t>(info_.head_size));
    int heads = info_.head_size / info_.vocab_size;
    for (int i = 0; i < num_vectors * heads; ++i) {
      script_({i % heads}, scores_.data() + ptrdiff_t{info_.vocab_size} * i);
    }
    return scores_.data();
  }
  for (auto vector = vectors.begin(); vector != vectors.end(); vector += info_.hidden_size) {
    scores_.push_back(std::accumulate(vector, vector + info_.hidden_size, 0.0f));
  }
  return scores_.data();
}

void FakeModel::FailForward(int n, Status status) {
  fail_at_ = num_forwards_ + n;
  failure_ = std::move(status);
}

ModelInfo FakeModel::SmallInfo() {
  ModelInfo info;
  info.model_type = "fake";
  info.quantization = "none";
  info.weights_id = info.library_id = "fake";
  info.context_window_size = 64;
  info.prefill_chunk_size = 16;
  info.max_batch_size = 4;
  info.token_trees = true;
  info.hidden_size = info.embedding_size = 4;
  info.vocab_size = 256;
  info.page_size = 4;
  info.page_bytes = 16;
  info.kv_cache_dtype = "f32";
  return info;
}

AdapterSpec FakeModel::SmallAdapters() { return {DType::kFloat32, {{"fake", 16, {16}}}}; }

ModelInfo FakeModel::InfoFor(const ChatConfig& config) {
  ModelInfo info;
  info.model_type = "fake";
  info.quantization = config.quantization;
  info.weights_id = info.library_id = "fake";
  info.context_window_size = config.context_window_size;
  info.prefill_chunk_size = 2048;
  info.max_batch_size = 128;
  info.token_trees = true;
  info.hidden_size = info.embedding_size = 16;
  info.is_encoder = info.is_reranker = config.is_reranker;
  if (config.is_reranker) info.head_size = 1, info.token_types = 2;
  info.vocab_size = config.vocab_size;
  info.page_size = 16;
  info.page_bytes = 64;
  info.kv_cache_dtype = "f32";
  if (!info.is_encoder) info.adapters = std::make_shared<AdapterSpec>(SmallAdapters());
  return info;
}

FakeModel::Script FakeModel::HashOfHistory(int vocab_size) {
  return [vocab_size](const std::vector<int32_t>& history, float* logits) {
    uint32_t hash = HashOf(history);
    for (int k = 0; k < 8; ++k) {  // several likely tokens, so that sampling can choose
      logits[(hash >> 3) % vocab_size] = 4.0f - 0.5f * k;
      hash = hash * 1664525u + 1013904223u;
    }
  };
}

FakeModel::Script FakeModel::Words(int vocab_size, std::vector<int32_t> end_tokens) {
  constexpr int kFirstHalves = 224, kSecondHalves = 240, kEndEvery = 60;
  int num_words = std::min(vocab_size, kSecondHalves);
  bool has_halves = num_words == kSecondHalves;
  return [=, ends = std::move(end_tokens)](const std::vector<int32_t>& history, float* logits) {
    int32_t last = history.back();
    if (has_halves && last >= kFirstHalves && last < kSecondHalves) {
      logits[last + kSecondHalves - kFirstHalves] = 100.0f;  // certain at any temperature
      return;
    }
    uint32_t hash = HashOf(history);
    bool can_end = !ends.empty() && ends[0] < vocab_size;
    if (can_end && (hash >> 8) % kEndEvery == 0) logits[ends[0]] = 17.0f;
    for (int k = 0; k < 8; ++k) {
      logits[(hash >> 3) % num_words] += 15.0f - 0.5f * k;
      hash = hash * 1664525u + 1013904223u;
    }
  };
}

FakeModel::Script FakeModel::Reply(int prompt_length, std::vector<int32_t> reply, int32_t end) {
  return [prompt_length, reply = std::move(reply), end](const std::vector<int32_t>& history,
                                                        float* logits) {
    size_t at = history.size() - static_cast<size_t>(prompt_length);
    logits[at < reply.size() ? reply[at] : end] = 10.0f;
  };
}

}  // namespace mlc
