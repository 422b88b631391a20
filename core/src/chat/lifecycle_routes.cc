#include "chat/lifecycle_routes.h"

#include "chat/protocol/error_json.h"
#include "platform/host.h"
#include "runtime/parallel.h"

namespace mlc {
namespace {

TrimLevel LevelOf(protocol::TrimLevel level) {
  if (level == protocol::TrimLevel::kPages) return TrimLevel::kPages;
  return level == protocol::TrimLevel::kAll ? TrimLevel::kAll : TrimLevel::kCaches;
}

ThermalState StateOf(protocol::ThermalState state) {
  switch (state) {
    case protocol::ThermalState::kFair:
      return ThermalState::kFair;
    case protocol::ThermalState::kSerious:
      return ThermalState::kSerious;
    case protocol::ThermalState::kCritical:
      return ThermalState::kCritical;
    default:
      return ThermalState::kNominal;
  }
}

}  // namespace

Status LifecycleRoutes::Trim(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::TrimRequest::Parse(json));
  EngineLoop* to = loop;
  loop->Do([to, level = LevelOf(request.level), callback = std::move(callback)](Engine* engine) {
    TrimmedMemory trimmed = engine->TrimMemory(level);
    ReleaseFreeMemory();
    protocol::TrimResponse response;
    response.pages = trimmed.num_pages;
    response.page_bytes = trimmed.page_bytes;
    response.weight_bytes = trimmed.weight_bytes;
    to->Post(
        [callback, json = response.ToJson().Dump()] { callback(ChatEventKind::kResult, json); });
  });
  return Status();
}

Status LifecycleRoutes::Prewarm(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::PrewarmRequest::Parse(json));
  EngineLoop* to = loop;
  loop->Do([to, step = request.step, callback = std::move(callback)](Engine* engine) {
    Result<int64_t> bytes = engine->Prewarm(step);
    protocol::PrewarmResponse response;
    response.weight_bytes = bytes.ok() ? *bytes : 0;
    to->Post([callback, status = bytes.status(), json = response.ToJson().Dump()] {
      bool ok = status.ok();
      callback(ok ? ChatEventKind::kResult : ChatEventKind::kError,
               ok ? json : ErrorJson(status).Dump());
    });
  });
  return Status();
}

Status LifecycleRoutes::SetThermalState(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto hint, protocol::ThermalHint::Parse(json));
  EngineLoop* to = loop;
  loop->Do([to, state = StateOf(hint.state), threads = num_threads,
            callback = std::move(callback)](Engine* engine) {
    ThermalLimits limits = engine->SetThermalState(state, threads);
    SetComputeThreads(limits.num_threads);  // of this thread, which computes
    protocol::ThermalLimits response;
    response.num_threads = limits.num_threads;
    response.max_num_sequence = limits.max_sequences;
    response.prefill_chunk_size = limits.max_rows;
    to->Post(
        [callback, json = response.ToJson().Dump()] { callback(ChatEventKind::kResult, json); });
  });
  return Status();
}

}  // namespace mlc
