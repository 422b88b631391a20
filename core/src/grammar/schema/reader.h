// Reads a JSON Schema into nodes that can be enforced; internal to the directory.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/schema/facts.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/references.h"
#include "grammar/schema/same_schemas.h"
#include "grammar/schema/schema.h"
#include "grammar/schema/term.h"
#include "grammar/text/regex_ebnf.h"

namespace mlc {

class SchemaReader {
 public:
  SchemaReader(const Json& document, Strictness strictness, bool remembers)
      : document_(document),
        references_(document),
        has_one_base_(references_.has_one_base()),
        strictness_(strictness),
        remembers_(remembers) {}
  Result<Schema> Run();

 private:
  using Terms = std::vector<Term>;
  // Terms after flattening: `own` are about the value itself, `choices` have alternatives.
  struct Flat {
    Terms own, choices;
    bool is_never = false;
    std::optional<SchemaWarning> given_up;          // why some values are not written
    std::vector<std::pair<const Json*, bool>> way;  // the schemas that lead here
    // What all terms already ask for, since to ask twice means the same: the schema, and how.
    std::set<std::tuple<const Json*, bool, bool, bool, bool>> done;
    std::string own_key;  // OwnKeyOf(own), after Settle()
  };
  // Branches of a oneOf that overlap.
  struct Overlap {
    std::string path;  // of the oneOf
    size_t first, second;
  };

  // ---- reader.cc
  // The node of values that fit all terms. Equal terms share one node, so that cycles end.
  Result<int> Read(Terms terms);
  Result<int> ReadOne(const Json& schema, Path path);
  Status Fill(int node, const Terms& terms);
  Status FillChoice(int node, Flat flat);
  Status FillPlain(int node, const Terms& own);
  Result<SchemaNode> ReadType(const char* type, const Facts& facts);
  Status AddOutline(int node, const Terms& own);
  void SetLimits(int64_t nodes, int64_t parts);
  Result<std::vector<Overlap>> Round();
  Result<Schema> GiveUpOverlaps(const std::vector<Overlap>& overlaps);
  // Reports what cannot be enforced: an error when strict; else it is left out with a warning.
  Status LeaveOut(const std::string& path, const std::string& why);
  int Add(SchemaNode node);
  int AnyNode();

  // ---- remembered.cc
  std::string SameKeyOf(const Terms& terms);
  void ForgetChanged();
  Result<SchemaNode> ReadRemembered(std::string key,
                                    const std::function<Result<SchemaNode>()>& read);
  std::string OwnKeyOf(const Terms& own);
  std::string KeyOfTexts(const Facts& facts) const;
  static std::string KeyOfNumerals(const Facts& facts);

  // ---- flatten.cc
  Status Flatten(const Term& term, Flat* out);
  Status FlattenWhole(const Term& term, Flat* out);
  Status AddDependencies(const Json& schema, const Path& path, Flat* out);
  Result<std::vector<Terms>> Alternatives(const Term& choice) const;
  Result<std::optional<Term>> Target(const Term& term);
  Result<Term> Direct(Term term);
  Status Check(const Json& schema, const Path& path);
  // Remembered, as are the targets of references and what contradicts: each is asked for often.
  const std::vector<std::string>& Asserting(const Json& schema) const;

  // ---- choices.cc
  Status Settle(Flat* flat);
  std::vector<bool> PossibleOf(const Term& choice, const std::vector<Terms>& alternatives,
                               const Flat& flat);
  const std::vector<std::optional<Flat>>& FlatsOf(const Term& choice, const std::string& key,
                                                  const std::vector<Terms>& alternatives,
                                                  std::vector<std::optional<Flat>>* own);
  Result<const std::vector<Terms>*> KnownAlternatives(const Term& choice, const std::string& key);
  Result<bool> Try(const std::function<Status()>& read);
  static Result<bool> Do(const std::function<Status()>& read);
  struct Outline;
  struct Beside;
  void Narrow(const Term& choice, std::string key, const std::vector<Terms>& alternatives,
              const Flat& flat, Beside* beside, std::vector<bool>* possible);
  bool Contradict(const Outline& outline, const Outline& known, int level);
  bool ContradictWhole(const Terms& terms, int level);
  bool FindWholeContradiction(const Terms& terms, int level);

  // ---- ways.cc
  bool KeepEasy(const Term& choice, const std::vector<Terms>& alternatives,
                std::vector<bool>* possible);
  bool AllowMoreWays();

  // ---- contrary.cc
  Status FlattenNegated(const Term& term, Flat* out);
  Status FlattenNegatedPart(const Term& term, Flat* out);
  Result<std::vector<Terms>> NegatedAlternatives(const Term& choice) const;
  Status GiveUp(const Term& term, const Path& where, Flat* out);
  static std::vector<Terms> OtherMembers(const Term& choice, const Terms& own);

