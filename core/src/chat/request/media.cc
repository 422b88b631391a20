#include "chat/request/media.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/base64.h"

namespace mlc {
namespace {

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Decodes the part after "data:": "image/png;base64,iVBOR...".
Result<std::string> ReadDataUrl(std::string_view url) {
  constexpr std::string_view kBase64 = ";base64";
  size_t comma = url.find(',');
  std::string_view kind = url.substr(0, comma);
  bool is_base64 =
      kind.size() >= kBase64.size() && kind.substr(kind.size() - kBase64.size()) == kBase64;
  std::optional<std::string> bytes;
  if (comma != std::string_view::npos && is_base64) bytes = DecodeBase64(url.substr(comma + 1));
  if (bytes && !bytes->empty()) return *std::move(bytes);
  return InvalidArgument("a data: URL must hold the picture in base64: data:image/png;base64,...");
}

Result<size_t> ReadBufferNumber(std::string_view digits, size_t num_buffers) {
  size_t number = 0;
  const char* end = digits.data() + digits.size();
  auto read = std::from_chars(digits.data(), end, number);
  bool is_number = read.ec == std::errc() && read.ptr == end && !digits.empty();
  if (is_number && number < num_buffers) return number;
  return InvalidArgument("there is no buffer '" + std::string(digits) +
                         "': " + std::to_string(num_buffers) + " came with the request");
}

// The bytes of a URL. Marks the buffer that the URL names as used.
Result<std::string> ReadUrl(std::string_view url, const MediaBuffers& buffers,
                            std::vector<bool>* used) {
  if (TakePrefix("data:", &url)) return ReadDataUrl(url);
  if (TakePrefix("buffer:", &url)) {
    MLC_ASSIGN_OR_RETURN(size_t number, ReadBufferNumber(url, buffers.size()));
    (*used)[number] = true;
    return buffers[number];
  }
  return Unsupported(
      "the engine fetches nothing: send the picture as a data: URL, or as a buffer beside the JSON "
      "and its number ('buffer:0') as the URL");
}

const std::string& UrlOf(const protocol::ImageSource& source) {
  return source.image() != nullptr ? source.image()->url : std::get<std::string>(source.value);
}

Status CheckTower(const ModelBundle& model) {
  if (model.tower != nullptr) return Status();
  return Unsupported("the model '" + model.config.model_type +
                     "' reads text only, it has no vision tower; leave the image out");
}

Status CheckAllUsed(const std::vector<bool>& used) {
  auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return Status();
  std::string number = std::to_string(unused - used.begin());
  return InvalidArgument("no image of the request is 'buffer:" + number + "'")
      .WithParam("buffers[" + number + "]");
}

}  // namespace

Result<MediaRows> ReadMedia(const ModelBundle& model,
                            const protocol::ChatCompletionRequest& request,
                            const MediaBuffers& buffers) {
  MediaRows media;
  std::vector<bool> used(buffers.size(), false);
  auto read = [&](const protocol::ImageSource& source) -> Status {
    MLC_RETURN_IF_ERROR(CheckTower(model));
    MLC_ASSIGN_OR_RETURN(std::string bytes, ReadUrl(UrlOf(source), buffers, &used));
    MLC_ASSIGN_OR_RETURN(auto rows, model.tower->Encode(bytes));
    media.push_back(std::move(rows));
    return Status();
  };
  for (size_t m = 0; m < request.messages.size(); ++m) {
    const auto& content = request.messages[m].content;
    if (!content || content->parts() == nullptr) continue;
    for (size_t p = 0; p < content->parts()->size(); ++p) {
      const auto* image = (*content->parts())[p].image_url();
      Status status = image == nullptr ? Status() : read(image->image_url);
      if (status.ok()) continue;
      return std::move(status).WithParam("messages[" + std::to_string(m) + "].content[" +
                                         std::to_string(p) + "]");
    }
  }
  MLC_RETURN_IF_ERROR(CheckAllUsed(used));
  return media;
}

void ShowMedia(Json* messages) {
  for (Json& message : messages->as_array()) {
    for (auto& [key, content] : message.as_object()) {
      if (key != "content" || !content.is_array()) continue;
      for (Json& part : content.as_array()) {
        const Json* type = part.Find("type");
        if (type != nullptr && *type == Json("image_url")) part = Json().Set("type", "image");
      }
    }
  }
}

Result<Prompt> PlaceMedia(const ModelBundle& model, std::vector<int32_t> ids,
                          const MediaRows& media) {
  if (media.empty()) return Prompt(std::move(ids));
  Prompt prompt;
  size_t next = 0;
  auto begin = ids.begin();
  for (auto at = ids.begin(); at != ids.end(); ++at) {
    if (model.config.image_token_id != *at) continue;
    prompt.Append(std::vector<int32_t>(begin, at));
    if (next < media.size()) prompt.Append(media[next]);
    ++next;
    begin = at + 1;
  }
  prompt.Append(std::vector<int32_t>(begin, ids.end()));
  if (next == media.size()) return prompt;
  return InvalidArgument("the model's chat template shows " + std::to_string(next) + " of " +
                         std::to_string(media.size()) +
                         " images; put them into messages of the user")
      .WithParam("messages");
}

}  // namespace mlc
