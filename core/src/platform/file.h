// Files: read them, map them, and keep a user's paths inside their folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace mlc {

// Joins `folder` and a path that a file in `folder` contains. Errors: kCorrupt when the path is
// absolute, is empty, contains a zero byte or leaves the folder ("../x", "a/../../x").
Result<std::string> JoinInside(const std::string& folder, std::string_view relative);

bool FileExists(const std::string& path);

// Reads the whole file. Errors: kNotFound; kResourceExhausted when it is larger than `max_bytes`.
Result<std::string> ReadFile(const std::string& path, int64_t max_bytes = int64_t{1} << 30);

// The error of ReadFile for a file that is too large.
Status CheckFileSize(const std::string& path, int64_t size, int64_t max_bytes);

// Writes `parts` one after another to a new file, which then replaces `path`. So a reader sees
// either the whole old file or the whole new file. Only its owner can read it (on Windows: who may
// read its folder). Errors:
// kInvalidArgument when the path cannot be written; kResourceExhausted when the disk is full. After
// an error no file is left behind.
Status ReplaceFile(const std::string& path, const std::vector<std::string_view>& parts);

// Writes `bytes` to a new file in an existing folder, and returns its path: `begin`, some
// characters that no other file has, `end`. Only its owner can read it. The caller removes it.
// Errors: kInvalidArgument when no file can be made; kResourceExhausted when it cannot be written.
Result<std::string> WriteNewFile(const std::string& begin, std::string_view bytes,
                                 const std::string& end);

// Does nothing when there is no such file.
void RemoveFile(const std::string& path);

// Makes the folder if it is not there. Errors: kInvalidArgument when it cannot be made or no file
// can be written into it.
Status MakeWritableFolder(const std::string& path);

// Whether a MappedFile costs memory only for the pages that are used. In a browser all of its bytes
// are read when it is opened.
#if defined(__EMSCRIPTEN__)
inline constexpr bool kMapsFiles = false;
#else
inline constexpr bool kMapsFiles = true;
#endif

// A file mapped read-only. The system reads its pages when they are used.
class MappedFile {
 public:
  static Result<std::shared_ptr<MappedFile>> Open(const std::string& path);
#if defined(__EMSCRIPTEN__)
  // `size` bytes from `offset` on, fewer where the file ends.
  static Result<std::shared_ptr<MappedFile>> OpenPart(const std::string& path, int64_t offset,
                                                      int64_t size);
#endif
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }

  // Lets the system take the memory of the file's pages. They are read again when they are used.
  // Returns the size, or 0 if the system refused.
  int64_t Drop() const;

 private:
  MappedFile(std::string path, const uint8_t* data, int64_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const uint8_t* data_;
  int64_t size_;
};

}  // namespace mlc
