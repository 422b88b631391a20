// Reads the text of the arguments up to the closing brace, and writes it again as JSON. If the
// result is not JSON, the text was not a call. If the text is JSON already, as under a grammar, it
// is streamed.
#include "chat/tools/call_readers.h"
#include "chat/tools/json_scanner.h"

namespace mlc {
namespace {

constexpr std::string_view kSigns = "{}[]:,";

bool StartsWith(std::string_view text, size_t at, std::string_view part) {
  return text.compare(at, part.size(), part) == 0;
}

// Turns {KEY:VALUE,...} with texts between `quote`s into JSON. Returns "" if a text has no end.
std::string QuotedToJson(std::string_view text, const std::string& quote) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (StartsWith(text, at, quote)) {
      size_t begin = at + quote.size(), end = text.find(quote, begin);
      if (end == std::string_view::npos) return "";
      out += Json(std::string(text.substr(begin, end - begin))).Dump();
      at = end + quote.size();
    } else if (IsJsonSpace(text[at]) || kSigns.find(text[at]) != std::string_view::npos) {
      out.push_back(text[at++]);
    } else {
      size_t end = at;
      while (end < text.size() && kSigns.find(text[end]) == std::string_view::npos &&
             !StartsWith(text, end, quote)) {
        ++end;
      }
      std::string word(text.substr(at, end - at));
      bool is_key = end < text.size() && text[end] == ':';
      // a number, true or null; anything else is not JSON
      out += is_key ? Json(word).Dump() : word;
      at = end;
    }
  }
  return out;
}

class QuotedCallReader : public CallReader {
 public:
  QuotedCallReader(const std::string& quote, const OfferedTools* offered)
      : CallReader(offered), quote_(quote) {}

  State Put(char c) override {
    if (tool_ == nullptr) return Head(c);
    if (text_.size() == 1 && (IsJsonSpace(c) || c == '"')) return BeginJson(c);
    if (streams_) return PutJson(c);
    text_.push_back(c);
    bool ends_quote = text_.size() >= quoted_from_ + quote_.size() &&
                      StartsWith(text_, text_.size() - quote_.size(), quote_);
    if (ends_quote) {
      in_text_ = !in_text_;
      quoted_from_ = text_.size();
    }
    if (in_text_) return State::kMore;
    if (c == '{') ++depth_;
    return c == '}' && --depth_ == 0 ? Close() : State::kMore;
  }

 private:
  // Reads "call:NAME" up to the brace. Small models write a space instead of the colon.
  State Head(char c) {
    constexpr size_t kLongestHead = 80;
    if (c != '{') {
      text_.push_back(c);
      return text_.size() <= kLongestHead ? State::kMore : State::kFailed;
    }
    std::string head = std::exchange(text_, "{");
    constexpr std::string_view kCall = "call", kBetween = ": \n\t\r";
    size_t begin = StartsWith(head, 0, kCall) ? head.find_first_not_of(kBetween, kCall.size()) : 0;
    if (begin == kCall.size() || begin == std::string::npos) begin = 0;  // a name such as callback
    size_t end = head.find_last_not_of(" \n\t\r") + 1;
    return SetName(head.substr(begin, end - begin)) ? State::kMore : State::kFailed;
  }

  State BeginJson(char c) {
    streams_ = has_begun_ = true;
    arguments_ = std::exchange(text_, {});
    scanner_.Put('{');
    return PutJson(c);
  }

  State PutJson(char c) {
    arguments_.push_back(c);
    JsonScanner::State state = scanner_.Put(c);
    if (state == JsonScanner::State::kMore) return State::kMore;
    return state == JsonScanner::State::kEnd ? State::kDone : State::kFailed;
  }

  State Close() {
    Result<Json> json = Json::Parse(QuotedToJson(text_, quote_));
    if (!json.ok()) return State::kFailed;
    arguments_ = json->Dump();
    has_begun_ = true;
    return State::kDone;
  }

  const std::string& quote_;
  std::string text_;
  size_t quoted_from_ = 0;  // behind the last quote, since quotes do not overlap
  bool in_text_ = false, streams_ = false;
  int64_t depth_ = 1;
  JsonScanner scanner_;
};

}  // namespace

std::unique_ptr<CallReader> MakeQuotedCallReader(const std::string& quote,
                                                 const OfferedTools* offered) {
  return std::make_unique<QuotedCallReader>(quote, offered);
}

}  // namespace mlc
