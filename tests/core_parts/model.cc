// Sequences through a compiled model, logits out: what parity tests and benchmarks need and a chat
// does not.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core_parts.h"
#include "engine/request.h"
#include "engine/step_pace.h"
#include "kv/kv_cache.h"
#include "model/runner/device_runner.h"
#include "model/runner/sharded_runner.h"
#include "platform/host.h"
#include "runtime/byte_source.h"
#include "runtime/model_library.h"
#include "runtime/parallel.h"
#include "status.h"

namespace py = pybind11;

namespace mlc {
namespace {

class ModelRunner {
 public:
  // `strips`: see Weights::Load.
  ModelRunner(const std::string& folder, const std::string& library, int num_pages, int num_threads,
              const std::string& strips) {
    FolderSource source(folder);
    Bytes config = Unwrap(source.Open("mlc-chat-config.json"));
    ChatConfig parsed = Unwrap(ParseChatConfig(config.text(), folder));
    Device cpu = Unwrap(ParseDevice("cpu"));
    std::unique_ptr<DeviceRunner> first = Unwrap(DeviceRunner::Open(parsed, library, cpu));
    SetComputeThreads(num_threads > 0 ? num_threads : NumAvailableCores());
    if (first->info().num_shards > 1) {
      model_ = Unwrap(ShardedRunner::Make(std::move(first), source, nullptr, strips));
    } else {
      ThrowIfError(first->LoadWeights(source, nullptr, strips));
      model_ = std::move(first);
    }
    const ModelInfo& info = model_->info();
    ThrowIfError(model_->AllocatePages(std::vector<int>(info.PageBytes().size(), num_pages)));
    if (model_->info().state_bytes > 0) ThrowIfError(model_->AllocateStates(1));
    KVCacheOptions options;  // no page is given up
    options.num_windowed_pages = info.has_windowed_pages() ? num_pages : 0;
    options.layer_window = info.layer_window;
    cache_ = std::make_unique<KVCache>(num_pages, info.page_size, options);
    Reset();
  }

  int vocab_size() const { return model_->info().vocab_size; }
  int64_t kv_bytes_per_token() const {
    const ModelInfo& info = model_->info();
    return (info.page_bytes + info.windowed_page_bytes) / info.page_size;
  }

  // What a step of one sequence of that length reads of pages.
  int64_t PageBytes(int64_t length) const {
    const ModelInfo& info = model_->info();
    int64_t windowed =
        info.layer_window > 0 ? std::min<int64_t>(length, info.layer_window) : length;
    return (info.page_bytes * length + info.windowed_page_bytes * windowed) / info.page_size;
  }

  // Begins sequence 0 anew; there are no others.
  void Reset() {
    for (SequenceId id : sequences_) cache_->Remove(id);
    sequences_ = {0};
    cache_->Add(0);
  }

  // A further sequence with the first `length` tokens of another one.
  void Fork(SequenceId parent, SequenceId child, int length) {
    RequireSequence(parent);
    if (cache_->Has(child) || length < 0 || length > cache_->Length(parent)) {
      ThrowIfError(InvalidArgument("no such fork"));
    }
    cache_->Fork(parent, child, length);
    sequences_.push_back(child);
  }

  // A further sequence that has its own copies of the pages of another one.
  void Copy(SequenceId parent, SequenceId child) {
    RequireSequence(parent);
    if (cache_->Has(child)) ThrowIfError(InvalidArgument("no such copy"));
    cache_->Add(child);
    sequences_.push_back(child);
    ThrowIfError(cache_->Append(child, cache_->Length(parent)));
    for (size_t g = 0; g < cache_->num_groups(); ++g) {
      ThrowIfError(model_->CopyPages(cache_->Pages(parent, g), cache_->Pages(child, g)));
    }
  }

  // Sequence 0 grows to `length` tokens with copies of the pages that it has, which are full. For
  // benchmarks: the time of a step does not depend on what its pages hold.
  void Repeat(int length) {
    int size = cache_->page_size(), known = cache_->Length(0);
    if (known == 0 || known % size != 0 || length < known) {
      ThrowIfError(InvalidArgument("no such length"));
    }
    ThrowIfError(cache_->Append(0, length - known));
    for (size_t g = 0; g < cache_->num_groups(); ++g) {
      const std::vector<int32_t>& pages = cache_->Pages(0, g);
      std::vector<int32_t> to(pages.begin() + known / size, pages.end()), from;
      for (size_t i = 0; i < to.size(); ++i) from.push_back(pages[i % (pages.size() - to.size())]);
      if (!to.empty()) ThrowIfError(model_->CopyPages(from, to));
    }
  }

