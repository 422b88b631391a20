// The positions while an object is written, property by property.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "grammar/schema/schema.h"

namespace mlc {

// A position: the next property, the number of written properties (counted only if it matters),
// whether any was written, and which written properties others depend on.
struct ObjectPlace {
  size_t next;
  int64_t count;
  bool follows;
  std::vector<int> written;
  bool operator<(const ObjectPlace& other) const {
    return std::tie(next, count, follows, written) <
           std::tie(other.next, other.count, other.follows, other.written);
  }
};

// All reachable positions, by the next property.
std::vector<std::set<ObjectPlace>> PlacesOf(const SchemaNode& node, bool counts);
// Whether the next property may be written, or left out.
bool MayTake(const SchemaNode& node, const ObjectPlace& place);
bool MayLeave(const SchemaNode& node, const ObjectPlace& place);
// The position after the next property. A written property is remembered as long as a later one
// depends on it.
ObjectPlace After(const SchemaNode& node, const ObjectPlace& place, bool takes, bool counts);

}  // namespace mlc
