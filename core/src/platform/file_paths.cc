#include <algorithm>

#include "platform/file.h"

namespace mlc {

Result<std::string> JoinInside(const std::string& folder, std::string_view relative) {
  bool bad = relative.empty() || relative.front() == '/' ||
             relative.find('\0') != std::string_view::npos ||
             relative.find('\\') != std::string_view::npos;
#if defined(_WIN32)
  bad =
      bad || relative.find(':') != std::string_view::npos;  // a drive, or another stream of a file
#endif
  for (size_t begin = 0; !bad && begin <= relative.size();) {
    size_t end = std::min(relative.find('/', begin), relative.size());
    bad = relative.substr(begin, end - begin) == "..";
    begin = end + 1;
  }
  if (bad) {
    return Corrupt("the path '" + std::string(relative) + "' leads out of the folder " + folder);
  }
  return folder + "/" + std::string(relative);
}

Status CheckFileSize(const std::string& path, int64_t size, int64_t max_bytes) {
  if (size <= max_bytes) return Status();
  return ResourceExhausted(path + ": is " + std::to_string(size) + " bytes long, more than the " +
                           std::to_string(max_bytes) + " that are read");
}

}  // namespace mlc
