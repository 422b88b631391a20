// A model's text, in any format of calls and thoughts: the same parts whole and in pieces, whole
// code points, calls of tools that are offered, with JSON objects as arguments, and nothing lost.
//
// Input: the number of a format of calls, one of thoughts, flags (1: the prompt opened thoughts);
// then pieces of text, each ended by byte 0xFE.
#include "base/utf8.h"
#include "chat/tools/answer_parser.h"
#include "fuzz.h"

namespace mlc {
namespace {

AnswerPlan PlanOf(std::string_view head) {
  AnswerPlan plan;
  size_t tools = static_cast<unsigned char>(head[0]) % (ToolFormats().size() + 1);
  size_t reasoning = static_cast<unsigned char>(head[1]) % (ReasoningFormats().size() + 1);
  if (tools < ToolFormats().size()) plan.tools = &ToolFormats()[tools];
  if (reasoning < ReasoningFormats().size()) plan.reasoning = &ReasoningFormats()[reasoning];
  plan.begins_in_thoughts = plan.reasoning != nullptr && (head[2] & 1) != 0;
  plan.offered = {{"f", Json(), false}, {"get_weather", Json(), false}};
  return plan;
}

// All parts as one text; joined pieces of a kind are one.
class Parts {
 public:
  void Add(const std::vector<AnswerPart>& parts) {
    for (const AnswerPart& part : parts) Add(part);
  }
  void End() { CheckArguments(); }
  std::string all, content;

 private:
  void Add(const AnswerPart& part) {
    MLC_FUZZ_CHECK(!part.text.empty() && IsValidUtf8(part.text));
    if (part.kind == AnswerPart::Kind::kCall) {
      CheckArguments();
      MLC_FUZZ_CHECK(part.text == "f" || part.text == "get_weather");
      MLC_FUZZ_CHECK(part.call == ++call_);
    } else if (part.kind == AnswerPart::Kind::kArguments) {
      MLC_FUZZ_CHECK(part.call == call_);
      arguments_ += part.text;
    } else {
      MLC_FUZZ_CHECK(part.call == -1);
      if (part.kind == AnswerPart::Kind::kContent) content += part.text;
    }
    if (part.kind != kind_) all += static_cast<char>('0' + static_cast<int>(part.kind));
    kind_ = part.kind;
    all += part.text;
  }
  // A JSON object, unless it is deeper than a Json may be.
  void CheckArguments() {
    if (call_ < 0) return;
    Result<Json> json = Json::Parse(arguments_, /*max_depth=*/4096);
    MLC_FUZZ_CHECK(json.ok() && json->is_object());
    arguments_.clear();
  }
  int call_ = -1;
  std::string arguments_;
  AnswerPart::Kind kind_ = AnswerPart::Kind::kContent;
};

MLC_FUZZ_TARGET(tool_parser) {
  if (data.size() < 3) return;
  auto plan = std::make_shared<const AnswerPlan>(PlanOf(data.substr(0, 3)));
  std::string text;
  for (char c : data.substr(3)) {
    if (c != '\xFE') text += c;
  }
  if (!IsValidUtf8(text)) return;
  AnswerParser whole(plan), pieces(plan);
  Parts once, bit_by_bit;
  once.Add(whole.Put(text));
  once.Add(whole.Finish());
  once.End();
  std::string piece;
  for (char c : data.substr(3)) {
    if (c != '\xFE') {
      piece += c;
      continue;
    }
    bit_by_bit.Add(pieces.Put(std::exchange(piece, {})));
  }
  bit_by_bit.Add(pieces.Put(piece));
  bit_by_bit.Add(pieces.Finish());
  bit_by_bit.End();
  MLC_FUZZ_CHECK(once.all == bit_by_bit.all);
  if (whole.num_calls() == 0 && plan->reasoning == nullptr) MLC_FUZZ_CHECK(once.content == text);
}

}  // namespace
}  // namespace mlc
