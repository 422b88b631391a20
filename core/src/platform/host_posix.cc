// The part of platform/host.h that is the same in a browser and on all systems but Windows.
#include <cstdlib>

#include "platform/host.h"

namespace mlc {

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::tm LocalTime(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  return local;
}

}  // namespace mlc
