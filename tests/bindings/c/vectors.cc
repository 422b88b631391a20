// Runs the conformance vectors (tests/bindings/vectors/README.md) over the core's own structs and,
// for faults and answers, the C ABI.
//
// The core is no client: in an answer's closed enum it refuses a word that it does not know, where
// a client keeps it. A case with such a word must be refused here, at that word.
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>

#include "builders.h"
#include "mlc_llm.h"
#include "reading.h"

namespace mlc {
namespace {

// "" is success, anything else what went otherwise than it should.
using Difference = std::string;

// Of a runner: what the file says must be there.
const Json& Member(const Json& object, std::string_view key) {
  const Json* found = object.Find(key);
  if (found == nullptr) {
    std::cerr << "a case has no '" << key << "': " << object.Dump() << "\n";
    std::exit(1);
  }
  return *found;
}

std::string Text(const Json& object, std::string_view key) {
  return Member(object, key).as_string();
}

// Objects as sets of members; 1 and 1.0 are equal.
bool Same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number() && a.is_int() != b.is_int()) {
    return a.as_double() == b.as_double();
  }
  if (a.is_array() && b.is_array()) {
    const Json::Array &left = a.as_array(), &right = b.as_array();
    if (left.size() != right.size()) return false;
    for (size_t i = 0; i < left.size(); ++i) {
      if (!Same(left[i], right[i])) return false;
    }
    return true;
  }
  if (a.is_object() && b.is_object()) {
    if (a.as_object().size() != b.as_object().size()) return false;
    for (const Json::Member& member : a.as_object()) {
      const Json* other = b.Find(member.first);
      if (other == nullptr || !Same(member.second, *other)) return false;
    }
    return true;
  }
  return a == b;
}

Difference Compare(const std::string& what, const Json& got, const Json& expected) {
  if (Same(got, expected)) return "";
  return what + ": got " + got.Dump() + ", expected " + expected.Dump();
}

// Removes what stands at a path.
void Remove(Json* value, const Steps& steps, size_t i = 0) {
  if (value->is_array()) {
    size_t index = std::stoul(steps[i]);
    if (index < value->as_array().size()) Remove(&value->as_array()[index], steps, i + 1);
  } else if (value->is_object()) {
    Json::Object& members = value->as_object();
    for (size_t m = 0; m < members.size(); ++m) {
      if (members[m].first != steps[i]) continue;
      if (i + 1 < steps.size()) return Remove(&members[m].second, steps, i + 1);
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(m));
      return;
    }
  }
}

Json Without(Json value, const Json& paths) {
  for (const Json& path : paths.as_array()) Remove(&value, ParsePath(path.as_string()));
  return value;
}

// ---- value, invalid ----------------------------------------------------------------------------

template <typename T>
Difference CheckFields(const T& value, const Json& fields) {
  for (const auto& [path, expected] : fields.as_object()) {
    const Found found = At(value, path);
    if (!found.is_there) return path + ": nothing stands there";
    Difference difference = Compare(path, found.value, expected);
    if (!difference.empty()) return difference;
  }
  return "";
}

template <typename T>
Difference CheckVariants(const T& value, const Json& variants) {
  for (const auto& [path, expected] : variants.as_object()) {
    const Json held(At(value, path).variant);
    if (held != expected) return path + ": holds " + held.Dump() + ", not " + expected.Dump();
  }
  return "";
}

template <typename T>
Difference CheckUnknownWords(const T& value, const Json& paths) {
  for (const Json& path : paths.as_array()) {
    if (!At(value, path.as_string()).is_unknown_word) {
      return path.as_string() + ": is a word that is known";
    }
  }
  return "";
}

template <typename T>
Difference RunValue(const Json& test) {
  Result<T> value = T::Parse(Member(test, "json"));
  const Json &unknown = Member(test, "unknown_words"), &ignore = Member(test, "ignore");
  if (!value.ok()) {
    const Json param(value.status().param());
    for (const Json& path : unknown.as_array()) {
      if (path == param && value.status().Is(Reason::kInvalidValue)) return "";
    }
    return "was refused: " + value.status().message();
  }
  Difference difference = Compare("encoded", Without(value->ToJson(), ignore),
                                  Without(Member(test, "canonical"), ignore));
  if (difference.empty()) difference = CheckFields(*value, Member(test, "fields"));
  if (difference.empty()) difference = CheckVariants(*value, Member(test, "variants"));
  if (difference.empty()) difference = CheckUnknownWords(*value, unknown);
  return difference;
}

// Calls `act` with the type that the case names.
template <typename Act>
Difference WithType(const Json& test, const Act& act) {
  Difference difference = "no such type";
  protocol::WithStruct(Text(test, "type"),
                       [&](const auto& prototype) { difference = act(prototype); });
  return difference;
}

Difference Value(const Json& test) {
  return WithType(test, [&](const auto& prototype) {
    return RunValue<std::decay_t<decltype(prototype)>>(test);
  });
}

