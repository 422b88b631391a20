// Turns a prompt into the ids that sequences and caches use.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/content_names.h"
#include "model/prompt.h"

namespace mlc {

// One id for each row of the prompt: a token id, or the name of an embedding row (below zero). The
// size is [prompt.size()].
Result<std::vector<int32_t>> PromptIds(const Prompt& prompt, ContentNames* names);

}  // namespace mlc
