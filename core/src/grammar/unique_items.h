// Looks after the lists of one answer whose items must differ.
//
//   UniqueItems items(places);
//   if (!items.Repeats(bytes)) items.Accept(bytes);
//
// The answer is JSON from its first byte, as the grammar of its schema writes it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema/unique_places.h"

namespace mlc {

class UniqueItems {
 public:
  explicit UniqueItems(std::shared_ptr<const UniquePlaces> places);
  // A copy that shares nothing that changes.
  UniqueItems Fork() const;

  // Reads the bytes of one token. False, and nothing changes, if an item would be equal to an
  // earlier one of its list.
  bool Accept(std::string_view bytes);
  void Rollback(int num_tokens);
  bool Repeats(std::string_view bytes);

  // Whether a list with different items is open.
  bool is_inside() const;
  bool is_in_string() const { return now().is_in_string; }
  // What would make the item that is being written, or the next one, an earlier item of its list:
  // of at most `most` items.
  std::vector<std::string> Rests(size_t most) const;

 private:
  struct Item {
    std::string text;  // as it was written
    std::string key;   // equal values have equal keys
  };
  struct Frame {
    bool is_list = false, is_unique = false, expects_name = true;
    UniquePlaces::Set places;
    size_t index = 0;                          // of the item
    size_t begin = std::string::npos;          // of the item, while it is written
    std::shared_ptr<std::vector<Item>> items;  // of which the first `num_items` count
    size_t num_items = 0;
  };
  struct Position {
    size_t length = 0;  // of the text
    std::vector<Frame> frames;
    UniquePlaces::Set value;  // what comes next
    bool is_in_string = false, is_escaped = false, is_name = false;
    size_t string_begin = 0;
  };

  const Position& now() const { return positions_.back(); }
  Position Reread();
  // Reads the text behind the position; false at an item that repeats an earlier one.
  bool Read(Position* position);
  bool ReadString(char c, Position* position);
  void Open(bool is_list, Position* position) const;
  bool Close(Position* position);
  bool EndValue(Position* position);
  bool EndItem(size_t end, Frame* frame);
  bool MayRepeat(const Frame& frame, size_t end) const;

  std::shared_ptr<const UniquePlaces> places_;
  std::string text_;
  std::vector<size_t> ends_{0};     // of the text before each token, and of all of it
  std::deque<Position> positions_;  // behind the last tokens
};

}  // namespace mlc
