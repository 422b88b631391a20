// Makes engine requests from a parsed rerank request.
#pragma once

#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/embedding_builder.h"

namespace mlc {

// The document's text, which `document` owns.
const std::string& TextOf(const protocol::RerankInput& document);

// Returns one engine request for each document, in their order: the query and the document as one
// input. The end of a document that does not fit is left out, or the request is refused if it says
// so. The caller sets the ids. The errors of a document have its path ("documents[2]").
Result<std::vector<TextRequest>> BuildRerank(const ModelBundle& model,
                                             const protocol::RerankRequest& request);

}  // namespace mlc
