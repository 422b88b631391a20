#include "chat/request/logit_processors.h"

namespace mlc {

void LogitProcessors::Set(const std::string& name, LogitProcessor processor) {
  std::shared_ptr<const LogitProcessor> changed;
  if (processor != nullptr) {
    changed = std::make_shared<const LogitProcessor>(std::move(processor));
  }
  // The one before is destroyed after the mutex is free, because that may call the program.
  std::lock_guard<std::mutex> lock(mutex_);
  if (changed == nullptr) {
    auto found = processors_.find(name);
    if (found == processors_.end()) return;
    changed = std::move(found->second);
    processors_.erase(found);
  } else {
    processors_[name].swap(changed);
  }
}

Result<std::shared_ptr<const LogitProcessor>> LogitProcessors::Find(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = processors_.find(name);
  if (found != processors_.end()) return found->second;
  std::string names;
  for (const auto& each : processors_) names += (names.empty() ? "" : ", ") + each.first;
  return InvalidArgument("no logit processor '" + name + "' is registered with this engine; " +
                         (names.empty() ? "there are none" : "there are " + names))
      .WithParam("logit_processor")
      .WithReason(Reason::kInvalidValue);
}

}  // namespace mlc
