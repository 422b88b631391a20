// The C ABI: handles, status objects and callbacks. It has no logic of its own.
#include "mlc_llm.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "base/utf8.h"
#include "chat/chat_engine.h"
#include "chat/load/directories.h"
#include "chat/protocol/error_json.h"
#include "chat/protocol/protocol.gen.h"
#include "runtime/device.h"

struct MLCStatus {
  mlc::Status status;
  std::string error_json;
};

// Which version the library is, for a reader of the file: `mlc_llm package --check`, on a machine
// that cannot run it.
struct MLCBuildInfo {
  char mark[16] = "MLCLLMBUILDINFO";
  int32_t abi = MLC_LLM_ABI_VERSION;  // little-endian on every supported machine
  char schema[32] = {}, version[32] = {};

  constexpr MLCBuildInfo(const char* schema_hash, const char* version_text) {
    for (size_t i = 0; i + 1 < sizeof(schema) && schema_hash[i] != '\0'; ++i) {
      schema[i] = schema_hash[i];
    }
    for (size_t i = 0; i + 1 < sizeof(version) && version_text[i] != '\0'; ++i) {
      version[i] = version_text[i];
    }
  }
};

struct MLCEngine {
  std::unique_ptr<mlc::ChatEngine> engine;
};

namespace {

// All text that leaves the library is valid UTF-8, even if a message quotes invalid input.
MLCStatus* ToC(const mlc::Status& status) {
  if (status.ok()) return nullptr;
  mlc::Status repaired = mlc::Status(status.reason(), mlc::RepairUtf8(status.message()))
                             .WithParam(mlc::RepairUtf8(status.param()));
  return new MLCStatus{repaired, mlc::ErrorJson(repaired).Dump()};
}

// Runs `act` and turns every exception into a status, so that no exception crosses the C ABI.
template <typename Act>
MLCStatus* Guard(Act&& act) {
  try {
    return ToC(act());
  } catch (const std::bad_alloc&) {
    return ToC(mlc::ResourceExhausted("out of memory"));
  } catch (const std::system_error& error) {  // of threads
    return ToC(mlc::ResourceExhausted(std::string("the system gives no thread: ") + error.what() +
                                      "; end other programs, or raise their limit"));
  } catch (const std::exception& error) {
    return ToC(mlc::Internal(error.what()));
  }
}

mlc::Status NullArgument(const char* name) {
  return mlc::InvalidArgument(std::string(name) + " must not be NULL").WithParam(name);
}

template <typename Call>
MLCStatus* WithEngine(MLCEngine* engine, const Call& call) {
  return Guard([&]() -> mlc::Status {
    return engine == nullptr ? NullArgument("engine") : call(*engine->engine);
  });
}

mlc::Status CopyOut(const std::string& text, char** out) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return mlc::ResourceExhausted("out of memory");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return mlc::Status();
}

mlc::Result<mlc::MediaBuffers> CopyBuffers(const mlc_buffer* buffers, size_t count) {
  if (buffers == nullptr && count > 0) return NullArgument("buffers");
  mlc::MediaBuffers out;
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i].data == nullptr && buffers[i].size > 0) {
      return NullArgument(("buffers[" + std::to_string(i) + "].data").c_str());
    }
    out.emplace_back(static_cast<const char*>(buffers[i].data), buffers[i].size);
  }
  return out;
}

mlc::Json ProbesJson(const std::vector<mlc::DeviceProbe>& probes) {
  mlc::Json list = mlc::Json::MakeArray();
  for (const mlc::DeviceProbe& probe : probes) {
    mlc::Json entry;
    entry.Set("name", probe.name).Set("found", probe.found).Set("reason", probe.reason);
    if (probe.memory_bytes > 0) entry.Set("memory_bytes", probe.memory_bytes);
    if (!probe.description.empty()) {
      entry.Set("description", probe.description)
          .Set("max_buffer_bytes", probe.max_buffer_bytes)
          .Set("local_memory_bytes", probe.local_memory_bytes)
          .Set("max_group_size", probe.max_group_size)
          .Set("f16", probe.f16)
          .Set("is_processor", probe.is_processor);
    }
    list.Append(std::move(entry));
  }
  return list;
}

}  // namespace

