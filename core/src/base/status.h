// Errors as values.
//
// A function that can fail because of its input returns `Status` or `Result<T>`. Only a broken
// invariant of our own code aborts. An error has everything that OpenAI's error object needs: a
// message that says what to do, the path of the wrong field (`param`) and a reason, whose name is
// OpenAI's `code`. The reasons are rows of codegen/schema/errors.py.
//
//   Result<Config> ParseConfig(const Json& json) {
//     MLC_ASSIGN_OR_RETURN(int64_t layers, GetInt(json, "num_hidden_layers"));
//     if (layers <= 0) return InvalidArgument("must be positive").WithParam("num_hidden_layers");
//     ...
//   }
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/reason.gen.h"

namespace mlc {

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(const Reason& reason, std::string message)
      : reason_(&reason), message_(std::move(message)) {}
  Status(StatusCode code, std::string message) : Status(Reason::Of(code), std::move(message)) {}

  bool ok() const { return reason_ == nullptr; }
  bool Is(const Reason& reason) const { return reason_ == &reason; }
  StatusCode code() const { return ok() ? StatusCode::kOk : reason_->code(); }
  const std::string& message() const { return message_; }
  const std::string& param() const { return param_; }  // "messages[2].content", or ""
  const Reason& reason() const { return *reason_; }    // of an error only

  Status&& WithParam(std::string param) && {
    param_ = std::move(param);
    return std::move(*this);
  }
  // Replaces the general reason of its status by a precise one.
  Status&& WithReason(const Reason& reason) && {
    reason_ = &reason;
    return std::move(*this);
  }
  // Adds the place of the error: "PATH: message".
  Status&& In(const std::string& place) && {
    message_ = place + ": " + message_;
    return std::move(*this);
  }

 private:
  const Reason* reason_ = nullptr;  // null: ok
  std::string message_, param_;
};

inline Status InvalidArgument(std::string m) { return {Reason::kInvalidRequest, std::move(m)}; }
inline Status NotFound(std::string m) { return {Reason::kNotFound, std::move(m)}; }
inline Status Corrupt(std::string m) { return {Reason::kCorruptFile, std::move(m)}; }
inline Status Unsupported(std::string m) { return {Reason::kUnsupported, std::move(m)}; }
inline Status ResourceExhausted(std::string m) { return {Reason::kOutOfResources, std::move(m)}; }
inline Status Cancelled(std::string m) { return {Reason::kRequestCancelled, std::move(m)}; }
inline Status Unavailable(std::string m) { return {Reason::kUnavailable, std::move(m)}; }
inline Status DeadlineExceeded(std::string m) { return {Reason::kDeadlineExceeded, std::move(m)}; }
inline Status Internal(std::string m) { return {Reason::kInternalError, std::move(m)}; }

// A value, or the error that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok()) status_ = Internal("result without a value");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }

 private:
  std::optional<T> value_;
  Status status_;  // ok if there is a value
};

}  // namespace mlc

#define MLC_CONCAT_INNER_(a, b) a##b
#define MLC_CONCAT_(a, b) MLC_CONCAT_INNER_(a, b)

#define MLC_RETURN_IF_ERROR(expr)              \
  do {                                         \
    ::mlc::Status mlc_status_ = (expr);        \
    if (!mlc_status_.ok()) return mlc_status_; \
  } while (0)

// MLC_ASSIGN_OR_RETURN(auto x, MakeX());
#define MLC_ASSIGN_OR_RETURN(lhs, expr) \
  MLC_ASSIGN_OR_RETURN_(MLC_CONCAT_(mlc_result_, __LINE__), lhs, expr)
#define MLC_ASSIGN_OR_RETURN_(tmp, lhs, expr)    \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(tmp).value()

// Checks an invariant of our own code. Never use it for input.
#define MLC_ICHECK(cond)                                                                \
  do {                                                                                  \
    if (!(cond)) {                                                                      \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)
