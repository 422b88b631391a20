#include "chat/request/media.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "engine/request.h"

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
  // llama.cpp's form: the base64 alone. No scheme is base64, because of its colon.
  std::optional<std::string> bytes = DecodeBase64(url);
  if (bytes && !bytes->empty()) return *std::move(bytes);
  return Unsupported(
      "the engine fetches nothing: send the picture as a data: URL, or as a buffer beside the JSON "
      "and its number ('buffer:0') as the URL");
}

const std::string& UrlOf(const protocol::ImageSource& source) {
  return source.image() != nullptr ? source.image()->url : std::get<std::string>(source.value);
}

Status CheckTower(const ModelBundle& model) {
  if (model.tower != nullptr) return Status();
  if (!model.config.pictures.is_null()) {
    return Unsupported("the library of the model '" + model.config.model_type +
                       "' has no vision tower: compile the model again, for a CPU, where towers "
                       "run; or leave the image out");
  }
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

// A model's own processor takes all the detail that the model can; so `high` and `original` are
// `auto`.
PictureDetail DetailOf(const protocol::ImageSource& source) {
  const protocol::ImageURL* image = source.image();
  bool is_low = image != nullptr && image->detail == protocol::ImageDetail::kLow;
  return is_low ? PictureDetail::kLow : PictureDetail::kAuto;
}

// A picture that was sent, and what it becomes.
struct SentPicture {
  std::string path, bytes;  // path: of its part in the request
  PictureDetail detail;
  PicturePlan plan;
};

Result<SentPicture> ReadPicture(const ModelBundle& model, const protocol::ImageSource& source,
                                const MediaBuffers& buffers, std::vector<bool>* used) {
  MLC_RETURN_IF_ERROR(CheckTower(model));
  SentPicture picture;
  MLC_ASSIGN_OR_RETURN(picture.bytes, ReadUrl(UrlOf(source), buffers, used));
  picture.detail = DetailOf(source);
  MLC_ASSIGN_OR_RETURN(PictureSize size, ReadPictureSize(picture.bytes));
  MLC_ASSIGN_OR_RETURN(picture.plan, model.tower->Plan(size, picture.detail));
  return picture;
}

// Reads all pictures up to their headers.
Result<std::vector<SentPicture>> ReadPictures(const ModelBundle& model,
                                              const protocol::ChatCompletionRequest& request,
                                              const MediaBuffers& buffers) {
  std::vector<SentPicture> pictures;
  std::vector<bool> used(buffers.size(), false);
  int64_t num_rows = 0;
  const LengthLimit& limit = model.length_limit;
  for (size_t m = 0; m < request.messages.size(); ++m) {
    const auto& content = request.messages[m].content;
    if (!content || content->parts() == nullptr) continue;
    for (size_t p = 0; p < content->parts()->size(); ++p) {
      const auto* image = (*content->parts())[p].image_url();
      if (image == nullptr) continue;
      std::string path = "messages[" + std::to_string(m) + "].content[" + std::to_string(p) + "]";
      Result<SentPicture> picture = ReadPicture(model, image->image_url, buffers, &used);
      if (!picture.ok()) return Status(picture.status()).WithParam(std::move(path));
      picture->path = std::move(path);
      num_rows += picture->plan.num_rows;
      pictures.push_back(*std::move(picture));
      if (limit.tokens == 0 || num_rows < limit.tokens) continue;
      std::string count = "at least " + std::to_string(num_rows) + " tokens for images alone";
      return PromptTooLong(limit, count, "messages");
    }
  }
  MLC_RETURN_IF_ERROR(CheckAllUsed(used));
  return pictures;
}

// The rows of a picture: those that the engine has kept, or what makes them.
Result<std::shared_ptr<LateRows>> RowsOf(const ModelBundle& model, const ContentHash& key,
                                         const SentPicture& picture, MediaUse use) {
  bool is_read = use == MediaUse::kAnswer;
  RowValues kept = is_read ? model.row_cache->Find(key) : nullptr;
  std::unique_ptr<RowMaker> maker;
  if (is_read && kept == nullptr) {
    MLC_ASSIGN_OR_RETURN(maker, model.tower->Encode(picture.bytes, picture.detail));
  }
  auto rows = std::make_shared<LateRows>(key, picture.plan.num_rows, model.tower->width(),
                                         std::move(maker));
  if (kept != nullptr) rows->Take(std::move(kept));
  return rows;
}

// Where the first marker at or behind `from` begins that is not a caller's text.
size_t FindMarker(const MarkedPrompt& prompt, const std::string& marker, size_t from) {
  const std::string &text = prompt.text, &mark = prompt.mark;
  size_t at = text.find(marker, from);
  auto is_callers = [&] {  // a marker of one letter has the mark behind it
    return !mark.empty() && text.compare(at + marker.size(), mark.size(), mark) == 0;
  };
  while (at != std::string::npos && is_callers()) at = text.find(marker, at + 1);
  return at;
}

// Where a model numbers its pictures, from 0.
std::string WithNumber(std::string text, size_t picture) {
  constexpr std::string_view kWord = "{picture}";
  size_t at = text.find(kWord);
  if (at != std::string::npos) text.replace(at, kWord.size(), std::to_string(picture));
  return text;
}

Status HiddenMedia(size_t num_shown, size_t num_sent) {
  return InvalidArgument("the model's chat template shows " + std::to_string(num_shown) + " of " +
                         std::to_string(num_sent) + " images; put them into messages of the user")
      .WithParam("messages");
}

}  // namespace

