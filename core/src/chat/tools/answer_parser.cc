#include "chat/tools/answer_parser.h"

#include <algorithm>

#include "base/utf8.h"
#include "chat/tools/json_scanner.h"
#include "chat/tools/markers.h"

namespace mlc {
namespace {

constexpr char kSpaces[] = " \n\t\r";

bool IsSpaces(std::string_view text) {
  return text.find_first_not_of(kSpaces) == std::string_view::npos;
}

// Trims text. Spaces around a text are held back, since they are removed next to thoughts and
// calls.
class Trimmer {
 public:
  // Returns the part of `text`, and of the spaces that were held back, that can be shown now.
  std::string Put(std::string_view text) {
    size_t begin = drops_spaces_ ? text.find_first_not_of(kSpaces) : 0;
    if (begin == std::string_view::npos) return "";
    spaces_.append(text.substr(begin));
    size_t end = spaces_.find_last_not_of(kSpaces);
    if (end == std::string::npos) return "";
    drops_spaces_ = false;
    has_text_ = true;
    std::string shown = spaces_.substr(0, end + 1);
    spaces_.erase(0, end + 1);
    return shown;
  }
  // Removes the spaces between the text so far and the following text.
  void Cut() {
    spaces_.clear();
    drops_spaces_ = true;
  }
  std::string TakeSpaces() { return std::exchange(spaces_, {}); }
  bool has_text() const { return has_text_; }

 private:
  std::string spaces_;
  bool drops_spaces_ = false, has_text_ = false;
};

}  // namespace

class AnswerParser::Impl {
 public:
  explicit Impl(std::shared_ptr<const AnswerPlan> plan) : plan_(std::move(plan)) {
    if (plan_->begins_in_thoughts) at_ = At::kThoughts;
    thoughts_.Cut();
    AddMarkers();
  }

  std::vector<AnswerPart> Put(std::string_view text, bool is_whole) {
    incomplete_.append(text);
    size_t tail = is_whole ? 0 : IncompleteUtf8Tail(incomplete_);
    buffer_.append(incomplete_, 0, incomplete_.size() - tail);
    num_taken_ += incomplete_.size() - tail;
    incomplete_.erase(0, incomplete_.size() - tail);
    while (Step(is_whole)) {
    }
    if (is_whole) End();
    buffer_.erase(0, std::exchange(next_, 0));
    return std::exchange(parts_, {});
  }

  int num_calls() const { return num_calls_; }

 private:
  enum class At {
    kContent,
    kThoughts,
    kOpened,  // behind an opener: a call or an array of calls follows
    kCall,
    kAfterCall,
  };
  using Kind = Marker::Kind;

  void AddMarkers();
  void AddBareMarkers(const ToolFormat& format);
  // Consumes some text. Returns false if it needs more text.
  bool Step(bool is_whole);
  bool ReadContent(bool is_whole);
  bool ReadThoughts(bool is_whole);
  bool ReadOpened(bool is_whole);
  bool ReadCall(bool is_whole);
  bool ReadAfterCall(bool is_whole);
  bool GoOnAfterCall(char c);
  void Meet(const Marker& marker);
  bool Counts(const Marker& marker, size_t at) const;
  void Open(size_t opener_length);
  bool BeginsCall(char c);
  void BeginCall(bool is_json);
  void ShowCall();
  void Fail();
  std::string WithoutHidden(std::string text) const;
  void End();
  void Content(std::string_view text) { Show(AnswerPart::Kind::kContent, content_.Put(text)); }
  void Show(AnswerPart::Kind kind, const std::string& text, int call = -1);
  std::string_view Rest() const { return std::string_view(buffer_).substr(next_); }

  std::shared_ptr<const AnswerPlan> plan_;
  Markers content_markers_, thought_markers_, after_call_markers_;
  std::string incomplete_;  // the first bytes of a code point
  std::string buffer_;      // the text from next_ on is not consumed yet
  size_t next_ = 0;
  // bytes that were added to buffer_, and bytes that went back into it
  size_t num_taken_ = 0, num_reread_ = 0;
  At at_ = At::kContent;
  Trimmer content_, thoughts_;
  bool thoughts_over_ = false;