  // ---- read_values.cc
  Result<SchemaNode> ReadListed(const Facts& facts, const Terms& own);
  Result<SchemaNode> ReadString(const Facts& facts);
  Result<Automaton> Texts(const Facts& facts);
  Result<Automaton> BoundedTexts(const Facts& facts, int64_t min, int64_t max);
  Result<Automaton> NarrowTexts(const Facts& facts, int64_t min, int64_t max, int most,
                                int64_t longest);
  Result<SchemaNode> ReadPatterns(const Facts& facts, LengthRange length, bool is_single,
                                  SchemaNode unbound);
  Result<Automaton> AffordableTexts(const Facts& facts, LengthRange length, bool has_expression);
  Result<SchemaNode> ReadWithoutFormats(const Facts& facts);
  Result<SchemaNode> ReadUncounted(const Facts& facts, SchemaNode unbound);
  Result<SchemaNode> ReadNumeral(const Facts& facts);
  Status NarrowNumerals(const Facts& facts, const std::string& regex,
                        std::optional<Automaton>* numerals);
  Status JoinNumerals(const std::string& regex, Result<Automaton> one, const std::string& path,
                      std::optional<Automaton>* numerals);

  // ---- read_array.cc
  Result<SchemaNode> ReadArray(const Facts& facts);
  Status ReadContains(const Facts& facts, const Terms& items, SchemaNode* node);
  Status WantItems(const Term& wanted, int64_t min, int64_t max, const Terms& items,
                   SchemaNode* node);
  Status ReadUnique(const Facts& facts, SchemaNode* node);

  // ---- read_object.cc
  struct Members;
  Result<SchemaNode> ReadObject(const Facts& facts);
  Status GatherMembers(const Facts& facts, Members* members);
  Status GatherOthers(const Term& object, Members* members);
  Status GatherPatterns(const Term& object, Members* members);
  Status ReadNamed(const Facts& facts, Members* members, SchemaNode* node);
  Status ReadOthers(const Facts& facts, Members* members, SchemaNode* node);
  Status ReadImplied(const Facts& facts, SchemaNode* node);
  Status CheckCounts(const Facts& facts, SchemaNode* node);

  // ---- read_names.cc
  Status ReadNames(const Facts& facts, SchemaNode* node);
  Result<std::optional<Automaton>> NamesOf(int index) const;

  const Json& document_;
  References references_;
  const bool has_one_base_;
  Strictness strictness_;
  bool remembers_;
  Schema out_;
  std::unordered_map<std::string, int> nodes_;  // by SetKeyOf
  std::unordered_map<std::string, int> same_;   // by SameKeyOf: those without a report
  std::unordered_map<std::string, int> own_keys_;
  struct Leaf {
    SchemaNode node;
    int64_t regex_cost;
  };
  std::unordered_map<std::string, Leaf> leaves_;
  MisspeltKeywords misspelt_;
  SameSchemas same_schemas_{&misspelt_};
  std::unordered_set<const Json*> checked_;  // in this round
  std::unordered_set<const Json*> sound_;    // without a misspelt keyword
  mutable std::unordered_map<const Json*, std::vector<std::string>> asserting_;
  std::unordered_map<const Json*, std::pair<const Json*, Path>> targets_;
  std::unordered_map<std::string, bool> contradict_;
  // By KeyOf the choice, and what holds beside it.
  std::unordered_map<std::string, std::vector<Terms>> alternatives_;
  std::unordered_map<std::string, std::vector<std::optional<Flat>>> flats_;
  struct Possible {
    std::vector<bool> branches;
    bool is_of_round;  // something was left out meanwhile, which each round reports
  };
  std::unordered_map<std::string, Possible> possible_;
  std::set<std::string> changed_;          // keys of schemas with a oneOf of which branches overlap
  int64_t num_reports_ = 0;                // of what is left out, repeated ones too
  std::optional<SchemaWarning> refusal_;   // the keyword that has no grammar, after such an error
  std::map<int, SchemaWarning> given_up_;  // nodes of kind kNever, and why
  std::set<std::string> told_;             // warnings already reported
  struct OneOf {
    std::vector<int> parts;
    const Json* schema;
    std::string path;
  };
  std::vector<OneOf> one_ofs_;
  // Branches of a oneOf that overlap: values that fit both are removed from the first.
  std::set<std::tuple<const Json*, size_t, size_t>> overlaps_;
  std::set<std::string> overlap_paths_;  // paths of the oneOf lists
  bool has_given_up_ = false;            // overlaps are not removed
  static constexpr size_t kAllWays = SIZE_MAX;
  size_t most_ways_ = kAllWays;  // in which a denied schema is broken
  std::map<std::pair<const Json*, std::string>, size_t> ways_;  // the same, by choice
  std::map<int, std::pair<const Json*, std::string>> cuts_;     // nodes that have not all
  int64_t most_nodes_ = 0, most_parts_ = 0;
  bool wants_automata_ = false;  // of texts, in place of expressions
  int depth_ = 0, any_node_ = SchemaNode::kNone;
  int64_t regex_cost_ = 0, num_optional_ = 0, parts_read_ = 0;
};

}  // namespace mlc
