#include "chat/answer/rerank_writer.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(RerankWriter, AnswersHaveIdsOfTheirOwn) {
  protocol::RerankRequest request;
  RerankWriter first(request, "m"), second(request, "m");  // as of two engines
  EXPECT_NE(first.Whole().id, second.Whole().id);
}

}  // namespace
}  // namespace mlc
