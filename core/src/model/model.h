// The interface between the engine and the code that computes. The engine gives rows and page
// numbers and gets logits. fake_model implements the same interface without tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/adapter_file.h"
#include "model/device_sampler.h"
#include "model/prompt.h"
#include "model/step_inputs.gen.h"

namespace mlc {

// What a layer stores for a sequence.
enum class LayerKind {
  kStateless,  // nothing: a layer of an encoder, or one that reads the pages of an earlier layer
  kAttention,  // keys and values, in pages
  kLatent,     // latent vectors from which keys and values are computed (MLA), in pages
  kRecurrent,  // a state of fixed size, in slots
};
struct LayerState {
  LayerKind kind = LayerKind::kAttention;
  int64_t bytes = 0;  // bytes of a page, or of a state
  int window = 0;     // tokens that a row looks back, itself included; 0: all
};

struct ModelInfo {
  std::string model_type;        // "llama"
  std::string quantization;      // "q4f32_1"
  std::string weights_id;        // identifies the loaded weights
  std::string library_id;        // identifies the loaded library
  int context_window_size = 0;   // tokens
  int sliding_window_size = -1;  // tokens that a row looks back, itself included; -1: all
  int attention_sink_size = 0;   // first tokens that every row still sees with a sliding window
  int prefill_chunk_size = 0;    // most rows of one step
  int max_batch_size = 0;        // most sequences of one step, branches of token trees included
  bool is_encoder = false;       // rows see later rows: a step has whole texts, and no logits
  // Of a part of a model that drafts, the speculative_mode that uses it: "mtp", "eagle", "medusa";
  // "": none
  std::string draft_kind;
  bool takes_states = false;  // each row takes a hidden state too (Batch)
  bool token_trees = false;   // whether a step may have copies of slots (Batch)
  int hidden_size = 0;        // width of a hidden state; 0: the model returns none
  // Of a part that drafts: it has no pages, and reads the target's.
  bool reads_target_pages = false;
  // Layers whose states a step gives besides. Of a part that drafts: those that it reads; 0: it
  // reads the state after the last norm.
  int num_chosen_layers = 0;
  int head_size = 0;         // width of what the head makes of a vector (RunHead); 0: no head
  bool is_reranker = false;  // an encoder whose head gives one score of two texts
  int token_types = 0;       // how many types rows may have; 0: all rows have the same
  int embedding_size = 0;    // width of an embedding row of a prompt; 0: the model takes none
  int vocab_size = 0;        // columns of the logits; may exceed the tokenizer's vocabulary
  int page_size = 0;         // tokens in a page
  int64_t page_bytes = 0;    // one page, all layers of its group; 0: no layer has pages
  // If windowed layers have pages of their own (kv/page_groups.h): the bytes of such a page, and
  // how many tokens a row of these layers looks back; 0: all layers share one block table.
  int64_t windowed_page_bytes = 0;
  int layer_window = 0;
  std::string kv_cache_dtype;  // precision of keys and values: "f32", "f16", "bf16", "q8"
  int64_t state_bytes = 0;     // one recurrent state, all layers; 0: the model has none
  int64_t max_pages = 0;       // limit of the device for one allocation; 0: no limit
  int64_t weight_bytes = 0;    // without tables of which steps read single rows
  int64_t table_bytes = 0;     // of these: they stay in their files
  std::shared_ptr<const AdapterSpec> adapters;  // that requests may choose; null: none
  int num_shards = 1;            // that compute each layer together; all bytes are of all of them
  bool takes_cores = true;       // a step computes on the CPU cores that the engine also uses
  bool has_own_memory = false;   // the device's memory is not the host's
  int64_t step_bytes = 0;        // temporaries of a step: the part that does not depend on rows
  int64_t row_bytes = 0;         // temporaries for each row
  int64_t logit_row_bytes = 0;   // temporaries for each row that wants logits
  int64_t unit_bytes = 0;        // temporaries for each row and group of ranks of its adapters
  int64_t tower_bytes = 0;       // temporaries of its tower, if it has one
  int64_t decode_row_bytes = 0;  // memory that recorded decode steps keep for each sequence

