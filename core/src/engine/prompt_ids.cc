#include "engine/prompt_ids.h"

namespace mlc {

Result<std::vector<int32_t>> PromptIds(const Prompt& prompt, ContentNames* names) {
  std::vector<int32_t> ids;
  ids.reserve(static_cast<size_t>(prompt.size()));
  for (const Prompt::Span& span : prompt.spans()) {
    if (span.rows == nullptr) {
      ids.insert(ids.end(), span.tokens.begin(), span.tokens.end());
      continue;
    }
    MLC_ASSIGN_OR_RETURN(int32_t name, names->NameOf(span.rows->hash()));
    ids.insert(ids.end(), static_cast<size_t>(span.size), name);
  }
  return ids;
}

}  // namespace mlc
