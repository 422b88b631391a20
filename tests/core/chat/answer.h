// The answer to one request of a ChatEngine, as its caller sees it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "chat/chat_engine.h"

namespace mlc {
namespace testing {

// What one request got, from the callback thread.
class Answer {
 public:
  ChatCallback Callback() {
    return [this](ChatEventKind kind, const std::string& json) {
      std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_FALSE(ended_) << "an event after the last";
      if (kind == ChatEventKind::kChunk) chunks_.push_back(*Json::Parse(json));
      if (kind != ChatEventKind::kChunk) {
        ended_ = true;
        last_kind_ = kind;
        if (!json.empty()) last_ = *Json::Parse(json);
      }
      changed_.notify_all();
    };
  }
  bool WaitForEnd() {
    return Wait([this] { return ended_; });
  }
  bool WaitForChunk() {
    return Wait([this] { return ended_ || !chunks_.empty(); });
  }

  // Once it has ended:
  const std::vector<Json>& chunks() const { return chunks_; }
  ChatEventKind last_kind() const { return last_kind_; }
  const Json& last() const { return last_; }
  std::string Code() const { return last_.Find("error")->Find("code")->as_string(); }
  const Json& Choice(size_t index = 0) const { return last_.Find("choices")->as_array()[index]; }
  std::string Content(size_t index = 0) const {
    return Choice(index).Find("message")->Find("content")->as_string();
  }
  std::string Streamed() const {
    std::string text;
    for (const Json& chunk : chunks_) {
      for (const Json& choice : chunk.Find("choices")->as_array()) {
        const Json* content = choice.Find("delta")->Find("content");
        if (content != nullptr && content->is_string()) text += content->as_string();
      }
    }
    return text;
  }

 private:
  template <typename Condition>
  bool Wait(Condition condition) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> chunks_;
  bool ended_ = false;
  ChatEventKind last_kind_ = ChatEventKind::kChunk;
  Json last_;
};

}  // namespace testing
}  // namespace mlc