Result<Media> ReadMedia(const ModelBundle& model, const protocol::ChatCompletionRequest& request,
                        const MediaBuffers& buffers, MediaUse use) {
  MLC_ASSIGN_OR_RETURN(std::vector<SentPicture> pictures, ReadPictures(model, request, buffers));
  Media media;
  std::map<ContentHash, std::shared_ptr<LateRows>> sent;
  for (SentPicture& picture : pictures) {
    ContentHash key = PictureKey(picture.bytes, picture.detail, *model.tower);
    std::shared_ptr<LateRows>& rows = sent[key];
    if (rows == nullptr) {
      Result<std::shared_ptr<LateRows>> made = RowsOf(model, key, picture, use);
      if (!made.ok()) return Status(made.status()).WithParam(std::move(picture.path));
      rows = *std::move(made);
    }
    media.push_back({std::move(picture.plan), rows});
  }
  return media;
}

void ShowMedia(const ModelBundle& model, Json* messages) {
  Json shown = Json().Set("type", "image");
  std::vector<std::string> markers = MediaMarkers(model);
  if (!markers.empty()) shown.Set("marker", markers.front());
  if (!markers.empty() && !model.chat_template->TakesContentParts()) {
    shown = Json().Set("type", "text").Set("text", markers.front());
  }
  for (Json& message : messages->as_array()) {
    for (auto& [key, content] : message.as_object()) {
      if (key != "content" || !content.is_array()) continue;
      for (Json& part : content.as_array()) {
        const Json* type = part.Find("type");
        if (type != nullptr && *type == Json("image_url")) part = shown;
      }
    }
  }
}

std::vector<std::string> MediaMarkers(const ModelBundle& model) {
  std::vector<std::string> markers;
  if (model.tower == nullptr) return markers;
  const std::optional<int32_t>& token = model.config.image_token_id;
  for (const std::string& text :
       {model.tower->marker(), token ? model.tokenizer->IdToToken(*token) : std::string()}) {
    if (!text.empty()) markers.push_back(text);
  }
  return markers;
}

Result<std::string> ExpandMedia(const ModelBundle& model, const MarkedPrompt& prompt,
                                const Media& media) {
  if (media.empty()) return prompt.text;
  std::vector<std::string> markers = MediaMarkers(model);
  if (markers.empty() || !model.config.image_token_id) {
    return Corrupt("mlc-chat-config.json names no 'image_token_id', which stands for pictures")
        .WithParam("image_token_id");
  }
  const std::string &marker = markers.front(), &row = markers.back();
  std::string text;
  size_t next = 0, done = 0;
  for (size_t at = FindMarker(prompt, marker, 0); at != std::string::npos;
       at = FindMarker(prompt, marker, done)) {
    text.append(prompt.text, done, at - done);
    done = at + marker.size();
    if (next < media.size()) {
      for (const PicturePiece& piece : media[next].plan.pieces) {
        text += piece.num_rows > 0 ? row : WithNumber(piece.text, next);
      }
    }
    ++next;
  }
  text.append(prompt.text, done);
  if (next != media.size()) return HiddenMedia(next, media.size());
  return text;
}

Result<Prompt> PlaceMedia(const ModelBundle& model, std::vector<int32_t> ids, const Media& media) {
  if (media.empty()) return Prompt(std::move(ids));
  Prompt prompt;
  auto begin = ids.begin(), at = begin;
  for (const Medium& medium : media) {
    int first = 0;
    for (const PicturePiece& piece : medium.plan.pieces) {
      if (piece.num_rows == 0) continue;
      at = std::find(begin, ids.end(), *model.config.image_token_id);
      if (at == ids.end()) break;
      prompt.Append(std::vector<int32_t>(begin, at));
      MLC_ASSIGN_OR_RETURN(auto rows,
                           EmbeddingRows::Late(medium.rows, first, piece.num_rows,
                                               medium.plan.rows_see_each_other, piece.positions));
      prompt.Append(std::move(rows));
      first += piece.num_rows;
      begin = at + 1;
    }
    if (first != medium.plan.num_rows) break;
  }
  bool fits =
      at != ids.end() && std::find(begin, ids.end(), *model.config.image_token_id) == ids.end();
  if (!fits) {
    return Corrupt(
               "tokenizer.json does not give one token, 'image_token_id' of "
               "mlc-chat-config.json, for each part of a picture")
        .WithParam("image_token_id");
  }
  prompt.Append(std::vector<int32_t>(begin, ids.end()));
  return prompt;
}

}  // namespace mlc
