// A folder that is gone when the test ends.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

namespace mlc::testing {

class TempFolder {
 public:
  TempFolder() {
    std::random_device random;
    std::filesystem::path path;
    do {
      path = std::filesystem::temp_directory_path() / ("mlc-test-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path));
    path_ = path.generic_u8string();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::u8path(path_), ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes (or replaces) a file and returns its path.
  std::string Write(const std::string& name, std::string_view content) const {
    std::ofstream(std::filesystem::u8path(Path(name)), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace mlc::testing
