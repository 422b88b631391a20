#include "chat/adapter_routes.h"

#include "base/hash.h"
#include "chat/protocol/error_json.h"
#include "model/adapter_file.h"

namespace mlc {
namespace {

std::string AdaptersJson(const AdapterTable& table, const std::optional<std::string>& name) {
  protocol::AdapterList list;
  for (const AdapterHandle& adapter : table.List()) {
    if (name && adapter->name != *name) continue;
    protocol::AdapterInfo info;
    info.name = adapter->name;
    info.rank = adapter->rank;
    info.hash = HexText(adapter->hash);
    list.adapters.push_back(std::move(info));
  }
  list.ranks = table.num_ranks();
  list.free_ranks = table.num_free_ranks();
  return list.ToJson().Dump();
}

void PostAdapters(EngineLoop* loop, ChatCallback callback,
                  const std::optional<std::string>& name = std::nullopt) {
  loop->Post([callback = std::move(callback), json = AdaptersJson(*loop->adapters(), name)] {
    callback(ChatEventKind::kResult, json);
  });
}

Status CheckHasRoom(const EngineLoop& loop) {
  if (loop.adapters()->num_ranks() > 0) return Status();
  return Unsupported(
             "the engine has no room for adapters; load it with 'lora_ranks', or merge the "
             "adapter when the model is converted (--lora-adapter)")
      .WithParam("lora_ranks");
}

}  // namespace

Status AdapterRoutes::Load(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::AdapterLoadRequest::Parse(json));
  MLC_RETURN_IF_ERROR(CheckHasRoom(*loop));
  MLC_ASSIGN_OR_RETURN(AdapterWeights read, ReadAdapter(request.path, *loop->info().adapters));
  auto weights = std::make_shared<const AdapterWeights>(std::move(read));
  MLC_ASSIGN_OR_RETURN(AdapterHandle adapter, loop->adapters()->Take(request.name, *weights));
  EngineLoop* to = loop;
  loop->Do([to, weights, adapter = std::move(adapter),
            callback = std::move(callback)](Engine* engine) mutable {
    Status loaded = engine->WriteAdapter(*adapter, *weights);
    if (loaded.ok()) loaded = to->adapters()->Put(std::move(adapter));
    if (!loaded.ok()) {
      to->Post(
          [callback, error = ErrorJson(loaded).Dump()] { callback(ChatEventKind::kError, error); });
      return;
    }
    PostAdapters(to, std::move(callback));
  });
  return Status();
}

Status AdapterRoutes::Unload(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::AdapterUnloadRequest::Parse(json));
  MLC_RETURN_IF_ERROR(loop->adapters()->Remove(request.name));
  PostAdapters(loop, std::move(callback));
  return Status();
}

Status AdapterRoutes::List(const Json& json, ChatCallback callback) const {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::AdapterListRequest::Parse(json));
  PostAdapters(loop, std::move(callback), request.name);
  return Status();
}

}  // namespace mlc