  // Sequence 0 keeps its first `length` tokens; there are no others.
  void Keep(int length) {
    int surplus = cache_->Length(0) - length;
    if (length < 0 || surplus < 0) ThrowIfError(InvalidArgument("no such length"));
    for (SequenceId id : sequences_) {
      if (id != 0) cache_->Remove(id);
    }
    sequences_ = {0};
    cache_->Pop(0, surplus);
  }

  // The next tokens of a sequence; the logits of all of them, or of the last.
  py::bytes Forward(const std::vector<int32_t>& tokens, bool all_logits, SequenceId id) {
    if (tokens.empty()) ThrowIfError(InvalidArgument("no tokens"));
    Batch batch;
    batch.page_indptr = {0};
    AddRows(id, tokens, all_logits, &batch);
    return LogitsOf(batch, Run(batch));
  }

  // The next tokens of sequence 0, a prompt, in steps with equal rows that take as long as an
  // engine lets them. The last one makes logits, which are not copied.
  void ReadPrompt(const std::vector<int32_t>& tokens) {
    constexpr int kTile = 64;  // rows
    auto up = [](int count, int each) { return (count + each - 1) / each; };
    for (size_t begin = 0; begin < tokens.size();) {
      int left = static_cast<int>(tokens.size() - begin);
      int most = std::min(pace_.Next().alone, model_->info().prefill_chunk_size);
      int equal = up(left, up(left, most));
      size_t rows = static_cast<size_t>(std::min({left, most, up(equal, kTile) * kTile}));
      Batch batch;
      batch.page_indptr = {0};
      auto from = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
      AddRows(0, {from, from + static_cast<std::ptrdiff_t>(rows)}, false, &batch);
      if (begin + rows < tokens.size()) batch.logit_rows.clear();
      Clock::time_point began = Clock::now();
      Run(batch);
      pace_.Add(static_cast<int>(rows), /*decode_rows=*/0, SecondsBetween(began, Clock::now()));
      begin += rows;
    }
  }

  // The next tokens of sequence 0, with further inputs of the step by name: all results, by name.
  py::dict Step(const std::vector<int32_t>& tokens,
                const std::map<std::string, std::vector<int32_t>>& inputs) {
    Batch batch;
    batch.page_indptr = {0};
    AddRows(0, tokens, true, &batch);
    for (const auto& [name, values] : inputs) {
      auto input = std::find_if(std::begin(kStepInputs), std::end(kStepInputs),
                                [&](const StepInput& one) { return one.name == name; });
      if (input == std::end(kStepInputs)) ThrowIfError(InvalidArgument("no input " + name));
      batch.*input->values = values;
    }
    Outputs made = Outputs();
    Run(batch, &made);
    py::dict results;
    results["logits"] = LogitsOf(batch, made.logits);
    size_t row = batch.hidden_rows.size() * static_cast<size_t>(model_->info().hidden_size);
    size_t layers = static_cast<size_t>(model_->info().num_chosen_layers);
    results["hidden_states"] = Floats(made.hidden_states, row);
    results["layer_states"] = Floats(made.layer_states, layers * row);
    return results;
  }

  // One more token of each of the sequences 0, 1, ..., in one step; their logits, or None: an
  // engine samples where they lie, and so benchmarks leave them there.
  py::object Decode(const std::vector<int32_t>& tokens, bool copy_logits) {
    Batch batch;
    batch.page_indptr = {0};
    for (size_t i = 0; i < tokens.size(); ++i) {
      AddRows(static_cast<SequenceId>(i), {tokens[i]}, true, &batch);
    }
    const float* logits = Run(batch);
    return copy_logits ? py::object(LogitsOf(batch, logits)) : py::none();
  }

 private:
  void RequireSequence(SequenceId id) const {
    if (!cache_->Has(id)) ThrowIfError(InvalidArgument("no such sequence"));
  }

