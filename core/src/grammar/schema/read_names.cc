// The names that `propertyNames` allows.
#include <algorithm>

#include "grammar/schema/check.h"
#include "grammar/schema/reader.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr size_t kMostNameStates = 1500;

}  // namespace

// All texts that fit a node; none where they are not known.
Result<std::optional<Automaton>> SchemaReader::NamesOf(int index) const {
  const SchemaNode& node = out_.nodes[static_cast<size_t>(index)];
  if (node.kind == Kind::kString && node.text != nullptr)
    return std::optional<Automaton>(*node.text);
  if (node.kind == Kind::kString && node.expression.empty()) {
    return std::optional<Automaton>(Automaton::OfLength(node.min, node.max));
  }
  std::vector<std::string> texts;
  for (const Json& value : node.values) texts.push_back(value.as_string());
  if (node.kind == Kind::kValues || node.kind == Kind::kNever) {
    MLC_ASSIGN_OR_RETURN(Automaton listed, Automaton::OfTexts(texts));
    return std::optional<Automaton>(std::move(listed));
  }
  if (node.kind != Kind::kUnion) return std::optional<Automaton>();
  std::optional<Automaton> others;  // that fit no part
  for (int part : node.parts) {
    MLC_ASSIGN_OR_RETURN(std::optional<Automaton> one, NamesOf(part));
    if (!one) return one;
    Result<Automaton> both = others ? others->And(one->Not()) : one->Not();
    if (!both.ok()) return std::optional<Automaton>();
    others = std::move(both).value();
  }
  return others ? std::optional<Automaton>(others->Not()) : others;
}

// Removes the names that `propertyNames` does not allow.
Status SchemaReader::ReadNames(const Facts& facts, SchemaNode* node) {
  static const Json kString = Json().Set("type", "string");
  Terms terms;
  for (const Term& object : facts.objects) {
    const Json* names = object.schema->Find("propertyNames");
    if (names != nullptr)
      terms.push_back(WholeTerm(*names, PointerTo(object.path, "propertyNames")));
  }
  if (terms.empty()) return Status();
  const std::string path = terms[0].path;
  ValueCheck check(references_);
  for (SchemaNode::Property& property : node->properties) {
    for (const Term& term : terms) {
      std::optional<bool> fits = check.Fits(Json(property.name), term);
      if (!fits)
        MLC_RETURN_IF_ERROR(LeaveOut(path, "whether the named properties fit is not known"));
      if (!fits.value_or(true)) property.node = SchemaNode::kNone;
    }
  }
  terms.push_back(WholeTerm(kString, path));
  wants_automata_ = true;
  Result<int> read = Read(std::move(terms));
  wants_automata_ = false;
  MLC_ASSIGN_OR_RETURN(int index, std::move(read));
  const Kind kind = out_.nodes[static_cast<size_t>(index)].kind;
  std::vector<Json> listed;
  if (kind == Kind::kNever || ListValues(out_, index, &listed)) {
    for (const Json& name : listed) {
      bool is_named = std::any_of(node->properties.begin(), node->properties.end(),
                                  [&](const auto& p) { return p.name == name.as_string(); });
      if (is_named) continue;
      int part = node->rest;
      for (const auto& additional : node->additional) {
        if (additional.names->Accepts(name.as_string())) part = additional.node;
      }
      if (part != SchemaNode::kNone) node->properties.push_back({name.as_string(), part, false});
    }
    node->rest = SchemaNode::kNone;
    node->additional.clear();
    return Status();
  }
  MLC_ASSIGN_OR_RETURN(std::optional<Automaton> allowed, NamesOf(index));
  if (!allowed) return LeaveOut(path, "its names take too many rules");
  if (allowed->Not().is_empty()) return Status();
  if (node->rest != SchemaNode::kNone) {
    std::vector<std::string> named;
    for (const auto& property : node->properties) named.push_back(property.name);
    Result<Automaton> texts = Automaton::OfTexts(named);
    if (!texts.ok()) return LeaveOut(path, texts.status().message());
    node->additional.push_back({std::make_shared<Automaton>(texts->Not()), node->rest});
    node->rest = SchemaNode::kNone;
  }
  std::vector<SchemaNode::Additional> kept;
  for (const SchemaNode::Additional& additional : node->additional) {
    Result<Automaton> both = additional.names->And(*allowed);
    if (!both.ok() || both->states().size() > kMostNameStates) {
      return CannotEnforce(path, "telling the names takes too many rules");
    }
    if (both->is_empty()) continue;
    kept.push_back({std::make_shared<Automaton>(std::move(both).value()), additional.node});
  }
  node->additional = std::move(kept);
  return Status();
}

}  // namespace mlc
