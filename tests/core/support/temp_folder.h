// A folder that is gone when the test ends.
#ifndef MLC_TESTS_SUPPORT_TEMP_FOLDER_H_
#define MLC_TESTS_SUPPORT_TEMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace mlc::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "mlc-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes (or replaces) a file and returns its path.
  std::string Write(const std::string& name, std::string_view content) const {
    std::ofstream(Path(name), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace mlc::testing

#endif  // MLC_TESTS_SUPPORT_TEMP_FOLDER_H_