  // Appends the tokens to the sequence and their rows to the batch.
  void AddRows(SequenceId id, const std::vector<int32_t>& tokens, bool all_logits, Batch* batch) {
    RequireSequence(id);
    int begin = cache_->Length(id), count = static_cast<int>(tokens.size());
    ThrowIfError(cache_->Append(id, count));
    int32_t sequence = batch->num_sequences();
    for (int i = 0; i < count; ++i) {
      if (all_logits || i + 1 == count) {
        batch->logit_rows.push_back(static_cast<int32_t>(batch->tokens.size()));
      }
      batch->tokens.push_back(tokens[i]);
      batch->positions.push_back(begin + i);
      batch->slots.push_back(cache_->Slot(id, begin + i));
      if (cache_->num_groups() > 1) batch->windowed_slots.push_back(cache_->Slot(id, begin + i, 1));
      batch->row_sequence.push_back(sequence);
    }
    const std::vector<int32_t>& pages = cache_->Pages(id);
    batch->page_indices.insert(batch->page_indices.end(), pages.begin(), pages.end());
    if (cache_->num_groups() > 1) {
      for (int32_t page : cache_->Pages(id, 1)) {
        batch->windowed_indices.push_back(cache_->NumberInGroup(page, 1));
      }
    }
    batch->page_indptr.push_back(static_cast<int32_t>(batch->page_indices.size()));
  }

  const float* Run(const Batch& batch, Outputs* outputs = nullptr) {
    std::vector<int32_t> from, to;
    for (auto [source, destination] : cache_->TakePendingCopies()) {
      from.push_back(source);
      to.push_back(destination);
    }
    if (!from.empty()) ThrowIfError(model_->CopyPages(from, to));
    py::gil_scoped_release release;
    Outputs made = Unwrap(model_->Forward(batch));
    if (outputs != nullptr) *outputs = made;
    return made.logits;
  }

  static py::bytes Floats(const float* values, size_t count) {
    return py::bytes(reinterpret_cast<const char*>(values), count * sizeof(float));
  }

  py::bytes LogitsOf(const Batch& batch, const float* logits) const {
    return Floats(logits, batch.logit_rows.size() * static_cast<size_t>(vocab_size()));
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<KVCache> cache_;
  std::vector<SequenceId> sequences_;
  StepPace pace_;
};

}  // namespace

void BindModel(py::module_& m) {
  py::class_<ModelRunner>(m, "ModelRunner")
      .def(py::init<const std::string&, const std::string&, int, int, const std::string&>(),
           py::arg("folder"), py::arg("model_lib"), py::arg("num_pages"),
           py::arg("num_threads") = 0, py::arg("strips") = "")
      .def_property_readonly("vocab_size", &ModelRunner::vocab_size)
      .def_property_readonly("kv_bytes_per_token", &ModelRunner::kv_bytes_per_token)
      .def("page_bytes", &ModelRunner::PageBytes, py::arg("length"),
           "What a step of one sequence of that length reads of pages.")
      .def("reset", &ModelRunner::Reset, "Sequence 0 begins anew; others are gone.")
      .def("fork", &ModelRunner::Fork, py::arg("parent"), py::arg("child"), py::arg("length"),
           "A sequence that shares the first tokens of another.")
      .def("copy", &ModelRunner::Copy, py::arg("parent"), py::arg("child"),
           "A sequence with the tokens of another, and pages of its own.")
      .def("repeat", &ModelRunner::Repeat, py::arg("length"),
           "Sequence 0 grows to that length with copies of its pages.")
      .def("keep", &ModelRunner::Keep, py::arg("length"),
           "Sequence 0 keeps its first tokens; others are gone.")
      .def("forward", &ModelRunner::Forward, py::arg("tokens"), py::arg("all_logits") = false,
           py::arg("sequence") = 0,
           "Appends tokens; float32 logits as bytes, [len(tokens) or 1, vocab_size].")
      .def("read_prompt", &ModelRunner::ReadPrompt, py::arg("tokens"),
           "Appends tokens to sequence 0, in the steps that an engine makes of a prompt.")
      .def("step", &ModelRunner::Step, py::arg("tokens"), py::arg("inputs"),
           "Appends tokens to sequence 0; `inputs` of the step by name. All results as bytes.")
      .def("decode", &ModelRunner::Decode, py::arg("tokens"), py::arg("copy_logits") = true,
           "One token for each of sequences 0, 1, ...; float32 logits as bytes, or None.");
}

}  // namespace mlc
