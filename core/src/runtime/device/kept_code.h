// Code that a driver made of a library's kernels, kept for the next start. MLC_JIT_POLICY applies
// to it as to model libraries.
#pragma once

#include <string>
#include <string_view>

namespace mlc {

class KeptCode {
 public:
  // `backend` is the folder in the cache; `key` is everything that the code depends on.
  KeptCode(const char* backend, const std::string& key);

  // "" if there is none.
  std::string Read() const;
  // A cache that cannot be written only costs time at the next start.
  void Write(std::string_view code) const;

 private:
  std::string policy_;
  std::string path_;  // "": nothing is kept
};

}  // namespace mlc
