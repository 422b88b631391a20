// The logit processors that a program has registered with an engine, by name.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "sampling/logit_processor.h"

namespace mlc {

// Every method may be called from any thread.
class LogitProcessors {
 public:
  // Replaces the one of that name; null removes it. Requests that run keep the one that they have.
  void Set(const std::string& name, LogitProcessor processor);
  // Error: none has the name; the message lists those that there are.
  Result<std::shared_ptr<const LogitProcessor>> Find(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const LogitProcessor>> processors_;
};

}  // namespace mlc
