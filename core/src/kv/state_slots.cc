#include "kv/state_slots.h"

#include "base/status.h"

namespace mlc {

StateSlots::StateSlots(int num_slots) : slots_(static_cast<size_t>(num_slots)) {
  for (int32_t slot = num_slots - 1; slot >= 0; --slot) free_.push_back(slot);
}

int32_t StateSlots::Take() {
  MLC_ICHECK(!free_.empty());
  int32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].owners = 1;
  return slot;
}

int32_t StateSlots::OldestIdle() const {
  int32_t oldest = kNoState;
  for (int32_t slot = 0; slot < num_slots(); ++slot) {
    if (!slots_[slot].is_idle()) continue;
    if (oldest == kNoState || slots_[slot].last_used < slots_[oldest].last_used) oldest = slot;
  }
  return oldest;
}

void StateSlots::Hold(int32_t slot) {
  MLC_ICHECK(!slots_[slot].is_free());
  if (slots_[slot].is_idle()) --num_idle_;
  ++slots_[slot].owners;
}

void StateSlots::Release(int32_t slot) {
  Slot& at = slots_[slot];
  MLC_ICHECK(at.owners > 0);
  --at.owners;
  at.last_used = ++now_;
  if (at.is_idle()) ++num_idle_;
  if (at.is_free()) free_.push_back(slot);
}

void StateSlots::Keep(int32_t slot) {
  MLC_ICHECK(slots_[slot].owners > 0 && !slots_[slot].kept);
  slots_[slot].kept = true;
}

void StateSlots::Drop(int32_t slot) {
  Slot& at = slots_[slot];
  MLC_ICHECK(at.kept);
  if (at.is_idle()) --num_idle_;
  at.kept = false;
  if (at.is_free()) free_.push_back(slot);
}

}  // namespace mlc