extern "C" {

MLC_LLM_API extern const MLCBuildInfo mlc_build_info;
const MLCBuildInfo mlc_build_info(mlc::protocol::kSchemaHash, MLC_LLM_VERSION);

int32_t mlc_abi_version(void) { return MLC_LLM_ABI_VERSION; }
const char* mlc_schema_hash(void) { return mlc::protocol::kSchemaHash; }
const char* mlc_version(void) { return MLC_LLM_VERSION; }

int32_t mlc_status_get_code(const MLCStatus* status) {
  return status == nullptr ? MLC_OK : static_cast<int32_t>(status->status.code());
}

const char* mlc_status_get_message(const MLCStatus* status) {
  return status == nullptr ? "" : status->status.message().c_str();
}

const char* mlc_status_get_error_json(const MLCStatus* status) {
  return status == nullptr ? "" : status->error_json.c_str();
}

void mlc_status_free(MLCStatus* status) { delete status; }
void mlc_string_free(char* text) { std::free(text); }

MLCStatus* mlc_set_directories(const char* directories_json) {
  return Guard([&]() -> mlc::Status {
    if (directories_json == nullptr) return NullArgument("directories_json");
    return mlc::SetDirectories(directories_json);
  });
}

MLCStatus* mlc_engine_create(const char* config_json, MLCEngine** out) {
  return Guard([&]() -> mlc::Status {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (config_json == nullptr) return NullArgument("config_json");
    MLC_ASSIGN_OR_RETURN(auto engine, mlc::ChatEngine::Create(config_json));
    *out = new MLCEngine{std::move(engine)};
    return mlc::Status();
  });
}

MLCStatus* mlc_engine_load(MLCEngine* engine, const char* model_json,
                           mlc_progress_callback progress, void* user) {
  return Guard([&]() -> mlc::Status {
    if (engine == nullptr) return NullArgument("engine");
    if (model_json == nullptr) return NullArgument("model_json");
    mlc::ChatProgress report;
    if (progress != nullptr) {
      report = [=](double fraction, const char* what) {
        return progress(user, fraction, what) == 0;
      };
    }
    return engine->engine->Load(model_json, report);
  });
}

MLCStatus* mlc_engine_plan(MLCEngine* engine, const char* model_json, char** out_json) {
  return Guard([&]() -> mlc::Status {
    if (engine == nullptr) return NullArgument("engine");
    if (model_json == nullptr) return NullArgument("model_json");
    if (out_json == nullptr) return NullArgument("out_json");
    *out_json = nullptr;
    MLC_ASSIGN_OR_RETURN(std::string json, engine->engine->Plan(model_json));
    return CopyOut(json, out_json);
  });
}

MLCStatus* mlc_engine_unload(MLCEngine* engine) {
  return WithEngine(engine, [](mlc::ChatEngine& open) { return open.Unload(); });
}

void mlc_engine_destroy(MLCEngine* engine) { delete engine; }

MLCStatus* mlc_engine_submit(MLCEngine* engine, const char* route, const char* json,
                             size_t json_size, const mlc_buffer* buffers, size_t num_buffers,
                             mlc_event_callback callback, void* user, uint64_t* request_id) {
  return Guard([&]() -> mlc::Status {
    if (engine == nullptr) return NullArgument("engine");
    if (route == nullptr) return NullArgument("route");
    if (json == nullptr) return NullArgument("json");
    if (callback == nullptr) return NullArgument("callback");
    MLC_ASSIGN_OR_RETURN(mlc::MediaBuffers media, CopyBuffers(buffers, num_buffers));
    auto deliver = [callback, user](mlc::ChatEventKind kind, const std::string& text) {
      callback(user, static_cast<int32_t>(kind), text.c_str(), text.size());
    };
    MLC_ASSIGN_OR_RETURN(
        mlc::RequestId id,
        engine->engine->Submit(route, std::string_view(json, json_size), deliver, media));
    if (request_id != nullptr) *request_id = id;
    return mlc::Status();
  });
}

MLCStatus* mlc_engine_set_logit_processor(MLCEngine* engine, const char* name,
                                          mlc_logit_processor processor,
                                          void (*release)(void* user), void* user) {
  return Guard([&]() -> mlc::Status {
    std::shared_ptr<void> owned(user, release == nullptr ? [](void*) {} : release);
    if (engine == nullptr) return NullArgument("engine");
    if (name == nullptr) return NullArgument("name");
    mlc::LogitProcessor changes;
    if (processor != nullptr) {
      changes = [=](const std::vector<int32_t>& tokens, int num_prompt, float* logits, int size) {
        const char* problem =
            processor(owned.get(), tokens.data(), tokens.size(), static_cast<size_t>(num_prompt),
                      logits, static_cast<size_t>(size));
        return problem == nullptr ? mlc::Status() : mlc::LogitProcessorFailed(problem);
      };
    }
    return engine->engine->SetLogitProcessor(name, std::move(changes));
  });
}

MLCStatus* mlc_engine_abort(MLCEngine* engine, uint64_t request_id) {
  return WithEngine(engine, [=](mlc::ChatEngine& open) { return open.Abort(request_id); });
}

MLCStatus* mlc_engine_pause_request(MLCEngine* engine, uint64_t request_id) {
  return WithEngine(engine,
                    [=](mlc::ChatEngine& open) { return open.PauseRequest(request_id, true); });
}

MLCStatus* mlc_engine_resume_request(MLCEngine* engine, uint64_t request_id) {
  return WithEngine(engine,
                    [=](mlc::ChatEngine& open) { return open.PauseRequest(request_id, false); });
}

MLCStatus* mlc_engine_reset(MLCEngine* engine) {
  return WithEngine(engine, [](mlc::ChatEngine& open) { return open.Reset(); });
}

MLCStatus* mlc_engine_metrics(MLCEngine* engine, char** out_json) {
  return Guard([&]() -> mlc::Status {
    if (engine == nullptr) return NullArgument("engine");
    if (out_json == nullptr) return NullArgument("out_json");
    *out_json = nullptr;
    MLC_ASSIGN_OR_RETURN(std::string json, engine->engine->MetricsJson());
    return CopyOut(json, out_json);
  });
}

MLCStatus* mlc_engine_pause(MLCEngine* engine) {
  return WithEngine(engine, [](mlc::ChatEngine& open) { return open.Pause(true); });
}

MLCStatus* mlc_engine_resume(MLCEngine* engine) {
  return WithEngine(engine, [](mlc::ChatEngine& open) { return open.Pause(false); });
}

MLCStatus* mlc_engine_trim_memory(MLCEngine* engine) {
  return WithEngine(engine, [](mlc::ChatEngine& open) { return open.TrimMemory(); });
}

MLCStatus* mlc_list_devices(char** out_json) {
  return Guard([&]() -> mlc::Status {
    if (out_json == nullptr) return NullArgument("out_json");
    *out_json = nullptr;
    return CopyOut(ProbesJson(mlc::ProbeDevices()).Dump(), out_json);
  });
}

MLCStatus* mlc_choose_device(const char* device, char** out_json) {
  return Guard([&]() -> mlc::Status {
    if (device == nullptr) return NullArgument("device");
    if (out_json == nullptr) return NullArgument("out_json");
    *out_json = nullptr;
    MLC_ASSIGN_OR_RETURN(mlc::ChosenDevice choice, mlc::ChooseDevice(device));
    mlc::Json json;
    json.Set("name", choice.name()).Set("probes", ProbesJson(choice.probes));
    return CopyOut(json.Dump(), out_json);
  });
}

}  // extern "C"
