// A prompt as the ids that sequences and caches are made of.
#ifndef MLC_ENGINE_PROMPT_IDS_H_
#define MLC_ENGINE_PROMPT_IDS_H_

#include <cstdint>
#include <vector>

#include "kv/content_names.h"
#include "model/prompt.h"

namespace mlc {

// Token ids, and the content's name (below zero) for each embedding row: [prompt.size()].
Result<std::vector<int32_t>> PromptIds(const Prompt& prompt, ContentNames* names);

}  // namespace mlc

#endif  // MLC_ENGINE_PROMPT_IDS_H_
