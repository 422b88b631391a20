#include "grammar/schema/object_places.h"

#include <algorithm>

namespace mlc {
namespace {

bool IsWritten(const ObjectPlace& place, int property) {
  return std::find(place.written.begin(), place.written.end(), property) != place.written.end();
}

}  // namespace

std::vector<std::set<ObjectPlace>> PlacesOf(const SchemaNode& node, bool counts) {
  std::vector<std::set<ObjectPlace>> places(node.properties.size() + 1);
  places[0].insert({0, 0, false, {}});
  for (size_t next = 0; next < node.properties.size(); ++next) {
    for (const ObjectPlace& place : places[next]) {
      ObjectPlace taken = After(node, place, true, counts),
                  left = After(node, place, false, counts);
      if (MayTake(node, place)) places[next + 1].insert(std::move(taken));
      if (MayLeave(node, place)) places[next + 1].insert(std::move(left));
    }
  }
  return places;
}

bool MayTake(const SchemaNode& node, const ObjectPlace& place) {
  int property = static_cast<int>(place.next);
  bool is_full = node.max >= 0 && place.count >= node.max;
  if (node.properties[place.next].node == SchemaNode::kNone || is_full) return false;
  return std::all_of(node.implies.begin(), node.implies.end(), [&](const auto& pair) {
    return pair.first != property || pair.second >= property || IsWritten(place, pair.second);
  });
}

bool MayLeave(const SchemaNode& node, const ObjectPlace& place) {
  int property = static_cast<int>(place.next);
  if (node.properties[place.next].is_required) return false;
  return std::none_of(node.implies.begin(), node.implies.end(), [&](const auto& pair) {
    return pair.second == property && pair.first < property && IsWritten(place, pair.first);
  });
}

ObjectPlace After(const SchemaNode& node, const ObjectPlace& place, bool takes, bool counts) {
  ObjectPlace after{
      place.next + 1, place.count + (takes && counts ? 1 : 0), place.follows || takes, {}};
  std::vector<int> written = place.written;
  int property = static_cast<int>(place.next);
  if (takes) written.push_back(property);
  for (int one : written) {
    bool matters = std::any_of(node.implies.begin(), node.implies.end(), [&](const auto& pair) {
      return (pair.first == one && pair.second > property) ||
             (pair.second == one && pair.first > property);
    });
    if (matters) after.written.push_back(one);
  }
  return after;
}

}  // namespace mlc
