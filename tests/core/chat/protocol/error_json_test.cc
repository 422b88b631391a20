#include "chat/protocol/error_json.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ErrorJson, HasOpenAIsShape) {
  Status status = InvalidArgument("too hot").WithParam("temperature").WithReason("out_of_range");
  EXPECT_EQ(ErrorJson(status).Dump(),
            R"({"error":{"message":"too hot","type":"invalid_request_error",)"
            R"("param":"temperature","code":"out_of_range"}})");
}

TEST(ErrorJson, EveryCodeHasAFamilyAndACode) {
  struct Case {
    StatusCode status;
    const char *type, *code;
  };
  const Case cases[] = {{StatusCode::kInvalidArgument, "invalid_request_error", "invalid_request"},
                        {StatusCode::kNotFound, "not_found_error", "not_found"},
                        {StatusCode::kCorrupt, "invalid_request_error", "corrupt_file"},
                        {StatusCode::kUnsupported, "invalid_request_error", "unsupported"},
                        {StatusCode::kResourceExhausted, "server_error", "out_of_resources"},
                        {StatusCode::kCancelled, "server_error", "request_cancelled"},
                        {StatusCode::kUnavailable, "server_error", "unavailable"},
                        {StatusCode::kDeadlineExceeded, "server_error", "timeout"},
                        {StatusCode::kInternal, "server_error", "internal_error"}};
  for (const Case& c : cases) {
    Json json = ErrorJson(Status(c.status, "m"));
    const Json* error = json.Find("error");
    EXPECT_EQ(error->Find("type")->as_string(), c.type);
    EXPECT_EQ(error->Find("code")->as_string(), c.code);
    EXPECT_TRUE(error->Find("param")->is_null());
  }
}

TEST(ErrorJson, AFullQueueIsARateLimit) {
  Json json = ErrorJson(ResourceExhausted("full").WithReason("queue_full"));
  EXPECT_EQ(json.Find("error")->Find("type")->as_string(), "rate_limit_error");
}

TEST(ErrorJson, ForeignBytesStayJson) {
  std::string text = ErrorJson(NotFound("a\xff\"\n\x01")).Dump();
  EXPECT_TRUE(Json::Parse(text).ok()) << text;
}

}  // namespace
}  // namespace mlc
