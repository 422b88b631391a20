// Finds the end of one JSON value in text that comes character by character, and checks its syntax.
//
//   JsonScanner scanner;
//   for (char c : text) {
//     JsonScanner::State state = scanner.Put(c);
//     ...                                           // kEnd: `c` is the value's last character
//   }
//
// It uses no recursion. Only the length of the text limits the depth: a level takes one bit.
#pragma once

#include <vector>

namespace mlc {

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

class JsonScanner {
 public:
  enum class State {
    kMore,
    kEnd,        // the value ends with this character
    kEndBefore,  // the value is a number and ended before this character
    kBad,        // this is not JSON
  };

  // Do not call it after kEnd, kEndBefore or kBad.
  State Put(char c);

 private:
  enum class At {
    kValue,
    kFirstItem,  // an item or ]
    kFirstKey,   // a key or }
    kKey,
    kColon,
    kAfterItem,  // a comma or the end of the container
    kString,
    kEscape,
    kUnicode,
    kWord,
    kNumber,
  };
  enum class Number { kMinus, kZero, kInteger, kPoint, kFraction, kE, kESign, kExponent };

  State Value(char c);
  State Structure(char c);
  State String(char c);
  State Escape(char c);
  State Word(char c);
  State NumberPart(char c);
  // Goes to the part of the number that begins with `c`. Returns false if there is none.
  bool Advance(char c);
  State Open(bool is_object);
  State Close(bool is_object);
  State Ended();  // an item, or the whole value, has ended

  At at_ = At::kValue;
  std::vector<bool> is_object_;  // the open containers
  bool is_key_ = false;          // whether the current string is a key
  int num_hex_digits_ = 0;
  const char* rest_of_word_ = "";
  Number number_ = Number::kMinus;
};

}  // namespace mlc
