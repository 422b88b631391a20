// The file that holds the state of a conversation: its tokens and their pages.
//
//   "MLCKV001", length of the text and number of tokens (64 bits each), the text (JSON: whose pages
//   and how they lie), the tokens (32 bits each), the hash of all that;
//   the pages, one after another, the hash of the pages.
//
// Numbers are little-endian, hashes HashWords'. The model says what is in a page.
#ifndef MLC_KV_KV_FILE_H_
#define MLC_KV_KV_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

struct KVFileHead {
  std::string weights_id, library_id;  // what the pages were computed with
  uint64_t adapter = 0;
  int page_size = 0;  // tokens
  int64_t page_bytes = 0;
  int window = 0, sink = 0;  // as in KVCacheOptions
  int num_slid = 0;          // pages before it are not there, but for sinks
  std::vector<int32_t> tokens;

  // How many pages follow.
  int64_t num_pages() const;
};

// A file's parts; `pages` lies in the bytes that were decoded.
struct KVFile {
  KVFileHead head;
  std::string_view pages;
};

// What stands before the pages and after them.
std::string EncodeKVHead(const KVFileHead& head);
std::string EncodeKVTail(std::string_view pages);

// Whatever the bytes are. Errors: kUnsupported for another version's file, kCorrupt for everything
// else. Allocates in proportion to the bytes.
Result<KVFile> DecodeKVFile(std::string_view bytes);

}  // namespace mlc

#endif  // MLC_KV_KV_FILE_H_
