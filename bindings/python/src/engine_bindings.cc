// The engine through the C ABI: JSON in, JSON out.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event_mailbox.h"
#include "event_stream.h"
#include "interpreter_lock.h"
#include "json_bindings.h"
#include "mlc_llm.h"
#include "process_id.h"
#include "status.h"
#include "submitter.h"
#include "weight_bindings.h"

namespace py = pybind11;

namespace mlc {
namespace {

// Takes the status over.
std::string TakeError(MLCStatus* status) {
  std::string json = mlc_status_get_error_json(status);
  mlc_status_free(status);
  return json;
}

// The same, and throws its error, with the GIL held.
void Check(MLCStatus* status) {
  if (status != nullptr) throw CoreError(TakeError(status));
}

// A Python exception inside a callback cannot go anywhere: it is printed and the stream goes on.
template <typename Call>
void CallPython(Call&& call) {
  try {
    call();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("mlc_llm callback");
  }
}

// Whether this thread is an engine's, which calls Python.
thread_local bool in_callback = false;

// Waits for the last callback, which needs the GIL. A callback may be where the garbage collector
// drops its own engine; that one is destroyed aside, since a thread cannot wait for itself.
void Destroy(MLCEngine* engine) {
  if (in_callback) {
    std::thread([engine] { mlc_engine_destroy(engine); }).detach();
  } else if (PyGILState_Check() != 0) {
    WithoutLock unlocked;
    mlc_engine_destroy(engine);
  } else {
    mlc_engine_destroy(engine);
  }
}

int32_t OnProgress(void* user, double fraction, const char* what) {
  WithLock lock;
  if (!lock.held) return 1;
  bool go_on = PyErr_CheckSignals() == 0;  // Ctrl-C while loading
  CallPython([&] {
    if (go_on) go_on = !(*static_cast<py::object*>(user))(fraction, what).is(py::bool_(false));
  });
  return go_on ? 0 : 1;
}

// A Python function that changes logits; owned by the engine until `ReleaseProcessor`.
struct PyProcessor {
  py::object call;
  std::string problem;
};

// The function gets lists of ids and a writable memoryview of floats. The memory is Python's own,
// so that an array of it may be kept.
const char* OnLogits(void* user, const int32_t* tokens, size_t num_tokens, size_t num_prompt,
                     float* logits, size_t vocab_size) {
  auto* processor = static_cast<PyProcessor*>(user);
  WithLock lock;
  if (!lock.held) return "was called while Python ended";
  in_callback = true;
  try {
    py::list prompt(num_prompt), answer(num_tokens - num_prompt);
    for (size_t i = 0; i < num_tokens; ++i) {
      (i < num_prompt ? prompt[i] : answer[i - num_prompt]) = py::int_(tokens[i]);
    }
    size_t size = vocab_size * sizeof(float);
    py::bytearray values(reinterpret_cast<const char*>(logits), size);
    processor->call(prompt, answer, py::memoryview(values).attr("cast")("f"));
    if (values.size() != size) throw std::runtime_error("the memory was resized");
    std::memcpy(logits, PyByteArray_AsString(values.ptr()), size);
    return nullptr;
  } catch (py::error_already_set& error) {
    processor->problem = "raised " + std::string(error.what());
  } catch (const std::exception& error) {
    processor->problem = std::string("failed: ") + error.what();
  }
  return processor->problem.c_str();
}

void ReleaseProcessor(void* user) {
  WithLock lock;
  if (lock.held) delete static_cast<PyProcessor*>(user);
}

// They last as long as the objects do.
std::vector<mlc_buffer> ViewsOf(const std::vector<std::string>& buffers) {
  std::vector<mlc_buffer> views;
  for (const std::string& bytes : buffers) views.push_back({bytes.data(), bytes.size()});
  return views;
}

// A text of the core, which is freed.
std::string Taken(char* json) {
  std::string text = json;
  mlc_string_free(json);
  return text;
}

class PyEngine {
 public:
  explicit PyEngine(const std::string& config_json) {
    MLCEngine* engine = nullptr;
    Check(mlc_engine_create(config_json.c_str(), &engine));
    engine_.reset(engine, [owner = owner_](MLCEngine* gone) {
      if (ProcessId() == owner) Destroy(gone);
    });
  }

  ~PyEngine() {
    if (ProcessId() != owner_) {
      (void)submitter_.release();  // its threads stayed in the parent
      return;
    }
    WithoutLock unlocked;  // a submission may end the engine, whose last callbacks need the GIL
    submitter_.reset();
  }

