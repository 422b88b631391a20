// A chat template out of nowhere over a conversation out of nowhere. Input: the template, byte 0,
// JSON {"messages": [...], "tools": [...], ...}, whose other members are the template's variables.
#include "base/json.h"
#include "chat/request/chat_template.h"
#include "fuzz.h"

namespace mlc {
namespace {

constexpr char kConversation[] =
    R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})";
constexpr size_t kMostText = 64 << 20;

const std::tm& FixedTime() {
  static const std::tm time = [] {
    std::tm made = {};
    made.tm_year = 126;
    made.tm_mday = 21;
    return made;
  }();
  return time;
}

// An object without its messages and tools.
Json Variables(const Json& conversation) {
  Json variables = Json::MakeObject();
  if (!conversation.is_object()) return variables;
  for (const auto& [name, value] : conversation.as_object()) {
    if (name != "messages" && name != "tools") variables.Set(name, value);
  }
  return variables;
}

Json Member(const Json& conversation, std::string_view name, Json fallback) {
  const Json* found = conversation.Find(name);
  return found != nullptr && found->is_array() ? *found : std::move(fallback);
}

MLC_FUZZ_TARGET(chat_template) {
  fuzz::Halves input = fuzz::SplitAtZero(data);
  Result<ChatTemplate> made = ChatTemplate::Parse(std::string(input.first), "<s>", "</s>");
  if (!made.ok()) {
    MLC_FUZZ_CHECK(!made.status().message().empty());
    return;
  }
  Result<Json> conversation = Json::Parse(input.second.empty() ? kConversation : input.second);
  if (!conversation.ok()) return;
  Result<std::string> text = made->Render(Member(*conversation, "messages", Json::MakeArray()),
                                          Member(*conversation, "tools", Json()), true,
                                          Variables(*conversation), [] { return FixedTime(); });
  if (text.ok()) MLC_FUZZ_CHECK(text->size() <= kMostText);
}

}  // namespace
}  // namespace mlc
