// The state of a request without an engine, whose names it would have.
#pragma once

#include <memory>
#include <utility>

#include "engine/prompt_ids.h"
#include "engine/sequence.h"

namespace mlc::testing {

inline std::shared_ptr<RequestState> StateOf(Request request) {
  ContentNames names;
  Result<std::vector<int32_t>> ids = PromptIds(request.prompt, &names);
  MLC_ICHECK(ids.ok());
  return std::make_shared<RequestState>(std::move(request), *std::move(ids));
}

}  // namespace mlc::testing
