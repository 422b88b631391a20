#include "chat/request/special_text.h"

#include <algorithm>
#include <bitset>
#include <functional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "chat/request/media.h"
#include "chat/tools/answer_planner.h"

namespace mlc {
namespace {

using protocol::ChatCompletionMessage;
using protocol::ChatCompletionRequest;

// The function that is applied to each text. `is_models`: the text is the assistant's.
using Visitor = std::function<void(std::string* text, bool is_models)>;

void VisitJson(const Visitor& visit, bool is_models, Json* json) {
  if (json->is_string()) {
    std::string text = json->as_string();
    visit(&text, is_models);
    *json = Json(std::move(text));
  } else if (json->is_array()) {
    for (Json& item : json->as_array()) VisitJson(visit, is_models, &item);
  } else if (json->is_object()) {
    Json visited = Json::MakeObject();
    for (auto& [name, member] : json->as_object()) {
      std::string key = name;
      visit(&key, is_models);
      VisitJson(visit, is_models, &member);
      visited.Set(key, std::move(member));
    }
    *json = std::move(visited);
  }
}

// JSON in a text may spell a special token with escapes.
void VisitArguments(const Visitor& visit, std::string* arguments) {
  Result<Json> parsed = Json::Parse(*arguments);
  if (!parsed.ok() || !parsed->is_object()) return visit(arguments, true);
  std::string before = parsed->Dump();
  VisitJson(visit, /*is_models=*/true, &*parsed);
  std::string after = parsed->Dump();
  if (after != before) *arguments = std::move(after);  // else the caller's spelling is kept
}

void VisitMessage(const Visitor& visit, ChatCompletionMessage* message) {
  bool is_models = message->role == protocol::ChatCompletionRole::kAssistant;
  auto visit_some = [&](std::optional<std::string>* text) {
    if (*text) visit(&**text, is_models);
  };
  visit_some(&message->name);
  visit_some(&message->tool_call_id);
  visit_some(&message->reasoning_content);
  if (message->content) {
    if (auto* text = std::get_if<std::string>(&message->content->value)) visit(text, is_models);
    if (auto* parts = std::get_if<1>(&message->content->value)) {
      for (auto& part : *parts) {
        if (auto* text = std::get_if<0>(&part.value)) visit(&text->text, is_models);
      }
    }
  }
  if (!message->tool_calls) return;
  for (auto& call : *message->tool_calls) {
    visit(&call.id, is_models);
    visit(&call.function.name, is_models);
    VisitArguments(visit, &call.function.arguments);
  }
}

void VisitTexts(const Visitor& visit, ChatCompletionRequest* request) {
  for (ChatCompletionMessage& message : request->messages) VisitMessage(visit, &message);
  if (request->tools) {
    for (auto& tool : *request->tools) {
      visit(&tool.function.name, false);
      if (tool.function.description) visit(&*tool.function.description, false);
      if (tool.function.parameters) VisitJson(visit, false, &*tool.function.parameters);
    }
  }
  if (!request->chat_template_kwargs) return;
  for (auto& [name, member] : request->chat_template_kwargs->as_object()) {
    if (name == "documents") VisitJson(visit, false, &member);
  }
}

// Letters of Yi and Hangul: they print unchanged, have no case, and do not combine with the letter
// before them. The mark is one of them that no text has.
class FreeLetters {
 public:
  void Strike(std::string_view text) {
    for (size_t pos = 0; pos < text.size();) {
      unsigned char byte = static_cast<unsigned char>(text[pos]);
      if (byte < 0xEA || byte > 0xED) {
        ++pos;
        continue;
      }
      char32_t letter = DecodeUtf8(text, &pos);
      if (letter >= kFirst && letter <= kLast) struck_.set(letter - kFirst);
    }
  }
  // "" when no letter is free.
  std::string First() const {
    std::string out;
    for (char32_t letter = kFirst; letter <= kLast && out.empty(); ++letter) {
      bool is_letter = letter <= kLastYi || letter >= kFirstHangul;
      if (is_letter && !struck_[letter - kFirst]) AppendUtf8(letter, &out);
    }
    return out;
  }

 private:
  static constexpr char32_t kFirst = 0xA000, kLastYi = 0xA48C, kFirstHangul = 0xAC00,
                            kLast = 0xD7A3;
  std::bitset<kLast - kFirst + 1> struck_;
};

Result<std::string> ChooseMark(const ModelBundle& model, ChatCompletionRequest* request) {
  FreeLetters letters;
  VisitTexts([&](std::string* text, bool) { letters.Strike(*text); }, request);
  if (request->chat_template_kwargs) letters.Strike(request->chat_template_kwargs->Dump());
  letters.Strike(model.chat_template->source());
  std::string mark = letters.First();
  if (!mark.empty()) return mark;
  return InvalidArgument(
             "the messages hold texts of special tokens and all letters of Yi and "
             "Hangul; leave one of either out")
      .WithParam("messages");
}

// Puts the mark behind the first letter of each `marker`, and of a beginning of it at the end.
std::string MarkMarker(const std::string& text, const std::string& marker, std::string_view mark) {
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(marker[0]); at != std::string::npos; at = text.find(marker[0], at)) {
    size_t left = std::min(text.size() - at, marker.size()), begin = at;
    DecodeUtf8(text, &at);
    if (text.compare(begin, left, marker, 0, left) != 0) continue;
    out.append(text, done, at - done).append(mark);
    done = at;
  }
  return out.append(text, done);
}

}  // namespace

Result<std::string> MarkSpecialTexts(const ModelBundle& model, ChatCompletionRequest* request) {
  std::vector<int32_t> of_model;
  for (const SpecialMarker& marker : FindSpecialMarkers(model)) of_model.push_back(marker.id);
  std::vector<std::string> of_media = MediaMarkers(model);
  auto marked = [&](const std::string& text, std::string_view mark, bool is_models) {
    std::string out = model.tokenizer->MarkSpecialTokens(
        text, mark, is_models ? of_model : std::vector<int32_t>());
    for (const std::string& marker : of_media) out = MarkMarker(out, marker, mark);
    return out;
  };
  bool is_needed = false;
  VisitTexts(
      [&](std::string* text, bool is_models) {
        is_needed = is_needed || marked(*text, "x", is_models).size() != text->size();
      },
      request);
  if (!is_needed) return std::string();
  MLC_ASSIGN_OR_RETURN(std::string mark, ChooseMark(model, request));
  VisitTexts([&](std::string* text, bool is_models) { *text = marked(*text, mark, is_models); },
             request);
  return mark;
}

}  // namespace mlc
