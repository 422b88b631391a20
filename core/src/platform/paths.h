// Paths between our texts and the standard library's. Ours are UTF-8 on every system; on Windows
// std::filesystem would take a text for one of the user's code page.
#pragma once

#include <filesystem>
#include <string>

namespace mlc {

inline std::filesystem::path PathOf(const std::string& text) {
  return std::filesystem::u8path(text);
}

// With slashes.
inline std::string TextOf(const std::filesystem::path& path) { return path.generic_u8string(); }

// The last part of a path: "dist/SmolLM2-MLC/" -> "SmolLM2-MLC".
inline std::string LastPartOf(const std::string& text) {
  std::string path = TextOf(PathOf(text));
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace mlc
