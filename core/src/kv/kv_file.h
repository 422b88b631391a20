// The file format for the state of a conversation: its tokens and their pages.
//
//   "MLCKV002"; the length of the text and the number of tokens (64 bits each); the text (JSON: the
//   model of the pages, and their layout); the tokens (32 bits each); the hash of all that;
//   the pages, one after another; those of layers with a window, if they have their own; the
//   recurrent state, if the model has one; the hash of pages and state.
//
// Numbers are little-endian. The first hash is that of HashWords, the second one that of HashLanes.
// The model defines the content of a page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "base/status.h"

namespace mlc {

struct KVFileHead {
  std::string weights_id, library_id;  // the weights and the library that computed the pages
  uint64_t adapter = 0;
  // Of a part of a kept prefix: its key, and that of the part before it (engine/kept); empty: a
  // conversation.
  std::string block, before;
  int page_size = 0;  // tokens
  int64_t page_bytes = 0;
  int64_t state_bytes = 0;   // of the recurrent state behind the last token; 0: none
  int window = 0, sink = 0;  // the same as in KVCacheOptions
  int num_slid = 0;          // the pages before it are missing, except sinks
  // Of the pages that layers with a window have for themselves; without bytes there are none.
  struct Windowed {
    int64_t page_bytes = 0;
    int window = 0, num_slid = 0;
  } windowed;
  std::vector<int32_t> tokens;        // -1 - i means a row of contents[i]
  std::vector<ContentHash> contents;  // in order of their first row in `tokens`

  // The number of pages in the file, and the number of bytes of pages and state.
  int64_t num_pages() const { return NumPages(num_slid); }
  int64_t num_windowed_bytes() const { return NumPages(windowed.num_slid) * windowed.page_bytes; }
  int64_t num_body_bytes() const {
    return num_pages() * page_bytes + num_windowed_bytes() + state_bytes;
  }

 private:
  int64_t NumPages(int slid) const;
};

// A decoded file. `pages` and `state` point into the decoded bytes.
struct KVFile {
  KVFileHead head;
  std::string_view pages, state;
};

// The bytes before the pages and the state (the body), and the bytes after them.
std::string EncodeKVHead(const KVFileHead& head);
std::string EncodeKVTail(std::string_view body);

// Accepts any bytes. Errors: kUnsupported for a file of another version, kCorrupt for everything
// else. Its memory is proportional to the number of bytes.
Result<KVFile> DecodeKVFile(std::string_view bytes);
// The same for the head alone; what follows it is not read.
Result<KVFileHead> DecodeKVHead(std::string_view bytes);

}  // namespace mlc
