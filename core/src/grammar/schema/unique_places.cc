#include "grammar/schema/unique_places.h"

#include <algorithm>

namespace mlc {
namespace {

std::vector<int> NextOf(const SchemaNode& node) {
  std::vector<int> next = node.parts;
  next.push_back(node.rest);
  next.push_back(node.wanted);
  for (const SchemaNode::Property& property : node.properties) next.push_back(property.node);
  for (const SchemaNode::Additional& additional : node.additional) next.push_back(additional.node);
  next.erase(std::remove(next.begin(), next.end(), SchemaNode::kNone), next.end());
  return next;
}

}  // namespace

// The nodes from which a list with different items can be reached, such lists among them.
std::vector<bool> UniquePlaces::Leading(const Schema& schema) {
  std::vector<std::vector<int>> before(schema.nodes.size());
  std::vector<int> left;
  std::vector<bool> leads(schema.nodes.size());
  for (size_t i = 0; i < schema.nodes.size(); ++i) {
    for (int next : NextOf(schema.nodes[i])) {
      before[static_cast<size_t>(next)].push_back(static_cast<int>(i));
    }
    if (schema.nodes[i].is_unique) left.push_back(static_cast<int>(i));
  }
  while (!left.empty()) {
    size_t at = static_cast<size_t>(left.back());
    left.pop_back();
    if (leads[at]) continue;
    leads[at] = true;
    left.insert(left.end(), before[at].begin(), before[at].end());
  }
  return leads;
}

UniquePlaces::Place UniquePlaces::PlaceOf(const SchemaNode& node, const std::vector<bool>& leads) {
  auto leading = [&leads](int index) {
    bool is_kept = index != SchemaNode::kNone && leads[static_cast<size_t>(index)];
    return is_kept ? index : SchemaNode::kNone;
  };
  Place place;
  place.is_unique = node.is_unique;
  for (int part : node.parts) {
    (node.kind == SchemaNode::Kind::kUnion ? place.same : place.first).push_back(leading(part));
  }
  for (int other : {node.rest, node.wanted}) place.others.push_back(leading(other));
  for (const auto& property : node.properties) {
    place.members[property.name] = leading(property.node);
  }
  for (const auto& additional : node.additional) {
    if (leading(additional.node) != SchemaNode::kNone) place.additional.push_back(additional);
  }
  return place;
}

std::shared_ptr<const UniquePlaces> UniquePlaces::Of(const Schema& schema) {
  std::vector<bool> leads = Leading(schema);
  if (!leads[static_cast<size_t>(schema.root)]) return nullptr;
  auto out = std::make_shared<UniquePlaces>();
  out->root_ = schema.root;
  for (size_t i = 0; i < leads.size(); ++i) {
    out->places_.push_back(leads[i] ? PlaceOf(schema.nodes[i], leads) : Place());
  }
  return out;
}

UniquePlaces::Set UniquePlaces::Closed(std::vector<int> from) const {
  std::vector<int> closed;
  while (!from.empty()) {
    int index = from.back();
    from.pop_back();
    bool is_known = std::find(closed.begin(), closed.end(), index) != closed.end();
    if (index == SchemaNode::kNone || is_known) continue;
    closed.push_back(index);
    const std::vector<int>& same = places_[static_cast<size_t>(index)].same;
    from.insert(from.end(), same.begin(), same.end());
  }
  return closed.empty() ? nullptr : std::make_shared<const std::vector<int>>(std::move(closed));
}

UniquePlaces::Set UniquePlaces::Member(const Set& objects, const std::string& name) const {
  if (objects == nullptr) return nullptr;
  std::vector<int> found;
  for (int index : *objects) {
    const Place& place = places_[static_cast<size_t>(index)];
    auto known = place.members.find(name);
    if (known != place.members.end()) {
      found.push_back(known->second);
      continue;
    }
    found.insert(found.end(), place.others.begin(), place.others.end());
    for (const SchemaNode::Additional& additional : place.additional) {
      if (additional.names->Accepts(name)) found.push_back(additional.node);
    }
  }
  return Closed(std::move(found));
}

UniquePlaces::Set UniquePlaces::Item(const Set& lists, size_t item) const {
  if (lists == nullptr) return nullptr;
  std::vector<int> found;
  for (int index : *lists) {
    const Place& place = places_[static_cast<size_t>(index)];
    if (item < place.first.size()) {
      found.push_back(place.first[item]);
    } else {
      found.insert(found.end(), place.others.begin(), place.others.end());
    }
  }
  return Closed(std::move(found));
}

bool UniquePlaces::IsUnique(const Set& lists) const {
  return lists != nullptr && std::any_of(lists->begin(), lists->end(), [this](int index) {
           return places_[static_cast<size_t>(index)].is_unique;
         });
}

int64_t UniquePlaces::memory_bytes() const {
  size_t bytes = places_.size() * sizeof(Place);
  for (const Place& place : places_) {
    bytes += (place.same.size() + place.first.size() + place.others.size()) * sizeof(int);
    bytes += place.additional.size() * sizeof(SchemaNode::Additional);
    constexpr size_t kEntry = 64;  // of the map
    for (const auto& [name, index] : place.members) bytes += kEntry + name.size();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace mlc
