#include "text/json_view.h"

#include "base/utf8.h"

namespace mlc {

std::string JsonView::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Status JsonView::Bad(const std::string& what) const {
  return InvalidArgument("tokenizer.json: " + (path_.empty() ? "" : path_ + ": ") + what)
      .WithParam(path_);
}

Status JsonView::NotOffered(const std::string& what) const {
  return Unsupported("tokenizer.json: " + path_ + ": " + what).WithParam(path_);
}

std::optional<JsonView> JsonView::Optional(std::string_view key) const {
  const Json* member = json_->Find(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return JsonView(*member, PathOf(key));
}

Result<JsonView> JsonView::Member(std::string_view key) const {
  if (!json_->is_object()) return Bad(std::string("must be an object, not ") + json_->type_name());
  std::optional<JsonView> member = Optional(key);
  if (!member) return JsonView(*json_, PathOf(key)).Bad("is missing");
  return *member;
}

JsonView JsonView::Element(size_t index) const {
  return JsonView(json_->as_array()[index], path_ + "[" + std::to_string(index) + "]");
}

Result<std::string> JsonView::String(std::string_view key) const {
  MLC_ASSIGN_OR_RETURN(JsonView member, Member(key));
  if (!member.json().is_string()) return member.Bad("must be a string");
  return member.json().as_string();
}

Result<bool> JsonView::Bool(std::string_view key) const {
  MLC_ASSIGN_OR_RETURN(JsonView member, Member(key));
  if (!member.json().is_bool()) return member.Bad("must be true or false");
  return member.json().as_bool();
}

Result<int64_t> JsonView::Int(std::string_view key, int64_t min, int64_t max) const {
  MLC_ASSIGN_OR_RETURN(JsonView member, Member(key));
  if (!member.json().is_int()) return member.Bad("must be an integer");
  int64_t value = member.json().as_int();
  if (value < min || value > max) {
    return member.Bad("must be from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

Result<bool> JsonView::BoolOr(std::string_view key, bool fallback) const {
  return Optional(key) ? Bool(key) : Result<bool>(fallback);
}

Result<std::string> JsonView::StringOr(std::string_view key, std::string fallback) const {
  return Optional(key) ? String(key) : Result<std::string>(std::move(fallback));
}

Result<std::vector<JsonView>> JsonView::Array(std::string_view key) const {
  MLC_ASSIGN_OR_RETURN(JsonView member, Member(key));
  if (!member.json().is_array()) return member.Bad("must be an array");
  std::vector<JsonView> out;
  for (size_t i = 0; i < member.json().as_array().size(); ++i) out.push_back(member.Element(i));
  return out;
}

Result<char32_t> JsonView::Character(std::string_view key) const {
  MLC_ASSIGN_OR_RETURN(std::string text, String(key));
  std::u32string code_points = ToCodePoints(text);
  if (code_points.size() != 1) return JsonView(*json_, PathOf(key)).Bad("must be one character");
  return code_points[0];
}

std::string TypeOf(const JsonView& view) {
  const Json* type = view.json().Find("type");
  return type != nullptr && type->is_string() ? type->as_string() : "";
}

}  // namespace mlc
