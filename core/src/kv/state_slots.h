// Slots of recurrent state. Each slot holds a model's state after a whole history. Such a state
// cannot be cut shorter as a block table can. So several copies are kept: at the end of a sequence,
// where the sequence may have to go back to, and where other sequences may begin.
//
// Sequences can own a slot, and the prefix tree can keep it. A slot that only the tree keeps is
// available; the one that was unused for the longest time is taken first.
#pragma once

#include <cstdint>
#include <vector>

namespace mlc {

constexpr int32_t kNoState = -1;

class StateSlots {
 public:
  explicit StateSlots(int num_slots);

  int num_slots() const { return static_cast<int>(slots_.size()); }
  int num_free() const { return static_cast<int>(free_.size()); }
  // The free slots, and those that only the tree keeps.
  int num_available() const { return num_free() + num_idle_; }

  // Takes a free slot, which then has one owner. There must be one.
  int32_t Take();
  // The slot that only the tree keeps and that was unused for the longest time; kNoState if there
  // is none.
  int32_t OldestIdle() const;
  void Hold(int32_t slot);
  void Release(int32_t slot);
  // Keep and Drop are calls of the prefix tree.
  void Keep(int32_t slot);
  void Drop(int32_t slot);
  // Whether exactly one sequence owns it and the tree does not keep it.
  bool IsOnlyOwned(int32_t slot) const { return slots_[slot].owners == 1 && !slots_[slot].kept; }

 private:
  struct Slot {
    int owners = 0;
    bool kept = false;
    int64_t last_used = 0;
    bool is_free() const { return owners == 0 && !kept; }
    bool is_idle() const { return owners == 0 && kept; }
  };

  std::vector<Slot> slots_;
  std::vector<int32_t> free_;
  int num_idle_ = 0;
  int64_t now_ = 0;
};

}  // namespace mlc
