#include <algorithm>
#include <set>
#include <vector>

#include "chat/tools/call_readers.h"
#include "chat/tools/json_scanner.h"

namespace mlc {
namespace {

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end.data(), end.size()) == 0;
}

bool BeginsWith(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

// A tag without the line break that is written before it.
std::string WithoutSpaces(const std::string& tag) {
  size_t begin = tag.find_first_not_of('\n');
  return begin == std::string::npos ? "" : tag.substr(begin);
}

// One line break at each end belongs to the layout.
std::string WithoutFrame(std::string value) {
  if (!value.empty() && value.front() == '\n') value.erase(0, 1);
  if (!value.empty() && value.back() == '\n') value.pop_back();
  return value;
}

// The alternatives of a schema.
std::vector<const Json*> Alternatives(const Json& schema) {
  std::vector<const Json*> found;
  for (const char* key : {"anyOf", "oneOf"}) {
    const Json* parts = schema.Find(key);
    if (parts == nullptr || !parts->is_array()) continue;
    for (const Json& part : parts->as_array()) found.push_back(&part);
  }
  return found;
}

// The types that a schema and its alternatives name.
void AddTypes(const Json& schema, std::set<std::string>* types) {
  const Json* type = schema.Find("type");
  if (type != nullptr && type->is_string()) types->insert(type->as_string());
  if (type != nullptr && type->is_array()) {
    for (const Json& one : type->as_array()) types->insert(one.is_string() ? one.as_string() : "");
  }
  for (const Json* part : Alternatives(schema)) AddTypes(*part, types);
}

// Whether a schema, or an alternative of it, lists this text as one of its values.
bool Lists(const Json& schema, const std::string& text) {
  auto is_it = [&text](const Json& one) { return one.is_string() && one.as_string() == text; };
  for (const Json* part : Alternatives(schema)) {
    if (Lists(*part, text)) return true;
  }
  const Json *listed = schema.Find("enum"), *only = schema.Find("const");
  if (listed == nullptr || !listed->is_array()) return only != nullptr && is_it(*only);
  return std::any_of(listed->as_array().begin(), listed->as_array().end(), is_it);
}

std::string Trimmed(const std::string& text) {
  constexpr char kSpaces[] = " \n\t\r";
  size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// A quoted text has none of the types: the quotes belong to it.
bool HasType(const Json& value, const std::set<std::string>& types) {
  if (value.is_null()) return types.count("null") != 0;
  if (value.is_bool()) return types.count("boolean") != 0;
  if (value.is_array()) return types.count("array") != 0;
  if (value.is_object()) return types.count("object") != 0;
  if (value.is_string()) return false;
  return types.count("number") != 0 || (value.is_int() && types.count("integer") != 0);
}

class XmlCallReader : public CallReader {
 public:
  XmlCallReader(const XmlTags& tags, const OfferedTools* offered)
      : CallReader(offered),
        tags_(tags),
        value_begin_(WithoutSpaces(tags.value)),
        value_end_(WithoutSpaces(tags.value_end)),
        has_frame_(tags.value == "\n") {}

  State Put(char c) override {
    if (at_ == At::kValue) return Value(c);
    if (tag_.empty() && IsJsonSpace(c)) return State::kMore;
    constexpr size_t kLongestTag = 512;
    if (tag_.size() >= kLongestTag) return State::kFailed;
    if (at_ == At::kName && tags_.name_end.empty()) return BareName(c);
    tag_.push_back(c);
    if (at_ == At::kName) return EndsWith(tag_, tags_.name_end) ? Name() : State::kMore;
    return at_ == At::kTag ? Tag() : ValueBegin();
  }

 private:
  enum class At { kName, kTag, kValueBegin, kValue };

  State Go(At at) {
    at_ = at;
    tag_.clear();
    return State::kMore;
  }

  // A name without tags: a space or the next tag ends it.
  State BareName(char c) {
    if (!IsJsonSpace(c) && c != '<') {
      tag_.push_back(c);
      return State::kMore;
    }
    if (!SetName(tag_)) return State::kFailed;
    Go(At::kTag);
    return Put(c);
  }

  State Name() {
    size_t begin = BeginsWith(tag_, tags_.name) ? tags_.name.size() : 0;
    std::string name = tag_.substr(begin, tag_.size() - begin - tags_.name_end.size());
    return SetName(name) ? Go(At::kTag) : State::kFailed;
  }

  State Tag() {
    if (tag_ == tags_.end) {
      arguments_ += has_begun_ ? "}" : "{}";
      has_begun_ = true;
      return State::kDone;
    }
    if (BeginsWith(tags_.end, tag_) || BeginsWith(tags_.key, tag_)) return State::kMore;
    if (!BeginsWith(tag_, tags_.key)) return State::kFailed;
    if (!EndsWith(tag_, tags_.key_end)) return State::kMore;
    size_t begin = tags_.key.size(), end = tag_.size() - tags_.key_end.size();
    if (end <= begin) return State::kFailed;
    key_ = tag_.substr(begin, end - begin);
    TakeKind();
    value_.clear();
    return Go(value_begin_.empty() ? At::kValue : At::kValueBegin);
  }

  State ValueBegin() {
    if (tag_ == value_begin_) return Go(At::kValue);
    return BeginsWith(value_begin_, tag_) ? State::kMore : State::kFailed;
  }

  State Value(char c) {
    value_.push_back(c);
    if (c != '>' || !EndsWith(value_, value_end_)) return State::kMore;
    value_.resize(value_.size() - value_end_.size());
    if (has_frame_) value_ = WithoutFrame(std::move(value_));
    arguments_ += has_begun_ ? ", " : "{";
    arguments_ += Json(key_).Dump() + ": " + JsonOf(value_);
    has_begun_ = true;
    return Go(At::kTag);
  }

  // Takes what a tag says about the value from the end of the key.
  void TakeKind() {
    size_t at = tags_.is_text.empty() ? std::string::npos : key_.rfind(tags_.is_text);
    told_ = at != std::string::npos;
    if (!told_) return;
    told_text_ = key_.substr(at + tags_.is_text.size()) == "true";
    key_.resize(at);
  }

  std::string JsonOf(const std::string& value) const {
    const Json* properties = tool_->parameters.Find("properties");
    const Json* property = properties ? properties->Find(key_) : nullptr;
    std::set<std::string> types;
    if (property != nullptr) AddTypes(*property, &types);
    // Spaces around a value that is listed are layout, which grammars of tags leave free.
    for (const std::string& text : {value, Trimmed(value)}) {
      if (property != nullptr && Lists(*property, text) && (!told_ || told_text_))
        return Json(text).Dump();
    }
    bool is_text = told_ ? told_text_ : types == std::set<std::string>{"string"};
    if (is_text) return Json(value).Dump();
    Result<Json> json = value == "True" || value == "False" ? Json(value == "True")
                        : value == "None"                   ? Json()
                                                            : Json::Parse(value);
    bool is_other = !told_ && types.count("string") != 0 && json.ok() && !HasType(*json, types);
    return json.ok() && !is_other ? json->Dump() : Json(value).Dump();
  }

  const XmlTags& tags_;
  const std::string value_begin_, value_end_;
  const bool has_frame_;  // a line break at each end of a value belongs to the layout
  At at_ = At::kName;
  std::string tag_, key_, value_;
  bool told_ = false, told_text_ = false;  // whether the tag says what the value is, and what
};

}  // namespace

std::unique_ptr<CallReader> MakeXmlCallReader(const XmlTags& tags, const OfferedTools* offered) {
  return std::make_unique<XmlCallReader>(tags, offered);
}

}  // namespace mlc
