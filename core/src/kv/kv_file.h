// The file that holds the state of a conversation: its tokens and their pages.
//
//   "MLCKV001", length of the text and number of tokens (64 bits each), the text (JSON: whose pages
//   and how they lie), the tokens (32 bits each), the hash of all that;
//   the pages, one after another, then the recurrent state, where the model has one; the hash of
//   both.
//
// Numbers are little-endian, hashes HashWords'. The model says what is in a page.
#ifndef MLC_KV_KV_FILE_H_
#define MLC_KV_KV_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "base/status.h"

namespace mlc {

struct KVFileHead {
  std::string weights_id, library_id;  // what the pages were computed with
  uint64_t adapter = 0;
  int page_size = 0;  // tokens
  int64_t page_bytes = 0;
  int64_t state_bytes = 0;            // of the recurrent state behind the last token; 0: none
  int window = 0, sink = 0;           // as in KVCacheOptions
  int num_slid = 0;                   // pages before it are not there, but for sinks
  std::vector<int32_t> tokens;        // -1 - i: a row of contents[i]
  std::vector<ContentHash> contents;  // in the order in which they first stand in `tokens`

  // How many pages follow, and how many bytes with the state.
  int64_t num_pages() const;
  int64_t num_body_bytes() const { return num_pages() * page_bytes + state_bytes; }
};

// A file's parts; `pages` and `state` lie in the bytes that were decoded.
struct KVFile {
  KVFileHead head;
  std::string_view pages, state;
};

// What stands before the pages and the state (the body) and after them.
std::string EncodeKVHead(const KVFileHead& head);
std::string EncodeKVTail(std::string_view body);

// Whatever the bytes are. Errors: kUnsupported for another version's file, kCorrupt for everything
// else. Allocates in proportion to the bytes.
Result<KVFile> DecodeKVFile(std::string_view bytes);

}  // namespace mlc

#endif  // MLC_KV_KV_FILE_H_
