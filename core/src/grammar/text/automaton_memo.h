// Remembers what the operations on automata made while one source is read: a schema combines the
// same patterns, lists of names and lengths again and again.
//
//   AutomatonMemo memo;  // for this thread, until it goes out of scope
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>

#include "grammar/text/automaton.h"

namespace mlc {

class AutomatonMemo {
 public:
  AutomatonMemo() : outer_(current_) { current_ = this; }
  ~AutomatonMemo() { current_ = outer_; }
  AutomatonMemo(const AutomatonMemo&) = delete;
  AutomatonMemo& operator=(const AutomatonMemo&) = delete;

  // What `make` made of the same operands before, or makes now. What ended because a budget is
  // spent is not remembered. Automata with the same states are the same.
  template <typename Make>
  static Result<Automaton> Remember(char operation, std::initializer_list<Automaton> operands,
                                    const std::string& text, Make make) {
    if (current_ == nullptr) return make();
    std::string key = KeyOf(operation, operands, text);
    auto found = current_->made_.find(key);
    if (found != current_->made_.end()) return found->second.made;
    Result<Automaton> made = make();
    current_->Keep(std::move(key), operands, made);
    return made;
  }

 private:
  struct Entry {
    std::vector<Automaton> operands;  // whose addresses are in the key
    Result<Automaton> made;
  };
  static std::string KeyOf(char operation, std::initializer_list<Automaton> operands,
                           const std::string& text);
  void Keep(std::string key, std::initializer_list<Automaton> operands,
            const Result<Automaton>& made);

  static inline thread_local AutomatonMemo* current_ = nullptr;
  AutomatonMemo* outer_;
  std::unordered_map<std::string, Entry> made_;
  int64_t num_states_ = 0;
};

}  // namespace mlc
