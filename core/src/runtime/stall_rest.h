// Decides how long a pool of threads uses one thread less, after the system delayed a thread.
//
//   StallRest rest;
//   rest.Begin(now, waited);                     // the others waited that long for a thread
//   while (!rest.IsOver(now)) ...                // use one thread less
//   rest.Renew(now);                             // a thread was added; the next one has to wait
//
// The first rest is as long as the stall was: another program that takes a core for 2 ms now
// and then costs little more than these 2 ms. If another stall follows soon, that program needs the
// core all the time. Then each rest is twice as long as the one before.
#pragma once

#include <algorithm>
#include <chrono>

namespace mlc {

class StallRest {
 public:
  using Clock = std::chrono::steady_clock;

  void Begin(Clock::time_point now, Clock::duration waited) {
    bool again = now - changed_ < kSoon;
    length_ = again ? std::min<Clock::duration>(2 * length_, kLongest)
                    : std::clamp<Clock::duration>(waited, kShortest, kLongestFirst);
    changed_ = until_ = now + length_;
  }

  bool IsOver(Clock::time_point now) const { return now >= until_; }

  void Renew(Clock::time_point now) {
    changed_ = now;
    until_ = now + length_;
  }

 private:
  static constexpr std::chrono::milliseconds kShortest{1}, kLongestFirst{10}, kLongest{320};
  // How soon after a rest a stall counts as caused by the same program. A system that shares a core
  // lets each program run for 3 to 8 ms.
  static constexpr std::chrono::milliseconds kSoon{10};

  Clock::duration length_{0};
  Clock::time_point until_{};
  Clock::time_point changed_{};  // when a thread was added last, or will be
};

}  // namespace mlc
