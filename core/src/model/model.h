// The seam between the engine and what computes. Everything above knows a model as rows in, logits
// out, over pages it addresses by number; fake_model implements the same seam without tensors.
#ifndef MLC_MODEL_MODEL_H_
#define MLC_MODEL_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/device_sampler.h"
#include "model/prompt.h"

namespace mlc {

// What a layer keeps of a sequence.
enum class LayerKind {
  kStateless,  // nothing: an encoder's, or one that reads the pages of an earlier layer
  kAttention,  // keys and values, in pages
  kLatent,     // what keys and values are made of (MLA), in pages
  kRecurrent,  // a state of fixed size, in slots
};
struct LayerState {
  LayerKind kind = LayerKind::kAttention;
  int64_t bytes = 0;  // of a page, or of a state
  int window = 0;     // tokens that a row looks back, itself included; 0: all
};

struct ModelInfo {
  std::string model_type;        // "llama"
  std::string quantization;      // "q4f32_1"
  std::string weights_id;        // of what was loaded: which weights,
  std::string library_id;        // and which library
  int context_window_size = 0;   // tokens
  int sliding_window_size = -1;  // tokens that a row looks back, itself included; -1: all
  int attention_sink_size = 0;   // first tokens that stay in reach of a sliding window
  int prefill_chunk_size = 0;    // rows of one step at most
  int max_batch_size = 0;        // sequences of one step at most, branches of token trees included
  bool token_trees = false;      // whether a step may have copies of slots (Batch)
  int hidden_size = 0;           // of a hidden state; 0: the model gives none
  int embedding_size = 0;        // of an embedding row of a prompt; 0: the model takes none
  int vocab_size = 0;            // columns of the logits; may exceed the tokenizer's vocabulary
  int page_size = 0;             // tokens in a page
  int64_t page_bytes = 0;        // one page, all layers
  int64_t state_bytes = 0;       // one recurrent state, all layers; 0: the model has none
  int64_t max_pages = 0;         // what the device takes in one piece; 0: as many as fit
  int64_t weight_bytes = 0;
  bool takes_cores = true;       // a step computes on the cores that the engine runs on, too
  int64_t step_bytes = 0;        // temporaries of a step, whatever its rows,
  int64_t row_bytes = 0;         // for each row,
  int64_t logit_row_bytes = 0;   // and for each row that wants logits
  int64_t decode_row_bytes = 0;  // what recorded decode steps keep, for each sequence

  // Derives the sizes of pages and states and the window from the layers. All layers share one
  // block table, so a page is given up when no layer has a use for it any more: the widest window
  // counts, and there is none when one layer has none.
  void SetLayers(const std::vector<LayerState>& layers);
};

// The rows of one step. Row r is token tokens[r] at position positions[r] of sequence
// row_sequence[r]; its key and value are written to slots[r] (page * page_size + offset), and it
// attends to positions 0 .. positions[r], whose pages are
// page_indices[page_indptr[s] .. page_indptr[s + 1]), s = row_sequence[r]. Rows of a sequence are
// adjacent and ascending. Under a sliding window it attends to the first attention_sink_size and
// the last sliding_window_size of them; pages in which no row of the batch reads may be -1.
//
// Branches of a token tree are sequences too. What a branch shares with another in a page of its
// own, and this step computes, is copied within each layer before any row attends: slot
// copy_destination[i] becomes what slot copy_source[i] is, which a row of the batch writes. There
// are no copies in a step with hidden_rows.
//
// A row may be an embedding row of a prompt in place of a token's: embeddings[i] takes the place of
// what `embed` would give for row embedding_rows[i], whose entry in `tokens` is 0. `rotary` says
// where rows stand for rotary embeddings, where that is not positions[r].
//
// With recurrent layers sequence s goes on from the state in slot state_source[s]; -1: it begins.
// The state behind row state_rows[i] is written to slot state_slots[i]. No slot is written that
// another sequence reads; a sequence's own source may be written by its last row.
struct Batch {
  std::vector<int32_t> tokens, positions, slots, row_sequence;  // [n]
  std::vector<int32_t> page_indptr;                             // [b + 1]
  std::vector<int32_t> page_indices;                            // [page_indptr[b]]
  std::vector<int32_t> logit_rows;                              // [m], ascending
  std::vector<int32_t> hidden_rows;                             // [h], ascending
  std::vector<int32_t> copy_source, copy_destination;           // [c]
  std::vector<int32_t> embedding_rows;                          // [e], ascending
  std::vector<const float*> embeddings;                         // [e], each [embedding_size]
  std::vector<RotaryPosition> rotary;                           // [n]; empty: positions
  std::vector<int32_t> state_source;                            // [b]; empty: no recurrent layers
  std::vector<int32_t> state_rows, state_slots;                 // [w], rows ascending
  bool keeps_logits = false;  // on the device, for Model::sampler; Outputs has none then

  bool has_copies() const { return !copy_source.empty(); }
  int num_rows() const { return static_cast<int>(tokens.size()); }
  int num_sequences() const { return static_cast<int>(page_indptr.size()) - 1; }
};

// What a step computed: float32, row-major, the model's until the next call; null for no rows.
struct Outputs {
  float* logits = nullptr;               // of logit_rows: [m, vocab_size]
  const float* hidden_states = nullptr;  // of hidden_rows: [h, hidden_size], behind the last norm
};

// Not for two threads at once.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // What is free now where its weights and pages lie.
  virtual int64_t AvailableBytes() const = 0;

  // (Re)allocates the page pool; what pages held is lost. kResourceExhausted when it does not fit.
  virtual Status AllocatePages(int num_pages) = 0;
  // Page source[i] is copied to page destination[i].
  virtual Status CopyPages(const std::vector<int32_t>& source,
                           const std::vector<int32_t>& destination) = 0;
  // Copies pages, page_bytes each, one after another: what WritePages of the same model takes.
  // kUnsupported on devices whose memory the host cannot reach.
  virtual Status ReadPages(const std::vector<int32_t>& pages, char* out) const = 0;
  virtual Status WritePages(const std::vector<int32_t>& pages, const char* data) = 0;
  // In a copy of one page, as ReadPages makes it: clears what is behind its first `num_slots`
  // slots, which may be of another sequence. kUnsupported when the library does not say where.
  virtual Status ClearSlots(int num_slots, char* page) const = 0;
  // (Re)allocates the slots of recurrent states; what they held is lost. None but with state_bytes.
  virtual Status AllocateStates(int num_slots) = 0;
  // Copies a state, of state_bytes, from and to its slot.
  virtual Status ReadState(int32_t slot, char* out) const = 0;
  virtual Status WriteState(int32_t slot, const char* data) = 0;
  // Computes a step. kUnsupported when there are hidden_rows and the model gives no hidden states.
  virtual Result<Outputs> Forward(const Batch& batch) = 0;
  // What chooses tokens of the last step, which kept its logits; the model's. Null where the host
  // has to: on processors, and with libraries that cannot.
  virtual DeviceSampler* sampler() = 0;
};

}  // namespace mlc

#endif  // MLC_MODEL_MODEL_H_
