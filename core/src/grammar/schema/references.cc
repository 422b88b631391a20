#include "grammar/schema/references.h"

#include <algorithm>

#include "grammar/schema/term.h"

namespace mlc {
namespace {

constexpr size_t kQuoted = 80;  // characters of a URI in a message

// "%41~1b" of a pointer in a URI is "A/b".
std::string Unescape(std::string_view part) {
  auto hex = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    bool is_hex =
        part[i] == '%' && i + 2 < part.size() && hex(part[i + 1]) >= 0 && hex(part[i + 2]) >= 0;
    if (is_hex) {
      out += static_cast<char>(hex(part[i + 1]) * 16 + hex(part[i + 2]));
      i += 2;
    } else {
      out += part[i];
    }
  }
  return out;
}

std::string UnescapeStep(std::string_view part) {
  std::string text = Unescape(part), out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_escape = text[i] == '~' && i + 1 < text.size();
    if (is_escape) out += text[++i] == '1' ? '/' : '~';
    if (!is_escape) out += text[i];
  }
  return out;
}

const Json* Step(const Json& json, const std::string& name) {
  if (json.is_object()) return json.Find(name);
  bool is_index =
      !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos;
  if (!json.is_array() || !is_index) return nullptr;
  size_t index = static_cast<size_t>(std::stoi(name));
  return index < json.as_array().size() ? &json.as_array()[index] : nullptr;
}

// "/a/b" from a place on; null where it leads to nothing.
References::Place Walk(References::Place place, const std::string& pointer) {
  for (size_t begin = 0; begin < pointer.size() && place.schema != nullptr;) {
    size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    std::string name = UnescapeStep(std::string_view(pointer).substr(begin + 1, end - begin - 1));
    place = {Step(*place.schema, name), PointerTo(place.path, name)};
    begin = end;
  }
  return place;
}

// A reference within a base, as RFC 3986 resolves it, without "." and "..".
std::string Resolve(const std::string& base, const std::string& uri) {
  size_t colon = uri.find(':');
  bool is_absolute = colon != std::string::npos && colon < uri.find_first_of("/?#");
  if (is_absolute || base.empty() || uri.empty()) return uri.empty() ? base : uri;
  size_t scheme = base.find("://");
  size_t authority = scheme == std::string::npos ? 0 : base.find('/', scheme + 3);
  if (uri[0] == '/') return base.substr(0, authority) + uri;
  size_t slash = base.rfind('/');
  return slash == std::string::npos ? uri : base.substr(0, slash + 1) + uri;
}

