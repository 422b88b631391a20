// Where a model's bytes come from: a folder here; an app's assets or a callback in other programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "platform/file.h"

namespace mlc {

// Bytes. `owner` keeps them alive.
struct Bytes {
  const uint8_t* data = nullptr;
  int64_t size = 0;
  std::shared_ptr<void> owner;
  std::shared_ptr<MappedFile> file = nullptr;  // null: the bytes are no mapped file
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(size)};
  }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // `name` is a relative path with '/' as the separator. Errors: kNotFound; kCorrupt for a name
  // that leaves the source ("../x").
  virtual Result<Bytes> Open(std::string_view name) const = 0;
  // The same for `size` bytes from `offset` on, fewer where the file ends.
  virtual Result<Bytes> OpenPart(std::string_view name, int64_t offset, int64_t size) const;
  virtual bool Has(std::string_view name) const = 0;
  // The name for messages: a path.
  virtual std::string Describe(std::string_view name) const = 0;
};

// The files of one folder, mapped into memory.
class FolderSource : public ByteSource {
 public:
  explicit FolderSource(std::string folder) : folder_(std::move(folder)) {}
  Result<Bytes> Open(std::string_view name) const override;
#if defined(__EMSCRIPTEN__)
  Result<Bytes> OpenPart(std::string_view name, int64_t offset, int64_t size) const override;
#endif
  bool Has(std::string_view name) const override;
  std::string Describe(std::string_view name) const override;

 private:
  std::string folder_;
};

}  // namespace mlc