Difference Invalid(const Json& test) {
  return WithType(test, [&](const auto& prototype) -> Difference {
    using T = std::decay_t<decltype(prototype)>;
    return T::Parse(Member(test, "json")).ok() ? "was decoded" : "";
  });
}

// ---- stream ------------------------------------------------------------------------------------

// What a stream says, put together by choice.
struct Collected {
  Json texts = Json::MakeObject(), finish_reasons = Json::MakeObject();
  Json roles = Json::MakeObject(), tool_calls = Json::MakeObject(), usage;

  void Add(const protocol::ChatCompletionChunk& chunk) {
    if (chunk.usage) usage = chunk.usage->ToJson();
    for (const protocol::ChatCompletionChunkChoice& choice : chunk.choices) {
      const std::string at = std::to_string(choice.index);
      if (choice.delta.content) Append(&texts, at, *choice.delta.content);
      if (choice.finish_reason) finish_reasons.Set(at, choice.finish_reason->word());
      if (choice.delta.role && roles.Find(at) == nullptr) {
        roles.Set(at, wire::ToWord(*choice.delta.role));
      }
      if (choice.delta.tool_calls) AddCalls(at, *choice.delta.tool_calls);
    }
  }

 private:
  static void Append(Json* object, const std::string& key, const std::string& piece) {
    const Json* before = object->Find(key);
    object->Set(key, (before == nullptr ? "" : before->as_string()) + piece);
  }

  void AddCalls(const std::string& at, const std::vector<protocol::ChoiceDeltaToolCall>& pieces) {
    const Json* before = tool_calls.Find(at);
    Json calls = before == nullptr ? Json::MakeArray() : *before;
    for (const protocol::ChoiceDeltaToolCall& piece : pieces) {
      while (calls.as_array().size() <= static_cast<size_t>(piece.index)) {
        calls.Append(Json().Set("id", "").Set("name", "").Set("arguments", ""));
      }
      Json* call = &calls.as_array()[static_cast<size_t>(piece.index)];
      Append(call, "id", piece.id.value_or(""));
      if (!piece.function) continue;
      Append(call, "name", piece.function->name.value_or(""));
      Append(call, "arguments", piece.function->arguments.value_or(""));
    }
    tool_calls.Set(at, calls);
  }
};

Difference Stream(const Json& test) {
  std::vector<protocol::ChatCompletionChunk> chunks;
  Collected got;
  for (const Json& json : Member(test, "chunks").as_array()) {
    auto chunk = protocol::ChatCompletionChunk::Parse(json);
    if (!chunk.ok()) return "a chunk was refused: " + chunk.status().message();
    chunks.push_back(*chunk);
    got.Add(*chunk);
  }
  for (const auto& [key, value] : {std::pair<const char*, const Json&>{"texts", got.texts},
                                   {"finish_reasons", got.finish_reasons},
                                   {"roles", got.roles},
                                   {"tool_calls", got.tool_calls},
                                   {"usage", got.usage}}) {
    Difference difference = Compare(key, value, Member(test, key));
    if (!difference.empty()) return difference;
  }
  return CheckFields(chunks, Member(test, "fields"));
}

// ---- error, fault ------------------------------------------------------------------------------

Difference CheckError(const Json& json, const Json& test) {
  auto response = protocol::ErrorResponse::Parse(json);
  if (!response.ok()) return "is no error: " + json.Dump();
  const protocol::ErrorObject& error = response->error;
  Json got = Json().Set("message", error.message).Set("type", error.type);
  got.Set("param", ToJsonValue(error.param)).Set("code", ToJsonValue(error.code));
  got.Set("status", ToJsonValue(error.status));
  return Compare("error", got, Member(test, "error"));
}

Difference Error(const Json& test) { return CheckError(Member(test, "json"), test); }

Difference Fault(MLCEngine* engine, const Json& test) {
  const std::string route = Text(test, "route"), body = Text(test, "body");
  auto ignore = [](void*, int32_t, const char*, size_t) {};
  MLCStatus* status = mlc_engine_submit(engine, route.c_str(), body.data(), body.size(), nullptr, 0,
                                        ignore, nullptr, nullptr);
  if (status == nullptr) return "was taken";
  Result<Json> json = Json::Parse(mlc_status_get_error_json(status));
  int code = mlc_status_get_code(status);
  mlc_status_free(status);
  if (code != Member(test, "number").as_int()) return "has the code " + std::to_string(code);
  return json.ok() ? CheckError(*json, test) : "the error is no JSON";
}

// ---- answer ------------------------------------------------------------------------------------

struct Events {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Json> json;
  bool ended = false, failed = false;
};

void OnEvent(void* user, int32_t kind, const char* json, size_t size) {
  auto* events = static_cast<Events*>(user);
  std::lock_guard<std::mutex> lock(events->mutex);
  if (size > 0) events->json.push_back(*Json::Parse(std::string_view(json, size)));
  events->failed = kind == MLC_EVENT_ERROR;
  events->ended = kind != MLC_EVENT_CHUNK;
  events->changed.notify_all();
}