std::pair<std::string, std::string> Split(const std::string& uri) {
  size_t hash = uri.find('#');
  if (hash == std::string::npos) return {uri, ""};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

bool IsOldDraft(const Json& document) {
  const Json* dialect = document.Find("$schema");
  if (dialect == nullptr || !dialect->is_string()) return false;
  for (const char* draft : {"draft-03", "draft-04", "draft-06", "draft-07"}) {
    if (dialect->as_string().find(draft) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string PointerTo(const std::string& path, std::string_view member) {
  std::string out = path + "/";
  for (char c : member) {
    if (c == '~') out += "~0";
    if (c == '/') out += "~1";
    if (c != '~' && c != '/') out += c;
  }
  return out;
}

// A place on the way through the document. Its pointer is written where it is kept: at few places.
struct References::Way {
  const Way* outer = nullptr;
  std::string_view step;

  std::string Pointer() const {
    return outer == nullptr ? std::string() : PointerTo(outer->Pointer(), step);
  }
};

References::References(const Json& document)
    : document_(document), ref_stands_alone_(IsOldDraft(document)) {
  const std::string& base = resources_.insert({"", {&document, ""}}).first->first;
  Collect(document, Way(), base);
}

bool References::has_one_base() const {
  return std::all_of(resources_.begin(), resources_.end(),
                     [this](const auto& one) { return one.second.schema == &document_; });
}

// `outer`: a key of `resources_`.
void References::Collect(const Json& json, const Way& way, const std::string& outer) {
  if (json.is_array()) {
    for (size_t i = 0; i < json.as_array().size(); ++i) {
      std::string step = std::to_string(i);
      Collect(json.as_array()[i], {&way, step}, outer);
    }
  }
  if (!json.is_object()) return;
  const std::string* base = &outer;
  bool is_alone = ref_stands_alone_ && json.Find("$ref") != nullptr;
  for (const char* key : {"$id", "id"}) {
    const Json* id = json.Find(key);
    if (id == nullptr || !id->is_string() || is_alone) continue;
    auto [uri, fragment] = Split(id->as_string());
    if (!uri.empty()) {
      auto [found, is_new] = resources_.insert({Resolve(outer, uri), {&json, way.Pointer()}});
      base = &found->first;
      if (!is_new) ambiguous_.insert(*base);
    }
    if (!fragment.empty()) AddAnchor(*base, fragment, {&json, way.Pointer()});
  }
  const Json* recursive = json.Find("$recursiveAnchor");
  bool is_recursive = recursive != nullptr && recursive->is_bool() && recursive->as_bool();
  if (is_recursive) ++dynamic_["#"];
  for (const char* key : {"$anchor", "$dynamicAnchor"}) {
    const Json* name = json.Find(key);
    if (name == nullptr || !name->is_string()) continue;
    if (key[1] == 'd') ++dynamic_["#" + name->as_string()];
    AddAnchor(*base, name->as_string(), {&json, way.Pointer()});
  }
  for (const auto& [name, value] : json.as_object()) {
    if (name[0] == '$' && name.size() > 3) bases_[&json] = base;
    bool is_value = name == "enum" || name == "const" || name == "default" || name == "examples";
    bool has_more = value.is_object() || value.is_array();
    if (has_more && !is_value) Collect(value, {&way, name}, *base);
  }
}

void References::AddAnchor(const std::string& base, const std::string& name, const Place& place) {
  anchors_.insert({base + "#" + name, place});
  anchors_.insert({"#" + name, place});
}

Result<References::Place> References::Fragment(const Place& root, const std::string& base,
                                               const std::string& uri,
                                               const std::string& fragment) const {
  if (fragment.empty()) return root;
  if (fragment[0] != '/') {
    std::string name = Unescape(fragment);
    for (const std::string& anchor : {base + "#" + name, "#" + name}) {
      auto found = anchors_.find(anchor);
      if (found != anchors_.end()) return found->second;
    }
  }
  // Some write an `$id` that names a place where there is only one document, or leave out the '/'.
  std::string pointer = fragment[0] == '/' ? fragment : "/" + fragment;
  for (const Place& from : {root, Place{&document_, ""}}) {
    Place place = Walk(from, pointer);
    if (place.schema != nullptr) return place;
  }
  return InvalidArgument(std::string(fragment[0] == '/' ? "points at nothing" : "names no anchor") +
                         " of the schema: '" + uri.substr(0, kQuoted) + "'");
}

Result<References::Place> References::Follow(const Json& schema, const std::string& keyword) const {
  const Json* ref = schema.Find(keyword);
  if (ref == nullptr || !ref->is_string()) return InvalidArgument("must be a string");
  auto known = bases_.find(&schema);
  const std::string base = known != bases_.end() ? *known->second : "";
  const std::string& uri = ref->as_string();
  auto [file, fragment] = Split(uri);
  auto dynamic = keyword == "$ref" ? dynamic_.end() : dynamic_.find("#" + fragment);
  if (dynamic != dynamic_.end() && dynamic->second > 1) {
    return Unsupported("which of the anchors '" + dynamic->first.substr(0, kQuoted) +
                       "' is meant depends on the schemas that lead there");
  }
  std::string resource = Resolve(base, file);
  auto found = resources_.find(resource);
  if (found == resources_.end()) found = resources_.find(file);
  if (found == resources_.end()) {
    return Unsupported("it leaves the document: '" + uri.substr(0, kQuoted) + "'");
  }
  if (ambiguous_.count(found->first) != 0) {
    return Unsupported("two schemas have the `$id` '" + found->first.substr(0, kQuoted) + "'");
  }
  return Fragment(found->second, found->first, uri, fragment);
}

}  // namespace mlc
