// Turns the media in messages (pictures) into rows of the prompt.
//
// A medium is a data: URL with its bytes in base64, that base64 alone, or "buffer:N": the N-th
// buffer that the caller gave with the JSON. The model's chat template writes the tower's marker
// for each medium. In the rendered text what the tower plans for the medium takes the marker's
// place, with one token of image_token_id for each piece of rows; in the tokens the rows take the
// place of these.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/prompt_reader.h"
#include "model/prompt.h"
#include "model/tower.h"

namespace mlc {

using MediaBuffers = std::vector<std::string>;

struct Medium {
  PicturePlan plan;
  std::shared_ptr<LateRows> rows;
};
using Media = std::vector<Medium>;

enum class MediaUse {
  kCount,   // the rows are only counted: headers are read, and nothing is decoded
  kAnswer,  // an engine will read the rows
};

// The media of all messages, in order. Errors name the part: kUnsupported when the model has no
// tower or the URL would have to be downloaded; those of DecodePicture (media/picture.h) for bytes
// that are no readable picture; else kInvalidArgument, also for a buffer that no part names. Before
// anything is decoded, kInvalidArgument with the reason context_length_exceeded when the rows alone
// are more than the model takes.
Result<Media> ReadMedia(const ModelBundle& model, const protocol::ChatCompletionRequest& request,
                        const MediaBuffers& buffers, MediaUse use);

// Replaces parts with media by the form that chat templates expect: {"type": "image"}, with the
// tower's marker as "marker" for those that cannot know it; or the marker as text for a template of
// texts alone.
void ShowMedia(const ModelBundle& model, Json* messages);

// The texts that stand for pictures in prompts of this model, none of which a caller may write: the
// tower's marker, and the text of image_token_id.
std::vector<std::string> MediaMarkers(const ModelBundle& model);

// The rendered prompt with the pieces of each medium in place of its marker. A marker that holds
// the prompt's mark is a caller's text and stays.
Result<std::string> ExpandMedia(const ModelBundle& model, const MarkedPrompt& prompt,
                                const Media& media);

// `ids` of that text, with the rows in place of their tokens.
Result<Prompt> PlaceMedia(const ModelBundle& model, std::vector<int32_t> ids, const Media& media);

}  // namespace mlc