  void Load(const std::string& model_json, const py::object& progress) {
    py::object callback = progress;
    Handle engine = Use();
    MLCStatus* status;
    {
      WithoutLock unlocked;
      status = mlc_engine_load(engine.get(), model_json.c_str(),
                               callback.is_none() ? nullptr : OnProgress, &callback);
    }
    if (PyErr_Occurred()) {
      mlc_status_free(status);
      throw py::error_already_set();
    }
    Check(status);
  }

  // Submits on another thread. What becomes of it, and its events, come into the mailbox.
  void SubmitLater(std::string route, std::string json, std::vector<std::string> buffers,
                   const EventMailbox& mailbox, uint64_t number) {
    if (submitter_ == nullptr) submitter_ = std::make_unique<Submitter>();
    submitter_->Push([engine = Use(), route = std::move(route), json = std::move(json),
                      buffers = std::move(buffers), slot = mailbox.SlotOf(number)] {
      uint64_t id = 0;
      std::vector<mlc_buffer> views = ViewsOf(buffers);
      auto user = std::make_unique<EventMailbox::Slot>(slot);
      MLCStatus* refused =
          mlc_engine_submit(engine.get(), route.c_str(), json.data(), json.size(), views.data(),
                            views.size(), EventMailbox::OnEvent, user.get(), &id);
      if (refused != nullptr) return slot.Put(EventMailbox::kRefused, TakeError(refused));
      user.release();
      slot.Put(EventMailbox::kSubmitted, std::to_string(id));
    });
  }

  // The request's id, and its events.
  std::pair<uint64_t, EventStream> Stream(const std::string& route, const std::string& json,
                                          const std::vector<std::string>& buffers) {
    EventStream events;
    uint64_t id = 0;
    std::vector<mlc_buffer> views = ViewsOf(buffers);
    Run([&](MLCEngine* engine) {
      void* user = events.NewUser();
      MLCStatus* refused =
          mlc_engine_submit(engine, route.c_str(), json.data(), json.size(), views.data(),
                            views.size(), EventStream::OnEvent, user, &id);
      if (refused != nullptr) EventStream::Drop(user);
      return refused;
    });
    return {id, events};
  }

  // None removes it.
  void SetLogitProcessor(const std::string& name, const py::object& call) {
    Handle open = Use();  // or the processor would have no owner
    PyProcessor* processor = call.is_none() ? nullptr : new PyProcessor{call, ""};
    Run([&](MLCEngine* engine) {
      return mlc_engine_set_logit_processor(
          engine, name.c_str(), processor == nullptr ? nullptr : OnLogits,
          processor == nullptr ? nullptr : ReleaseProcessor, processor);
    });
  }

  std::string Metrics() {
    char* json = nullptr;
    Run([&](MLCEngine* engine) { return mlc_engine_metrics(engine, &json); });
    return Taken(json);
  }

  std::string Plan(const std::string& model_json) {
    char* json = nullptr;
    Check(mlc_engine_plan(Use().get(), model_json.c_str(), &json));
    return Taken(json);
  }

  template <MLCStatus* (*function)(MLCEngine*)>
  void Call() {
    Run(function);
  }

  // Of one request.
  template <MLCStatus* (*function)(MLCEngine*, uint64_t)>
  void Call(uint64_t id) {
    Run([id](MLCEngine* engine) { return function(engine, id); });
  }

  // Other threads may be in a call: the model goes now, the engine with the last of them.
  void Close() {
    Handle engine = std::move(engine_);
    if (engine == nullptr || ProcessId() != owner_) return;
    WithoutLock unlocked;  // the last callbacks need the GIL
    mlc_status_free(mlc_engine_unload(engine.get()));
  }

 private:
  using Handle = std::shared_ptr<MLCEngine>;

  // Calls the core without the GIL: the engine's thread may be in a callback, which needs it.
  template <typename Function>
  void Run(const Function& function) {
    Handle engine = Use();
    MLCStatus* status;
    {
      WithoutLock unlocked;
      status = function(engine.get());
    }
    Check(status);
  }

  Handle Use() const {
    if (engine_ == nullptr) ThrowIfError(Unavailable("the engine is closed"));
    if (ProcessId() != owner_) {
      ThrowIfError(
          Unavailable("the engine's threads stayed in the process that forked this one; "
                      "make an engine here, or use multiprocessing's spawn"));
    }
    return engine_;
  }