  std::string raw_;           // consumed since the last opener or call; becomes content on failure
  size_t opener_length_ = 0;  // in raw_
  bool is_marked_ = false, in_array_ = false;
  bool in_lines_ = false;  // behind an opener after which calls follow each other
  std::unique_ptr<CallReader> reader_;
  bool is_shown_ = false;  // whether the current call was already shown
  int num_calls_ = 0;
  std::vector<AnswerPart> parts_;
};

void AnswerParser::Impl::AddMarkers() {
  if (plan_->tools != nullptr) {
    const ToolFormat& format = *plan_->tools;
    after_call_markers_.Add(Kind::kOpener, format.openers);
    after_call_markers_.Add(Kind::kCloser, format.closers);
    if (!plan_->is_guided) {
      content_markers_.Add(Kind::kOpener, format.openers);
    } else if (!IsWrittenBare(format)) {
      content_markers_.Add(Kind::kOpener, format.openers.front());
    }
    if (format.bare && (IsWrittenBare(format) || !plan_->is_guided)) AddBareMarkers(format);
  }
  if (plan_->reasoning != nullptr) {
    content_markers_.Add(Kind::kBeginThoughts, plan_->reasoning->begin);
    thought_markers_.Add(Kind::kBeginThoughts, plan_->reasoning->begin);
    thought_markers_.Add(Kind::kEndThoughts, plan_->reasoning->end);
    content_markers_.Add(Kind::kHidden, plan_->reasoning->hidden);
    after_call_markers_.Add(Kind::kBeginThoughts, plan_->reasoning->begin);
    after_call_markers_.Add(Kind::kHidden, plan_->reasoning->hidden);
  }
  for (Markers* markers : {&content_markers_, &thought_markers_, &after_call_markers_}) {
    markers->Add(Kind::kHidden, plan_->hidden);
  }
}

void AnswerParser::Impl::AddBareMarkers(const ToolFormat& format) {
  if (format.style == CallStyle::kNamed) {
    for (const OfferedTool& tool : plan_->offered) {
      content_markers_.Add(Kind::kBare, tool.name + format.name_end);
    }
    return;
  }
  content_markers_.Add(Kind::kBare, "[");
  if (format.style == CallStyle::kJson) content_markers_.Add(Kind::kBare, "{");
}

bool AnswerParser::Impl::Step(bool is_whole) {
  if (next_ == buffer_.size()) return false;
  switch (at_) {
    case At::kContent:
      return ReadContent(is_whole);
    case At::kThoughts:
      return ReadThoughts(is_whole);
    case At::kOpened:
      return ReadOpened(is_whole);
    case At::kCall:
      return ReadCall(is_whole);
    default:
      return ReadAfterCall(is_whole);
  }
}

// Whether the marker has a meaning here. `at` is an index into the text that is not consumed.
bool AnswerParser::Impl::Counts(const Marker& marker, size_t at) const {
  bool is_bare = marker.kind == Kind::kBare;
  if (!is_bare && marker.kind != Kind::kBeginThoughts) return true;
  if (is_bare && plan_->is_guided) return true;
  if (!is_bare && plan_->reasoning->anywhere && at_ != At::kThoughts) return true;
  if (!is_bare && (at_ == At::kThoughts ? thoughts_.has_text() : thoughts_over_)) return false;
  bool is_first = at_ == At::kThoughts || (!content_.has_text() && num_calls_ == 0);
  return is_first && IsSpaces(Rest().substr(0, at));
}

bool AnswerParser::Impl::ReadContent(bool is_whole) {
  auto counts = [this](const Marker& marker, size_t at) { return Counts(marker, at); };
  Markers::Found found = content_markers_.Find(Rest(), 0, is_whole, counts);
  Content(Rest().substr(0, found.at));
  next_ += found.at;
  if (found.marker == nullptr) return false;
  Meet(*found.marker);
  return true;
}

void AnswerParser::Impl::Meet(const Marker& marker) {
  if (marker.kind == Kind::kOpener) return Open(marker.text.size());
  if (marker.kind == Kind::kBare) return Open(0);
  next_ += marker.text.size();
  if (marker.kind == Kind::kCloser) in_lines_ = false;
  if (marker.kind == Kind::kBeginThoughts) {
    at_ = At::kThoughts;
    content_.Cut();
  }
}

bool AnswerParser::Impl::ReadThoughts(bool is_whole) {
  auto counts = [this](const Marker& marker, size_t at) { return Counts(marker, at); };
  Markers::Found found = thought_markers_.Find(Rest(), 0, is_whole, counts);
  Show(AnswerPart::Kind::kReasoning, thoughts_.Put(Rest().substr(0, found.at)));
  next_ += found.at;
  if (found.marker == nullptr) return false;
  next_ += found.marker->text.size();
  if (found.marker->kind == Kind::kEndThoughts) {
    at_ = At::kContent;
    thoughts_over_ = true;
    thoughts_.Cut();
    content_.Cut();
  }
  return true;
}

void AnswerParser::Impl::Open(size_t opener_length) {
  raw_ = Rest().substr(0, opener_length);
  next_ += opener_length;
  opener_length_ = opener_length;
  is_marked_ = opener_length > 0 && raw_ != "```json";  // other objects can follow "```json" too
  is_shown_ = false;
  in_array_ = false;
  in_lines_ = plan_->tools->lines;
  at_ = At::kOpened;
}

// Whether a call begins with `c`. Selects the reader for it.
bool AnswerParser::Impl::BeginsCall(char c) {
  CallStyle style = plan_->tools->style;
  bool is_json = style != CallStyle::kPython && (c == '{' || in_array_);
  if (is_json ? c != '{' : style == CallStyle::kJson) return false;
  if (style == CallStyle::kPython && !in_array_ && !in_lines_) return false;
  BeginCall(is_json);
  return true;
}

void AnswerParser::Impl::BeginCall(bool is_json) {
  static const ToolFormat* json = FindToolFormat("json");
  bool is_other = is_json && plan_->tools->style != CallStyle::kJson;
  reader_ = MakeCallReader(is_other ? *json : *plan_->tools, is_marked_, &plan_->offered);
  is_shown_ = false;
  at_ = At::kCall;
}

bool AnswerParser::Impl::ReadOpened(bool) {
  char c = buffer_[next_];
  bool is_space = IsJsonSpace(c), opens_array = c == '[' && !in_array_;
  if (!is_space && !opens_array) {
    if (!BeginsCall(c)) Fail();
    return true;
  }
  in_array_ = in_array_ || opens_array;
  raw_.push_back(c);
  ++next_;
  return true;
}

bool AnswerParser::Impl::ReadCall(bool) {
  while (next_ < buffer_.size()) {
    char c = buffer_[next_++];
    if (!is_shown_) raw_.push_back(c);
    CallReader::State state = reader_->Put(c);
    if (state == CallReader::State::kFailed) {
      Fail();
      return true;
    }
    if (state == CallReader::State::kDone) {
      ShowCall();
      at_ = At::kAfterCall;
      opener_length_ = 0;
      return true;
    }
    bool is_at_end = next_ == buffer_.size();
    if (plan_->is_guided && is_at_end && reader_->name() != nullptr) ShowCall();
  }
  return false;
}

void AnswerParser::Impl::ShowCall() {
  if (!is_shown_) Show(AnswerPart::Kind::kCall, *reader_->name(), num_calls_++);
  is_shown_ = true;
  raw_.clear();
  content_.Cut();
  Show(AnswerPart::Kind::kArguments, reader_->TakeArguments(), num_calls_ - 1);
}

// Between calls: separators, which become content if no call follows, and the end of an array.
bool AnswerParser::Impl::GoOnAfterCall(char c) {
  const ToolFormat& format = *plan_->tools;
  // A grammar checks calls in the form in which they are written. One of kNamed without an opener
  // is found in the content.
  bool is_checked = IsWrittenBare(format) && format.style != CallStyle::kNamed;
  bool goes_on = in_array_ || in_lines_ || (format.bare && (!plan_->is_guided || is_checked));
  bool is_separator = goes_on && (c == ',' || c == ';');
  if (c == ']' && in_array_) {
    in_array_ = false;
    raw_.clear();
  } else if (is_separator || IsJsonSpace(c)) {
    raw_.push_back(c);
  } else {
    return goes_on && BeginsCall(c);
  }
  ++next_;
  return true;
}

bool AnswerParser::Impl::ReadAfterCall(bool is_whole) {
  auto counts = [this](const Marker& marker, size_t at) { return Counts(marker, at); };
  Markers::Found found = after_call_markers_.FindAt(Rest(), 0, is_whole, counts);
  if (found.at == 0) {
    if (found.marker == nullptr) return false;
    raw_.clear();
    Meet(*found.marker);
  } else if (is_whole && after_call_markers_.FindAt(Rest(), 0, false, counts).at == 0) {
    next_ = buffer_.size();  // a marker's beginning, behind which the answer was cut short
  } else if (!GoOnAfterCall(buffer_[next_])) {
    at_ = At::kContent;
    Content(std::exchange(raw_, {}));
  }
  return true;
}

// The text was not a call, so it is content. Its first part is shown at once. The rest is read
// again, since a call may begin inside it.
void AnswerParser::Impl::Fail() {
  at_ = At::kContent;
  if (is_shown_) return;
  size_t length = std::min(std::max<size_t>(opener_length_, 1), raw_.size());
  Content(WithoutHidden(raw_.substr(0, length)));
  size_t rest = raw_.size() - length;
  size_t position = num_taken_ - (buffer_.size() - next_);
  constexpr size_t kFree = 1 << 16;
  if (num_reread_ + rest > kFree + 8 * position) return Content(raw_.substr(length));
  num_reread_ += rest;
  if (next_ < rest) buffer_.insert(next_, raw_, length, rest), next_ += rest;
  next_ -= rest;
}

std::string AnswerParser::Impl::WithoutHidden(std::string text) const {
  for (const std::string& hidden : plan_->hidden) {
    size_t at = text.find(hidden);
    if (at != std::string::npos) text.erase(at, hidden.size());
  }
  return text;
}

void AnswerParser::Impl::End() {
  while (at_ == At::kOpened || at_ == At::kCall) {
    bool is_cut_short = at_ == At::kCall && plan_->is_guided && reader_->name() != nullptr;
    if (is_cut_short) return ShowCall();
    Fail();
    while (Step(/*is_whole=*/true)) {
    }
  }
  if (at_ == At::kContent && num_calls_ == 0) {
    Show(AnswerPart::Kind::kContent, content_.TakeSpaces());
  }
}

void AnswerParser::Impl::Show(AnswerPart::Kind kind, const std::string& text, int call) {
  if (text.empty()) return;
  bool joins = !parts_.empty() && kind != AnswerPart::Kind::kCall && parts_.back().kind == kind &&
               parts_.back().call == call;
  if (joins) {
    parts_.back().text += text;
  } else {
    parts_.push_back({kind, text, call});
  }
}

AnswerParser::AnswerParser(std::shared_ptr<const AnswerPlan> plan)
    : impl_(new Impl(std::move(plan))) {}
AnswerParser::~AnswerParser() = default;
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;

std::vector<AnswerPart> AnswerParser::Put(std::string_view text) {
  return impl_->Put(text, /*is_whole=*/false);
}
std::vector<AnswerPart> AnswerParser::Finish() { return impl_->Put("", /*is_whole=*/true); }
int AnswerParser::num_calls() const { return impl_->num_calls(); }

}  // namespace mlc
