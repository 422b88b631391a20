// Turns a prompt into the ids that sequences and caches use.
#ifndef MLC_ENGINE_PROMPT_IDS_H_
#define MLC_ENGINE_PROMPT_IDS_H_

#include <cstdint>
#include <vector>

#include "kv/content_names.h"
#include "model/prompt.h"

namespace mlc {

// One id for each row of the prompt: a token id, or the name of an embedding row (below zero). The
// size is [prompt.size()].
Result<std::vector<int32_t>> PromptIds(const Prompt& prompt, ContentNames* names);

}  // namespace mlc

#endif  // MLC_ENGINE_PROMPT_IDS_H_
