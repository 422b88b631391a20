#include "platform/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace mlc {
namespace {

Status OpenError(const std::string& path) {
  if (errno == ENOENT) return NotFound(path + ": no such file").WithReason(Reason::kFileNotFound);
  return NotFound(path + ": cannot be read: " + std::strerror(errno));
}

// O_NONBLOCK: does not wait for a writer when the path is a pipe. RegularFileSize then refuses the
// pipe.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

// Closes the descriptor at the end of the scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status WriteError(const std::string& path) {
  bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  return Status(is_full ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument,
                path + ": cannot be written: " + std::strerror(errno))
      .WithParam("path");
}

// Darwin refuses to write 2 GB at once.
constexpr size_t kMostAtOnce = size_t{1} << 30;

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return true;
}

Result<int64_t> RegularFileSize(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return OpenError(path);
  if (!S_ISREG(info.st_mode)) return NotFound(path + ": is not a regular file");
  return static_cast<int64_t>(info.st_size);
}

}  // namespace

bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Result<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  Descriptor file{::open(path.c_str(), kOpenFlags)};
  if (file.fd < 0) return OpenError(path);
  MLC_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(file.fd, path));
  MLC_RETURN_IF_ERROR(CheckFileSize(path, size, max_bytes));
  std::string text(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    ssize_t got = ::read(file.fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return OpenError(path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

Status ReplaceFile(const std::string& path, const std::vector<std::string_view>& parts) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // /dev/null must stay
    return InvalidArgument(path + ": cannot be written: it is not a regular file")
        .WithParam("path");
  }
  std::string temporary = path + ".XXXXXX";
  Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0) return WriteError(path);
  Status status;
  for (std::string_view part : parts) {
    if (status.ok() && !WriteAll(file.fd, part)) status = WriteError(path);
  }
  if (status.ok() && ::fsync(file.fd) != 0) status = WriteError(path);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = WriteError(path);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Result<std::string> WriteNewFile(const std::string& begin, std::string_view bytes,
                                 const std::string& end) {
  std::string path = begin + "XXXXXX" + end;
  Descriptor file{::mkostemps(path.data(), static_cast<int>(end.size()), O_CLOEXEC)};
  if (file.fd < 0) return InvalidArgument(path + ": " + std::strerror(errno));
  if (WriteAll(file.fd, bytes)) return path;
  Status status = ResourceExhausted(path + ": " + std::strerror(errno));
  RemoveFile(path);
  return status;
}

void RemoveFile(const std::string& path) { ::unlink(path.c_str()); }

Status MakeWritableFolder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  std::string file = path + "/.mlc-XXXXXX";
  Descriptor made{failed ? -1 : ::mkostemp(file.data(), O_CLOEXEC)};
  if (made.fd >= 0) ::unlink(file.c_str());
  if (made.fd >= 0) return Status();
  std::string reason = failed ? failed.message() : std::strerror(errno);
  return InvalidArgument(path + ": no file can be written into this folder: " + reason);
}

Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  Descriptor file{::open(path.c_str(), kOpenFlags)};
  if (file.fd < 0) return OpenError(path);
  MLC_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(file.fd, path));
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(path, nullptr, 0));
  void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(path + ": cannot be mapped: " + std::strerror(errno));
  }
#if defined(__linux__) && !defined(__ANDROID__)
  // Weights are read whole at each step: with pages of 2 MB the CPU looks up fewer addresses. It
  // matters when the file is read from the disk, so not for pages that the system keeps already;
  // phones have no memory for 2 MB around each row of an embedding that is read.
  (void)::madvise(data, static_cast<size_t>(size), MADV_HUGEPAGE);
#endif
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<const uint8_t*>(data), size));
}

int64_t MappedFile::Drop() const {
  if (data_ == nullptr) return 0;
  void* data = const_cast<uint8_t*>(data_);
  if (::madvise(data, static_cast<size_t>(size_), MADV_DONTNEED) != 0) return 0;
#if defined(__linux__)
  // The pages have left this process, but the system still keeps them.
  Descriptor file{::open(path_.c_str(), kOpenFlags)};
  if (file.fd >= 0) (void)::posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
#endif
  return size_;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
}

}  // namespace mlc
