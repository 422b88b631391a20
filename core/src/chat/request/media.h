// Turns the media in messages (pictures) into rows of the prompt.
//
// A medium is a data: URL with its bytes in base64, or "buffer:N": the N-th buffer that the caller
// gave with the JSON. The model's chat template writes one placeholder token for each medium.
#ifndef MLC_CHAT_REQUEST_MEDIA_H_
#define MLC_CHAT_REQUEST_MEDIA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "model/prompt.h"

namespace mlc {

using MediaBuffers = std::vector<std::string>;
using MediaRows = std::vector<std::shared_ptr<const EmbeddingRows>>;

// The media of all messages, in order. Errors name the part: kUnsupported when the model has no
// tower or the URL would have to be downloaded; those of DecodePicture (media/picture.h) for bytes
// that are no readable picture; else kInvalidArgument, also for a buffer that no part names.
Result<MediaRows> ReadMedia(const ModelBundle& model,
                            const protocol::ChatCompletionRequest& request,
                            const MediaBuffers& buffers);

// Replaces parts with media by the form that chat templates expect: {"type": "image"}.
void ShowMedia(Json* messages);

// `ids` with each placeholder replaced by the rows of the next medium.
Result<Prompt> PlaceMedia(const ModelBundle& model, std::vector<int32_t> ids,
                          const MediaRows& media);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_MEDIA_H_
