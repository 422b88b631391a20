#include "text/vocabulary.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace mlc {
namespace {

constexpr int64_t kSlackIds = 1 << 20;  // ids beyond four times the number of tokens
constexpr size_t kLeastSlots = 64;

uint32_t HashOfToken(std::string_view token) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(token));
}

}  // namespace

Result<Vocabulary> Vocabulary::FromJson(const JsonView& view) {
  if (!view.json().is_object()) return view.Bad("must be an object of token ids");
  const Json::Object& members = view.json().as_object();
  const int64_t max_id = kSlackIds + 4 * static_cast<int64_t>(members.size());
  Vocabulary vocabulary;
  size_t num_slots = kLeastSlots;
  while (num_slots < 2 * members.size()) num_slots *= 2;
  vocabulary.Resize(num_slots);
  for (const auto& [token, id] : members) {
    bool good = id.is_int() && id.as_int() >= 0 && id.as_int() < max_id;
    if (!good) return view.Bad("the id of \"" + token + "\" is not a sensible token id");
    vocabulary.Add(token, static_cast<int32_t>(id.as_int()));
  }
  return vocabulary;
}

void Vocabulary::Add(std::string_view token, int32_t id) {
  size_t needed = 2 * (static_cast<size_t>(num_tokens_) + 1);
  if (needed > slots_.size()) Resize(std::max(kLeastSlots, 2 * slots_.size()));
  storage_.emplace_back(token);
  uint32_t hash = HashOfToken(token);
  Slot& slot = slots_[SlotOf(token, hash)];
  if (slot.token == nullptr) ++num_tokens_;
  slot = {&storage_.back(), id, hash};
  if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(id + 1, nullptr);
  tokens_[id] = &storage_.back();
}

std::optional<int32_t> Vocabulary::TokenToId(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[SlotOf(token, HashOfToken(token))];
  if (slot.token == nullptr) return std::nullopt;
  return slot.id;
}

size_t Vocabulary::SlotOf(std::string_view token, uint32_t hash) const {
  size_t mask = slots_.size() - 1, at = hash & mask;
  auto is_other = [&](const Slot& slot) {
    return slot.token != nullptr && (slot.hash != hash || *slot.token != token);
  };
  while (is_other(slots_[at])) at = (at + 1) & mask;
  return at;
}

void Vocabulary::Resize(size_t num_slots) {
  std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(num_slots));
  for (const Slot& slot : before) {
    if (slot.token != nullptr) slots_[SlotOf(*slot.token, slot.hash)] = slot;
  }
}

}  // namespace mlc
