// The blocks of a prefix that is kept in files, and their names.
//
// A block is a fixed number of tokens, a multiple of the page size; at the end of a prompt or of a
// sequence there may be a shorter one. The key of a block is a hash of the key of the block before
// it and of its own tokens. So it stands for all tokens up to its end, and for the model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/content_hash.h"
#include "kv/kv_file.h"
#include "kv/page_groups.h"
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
  // What its file has: the pages of the first group (kPages); or, of what is needed to go on behind
  // the tokens before `end`, the pages of the second group (kWindow) or the recurrent state
  // (kState).
  KeptPart part = KeptPart::kPages;
  ContentHash before{};  // the key of the block before it; of a window or a state: of its block
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
  // What a prefix that ends with the block needs besides: a window, a state.
  std::vector<PrefixBlock> EndsOf(const PrefixBlock& block) const;
  // The block of a file with this name and head, behind the block `before` (nothing: it is the
  // first one). Nothing if it is another model's, stands behind another block, or is no block of
  // tokens alone.
  std::optional<PrefixBlock> BlockOf(const ContentHash& key, const KVFileHead& head,
                                     const std::optional<PrefixBlock>& before) const;
  // The bytes with which the file of a block begins.
  std::string FileHead(const PrefixIds& prefix, const PrefixBlock& block) const;
  // The bytes of its pages or of its state.
  int64_t BodyBytes(const PrefixBlock& block) const;

 private:
  ContentHash RootOf(uint64_t adapter) const;
  ContentHash KeyBefore(const PrefixIds& prefix, const std::vector<PrefixBlock>& full) const;

  KVFileHead model_;  // what all heads have in common
  ContentHash root_;
  int block_tokens_;
};

}  // namespace mlc
