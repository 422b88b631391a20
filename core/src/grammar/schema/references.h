// Where the references of a schema lead, and its names for places: `$id`, `id`, `$anchor`.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

class References {
 public:
  struct Place {
    const Json* schema = nullptr;
    std::string path;
  };

  explicit References(const Json& document);

  // The place that the `$ref` (or `$dynamicRef`, `$recursiveRef`) of a schema names. Errors:
  // kUnsupported if it is outside the document, kInvalidArgument if it does not exist.
  Result<Place> Follow(const Json& schema, const std::string& keyword) const;
  // Before the draft of 2019, keywords beside a `$ref` are ignored.
  bool ref_stands_alone() const { return ref_stands_alone_; }
  // Whether a reference means the same at each place of the document.
  bool has_one_base() const;

 private:
  struct Way;
  void Collect(const Json& json, const Way& way, const std::string& outer);
  void AddAnchor(const std::string& base, const std::string& name, const Place& place);
  Result<Place> Fragment(const Place& root, const std::string& base, const std::string& uri,
                         const std::string& fragment) const;

  const Json& document_;
  std::unordered_map<const Json*, const std::string*> bases_;  // of schemas with references
  std::map<std::string, Place> resources_;                     // by URI; "": the document
  std::set<std::string> ambiguous_;                            // URIs that several schemas have
  std::map<std::string, Place> anchors_;  // by "URI#name", and by "#name" alone
  // How many schemas have each `$dynamicAnchor`, and "#": `$recursiveAnchor`.
  std::map<std::string, int> dynamic_;
  bool ref_stands_alone_ = false;
};

}  // namespace mlc