  // Computes the sizes of pages and states and the windows from the layers. With `two_tables` the
  // layers with a window have their own block table, if others have none. Layers that share a table
  // need a page until the last of them reads it: the widest window counts. If one of them has no
  // window, their table has none.
  void SetLayers(const std::vector<LayerState>& layers, bool two_tables = false);
  // The bytes are those of one of `count` shards; now they are those of all. False: they are more
  // than a number can say.
  [[nodiscard]] bool SetShards(int count);
  // Of a part that drafts: the width of what it reads of a row of the target.
  int state_size() const { return hidden_size * std::max(1, num_chosen_layers); }
  bool has_windowed_pages() const { return windowed_page_bytes > 0; }
  // The bytes of a page of each group.
  std::vector<int64_t> PageBytes() const;
};

// The rows of one step: the inputs of docs/step-inputs.md, and what is no input of a library. The
// rows of a sequence are adjacent and ascending. Row r attends to positions 0 .. positions[r];
// their pages are page_indices[page_indptr[s] .. page_indptr[s + 1]). With a sliding window it
// attends only to the first attention_sink_size and the last sliding_window_size of these
// positions. A page that no row of the batch reads may be -1. If windowed layers have pages of
// their own, they read and write those: the windowed_ inputs stand for the same positions, and the
// window is layer_window. A library that does not take an input that is there refuses the step.
//
// In an encoder row r attends to all positions of its sequence instead. So the batch has all rows
// of each sequence, and no logit_rows.
//
// Branches of a token tree are sequences too. A branch may need in its own page a slot that another
// branch computes in this step. Each layer copies such slots before any row attends: from
// copy_source[i], which a row of the batch writes, to copy_destination[i].
//
// A row may be an embedding row of a prompt instead of a token: embeddings[i] replaces the output
// of `embed` for row embedding_rows[i], whose entry in `tokens` is 0.
//
// If rows take states (info().takes_states), a row is a token and the hidden state of the row
// before it: that of the target, or what the layer itself gave for that row. It guesses the token
// behind this one.
//
// A step never writes a recurrent state that another sequence reads. A sequence's last row may
// write the slot that the sequence itself reads.
struct Batch : StepValues {
  std::vector<int32_t> embedding_rows;   // [e], ascending
  std::vector<const float*> embeddings;  // [e], each [embedding_size]
  // [n], each [hidden_size]; empty unless rows take states. Results of the model's last step may be
  // among them.
  std::vector<const float*> target_states;
  bool keeps_logits = false;  // logits stay on the device for Model::sampler; Outputs has none

  bool has_copies() const { return !copy_source.empty(); }
  int num_rows() const { return static_cast<int>(tokens.size()); }
  int num_sequences() const { return static_cast<int>(page_indptr.size()) - 1; }
};

// The results of a step: float32, row-major. The model owns the memory, which is valid until the
// next call. Null when there are no rows.
struct Outputs {
  float* logits = nullptr;               // for logit_rows: [m, vocab_size]
  const float* hidden_states = nullptr;  // for hidden_rows: [h, hidden_size], after the last norm
  // for hidden_rows: [h, num_chosen_layers * hidden_size], the residual after each chosen layer
  const float* layer_states = nullptr;
};

// Only one thread may use a model at a time.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // Bytes that are free now in the memory that holds its weights and pages.
  virtual int64_t AvailableBytes() const = 0;

  // (Re)allocates the pages of each group; their contents are lost. kResourceExhausted when they do
  // not fit. Below, a page has its number in kv/page_groups.h, and the size of its group.
  virtual Status AllocatePages(const std::vector<int>& num_pages) = 0;
  // Copies page source[i] to page destination[i], of the same group.
  virtual Status CopyPages(const std::vector<int32_t>& source,
                           const std::vector<int32_t>& destination) = 0;
  // Copies pages to or from host memory, one after another. WritePages takes what
  // ReadPages of the same model wrote. kUnsupported when the host cannot access the device's
  // memory.
  virtual Status ReadPages(const std::vector<int32_t>& pages, char* out) const = 0;
  virtual Status WritePages(const std::vector<int32_t>& pages, const char* data) = 0;
  // `page` is a copy of one page of the group, made by ReadPages. Clears all slots after the first
  // `num_slots`, because they may belong to another sequence. kUnsupported when the library does
  // not describe the slots.
  virtual Status ClearSlots(int num_slots, size_t group, char* page) const = 0;
  // (Re)allocates the slots of recurrent states; their contents are lost. Only for a model with
  // state_bytes.
  virtual Status AllocateStates(int num_slots) = 0;
  // Copies a state of state_bytes from or to its slot.
  virtual Status ReadState(int32_t slot, char* out) const = 0;
  virtual Status WriteState(int32_t slot, const char* data) = 0;
  // (Re)allocates the pool of adapters, in groups of ranks. Only for a model with info().adapters.
  virtual Status AllocateAdapters(int num_groups) = 0;
  // Writes the groups of an adapter, one after another, to these groups of the pool.
  virtual Status WriteAdapter(const std::vector<int32_t>& groups,
                              const AdapterWeights& adapter) = 0;
  // Gives the memory of these pages back to the system; their content is lost, but they can be
  // written again. Returns the bytes that were given back: 0 on devices that cannot.
  virtual int64_t DiscardPages(const std::vector<int32_t>& pages) = 0;
  // Lets the system take the memory of weights that it can read from their files again. Returns the
  // bytes of these weights.
  virtual int64_t DropWeights() = 0;
  // Brings all weights into memory. Returns the bytes that were read through.
  virtual int64_t TouchWeights() = 0;
  // Computes a step. kUnsupported when the batch has an input that the model does not take.
  virtual Result<Outputs> Forward(const Batch& batch) = 0;
  // What the head of an encoder, or what Medusa's heads together, make of `vectors`, [num_vectors,
  // state_size]: [num_vectors, head_size], valid until the next call. Of a part that reads chosen
  // layers: the states that its rows take. Only for a model with head_size.
  virtual Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) = 0;
  // Chooses tokens of the last step, if that step kept its logits. The model owns it. Null when the
  // host must choose: on the CPU, and with libraries that have no sampling functions.
  virtual DeviceSampler* sampler() = 0;
};

}  // namespace mlc
