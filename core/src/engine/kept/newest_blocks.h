// The blocks of a folder that were used last, put together to prefixes out of the heads of files.
#pragma once

#include <memory>
#include <vector>

#include "engine/kept/block_files.h"
#include "engine/kept/block_keys.h"

namespace mlc {

// A block and a prefix with it, which the blocks of the prefix share.
struct NewestBlock {
  std::shared_ptr<const PrefixIds> prefix;
  PrefixBlock block;
};

// Of this model, newest first but each behind the blocks before it: at most `most_tokens` tokens
// and, if prefixes have windows or states at their ends, `most_ends` such ends. Prefixes with
// pictures are left out, since their names are an engine's own.
std::vector<NewestBlock> FindNewestBlocks(const BlockFiles& files, const BlockKeys& keys,
                                          int most_tokens, int most_ends);

}  // namespace mlc
