#include "grammar/unique_items.h"

#include <algorithm>

#include "grammar/schema/values.h"

namespace mlc {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

// The digits of a number without the zeros around them, whatever its exponent is.
std::string DigitsOf(std::string_view number) {
  std::string digits;
  for (char c : number.substr(0, number.find_first_of("eE"))) {
    if (c != '.' && c != '-' && !(digits.empty() && c == '0')) digits += c;
  }
  digits.resize(digits.find_last_not_of('0') + 1);
  return digits;
}

}  // namespace

UniqueItems::UniqueItems(std::shared_ptr<const UniquePlaces> places) : places_(std::move(places)) {
  positions_.push_back(Reread());
}

UniqueItems UniqueItems::Fork() const {
  UniqueItems fork(places_);
  fork.text_ = text_;
  fork.ends_ = ends_;
  fork.positions_ = {fork.Reread()};
  return fork;
}

bool UniqueItems::Accept(std::string_view bytes) {
  constexpr size_t kMostKept = 256;
  text_ += bytes;
  Position next = now();
  if (!Read(&next)) {
    text_.resize(now().length);
    return false;
  }
  ends_.push_back(text_.size());
  positions_.push_back(std::move(next));
  if (positions_.size() > kMostKept) positions_.pop_front();
  return true;
}

void UniqueItems::Rollback(int num_tokens) {
  size_t count = static_cast<size_t>(num_tokens);
  ends_.resize(ends_.size() - count);
  text_.resize(ends_.back());
  if (count >= positions_.size()) {
    positions_ = {Reread()};
  } else {
    positions_.resize(positions_.size() - count);
  }
}

UniqueItems::Position UniqueItems::Reread() {
  Position position;
  position.value = places_->root();
  Read(&position);
  return position;
}

bool UniqueItems::Repeats(std::string_view bytes) {
  text_ += bytes;
  Position next = now();
  bool repeats = !Read(&next);
  text_.resize(now().length);
  return repeats;
}

bool UniqueItems::is_inside() const {
  return std::any_of(now().frames.begin(), now().frames.end(),
                     [](const Frame& frame) { return frame.is_unique; });
}

std::vector<std::string> UniqueItems::Rests(size_t most) const {
  std::vector<std::string> rests;
  for (const Frame& frame : now().frames) {
    bool is_begun = frame.begin != std::string::npos;
    std::string begun = is_begun ? text_.substr(frame.begin) : "";
    std::string before = is_begun || text_.back() == ' ' ? "" : text_.back() == ',' ? " " : ", ";
    for (size_t i = frame.num_items; i-- > 0 && rests.size() < most;) {
      const std::string& text = (*frame.items)[i].text;
      if (text.compare(0, begun.size(), begun) == 0) {
        rests.push_back(before + text.substr(begun.size()));
      }
      // A number may end here, and the next item begins.
      bool may_end = is_begun && !now().is_in_string && &frame == &now().frames.back();
      if (may_end) rests.push_back(", " + text);
    }
  }
  return rests;
}

bool UniqueItems::Read(Position* position) {
  for (; position->length < text_.size(); ++position->length) {
    char c = text_[position->length];
    if (position->is_in_string) {
      if (!ReadString(c, position)) return false;
      continue;
    }
    Frame* frame = position->frames.empty() ? nullptr : &position->frames.back();
    bool is_apart = c == ' ' || c == ',' || c == ']' || c == ':';
    if (frame != nullptr && frame->is_unique && frame->begin == std::string::npos && !is_apart) {
      frame->begin = position->length;
    }
    bool is_exponent = (c == 'e' || c == 'E') && frame != nullptr && frame->is_unique;
    if (is_exponent && MayRepeat(*frame, position->length)) return false;
    if (c == '[' || c == '{') {
      Open(c == '[', position);
    } else if (c == ']' || c == '}') {
      if (!Close(position)) return false;
    } else if (c == '"') {
      position->is_in_string = true;
      position->is_name = frame != nullptr && !frame->is_list && frame->expects_name;
      position->string_begin = position->length;
    } else if (c == ',' && frame != nullptr) {
      if (!EndItem(position->length, frame)) return false;
      frame->expects_name = true;
      if (frame->is_list) position->value = places_->Item(frame->places, ++frame->index);
    } else if (frame != nullptr && frame->is_unique && (c == 'e' || c == 'l')) {
      std::string word = text_.substr(frame->begin, position->length + 1 - frame->begin);
      bool is_whole = word == "true" || word == "false" || word == "null";
      if (is_whole && !EndValue(position)) return false;
    }
  }
  return true;
}

bool UniqueItems::ReadString(char c, Position* position) {
  if (position->is_escaped || c != '"') {
    position->is_escaped = !position->is_escaped && c == '\\';
    return true;
  }
  position->is_in_string = false;
  if (!position->is_name) return EndValue(position);
  Frame& frame = position->frames.back();
  frame.expects_name = false;
  position->value = nullptr;
  if (frame.places == nullptr) return true;
  size_t begin = position->string_begin;
  Result<Json> name =
      Json::Parse(std::string_view(text_).substr(begin, position->length + 1 - begin));
  if (!name.ok() || !name->is_string()) return false;
  position->value = places_->Member(frame.places, name->as_string());
  return true;
}

// Whether some exponents make the number up to `end` equal to an earlier one. Without this, few
// exponents could follow, and then none.
bool UniqueItems::MayRepeat(const Frame& frame, size_t end) const {
  std::string_view text = std::string_view(text_).substr(frame.begin, end - frame.begin);
  if (!IsNumber(text)) return false;
  std::string digits = DigitsOf(text);
  return std::any_of(
      frame.items->begin(), frame.items->begin() + static_cast<ptrdiff_t>(frame.num_items),
      [&digits](const Item& item) { return IsNumber(item.text) && DigitsOf(item.text) == digits; });
}

void UniqueItems::Open(bool is_list, Position* position) const {
  Frame frame;
  frame.is_list = is_list;
  frame.places = position->value;
  frame.is_unique = is_list && places_->IsUnique(frame.places);
  if (frame.is_unique) frame.items = std::make_shared<std::vector<Item>>();
  if (is_list) position->value = places_->Item(frame.places, 0);
  position->frames.push_back(std::move(frame));
}

bool UniqueItems::Close(Position* position) {
  if (position->frames.empty()) return true;
  if (!EndItem(position->length, &position->frames.back())) return false;
  position->frames.pop_back();
  return EndValue(position);
}

// A text, a list or an object ends with the byte at the position.
bool UniqueItems::EndValue(Position* position) {
  return position->frames.empty() || EndItem(position->length + 1, &position->frames.back());
}

bool UniqueItems::EndItem(size_t end, Frame* frame) {
  if (!frame->is_unique || frame->begin == std::string::npos) return true;
  std::string text = text_.substr(frame->begin, end - frame->begin);
  Result<Json> value = Json::Parse(text);
  if (!value.ok()) return false;  // it is too deep to be compared
  std::string key = TextOf(*value);
  std::vector<Item>& items = *frame->items;
  items.resize(frame->num_items);
  if (std::any_of(items.begin(), items.end(), [&key](const Item& one) { return one.key == key; })) {
    return false;
  }
  items.push_back({std::move(text), std::move(key)});
  ++frame->num_items;
  frame->begin = std::string::npos;
  return true;
}

}  // namespace mlc
