// The folder in which blocks of prefixes are kept, one file each: KEY.kv in the form of
// kv/kv_file.h.
//
// Several processes may use a folder. A file appears whole or not at all, never changes, and may go
// at any time. What a killed process left half written has another name, and is removed when it is
// an hour old. Files of other names are never touched.
//
// A folder that cannot be written, or a full disk, costs one line on stderr; then it is only read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "kv/kv_file.h"
#include "platform/file.h"

namespace mlc {

struct PrefixFolder {
  std::string path;                      // "": prefixes are not kept in files
  int64_t max_bytes = int64_t{8} << 30;  // of all files
  int max_days = 30;                     // since a file was used last
  int block_tokens = 256;
  bool brings_newest = true;  // into the prefix cache at the start: what was used last
};

// The bytes of a block or a state, and what owns them.
struct KeptBytes {
  std::shared_ptr<const void> owner;  // null: they are not there
  std::string_view body;
};

// Of one thread, but for Has and writes. Without a path it has nothing and takes nothing.
class BlockFiles {
 public:
  explicit BlockFiles(PrefixFolder folder)
      : folder_(std::move(folder)), writes_(!folder_.path.empty()) {}

  const PrefixFolder& folder() const { return folder_; }
  bool Has(const ContentHash& key) const {
    return !folder_.path.empty() && FileExists(PathOfBlock(key));
  }
  // Makes the folder, which others cannot read, and removes what is too old or too much.
  void Prepare();
  // Marks the file as used now; those that were not used for the longest time go first. False if
  // there is no such file.
  bool Use(const ContentHash& key) const;
  // The blocks that are there, those that were used last first.
  std::vector<ContentHash> Newest() const;
  // The head of a file; nothing if it is not there or damaged.
  std::optional<KVFileHead> Head(const ContentHash& key) const;
  // The pages of a block or the state, mapped and checked. `head`: with what the file must begin.
  // One that is damaged is removed and named on stderr.
  KeptBytes Read(const ContentHash& key, std::string_view head, int64_t body_bytes) const;
  // Whether the file is there afterwards.
  bool Write(const ContentHash& key, std::string_view head, std::string_view body);
  bool writes() const { return writes_; }
  // Removes the files that were not used for max_days, then others until all fit into max_bytes.
  void Prune();

 private:
  std::string PathOfBlock(const ContentHash& key) const {
    return folder_.path + "/" + ContentHashText(key) + ".kv";
  }
  void StopWriting(const Status& why);

  PrefixFolder folder_;
  std::atomic<bool> writes_;
  int64_t known_bytes_ = 0;  // after the last look at the folder, with what was written since
  int num_written_ = 0;      // since then
};

}  // namespace mlc
