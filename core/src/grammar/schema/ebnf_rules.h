// The rules of a grammar as EBNF. Those with one body are written once: large schemas repeat
// themselves, and the compiler takes its time for each rule.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace mlc {

class EbnfRules {
 public:
  // With the rules that schemas share: `string`, `number`, `any` and their parts.
  EbnfRules();
  // The rule of the body: one that there is, or a new one with the name. Whoever refers to it by
  // the name calls Known(). The body does not refer to the rule itself.
  std::string Add(const std::string& name, const std::string& body);
  std::string Known(const std::string& name) const;
  // A rule that nothing else shares. Each line is paid for out of the budget of parts.
  void Write(const std::string& name, const std::string& body);
  // Rules that are written already.
  void Append(const std::string& rules) { text_ += rules; }
  const std::string& text() const { return text_; }
  size_t num_bodies() const { return by_body_.size(); }

  // The rule for all names of members but the given ones, with its first quote and its last one.
  // Such names are written without escapes, so that each has one spelling; those that begin like a
  // long given one are left out. None is given twice. `prefix`: of names of new rules.
  std::string AddOtherName(const std::string& prefix, const std::vector<std::string>& given);

 private:
  std::string text_;
  std::unordered_map<std::string, std::string> by_body_;
  std::unordered_map<std::string, std::string> known_;  // names whose rule has another name
};

}  // namespace mlc
