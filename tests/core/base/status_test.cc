#include "base/status.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

namespace mlc {
namespace {

template <typename T, typename = void>
struct IsReason : std::false_type {};
template <typename T>
struct IsReason<T, std::void_t<decltype(Internal("").WithReason(std::declval<T>()))>>
    : std::true_type {};

TEST(Status, AReasonIsNoText) {
  static_assert(IsReason<const Reason&>::value);
  static_assert(!IsReason<const char*>::value);
  static_assert(!IsReason<std::string>::value);
  static_assert(!std::is_constructible_v<Reason, std::string_view, StatusCode, const char*>);
}

TEST(Status, AReasonSaysTheStatus) {
  Status error = InvalidArgument("too long").WithParam("prompt").WithReason(Reason::kQueueFull);
  EXPECT_EQ(error.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(error.Is(Reason::kQueueFull));
  EXPECT_EQ(error.param(), "prompt");
}

TEST(Status, EachCodeHasAReason) {
  for (int code = 1; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    EXPECT_EQ(static_cast<int>(Reason::Of(static_cast<StatusCode>(code)).code()), code);
  }
}

}  // namespace
}  // namespace mlc
