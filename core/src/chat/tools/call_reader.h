// Reads one tool call out of text that comes character by character.
//
//   std::unique_ptr<CallReader> reader = MakeCallReader(format, true, &offered);
//   for (char c : text) {
//     if (reader->Put(c) != CallReader::State::kMore) break;
//   }
//   if (const std::string* name = reader->name()) ...   // it is one that is offered
//   Send(reader->TakeArguments());                      // the next piece of a JSON object's text
//
// Once the name is known arguments come out as they are read; a call may still fail after that.
#ifndef MLC_CHAT_TOOLS_CALL_READER_H_
#define MLC_CHAT_TOOLS_CALL_READER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/tools/formats.h"

namespace mlc {

// A tool that may be called.
struct OfferedTool {
  std::string name;
  Json parameters;  // a JSON Schema, or null: it takes none
  bool is_strict = false;
};
using OfferedTools = std::vector<OfferedTool>;

const OfferedTool* FindTool(const OfferedTools& tools, const std::string& name);

class CallReader {
 public:
  enum class State {
    kMore,
    kDone,    // this character was the call's last
    kFailed,  // this is no call of a tool that is offered
  };

  virtual ~CallReader() = default;
  virtual State Put(char c) = 0;
  // nullptr until it and the beginning of the arguments have been read.
  const std::string* name() const { return has_begun_ ? &name_ : nullptr; }
  // What was read of the arguments since the last call; nothing before there is a name.
  std::string TakeArguments() { return has_begun_ ? std::exchange(arguments_, {}) : std::string(); }

 protected:
  explicit CallReader(const OfferedTools* offered) : offered_(offered) {}
  // Takes the name; false when it is not offered.
  bool SetName(const std::string& name);

  const OfferedTools* offered_;
  const OfferedTool* tool_ = nullptr;  // once the name is known
  std::string name_, arguments_;
  bool has_begun_ = false;
};

// A reader of a call that begins with the next character: kJson and kNamed with "{" at last or
// after a head, the others with the function. `offered` must outlive it.
// `is_marked`: an opener stands before it; without one an object is looked at more closely.
std::unique_ptr<CallReader> MakeCallReader(const ToolFormat& format, bool is_marked,
                                           const OfferedTools* offered);

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_CALL_READER_H_
