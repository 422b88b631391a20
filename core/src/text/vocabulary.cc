#include "text/vocabulary.h"

namespace mlc {
namespace {

constexpr int64_t kSlackIds = 1 << 20;  // ids beyond four times the number of tokens

}  // namespace

Result<Vocabulary> Vocabulary::FromJson(const JsonView& view) {
  if (!view.json().is_object()) return view.Bad("must be an object of token ids");
  const Json::Object& members = view.json().as_object();
  const int64_t max_id = kSlackIds + 4 * static_cast<int64_t>(members.size());
  Vocabulary vocabulary;
  for (const auto& [token, id] : members) {
    bool good = id.is_int() && id.as_int() >= 0 && id.as_int() < max_id;
    if (!good) return view.Bad("the id of \"" + token + "\" is not a sensible token id");
    vocabulary.Add(token, static_cast<int32_t>(id.as_int()));
  }
  return vocabulary;
}

void Vocabulary::Add(std::string_view token, int32_t id) {
  storage_.emplace_back(token);
  ids_[storage_.back()] = id;
  if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(id + 1, nullptr);
  tokens_[id] = &storage_.back();
}

}  // namespace mlc
