// Where a text may have lists whose items must differ (`uniqueItems`). A grammar cannot remember
// what was written, so these lists are looked after while a text is matched (grammar/unique_items).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grammar/schema/schema.h"

namespace mlc {

class UniquePlaces {
 public:
  // The nodes of a schema that a value may be written for. Only those count from which a list with
  // different items can be reached. Null: there are none.
  using Set = std::shared_ptr<const std::vector<int>>;

  // Null when no list of the schema must have different items.
  static std::shared_ptr<const UniquePlaces> Of(const Schema& schema);

  Set root() const { return Closed({root_}); }
  Set Member(const Set& objects, const std::string& name) const;
  Set Item(const Set& lists, size_t index) const;
  // Whether one of them is a list with different items. Where several nodes share a place, the
  // strictest one counts.
  bool IsUnique(const Set& lists) const;
  int64_t memory_bytes() const;

 private:
  struct Place {
    bool is_unique = false;
    std::vector<int> same;               // parts of a union
    std::map<std::string, int> members;  // kNone: leads to no such list
    std::vector<SchemaNode::Additional> additional;
    std::vector<int> first;   // of a list's first items
    std::vector<int> others;  // of further items, or of other members
  };

  Set Closed(std::vector<int> from) const;
  static std::vector<bool> Leading(const Schema& schema);
  static Place PlaceOf(const SchemaNode& node, const std::vector<bool>& leads);

  std::vector<Place> places_;
  int root_ = 0;
};

}  // namespace mlc