  int owner_ = ProcessId();               // a forked child has the memory, and none of the threads
  Handle engine_;                         // null when closed; changed with the GIL held
  std::unique_ptr<Submitter> submitter_;  // once it is needed
};

std::string ListDevices() {
  char* json = nullptr;
  Check(mlc_list_devices(&json));
  return Taken(json);
}

std::string ChooseDevice(const std::string& device) {
  char* json = nullptr;
  Check(mlc_choose_device(device.c_str(), &json));
  return Taken(json);
}

void SetDirectories(const std::string& json) { Check(mlc_set_directories(json.c_str())); }

PyObject* NewCoreError(py::module_& m) {
  PyObject* type = PyErr_NewException("mlc_llm._core.CoreError", PyExc_Exception, nullptr);
  m.attr("CoreError") = py::handle(type);
  return type;
}

void BindEngine(py::module_& m) {
  m.def("abi_version", &mlc_abi_version);
  m.def("end_locking", &EndLocking, "To be called last by the thread that ends the interpreter.");
  m.def("schema_hash", &mlc_schema_hash);
  m.def("version", &mlc_version);
  m.def("list_devices", &ListDevices, "JSON: [{name, found, reason}] in the order of `auto`.");
  m.def("choose_device", &ChooseDevice, py::arg("device"), "JSON: {name, probes}.");
  m.def("set_directories", &SetDirectories, py::arg("directories_json"), "JSON: Directories.");
  m.attr("EVENT_CHUNK") = static_cast<int>(MLC_EVENT_CHUNK);
  m.attr("EVENT_RESULT") = static_cast<int>(MLC_EVENT_RESULT);
  m.attr("EVENT_DONE") = static_cast<int>(MLC_EVENT_DONE);
  m.attr("EVENT_ERROR") = static_cast<int>(MLC_EVENT_ERROR);
  m.attr("EVENT_SUBMITTED") = EventMailbox::kSubmitted;
  m.attr("EVENT_REFUSED") = EventMailbox::kRefused;
  py::class_<EventStream>(m, "EventStream").def("next", &EventStream::Next);
  py::class_<EventMailbox>(m, "EventMailbox")
      .def(py::init<>())
      .def("fileno", &EventMailbox::file_descriptor)
      .def("wake_by", &EventMailbox::WakeBy, py::arg("wake"))
      .def("take", &EventMailbox::Take)
      .def(
          "put",
          [](const EventMailbox& mailbox, uint64_t number, int32_t kind, std::string json) {
            mailbox.SlotOf(number).Put(kind, std::move(json));
          },
          py::arg("number"), py::arg("kind"), py::arg("json"), "As an engine does.");
  py::class_<PyEngine>(m, "Engine")
      .def(py::init<const std::string&>(), py::arg("config_json"))
      .def("load", &PyEngine::Load, py::arg("model_json"), py::arg("progress") = py::none())
      .def("unload", &PyEngine::Call<mlc_engine_unload>)
      .def("submit_later", &PyEngine::SubmitLater, py::arg("route"), py::arg("json"),
           py::arg("buffers"), py::arg("mailbox"), py::arg("number"))
      .def("stream", &PyEngine::Stream, py::arg("route"), py::arg("json"),
           py::arg("buffers") = std::vector<std::string>())
      .def("abort", &PyEngine::Call<mlc_engine_abort>, py::arg("request_id"))
      .def("pause_request", &PyEngine::Call<mlc_engine_pause_request>, py::arg("request_id"))
      .def("resume_request", &PyEngine::Call<mlc_engine_resume_request>, py::arg("request_id"))
      .def("set_logit_processor", &PyEngine::SetLogitProcessor, py::arg("name"),
           py::arg("processor"))
      .def("reset", &PyEngine::Call<mlc_engine_reset>)
      .def("pause", &PyEngine::Call<mlc_engine_pause>)
      .def("resume", &PyEngine::Call<mlc_engine_resume>)
      .def("trim_memory", &PyEngine::Call<mlc_engine_trim_memory>)
      .def("plan", &PyEngine::Plan, py::arg("model_json"))
      .def("metrics", &PyEngine::Metrics)
      .def("close", &PyEngine::Close);
}

}  // namespace
}  // namespace mlc

PYBIND11_MODULE(_core, m) {
  mlc::TranslateErrors(py::reinterpret_steal<py::object>(mlc::NewCoreError(m)));
  mlc::BindEngine(m);
  mlc::BindJson(m);
  mlc::BindWeights(m);
}
