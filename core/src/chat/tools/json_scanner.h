// Finds the end of one JSON value in text that comes character by character, and checks its form.
//
//   JsonScanner scanner;
//   for (char c : text) {
//     JsonScanner::State state = scanner.Put(c);
//     ...                                           // kEnd: `c` is the value's last character
//   }
//
// No recursion, and no bound on depth but the text's own length: a level takes one bit.
#ifndef MLC_CHAT_TOOLS_JSON_SCANNER_H_
#define MLC_CHAT_TOOLS_JSON_SCANNER_H_

#include <vector>

namespace mlc {

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

class JsonScanner {
 public:
  enum class State {
    kMore,
    kEnd,        // the value ends with this character
    kEndBefore,  // the value, a number, ended before this character
    kBad,        // no JSON begins like this
  };

  // Not after kEnd, kEndBefore or kBad.
  State Put(char c);

 private:
  enum class At {
    kValue,
    kFirstItem,  // or ]
    kFirstKey,   // or }
    kKey,
    kColon,
    kAfterItem,  // , or the end of the container
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
  // The next part of the number that begins with `c`; false when none does.
  bool Advance(char c);
  State Open(bool is_object);
  State Close(bool is_object);
  State Ended();  // an item, or the whole value

  At at_ = At::kValue;
  std::vector<bool> is_object_;  // the open containers
  bool is_key_ = false;          // the string that is being read
  int num_hex_digits_ = 0;
  const char* rest_of_word_ = "";
  Number number_ = Number::kMinus;
};

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_JSON_SCANNER_H_