// Waits for the end; false when the request is refused or fails.
bool Ask(MLCEngine* engine, const protocol::ChatCompletionRequest& request, Events* events) {
  const std::string body = request.ToJson().Dump();
  MLCStatus* status = mlc_engine_submit(engine, "chat.completions", body.data(), body.size(),
                                        nullptr, 0, OnEvent, events, nullptr);
  mlc_status_free(status);
  if (status != nullptr) return false;
  std::unique_lock<std::mutex> lock(events->mutex);
  events->changed.wait(lock, [&] { return events->ended; });
  return !events->failed;
}

Difference CheckAnswer(const Json& texts, const Json& reasons, const Json& usage,
                       const Json& test) {
  Json counts = Json::MakeObject();
  for (const Json::Member& count : Member(test, "usage").as_object()) {
    counts.Set(count.first, Member(usage, count.first));
  }
  Difference difference = Compare("texts", texts, Member(test, "texts"));
  if (difference.empty()) {
    difference = Compare("finish_reasons", reasons, Member(test, "finish_reasons"));
  }
  return difference.empty() ? Compare("usage", counts, Member(test, "usage")) : difference;
}

Difference Answer(MLCEngine* engine, const Json& test) {
  auto request = protocol::ChatCompletionRequest::Parse(Member(test, "json"));
  if (!request.ok()) return "was refused: " + request.status().message();
  Events whole, streamed;
  if (!Ask(engine, *request, &whole)) return "failed";
  request->stream = true;
  request->stream_options.emplace().include_usage = true;
  if (!Ask(engine, *request, &streamed)) return "failed when streamed";
  Collected got;
  for (const Json& json : streamed.json) {
    auto chunk = protocol::ChatCompletionChunk::Parse(json);
    if (!chunk.ok()) return "a chunk was refused: " + chunk.status().message();
    got.Add(*chunk);
  }
  Difference difference = CheckAnswer(got.texts, got.finish_reasons, got.usage, test);
  if (!difference.empty()) return "streamed: " + difference;
  auto answer = protocol::ChatCompletion::Parse(whole.json.front());
  if (!answer.ok() || !answer->usage) return "the answer was refused";
  Json texts = Json::MakeObject(), reasons = Json::MakeObject();
  for (const protocol::ChatCompletionChoice& choice : answer->choices) {
    texts.Set(std::to_string(choice.index), ToJsonValue(choice.message.content));
    reasons.Set(std::to_string(choice.index), choice.finish_reason.word());
  }
  return CheckAnswer(texts, reasons, answer->usage->ToJson(), test);
}

// ---- build, and all ----------------------------------------------------------------------------

Difference Build(const Json& test) {
  auto builder = Builders().find(Text(test, "name"));
  if (builder == Builders().end()) return "there is no builder";
  const Json& ignore = Member(test, "ignore");
  return Compare("built", Without(builder->second(), ignore),
                 Without(Member(test, "json"), ignore));
}

Difference Run(MLCEngine* engine, const Json& test) {
  const std::string kind = Text(test, "kind");
  if (kind == "value") return Value(test);
  if (kind == "invalid") return Invalid(test);
  if (kind == "stream") return Stream(test);
  if (kind == "error") return Error(test);
  if (kind == "fault") return Fault(engine, test);
  if (kind == "answer") return Answer(engine, test);
  if (kind == "tools") return "";  // helpers are the other languages'
  return kind == "build" ? Build(test) : "there is no kind '" + kind + "'";
}

MLCEngine* MakeEngine(const std::string& model) {
  const char* config =
      R"({"mode": "local", "max_num_sequence": 16, "prefix_cache_mode": "disable"})";
  const Json source = Json().Set("model", model).Set("device", "fake");
  MLCEngine* engine = nullptr;
  MLCStatus* status = mlc_engine_create(config, &engine);
  if (status == nullptr) status = mlc_engine_load(engine, source.Dump().c_str(), nullptr, nullptr);
  if (status == nullptr) return engine;
  std::cerr << mlc_status_get_message(status) << "\n";
  std::exit(1);
}

int RunFolder(const std::string& folder, const std::string& model) {
  MLCEngine* engine = MakeEngine(model);
  int64_t passed = 0, failed = 0;
  Json failures = Json::MakeArray();
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/cases")) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    Result<Json> file = Json::Parse(text.str());
    if (!file.ok()) {
      std::cerr << entry.path() << ": " << file.status().message() << "\n";
      return 1;
    }
    for (const Json& test : Member(*file, "cases").as_array()) {
      Difference difference = Run(engine, test);
      ++(difference.empty() ? passed : failed);
      if (difference.empty()) continue;
      failures.Append(Json().Set("name", Member(test, "name")).Set("why", difference));
    }
  }
  mlc_engine_destroy(engine);
  std::cout << Json().Set("passed", passed).Set("failed", failed).Set("failures", failures).Dump()
            << "\n";
  return 0;
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  std::string folder, model;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') folder = argv[i];
    if (std::strcmp(argv[i], "--model") == 0 && i + 1 < argc) model = argv[i + 1];
    if (argv[i][0] == '-') ++i;
  }
  return mlc::RunFolder(folder, model);
}
