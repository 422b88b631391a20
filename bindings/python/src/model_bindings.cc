// One sequence through a compiled model, logits out: what parity tests and quality benchmarks need
// and a chat does not.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "kv/kv_cache.h"
#include "model/tvm_model.h"
#include "runtime/byte_source.h"
#include "runtime/model_library.h"
#include "status.h"

namespace py = pybind11;

namespace mlc {
namespace {

constexpr SequenceId kSequence = 0;

class ModelRunner {
 public:
  ModelRunner(const std::string& folder, const std::string& library, int num_pages,
              int num_threads) {
    FolderSource source(folder);
    Bytes config = Unwrap(source.Open("mlc-chat-config.json"));
    ChatConfig parsed = Unwrap(ParseChatConfig(config.text(), folder));
    SetComputeThreads(num_threads > 0 ? num_threads : NumAvailableCores());
    model_ = Unwrap(TVMModel::Load(source, parsed, library, Unwrap(ParseDevice("cpu")), nullptr));
    ThrowIfError(model_->AllocatePages(num_pages));
    cache_ = std::make_unique<KVCache>(num_pages, model_->info().page_size);
    Reset();
  }

  int vocab_size() const { return model_->info().vocab_size; }

  void Reset() {
    if (cache_->Has(kSequence)) cache_->Remove(kSequence);
    cache_->Add(kSequence);
  }

  // The next tokens of the sequence; the logits of all of them, or of the last.
  py::bytes Forward(const std::vector<int32_t>& tokens, bool all_logits) {
    if (tokens.empty()) ThrowIfError(InvalidArgument("no tokens"));
    ThrowIfError(cache_->Append(kSequence, static_cast<int>(tokens.size())));
    Batch batch = MakeBatch(tokens, all_logits);
    const float* logits;
    {
      py::gil_scoped_release release;
      logits = Unwrap(model_->Forward(batch));
    }
    size_t bytes = batch.logit_rows.size() * static_cast<size_t>(vocab_size()) * sizeof(float);
    return py::bytes(reinterpret_cast<const char*>(logits), bytes);
  }

 private:
  Batch MakeBatch(const std::vector<int32_t>& tokens, bool all_logits) const {
    Batch batch;
    int begin = cache_->Length(kSequence) - static_cast<int>(tokens.size());
    batch.tokens = tokens;
    for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
      batch.positions.push_back(begin + i);
      batch.slots.push_back(cache_->Slot(kSequence, begin + i));
      batch.row_sequence.push_back(0);
      if (all_logits || i + 1 == static_cast<int>(tokens.size())) batch.logit_rows.push_back(i);
    }
    batch.page_indices = cache_->Pages(kSequence);
    batch.page_indptr = {0, static_cast<int32_t>(batch.page_indices.size())};
    return batch;
  }

  std::unique_ptr<TVMModel> model_;
  std::unique_ptr<KVCache> cache_;
};

}  // namespace

void BindModel(py::module_& m) {
  py::class_<ModelRunner>(m, "ModelRunner")
      .def(py::init<const std::string&, const std::string&, int, int>(), py::arg("folder"),
           py::arg("model_lib"), py::arg("num_pages"), py::arg("num_threads") = 0)
      .def_property_readonly("vocab_size", &ModelRunner::vocab_size)
      .def("reset", &ModelRunner::Reset, "Begins a new sequence.")
      .def("forward", &ModelRunner::Forward, py::arg("tokens"), py::arg("all_logits") = false,
           "Appends tokens; float32 logits as bytes, [len(tokens) or 1, vocab_size].");
}

}  // namespace mlc
