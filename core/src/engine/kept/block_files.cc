#include "engine/kept/block_files.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "platform/paths.h"

namespace mlc {
namespace {

namespace fs = std::filesystem;
using FileClock = fs::file_time_type::clock;

constexpr std::string_view kBlockEnd = ".kv";
constexpr auto kUnfinishedAge = std::chrono::hours(1);  // no write takes that long
// Other processes write too, so the folder is looked at now and then.
constexpr int kWritesBetweenLooks = 32;

enum class FolderEntry { kOther, kBlock, kUnfinished };

FolderEntry KindOfEntry(const std::string& name) {
  constexpr size_t kKeyDigits = 64;
  if (name.size() < kKeyDigits + kBlockEnd.size()) return FolderEntry::kOther;
  bool is_ours = ParseContentHash(name.substr(0, kKeyDigits)).has_value() &&
                 name.compare(kKeyDigits, kBlockEnd.size(), kBlockEnd) == 0;
  if (!is_ours) return FolderEntry::kOther;
  std::string rest = name.substr(kKeyDigits + kBlockEnd.size());
  if (rest.empty()) return FolderEntry::kBlock;
  return rest[0] == '.' ? FolderEntry::kUnfinished
                        : FolderEntry::kOther;  // as ReplaceFile names it
}

struct KeptFile {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes = 0;
  FolderEntry kind = FolderEntry::kOther;
};

// The blocks and the unfinished files of a folder. A file that goes meanwhile is left out.
std::vector<KeptFile> ListFolder(const std::string& folder) {
  std::vector<KeptFile> files;
  std::error_code failed;
  fs::directory_iterator entry(PathOf(folder), failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    KeptFile file;
    file.path = entry->path();
    file.kind = KindOfEntry(TextOf(file.path.filename()));
    if (file.kind == FolderEntry::kOther) continue;
    std::error_code gone;
    file.used = entry->last_write_time(gone);
    if (!gone) file.bytes = static_cast<int64_t>(entry->file_size(gone));
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

void RemoveKept(const KeptFile& file) {
  std::error_code gone;  // another process may have removed it
  fs::remove(file.path, gone);
}

}  // namespace

void BlockFiles::Prepare() {
  if (folder_.path.empty()) return;
  std::error_code failed;
  bool is_new = !FileExists(folder_.path);
  // Nothing is written to try it: a process that is killed would leave that. The first block tells.
  fs::create_directories(PathOf(folder_.path), failed);
  if (failed) {
    return StopWriting(
        InvalidArgument(folder_.path + ": this folder cannot be made: " + failed.message()));
  }
  if (is_new) fs::permissions(PathOf(folder_.path), fs::perms::owner_all, failed);
  Prune();
}

bool BlockFiles::Use(const ContentHash& key) const {
  if (folder_.path.empty()) return false;
  std::error_code failed;
  std::string path = PathOfBlock(key);
  fs::last_write_time(PathOf(path), FileClock::now(), failed);
  return !failed || FileExists(path);  // in a folder that is only read nothing can be marked
}

std::vector<ContentHash> BlockFiles::Newest() const {
  std::vector<KeptFile> files = ListFolder(folder_.path);
  std::stable_sort(files.begin(), files.end(),
                   [](const KeptFile& a, const KeptFile& b) { return a.used > b.used; });
  std::vector<ContentHash> keys;
  for (const KeptFile& file : files) {
    std::string name = TextOf(file.path.stem());
    if (file.kind == FolderEntry::kBlock) keys.push_back(*ParseContentHash(name));
  }
  return keys;
}

std::optional<KVFileHead> BlockFiles::Head(const ContentHash& key) const {
  Result<std::shared_ptr<MappedFile>> opened = MappedFile::Open(PathOfBlock(key));
  if (!opened.ok()) return std::nullopt;
  const MappedFile& file = **opened;
  Result<KVFileHead> head =
      DecodeKVHead({reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())});
  return head.ok() ? std::optional(std::move(head).value()) : std::nullopt;
}

KeptBytes BlockFiles::Read(const ContentHash& key, std::string_view head,
                           int64_t body_bytes) const {
  if (folder_.path.empty()) return {};
  std::string path = PathOfBlock(key);
  Result<std::shared_ptr<MappedFile>> opened = MappedFile::Open(path);
  if (!opened.ok()) return {};
  std::shared_ptr<MappedFile> file = std::move(opened).value();
  std::string_view bytes(reinterpret_cast<const char*>(file->data()),
                         static_cast<size_t>(file->size()));
  std::string_view body;
  auto size = static_cast<size_t>(body_bytes);
  // All bytes are known but the body and its hash, so there is nothing to parse.
  const size_t tail_bytes = EncodeKVTail({}).size();
  bool fits =
      bytes.size() == head.size() + size + tail_bytes && bytes.substr(0, head.size()) == head;
  if (fits) body = bytes.substr(head.size(), size);
  if (fits && bytes.substr(head.size() + size) == EncodeKVTail(body)) return {file, body};
  std::fprintf(stderr, "mlc_llm: %s is damaged; it is removed, and computed again\n", path.c_str());
  file.reset();  // on Windows an open file cannot be removed
  RemoveFile(path);
  return {};
}

bool BlockFiles::Write(const ContentHash& key, std::string_view head, std::string_view body) {
  std::string path = PathOfBlock(key), tail = EncodeKVTail(body);
  auto bytes = static_cast<int64_t>(head.size() + body.size() + tail.size());
  if (!writes_ || bytes > folder_.max_bytes) return false;
  Status status = ReplaceFile(path, {head, body, tail});
  if (!status.ok() && FileExists(path)) return true;  // another process was faster
  if (!status.ok()) {
    StopWriting(status);
    return false;
  }
  known_bytes_ += bytes;
  if (known_bytes_ > folder_.max_bytes || ++num_written_ >= kWritesBetweenLooks) Prune();
  return true;
}

void BlockFiles::StopWriting(const Status& why) {
  if (!writes_.exchange(false)) return;
  std::fprintf(stderr, "mlc_llm: prefixes are no longer kept in files: %s\n",
               why.message().c_str());
}

void BlockFiles::Prune() {
  auto now = FileClock::now();
  auto oldest = now - std::chrono::hours(24) * folder_.max_days;
  std::vector<KeptFile> kept;
  known_bytes_ = 0;
  num_written_ = 0;
  for (KeptFile& file : ListFolder(folder_.path)) {
    bool is_unfinished = file.kind == FolderEntry::kUnfinished;
    if (file.used < (is_unfinished ? now - kUnfinishedAge : oldest)) {
      RemoveKept(file);
      continue;
    }
    known_bytes_ += file.bytes;
    if (!is_unfinished) kept.push_back(std::move(file));
  }
  if (known_bytes_ <= folder_.max_bytes) return;
  std::sort(kept.begin(), kept.end(),
            [](const KeptFile& a, const KeptFile& b) { return a.used < b.used; });
  // A tenth more than needed, so that not each of the next writes looks at the folder.
  int64_t wanted = folder_.max_bytes - folder_.max_bytes / 10;
  for (const KeptFile& file : kept) {
    if (known_bytes_ <= wanted) break;
    RemoveKept(file);
    known_bytes_ -= file.bytes;
  }
}

}  // namespace mlc
