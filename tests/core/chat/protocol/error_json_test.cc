#include "chat/protocol/error_json.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ErrorJson, HasOpenAIsShapeAndTheStatus) {
  Status status =
      InvalidArgument("too hot").WithParam("temperature").WithReason(Reason::kInvalidValue);
  EXPECT_EQ(ErrorJson(status).Dump(),
            R"({"error":{"message":"too hot","type":"invalid_request_error",)"
            R"("param":"temperature","code":"invalid_value","status":"invalid_argument"}})");
}

TEST(ErrorJson, EveryStatusHasAReasonAndAWord) {
  struct Case {
    StatusCode status;
    const char *type, *code, *word;
  };
  const char* const kInvalid = "invalid_request_error";
  const char* const kServer = "server_error";
  const Case cases[] = {
      {StatusCode::kInvalidArgument, kInvalid, "invalid_request", "invalid_argument"},
      {StatusCode::kNotFound, "not_found_error", "not_found", "not_found"},
      {StatusCode::kCorrupt, kInvalid, "corrupt_file", "corrupt"},
      {StatusCode::kUnsupported, kInvalid, "unsupported", "unsupported"},
      {StatusCode::kResourceExhausted, kServer, "out_of_resources", "resource_exhausted"},
      {StatusCode::kCancelled, kServer, "request_cancelled", "cancelled"},
      {StatusCode::kUnavailable, kServer, "unavailable", "unavailable"},
      {StatusCode::kDeadlineExceeded, kServer, "deadline_exceeded", "deadline_exceeded"},
      {StatusCode::kInternal, kServer, "internal_error", "internal"}};
  for (const Case& c : cases) {
    EXPECT_EQ(Status(c.status, "m").code(), c.status);
    Json json = ErrorJson(Status(c.status, "m"));
    const Json* error = json.Find("error");
    EXPECT_EQ(error->Find("type")->as_string(), c.type);
    EXPECT_EQ(error->Find("code")->as_string(), c.code);
    EXPECT_EQ(error->Find("status")->as_string(), c.word);
    EXPECT_TRUE(error->Find("param")->is_null());
  }
}

TEST(ErrorJson, APreciseReasonBringsItsStatusAndItsType) {
  Status status = ResourceExhausted("full").WithReason(Reason::kQueueFull);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  Json json = ErrorJson(status);
  EXPECT_EQ(json.Find("error")->Find("type")->as_string(), "rate_limit_error");
}

TEST(ErrorJson, ForeignBytesStayJson) {
  std::string text = ErrorJson(NotFound("a\xff\"\n\x01")).Dump();
  EXPECT_TRUE(Json::Parse(text).ok()) << text;
}

}  // namespace
}  // namespace mlc
