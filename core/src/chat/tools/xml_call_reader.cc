#include "chat/tools/call_readers.h"
#include "chat/tools/json_scanner.h"

namespace mlc {
namespace {

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end.data(), end.size()) == 0;
}

// `text` without `prefix` before it and ">" behind it; "" if it does not have both.
std::string Between(const std::string& text, std::string_view prefix) {
  if (text.compare(0, prefix.size(), prefix.data(), prefix.size()) != 0) return "";
  if (text.size() <= prefix.size() || text.back() != '>') return "";
  return text.substr(prefix.size(), text.size() - prefix.size() - 1);
}

// One line break at each end belongs to the layout.
std::string WithoutFrame(std::string value) {
  if (!value.empty() && value.front() == '\n') value.erase(0, 1);
  if (!value.empty() && value.back() == '\n') value.pop_back();
  return value;
}

class XmlCallReader : public CallReader {
 public:
  explicit XmlCallReader(const OfferedTools* offered) : CallReader(offered) {}

  State Put(char c) override {
    if (at_ == At::kValue) return Value(c);
    if (tag_.empty() && IsJsonSpace(c)) return State::kMore;
    tag_.push_back(c);
    constexpr size_t kLongestTag = 512;
    if (tag_.size() > kLongestTag) return State::kFailed;
    if (at_ == At::kTag && tag_.front() != '<') return State::kFailed;
    if (c != '>') return State::kMore;
    std::string tag = std::exchange(tag_, {});
    return at_ == At::kName ? Name(tag) : Tag(tag);
  }

 private:
  enum class At { kName, kTag, kValue };

  State Name(const std::string& tag) {
    std::string name = Between(tag, "<function=");
    if (!SetName(name.empty() ? Between(tag, "") : name)) return State::kFailed;
    at_ = At::kTag;
    return State::kMore;
  }

  State Tag(const std::string& tag) {
    if (tag == "</function>") {
      arguments_ += has_begun_ ? "}" : "{}";
      has_begun_ = true;
      return State::kDone;
    }
    key_ = Between(tag, "<parameter=");
    if (key_.empty()) return State::kFailed;
    at_ = At::kValue;
    value_.clear();
    return State::kMore;
  }

  State Value(char c) {
    constexpr std::string_view kEnd = "</parameter>";
    value_.push_back(c);
    if (c != '>' || !EndsWith(value_, kEnd)) return State::kMore;
    value_.resize(value_.size() - kEnd.size());
    arguments_ += has_begun_ ? ", " : "{";
    arguments_ += Json(key_).Dump() + ": " + JsonOf(WithoutFrame(std::move(value_)));
    has_begun_ = true;
    at_ = At::kTag;
    return State::kMore;
  }

  bool IsString() const {
    const Json* properties = tool_->parameters.Find("properties");
    const Json* property = properties ? properties->Find(key_) : nullptr;
    const Json* type = property ? property->Find("type") : nullptr;
    return type != nullptr && type->is_string() && type->as_string() == "string";
  }

  std::string JsonOf(const std::string& value) const {
    if (IsString()) return Json(value).Dump();
    if (value == "True" || value == "False") return value == "True" ? "true" : "false";
    if (value == "None") return "null";
    Result<Json> json = Json::Parse(value);
    return json.ok() ? json->Dump() : Json(value).Dump();
  }

  At at_ = At::kName;
  std::string tag_, key_, value_;
};

}  // namespace

std::unique_ptr<CallReader> MakeXmlCallReader(const OfferedTools* offered) {
  return std::make_unique<XmlCallReader>(offered);
}

}  // namespace mlc
