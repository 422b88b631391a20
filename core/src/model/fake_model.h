// A model without tensors: a script decides which token follows a history. Its "keys and values"
// are the token ids themselves (page_bytes is four times page_size). They are written to slots and
// read back through the block table, so a wrong page, slot or position changes the answer or fails.
// If info has windowed pages, they hold the ids too, and a step fails when what is in a window is
// not the end of the history.
// A hidden state is made from a hash of the row's history.
//
// If info.state_bytes equals StateBytes(info), the model has recurrent layers: it keeps the history
// in a state slot too and answers from that copy. A step fails when the two histories differ.
//
// An embedding row counts as a negative token made from its numbers. A token whose rotary position
// differs from its index, or whose type is not 0, counts as a negative token too. The head of a
// reranker gives the sum of a vector. A token of a row with adapters counts as a negative token,
// made from their weights and scales too.
//
//   FakeModel model(FakeModel::SmallInfo(), FakeModel::Reply(3, {7, 8, 9}, 0));
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/model.h"
#include "model/model_config.h"
#include "platform/host.h"

namespace mlc {

class FakeModel : public Model {
 public:
  // Fills `logits` [vocab_size] for the token that follows `history`. They are zero before the
  // call.
  using Script = std::function<void(const std::vector<int32_t>& history, float* logits)>;

  FakeModel(ModelInfo info, Script script);

  const ModelInfo& info() const override { return info_; }
  int64_t AvailableBytes() const override { return AvailableMemoryBytes(); }
  Status AllocatePages(const std::vector<int>& num_pages) override;
  Status CopyPages(const std::vector<int32_t>& source,
                   const std::vector<int32_t>& destination) override;
  Status ReadPages(const std::vector<int32_t>& pages, char* out) const override;
  Status WritePages(const std::vector<int32_t>& pages, const char* data) override;
  Status ClearSlots(int num_slots, size_t group, char* page) const override;
  Status AllocateStates(int num_slots) override;
  Status ReadState(int32_t slot, char* out) const override;
  Status WriteState(int32_t slot, const char* data) override;
  Status AllocateAdapters(int num_groups) override;
  Status WriteAdapter(const std::vector<int32_t>& groups, const AdapterWeights& adapter) override;
  int64_t DiscardPages(const std::vector<int32_t>& pages) override;
  int64_t DropWeights() override;
  int64_t TouchWeights() override;
  Result<Outputs> Forward(const Batch& batch) override;
  // Of a reranker, the sum of each vector. Of Medusa's heads: head k's logits follow the history
  // {k}.
  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override;
  DeviceSampler* sampler() override { return nullptr; }

  // The n-th call of Forward from now (0: the next call) fails with `status`.
  void FailForward(int n, Status status);
  int num_forwards() const { return num_forwards_; }
  // Whether the weights, which it does not have, are in memory: TouchWeights sets it.
  bool weights_in_memory() const { return weights_in_memory_; }

  // The sizes of a small model: page size 4, 64 tokens of context, vocabulary 256.
  static ModelInfo SmallInfo();
  // The hidden state behind a history, of `size` numbers.
  static std::vector<float> HiddenState(const std::vector<int32_t>& history, int size,
                                        int layer = 0);
  // The state_bytes of a fake model with recurrent layers.
  static int64_t StateBytes(const ModelInfo& info) { return 4 * (info.context_window_size + 1); }
  // One layer of 16 inputs and outputs, named "fake".
  static AdapterSpec SmallAdapters();
  // Replaces the model of a folder: has its vocabulary and context, but no weights.
  static ModelInfo InfoFor(const ChatConfig& config);
  // The most likely token is a hash of the whole history: a wrong history changes it.
  static Script HashOfHistory(int vocab_size);
  // Like HashOfHistory, but uses the first 256 tokens of the vocabulary in
  // tests/fixtures/fake-model: 0 .. 223 are whole words. 224 .. 239 are first halves of characters;
  // the second half, whose id is larger by 16, always follows. One of `end_tokens` comes after
  // about 60 tokens.
  static Script Words(int vocab_size, std::vector<int32_t> end_tokens);
  // After the first `prompt_length` tokens the most likely tokens are `reply`, then `end`.
  static Script Reply(int prompt_length, std::vector<int32_t> reply, int32_t end);

 private:
  // What a row reads of the group's pages, with `window` (0: all).
  Result<std::vector<int32_t>> Read(const Batch& batch, int row, size_t group, int window) const;
  Result<std::vector<int32_t>> History(const Batch& batch, int row) const;
  // The first slot of a page.
  int32_t* SlotsOf(int32_t page) { return &slots_[static_cast<size_t>(page) * info_.page_size]; }
  const int32_t* SlotsOf(int32_t page) const { return const_cast<FakeModel*>(this)->SlotsOf(page); }
  // The token that stands for each row of the batch in a history: [n].
  std::vector<int32_t> TokensOf(const Batch& batch) const;
  Status CheckBatch(const Batch& batch) const;
  Status CheckStates(const Batch& batch) const;
  Status CheckAdapters(const Batch& batch) const;
  static Status CheckWholeTexts(const Batch& batch);
  static Status CheckLastSeen(const Batch& batch);
  // Returns the history of each row from the recurrent states, and writes the batch's new states.
  Result<std::vector<std::vector<int32_t>>> RunStates(const Batch& batch,
                                                      const std::vector<int32_t>& tokens);
  bool has_states() const { return info_.state_bytes > 0; }

  ModelInfo info_;
  Script script_;
  std::vector<int32_t> slots_;                // of all pages: the tokens; -1: never written
  std::vector<int32_t> first_slots_;          // of each group, and their end
  std::vector<std::vector<int32_t>> states_;  // the history in each slot
  std::vector<int32_t> adapters_;             // a number for the content of each group
  std::vector<float> logits_, hidden_states_, layer_states_, scores_;
  int num_forwards_ = 0;
  bool weights_in_memory_ = false;
  int fail_at_ = -1;
  Status failure_;
};

}  // namespace mlc
