#include "sampling/logit_processor.h"

#include <gtest/gtest.h>

#include <limits>

namespace mlc {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Status Processed(const std::function<void(float*)>& change) {
  std::vector<float> logits = {1, 2, 3};
  auto processor = [&](const std::vector<int32_t>&, int, float* row, int) {
    change(row);
    return Status();
  };
  return RunLogitProcessor(processor, {7}, 1, logits.data(), 3);
}

TEST(RunLogitProcessor, ChecksWhatItLeaves) {
  EXPECT_TRUE(Processed([](float* row) { row[0] = row[2] = -kInfinity; }).ok());
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    Status status = Processed([bad](float* row) { row[1] = bad; });
    EXPECT_TRUE(status.Is(Reason::kLogitProcessorFailed));
    EXPECT_NE(status.message().find("token 1"), std::string::npos) << status.message();
  }
  Status none = Processed([](float* row) { row[0] = row[1] = row[2] = -kInfinity; });
  EXPECT_TRUE(none.Is(Reason::kLogitProcessorFailed));
  EXPECT_NE(none.message().find("no token"), std::string::npos);
}

TEST(RunLogitProcessor, PassesItsErrorOn) {
  std::vector<float> logits = {1, 2, 3};
  auto processor = [](const std::vector<int32_t>&, int, float*, int) {
    return LogitProcessorFailed("said no");
  };
  Status status = RunLogitProcessor(processor, {}, 0, logits.data(), 3);
  EXPECT_EQ(status.message(), "the request's logit processor said no");
}

}  // namespace
}  // namespace mlc
