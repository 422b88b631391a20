// Slots of recurrent state: each holds what a model keeps of a whole history, which cannot be cut
// shorter as a table of pages can. So states are never taken back but kept in several copies:
// where a sequence is, where it may have to go back to, and where others may want to begin.
//
// A slot is owned by sequences and kept by the prefix tree, by either, both or none. One that only
// the tree keeps is available to whoever needs a slot, the one used longest ago first.
#ifndef MLC_KV_STATE_SLOTS_H_
#define MLC_KV_STATE_SLOTS_H_

#include <cstdint>
#include <vector>

namespace mlc {

constexpr int32_t kNoState = -1;

class StateSlots {
 public:
  explicit StateSlots(int num_slots);

  int num_slots() const { return static_cast<int>(slots_.size()); }
  int num_free() const { return static_cast<int>(free_.size()); }
  // The free ones and those that the tree alone keeps.
  int num_available() const { return num_free() + num_idle_; }

  // A free slot, owned once. Requires one.
  int32_t Take();
  // The slot that the tree alone keeps and that was used longest ago; kNoState: there is none.
  int32_t OldestIdle() const;
  void Hold(int32_t slot);
  void Release(int32_t slot);
  // By the tree.
  void Keep(int32_t slot);
  void Drop(int32_t slot);
  // Whether one sequence owns it and nobody else has an interest in it.
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

#endif  // MLC_KV_STATE_SLOTS_H_
