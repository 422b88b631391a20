#include "chat/request/chat_template.h"

#include <set>
#include <utility>

#include "jinja/parser.h"
#include "jinja/render.h"
#include "platform/host.h"

namespace mlc {

namespace {

using jinja::Block;
using jinja::Expr;
using jinja::ExprPtr;
using jinja::Stmt;

std::tm LocalNow() { return LocalTime(std::time(nullptr)); }

// All variable names that a template reads.
class NameCollector {
 public:
  void Visit(const Block& block) {
    for (const auto& statement : block) {
      for (const ExprPtr& expr : statement->exprs) Visit(expr);
      for (const ExprPtr& expr : statement->macro.defaults) Visit(expr);
      for (const Block& body : statement->bodies) Visit(body);
    }
  }

  std::set<std::string> names;

 private:
  void Visit(const ExprPtr& expr) {
    if (!expr) return;
    if (expr->kind == Expr::Kind::kName) names.insert(expr->name);
    for (const ExprPtr& child : expr->children) Visit(child);
    for (const ExprPtr& child : expr->call.positional) Visit(child);
    for (const auto& [name, child] : expr->call.named) Visit(child);
    Visit(expr->call.star);
    Visit(expr->call.double_star);
  }
};

bool Holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

struct ChatTemplate::State {
  std::string source, bos_token, eos_token;
  Block block;
  std::set<std::string> names;
  // The results of the probes.
  bool takes_strings = true;
  bool takes_parts = false;
  bool takes_null = true;

