#include "text/post_processor.h"

#include <string>

namespace mlc {
namespace {

Result<int32_t> ReadId(const Json& json, const JsonView& place) {
  bool good = json.is_int() && json.as_int() >= 0 && json.as_int() <= INT32_MAX;
  if (!good) return place.Bad("must hold token ids");
  return static_cast<int32_t>(json.as_int());
}

// ["[SEP]", 102]
Result<int32_t> ReadPair(const JsonView& view, std::string_view key) {
  MLC_ASSIGN_OR_RETURN(JsonView pair, view.Member(key));
  bool good = pair.json().is_array() && pair.json().as_array().size() == 2;
  if (!good) return pair.Bad("must be a token and its id");
  return ReadId(pair.json().as_array()[1], pair);
}

}  // namespace

Result<PostProcessor> PostProcessor::FromJson(const JsonView& file) {
  PostProcessor self;
  if (std::optional<JsonView> view = file.Optional("post_processor")) {
    MLC_RETURN_IF_ERROR(self.Read(*view));
  }
  return self;
}

Status PostProcessor::Read(const JsonView& view) {
  std::string type = TypeOf(view);
  if (type == "ByteLevel") return Status();
  if (type == "Sequence") {
    MLC_ASSIGN_OR_RETURN(std::vector<JsonView> elements, view.Array("processors"));
    for (const JsonView& element : elements) MLC_RETURN_IF_ERROR(Read(element));
    return Status();
  }
  bool known =
      type == "TemplateProcessing" || type == "BertProcessing" || type == "RobertaProcessing";
  if (!known) return view.NotOffered("the post-processor type \"" + type + "\" is not supported");
  if (!parts_.empty()) return view.NotOffered("a second one that adds tokens is not supported");
  return type == "TemplateProcessing" ? ReadTemplate(view) : ReadSurrounding(view);
}

Status PostProcessor::ReadSurrounding(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(int32_t first, ReadPair(view, "cls"));
  MLC_ASSIGN_OR_RETURN(int32_t last, ReadPair(view, "sep"));
  parts_ = {{false, {first}}, {true, {}}, {false, {last}}};
  return Status();
}

Status PostProcessor::ReadTemplate(const JsonView& view) {
  is_template_ = true;
  MLC_ASSIGN_OR_RETURN(std::vector<JsonView> pieces, view.Array("single"));
  MLC_ASSIGN_OR_RETURN(JsonView tokens, view.Member("special_tokens"));
  for (const JsonView& piece : pieces) {
    if (std::optional<JsonView> sequence = piece.Optional("Sequence")) {
      MLC_ASSIGN_OR_RETURN(std::string id, sequence->String("id"));
      if (id != "A") return sequence->NotOffered("a single text is the sequence \"A\"");
      parts_.push_back({true, {}});
      continue;
    }
    MLC_ASSIGN_OR_RETURN(JsonView special, piece.Member("SpecialToken"));
    MLC_ASSIGN_OR_RETURN(std::string name, special.String("id"));
    MLC_ASSIGN_OR_RETURN(JsonView token, tokens.Member(name));
    MLC_ASSIGN_OR_RETURN(std::vector<JsonView> ids, token.Array("ids"));
    Part part{false, {}};
    for (const JsonView& id : ids) {
      MLC_ASSIGN_OR_RETURN(int32_t value, ReadId(id.json(), id));
      part.special_ids.push_back(value);
    }
    parts_.push_back(std::move(part));
  }
  return Status();
}

std::vector<int32_t> PostProcessor::SpecialIds() const { return Apply({}, true); }

std::vector<int32_t> PostProcessor::Apply(const std::vector<int32_t>& text_ids,
                                          bool add_special_tokens) const {
  // A template decides where the text goes, even if its special tokens are not wanted.
  if (!is_template_ && (parts_.empty() || !add_special_tokens)) return text_ids;
  std::vector<int32_t> out;
  for (const Part& part : parts_) {
    const std::vector<int32_t>& ids = part.is_text ? text_ids : part.special_ids;
    if (part.is_text || add_special_tokens) out.insert(out.end(), ids.begin(), ids.end());
  }
  return out;
}

}  // namespace mlc
