#include "chat/kv_routes.h"

#include "chat/protocol/error_json.h"
#include "chat/request/completion_builder.h"
#include "chat/request/generation_fields.h"
#include "chat/request/request_builder.h"
#include "engine/kv_state.h"

namespace mlc {
namespace {

Status CheckPrefixCache(const protocol::EngineConfig& config) {
  if (config.prefix_cache_mode != protocol::PrefixCacheMode::kDisable) return Status();
  return InvalidArgument(
             "the state of a conversation is kept in the prefix cache, which is off; leave "
             "'prefix_cache_mode' out of the engine's config, or set it to 'radix'")
      .WithParam("prefix_cache_mode");
}

Status CheckPath(const std::string& path) {
  if (path.find('\0') == std::string::npos) return Status();
  return InvalidArgument("'path' holds a zero byte").WithParam("path");
}

Result<Prompt> TokensOf(const std::vector<int64_t>& tokens, int vocab_size) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= vocab_size) {
      return InvalidArgument("token id " + std::to_string(tokens[i]) +
                             " is not in the model's vocabulary of " + std::to_string(vocab_size))
          .WithParam("prompt_tokens[" + std::to_string(i) + "]");
    }
    out.push_back(static_cast<int32_t>(tokens[i]));
  }
  return Prompt(std::move(out));
}

// The request that computes the conversation: its prompt, and one token that nobody reads.
Result<Request> BuildPrompt(const ModelBundle& bundle, const protocol::KVSaveRequest& save,
                            const MediaBuffers& buffers) {
  if (save.messages.has_value() == save.prompt_tokens.has_value()) {
    return InvalidArgument("either 'messages' or 'prompt_tokens' must be given")
        .WithParam("messages");
  }
  if (save.messages) {
    protocol::ChatCompletionRequest chat;
    chat.messages = *save.messages;
    chat.chat_template_kwargs = save.chat_template_kwargs;
    chat.max_tokens = 1;
    return BuildRequest(bundle, chat, buffers);
  }
  GenerationFields fields;
  fields.max_tokens = 1;
  MLC_ASSIGN_OR_RETURN(Prompt tokens, TokensOf(*save.prompt_tokens, bundle.config.vocab_size));
  return BuildGeneration(bundle, fields, std::move(tokens));
}

Result<std::vector<Request>> RequestsOf(const ModelBundle& bundle,
                                        const protocol::KVHeldRequest& asked,
                                        const MediaBuffers& buffers) {
  std::vector<Request> requests;
  if (asked.chat.has_value() == asked.completion.has_value()) {
    return InvalidArgument("either 'chat' or 'completion' must be given").WithParam("chat");
  }
  if (asked.chat) {
    MLC_ASSIGN_OR_RETURN(Request request, BuildRequest(bundle, *asked.chat, buffers));
    requests.push_back(std::move(request));
    return requests;
  }
  MLC_ASSIGN_OR_RETURN(auto prompts, BuildCompletion(bundle, *asked.completion));
  for (PromptRequest& prompt : prompts) requests.push_back(std::move(prompt.request));
  return requests;
}

// Whether a state of kv.save can stand for its prompt.
bool IsOfTokensAlone(const Request& request) {
  return request.adapter == 0 && !request.prompt_logprobs && !request.prompt.has_rows();
}

protocol::KVHeldPrompt HeldOf(const Prompt& prompt, int held) {
  protocol::KVHeldPrompt out;
  for (const Prompt::Span& span : prompt.spans()) {
    out.tokens.insert(out.tokens.end(), span.tokens.begin(), span.tokens.end());
  }
  out.held = held;
  return out;
}

template <typename Response>
void Answer(const ChatCallback& callback, const Response& response) {
  callback(ChatEventKind::kResult, response.ToJson().Dump());
}

void Fail(const ChatCallback& callback, const Status& status) {
  callback(ChatEventKind::kError, ErrorJson(status).Dump());
}

}  // namespace

Status KVRoutes::Save(RequestId id, const Json& json, const MediaBuffers& buffers,
                      ChatCallback callback) const {
  MLC_RETURN_IF_ERROR(CheckPrefixCache(config));
  MLC_ASSIGN_OR_RETURN(auto save, protocol::KVSaveRequest::Parse(json));
  MLC_RETURN_IF_ERROR(CheckPath(save.path));
  MLC_ASSIGN_OR_RETURN(Request request, BuildPrompt(bundle, save, buffers));
  MLC_RETURN_IF_ERROR(loop->Check(request));
  request.id = id;
  auto done = [callback = std::move(callback)](const Result<SavedKV>& saved) {
    if (!saved.ok()) return Fail(callback, saved.status());
    protocol::KVSaveResponse response;
    response.tokens = saved->num_tokens;
    response.bytes = saved->num_bytes;
    Answer(callback, response);
  };
  SaveKVState(loop, std::move(request), std::move(save.path), std::move(done));
  return Status();
}

Status KVRoutes::Load(const Json& json, ChatCallback callback) const {
  MLC_RETURN_IF_ERROR(CheckPrefixCache(config));
  MLC_ASSIGN_OR_RETURN(auto load, protocol::KVLoadRequest::Parse(json));
  MLC_RETURN_IF_ERROR(CheckPath(load.path));
  return LoadKVState(loop, load.path, [callback = std::move(callback)](const Result<int>& held) {
    if (!held.ok()) return Fail(callback, held.status());
    protocol::KVLoadResponse response;
    response.tokens = *held;
    Answer(callback, response);
  });
}

Status KVRoutes::Held(const Json& json, const MediaBuffers& buffers, ChatCallback callback) const {
  MLC_RETURN_IF_ERROR(CheckPrefixCache(config));
  MLC_ASSIGN_OR_RETURN(auto asked, protocol::KVHeldRequest::Parse(json));
  MLC_ASSIGN_OR_RETURN(std::vector<Request> requests, RequestsOf(bundle, asked, buffers));
  for (const Request& request : requests) MLC_RETURN_IF_ERROR(loop->Check(request));
  loop->Do([loop = loop, requests = std::move(requests),
            callback = std::move(callback)](Engine* engine) {
    protocol::KVHeldResponse response;
    for (const Request& request : requests) {
      if (!IsOfTokensAlone(request)) continue;
      int held = engine->NumHeld(request.adapter, request.prompt);
      response.prompts.push_back(HeldOf(request.prompt, held));
    }
    loop->Post([callback, response = std::move(response)] { Answer(callback, response); });
  });
  return Status();
}

}  // namespace mlc
