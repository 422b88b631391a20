#include "chat/tools/choose_format.h"
#include "chat/tools/formats.h"

namespace mlc {
namespace {

std::vector<ReasoningFormat> MakeReasoningFormats() {
  return {
      {"harmony",
       {"<|channel|>"},
       "<|channel|>analysis<|message|>",
       "<|end|>",
       true,
       {"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>",
        "<|channel|>final <|constrain|>json<|message|>", "<|end|>"},
       "<|start|>assistant",
       "<|channel|>final<|message|>"},
      {"cohere",
       {"<|START_THINKING|>"},
       "<|START_THINKING|>",
       "<|END_THINKING|>",
       false,
       {"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
       "",
       "<|START_RESPONSE|>"},
      {"minicpm3",
       {"<|thought_start|>"},
       "<|thought_start|>",
       "<|thought_end|>",
       false,
       {},
       "",
       ""},
      {"hunyuan",
       {"<answer>", "think>"},
       "<think>",
       "</think>",
       false,
       {"<answer>", "<answer>\n", "</answer>", "\n</answer>"},
       "",
       ""},
      {"gemma4", {"<|channel>"}, "<|channel>thought\n", "<channel|>", false, {}, "", ""},
      {"magistral", {"[THINK]"}, "[THINK]", "[/THINK]", false, {}, "", ""},
      {"apertus", {"<|inner_prefix|>"}, "<|inner_prefix|>", "<|inner_suffix|>", true, {}, "", ""},
      {"seed_oss", {"<seed:think>"}, "<seed:think>", "</seed:think>", false, {}, "", ""},
      {"granite",
       {"Here is my thought process:"},
       "Here is my thought process:",
       "Here is my response:",
       false,
       {},
       "",
       ""},
      {"think", {"think>"}, "<think>", "</think>", false, {}, "", ""},
  };
}

}  // namespace

const std::vector<ReasoningFormat>& ReasoningFormats() {
  static const std::vector<ReasoningFormat> formats = MakeReasoningFormats();
  return formats;
}

const ReasoningFormat* FindReasoningFormat(std::string_view name) {
  return Find(ReasoningFormats(), name);
}

const ReasoningFormat* ChooseReasoningFormat(std::string_view chat_template) {
  return Choose(ReasoningFormats(), chat_template);
}

}  // namespace mlc
