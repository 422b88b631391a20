#include "chat/tools/json_scanner.h"

#include <cstring>

namespace mlc {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

using State = JsonScanner::State;

State JsonScanner::Put(char c) {
  switch (at_) {
    case At::kString:
      return String(c);
    case At::kEscape:
    case At::kUnicode:
      return Escape(c);
    case At::kWord:
      return Word(c);
    case At::kNumber:
      return NumberPart(c);
    default:
      return IsJsonSpace(c) ? State::kMore : Structure(c);
  }
}

State JsonScanner::Structure(char c) {
  switch (at_) {
    case At::kFirstItem:
      return c == ']' ? Close(false) : Value(c);
    case At::kFirstKey:
      if (c == '}') return Close(true);
      [[fallthrough]];
    case At::kKey:
      if (c != '"') return State::kBad;
      is_key_ = true;
      at_ = At::kString;
      return State::kMore;
    case At::kColon:
      at_ = At::kValue;
      return c == ':' ? State::kMore : State::kBad;
    case At::kAfterItem:
      if (c != ',') return c == '}' || c == ']' ? Close(c == '}') : State::kBad;
      at_ = is_object_.back() ? At::kKey : At::kValue;
      return State::kMore;
    default:
      return Value(c);
  }
}

State JsonScanner::Value(char c) {
  is_key_ = false;
  if (c == '{' || c == '[') return Open(c == '{');
  if (c == '"') {
    at_ = At::kString;
  } else if (c == 't' || c == 'f' || c == 'n') {
    rest_of_word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
    at_ = At::kWord;
  } else if (c == '-' || IsDigit(c)) {
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kInteger;
    at_ = At::kNumber;
  } else {
    return State::kBad;
  }
  return State::kMore;
}

State JsonScanner::Open(bool is_object) {
  is_object_.push_back(is_object);
  at_ = is_object ? At::kFirstKey : At::kFirstItem;
  return State::kMore;
}

State JsonScanner::Close(bool is_object) {
  if (is_object_.empty() || is_object_.back() != is_object) return State::kBad;
  is_object_.pop_back();
  return Ended();
}

State JsonScanner::Ended() {
  at_ = At::kAfterItem;
  return is_object_.empty() ? State::kEnd : State::kMore;
}

State JsonScanner::String(char c) {
  if (static_cast<unsigned char>(c) < 0x20) return State::kBad;
  if (c == '\\') at_ = At::kEscape;
  if (c != '"') return State::kMore;
  if (!is_key_) return Ended();
  at_ = At::kColon;
  return State::kMore;
}

State JsonScanner::Escape(char c) {
  if (at_ == At::kUnicode) {
    if (!IsHexDigit(c)) return State::kBad;
    if (--num_hex_digits_ == 0) at_ = At::kString;
    return State::kMore;
  }
  if (c == '\0' || std::strchr("\"\\/bfnrtu", c) == nullptr) return State::kBad;
  num_hex_digits_ = 4;
  at_ = c == 'u' ? At::kUnicode : At::kString;
  return State::kMore;
}

State JsonScanner::Word(char c) {
  if (c != *rest_of_word_) return State::kBad;
  return *++rest_of_word_ == '\0' ? Ended() : State::kMore;
}

bool JsonScanner::Advance(char c) {
  bool is_digit = IsDigit(c), is_e = c == 'e' || c == 'E';
  auto to = [&](Number next) { return number_ = next, true; };
  switch (number_) {
    case Number::kMinus:
      return is_digit && to(c == '0' ? Number::kZero : Number::kInteger);
    case Number::kInteger:
      if (is_digit) return true;
      [[fallthrough]];
    case Number::kZero:
      return (c == '.' && to(Number::kPoint)) || (is_e && to(Number::kE));
    case Number::kPoint:
      return is_digit && to(Number::kFraction);
    case Number::kFraction:
      return is_digit || (is_e && to(Number::kE));
    case Number::kE:
      if (c == '+' || c == '-') return to(Number::kESign);
      [[fallthrough]];
    case Number::kESign:
      return is_digit && to(Number::kExponent);
    default:
      return is_digit;
  }
}

State JsonScanner::NumberPart(char c) {
  if (Advance(c)) return State::kMore;
  bool is_whole = number_ == Number::kZero || number_ == Number::kInteger ||
                  number_ == Number::kFraction || number_ == Number::kExponent;
  if (!is_whole) return State::kBad;
  if (Ended() == State::kEnd) return State::kEndBefore;
  return Put(c);  // only once, because the number has ended
}

}  // namespace mlc
