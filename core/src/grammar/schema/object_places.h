// How far the writing of an object has come.
#ifndef MLC_GRAMMAR_SCHEMA_OBJECT_PLACES_H_
#define MLC_GRAMMAR_SCHEMA_OBJECT_PLACES_H_

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "grammar/schema/schema.h"

namespace mlc {

// Where the writing of an object stands: which property comes next, how many have been written
// (counted only where that matters), whether any has, and of those that others depend on which.
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

// All that can be reached, by the property that comes next.
std::vector<std::set<ObjectPlace>> PlacesOf(const SchemaNode& node, bool counts);
// Whether the next property may be written, or left out.
bool MayTake(const SchemaNode& node, const ObjectPlace& place);
bool MayLeave(const SchemaNode& node, const ObjectPlace& place);
// Behind the next property. What was written is remembered as long as a later one depends on it.
ObjectPlace After(const SchemaNode& node, const ObjectPlace& place, bool takes, bool counts);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_OBJECT_PLACES_H_