  Result<std::string> Run(const Json& messages, const Json& tools, bool add_generation_prompt,
                          const Json& extra_context, const Clock& clock,
                          const jinja::Limits& limits = {}) const;
  void Probe();
  // The rendered text of one exchange, or "" when the template refuses it.
  std::string Try(Json user_content, Json assistant_content) const;
};

namespace {

constexpr char kProbe[] = "4711047110";  // no letters: the template may change their case
// A probe is one short exchange. It stops at this limit and then finds nothing, so loading is fast.
constexpr jinja::Limits kProbeLimits{/*steps=*/500'000, /*bytes=*/int64_t{16} << 20};

Json TextParts(Json text) {
  Json part = Json::MakeObject();
  part.Set("type", "text").Set("text", std::move(text));
  return Json(Json::Array{std::move(part)});
}

Json Message(const char* role, Json content) {
  Json message = Json::MakeObject();
  message.Set("role", role).Set("content", std::move(content));
  return message;
}

Json ProbeToolCalls() {
  Json function = Json::MakeObject(), call = Json::MakeObject();
  function.Set("name", "probe").Set("arguments", Json::MakeObject());
  call.Set("id", "probe0000").Set("type", "function").Set("function", std::move(function));
  return Json(Json::Array{std::move(call)});
}

}  // namespace

Result<std::string> ChatTemplate::State::Run(const Json& messages, const Json& tools,
                                             bool add_generation_prompt, const Json& extra_context,
                                             const Clock& clock,
                                             const jinja::Limits& limits) const {
  jinja::Renderer renderer(limits, clock ? clock : Clock(LocalNow));
  MLC_ASSIGN_OR_RETURN(jinja::Value message_list, jinja::FromJson(messages));
  MLC_ASSIGN_OR_RETURN(jinja::Value tool_list, jinja::FromJson(tools));
  renderer.Define("messages", std::move(message_list));
  renderer.Define("tools", std::move(tool_list));
  renderer.Define("documents", jinja::Value::None());
  renderer.Define("add_generation_prompt", jinja::Value(add_generation_prompt));
  renderer.Define("bos_token", jinja::Value::String(bos_token));
  renderer.Define("eos_token", jinja::Value::String(eos_token));
  if (extra_context.is_object()) {
    for (const auto& [name, member] : extra_context.as_object()) {
      MLC_ASSIGN_OR_RETURN(jinja::Value value, jinja::FromJson(member));
      renderer.Define(name, std::move(value));
    }
  }
  return renderer.Run(block);
}

std::string ChatTemplate::State::Try(Json user_content, Json assistant_content) const {
  Json messages = Json::MakeArray();
  messages.Append(Message("user", std::move(user_content)));
  if (!assistant_content.is_bool()) {
    Json reply = Message("assistant", std::move(assistant_content));
    reply.Set("tool_calls", ProbeToolCalls());
    messages.Append(std::move(reply));
  }
  Result<std::string> text = Run(messages, nullptr, false, nullptr, nullptr, kProbeLimits);
  return text.ok() ? *text : "";
}

void ChatTemplate::State::Probe() {
  const Json no_reply(false);
  takes_strings = Holds(Try(kProbe, no_reply), kProbe);
  std::string with_parts = Try(TextParts(kProbe), no_reply);
  bool printed_whole = Holds(with_parts, "'type'") || Holds(with_parts, "\"type\"");
  takes_parts = Holds(with_parts, kProbe) && !printed_whole;
  if (!takes_strings && !takes_parts) takes_strings = true;  // the probe found nothing
  Json user = takes_strings ? Json(kProbe) : TextParts(kProbe);
  std::string with_null = Try(user, nullptr), with_empty = Try(user, "");
  takes_null = with_empty.empty() || (!with_null.empty() && !Holds(with_null, "None"));
}

namespace {

// Where a message is, for errors: "messages[2].content".
std::string Path(size_t index, const char* field) {
  return "messages[" + std::to_string(index) + "]." + field;
}

Result<Json> JoinParts(const Json& content, size_t index) {
  std::string joined;
  bool first = true;
  for (const Json& part : content.as_array()) {
    const Json* text = part.is_object() ? part.Find("text") : nullptr;
    if (part.is_string()) text = &part;
    if (!text || !text->is_string())
      return Unsupported("this model's chat template takes only text content")
          .WithParam(Path(index, "content"));
    if (!std::exchange(first, false)) joined += "\n";
    joined += text->as_string();
  }
  return Json(std::move(joined));
}

void ParseArguments(Json* call) {
  if (!call->is_object()) return;
  for (auto& [key, member] : call->as_object()) {
    if (key == "function") ParseArguments(&member);
    if (key != "arguments" || !member.is_string()) continue;
    Result<Json> parsed = Json::Parse(member.as_string());
    if (parsed.ok() && parsed->is_object()) member = std::move(*parsed);
  }
}

struct ContentTaken {
  bool strings, parts, null;
};

Result<Json> AdaptContent(const Json& content, ContentTaken takes, size_t index) {
  if (content.is_array() && !takes.parts) return JoinParts(content, index);
  if (content.is_string() && !takes.strings) return TextParts(content);
  if (content.is_null() && !takes.null) return takes.strings ? Json("") : TextParts("");
  return content;
}

Result<Json> AdaptMessage(const Json& message, ContentTaken takes, size_t index) {
  if (!message.is_object())
    return InvalidArgument("must be an object")
        .WithParam("messages[" + std::to_string(index) + "]");
  Json adapted = message;
  const Json* content = message.Find("content");
  if (content || !takes.null) {
    MLC_ASSIGN_OR_RETURN(Json value, AdaptContent(content ? *content : Json(), takes, index));
    adapted.Set("content", std::move(value));
  }
  for (auto& [key, member] : adapted.as_object()) {
    if (key != "tool_calls" || !member.is_array()) continue;
    for (Json& call : member.as_array()) ParseArguments(&call);
  }
  return adapted;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::Parse(std::string source, std::string bos_token,
                                         std::string eos_token) {
  auto state = std::make_shared<State>();
  MLC_ASSIGN_OR_RETURN(state->block, jinja::ParseTemplate(source));
  state->source = std::move(source);
  state->bos_token = std::move(bos_token);
  state->eos_token = std::move(eos_token);
  NameCollector collector;
  collector.Visit(state->block);
  state->names = std::move(collector.names);
  state->Probe();
  return ChatTemplate(std::move(state));
}

Result<std::string> ChatTemplate::Render(const Json& messages, const Json& tools,
                                         bool add_generation_prompt, const Json& extra_context,
                                         const Clock& clock) const {
  if (!messages.is_array()) return InvalidArgument("must be an array").WithParam("messages");
  if (!tools.is_null() && !tools.is_array())
    return InvalidArgument("must be an array or null").WithParam("tools");
  ContentTaken takes{state_->takes_strings, state_->takes_parts, state_->takes_null};
  Json adapted = Json::MakeArray();
  for (size_t i = 0; i < messages.as_array().size(); ++i) {
    MLC_ASSIGN_OR_RETURN(Json message, AdaptMessage(messages.as_array()[i], takes, i));
    adapted.Append(std::move(message));
  }
  return state_->Run(adapted, tools, add_generation_prompt, extra_context, clock);
}

bool ChatTemplate::Uses(const std::string& name) const { return state_->names.count(name) > 0; }
bool ChatTemplate::TakesContentParts() const { return state_->takes_parts; }
const std::string& ChatTemplate::source() const { return state_->source; }

}  // namespace mlc
