// The blocks of a prefix that is kept in files, and their names.
//
// A block is a fixed number of tokens, a multiple of the page size; at the end of a prompt or of a
// sequence there may be a shorter one. The key of a block is a hash of the key of the block before
// it and of its own tokens. So it stands for all tokens up to its end, and for the model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/content_hash.h"
#include "kv/kv_file.h"
#include "model/model_config.h"
#include "model/prompt.h"

namespace mlc {

// The tokens of a sequence, as this engine and as every engine knows them.
struct PrefixIds {
  uint64_t adapter = 0;
  std::vector<int32_t> ids;                 // below zero: the name of an embedding row
  std::map<int32_t, ContentHash> contents;  // what these names stand for
};

// `ids`: those of the prompt, and perhaps of an answer behind it.
PrefixIds MakePrefixIds(uint64_t adapter, const Prompt& prompt, std::vector<int32_t> ids);

struct PrefixBlock {
  int begin = 0, end = 0;  // tokens
  ContentHash key{};
  // Of its pages: a block has those of the first group (kv/page_groups.h). A window has the pages
  // of the second one that rows behind `end` read.
  size_t group = 0;
};

class BlockKeys {
 public:
  BlockKeys(const ModelInfo& model, int block_tokens);

  int block_tokens() const { return block_tokens_; }
  // The blocks of full length in ids[0 .. end), up to the first one that is not `wanted`.
  using Wanted = std::function<bool(const PrefixBlock&)>;
  std::vector<PrefixBlock> FullBlocks(const PrefixIds& prefix, int end,
                                      const Wanted& wanted = nullptr) const;
  // The blocks that begin behind `full` (all full blocks before them) and end at `first_end`, ..,
  // `last_end`; no block is longer than a full one.
  std::vector<PrefixBlock> Tails(const PrefixIds& prefix, const std::vector<PrefixBlock>& full,
                                 int first_end, int last_end) const;
  // Whether a prefix can be used only with the window before its end.
  bool has_windows() const { return model_.windowed.page_bytes > 0; }
  // The window before the end of a block.
  PrefixBlock WindowOf(const PrefixBlock& block) const;
  // The bytes with which the file of a block begins.
  std::string FileHead(const PrefixIds& prefix, const PrefixBlock& block) const;
  // The bytes of its pages.
  int64_t PageBytes(const PrefixBlock& block) const;

 private:
  ContentHash KeyBefore(const PrefixIds& prefix, const std::vector<PrefixBlock>& full) const;

  KVFileHead model_;  // what all heads have in common
  ContentHash root_;
  int block_tokens_;
};

}  // namespace mlc
