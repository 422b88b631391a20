// Reads one tool call from text that comes character by character.
//
//   std::unique_ptr<CallReader> reader = MakeCallReader(format, true, &offered);
//   for (char c : text) {
//     if (reader->Put(c) != CallReader::State::kMore) break;
//   }
//   if (const std::string* name = reader->name()) ...   // an offered tool
//   Send(reader->TakeArguments());                      // the next piece of a JSON object's text
//
// When the name is known, the arguments come out while they are read. The call may still fail
// later.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/tools/formats.h"

namespace mlc {

// A tool that the model may call.
struct OfferedTool {
  std::string name;
  Json parameters;  // a JSON Schema; null: the tool has no arguments
  bool is_strict = false;
};
using OfferedTools = std::vector<OfferedTool>;

const OfferedTool* FindTool(const OfferedTools& tools, const std::string& name);

class CallReader {
 public:
  enum class State {
    kMore,
    kDone,    // this character was the call's last
    kFailed,  // this is not a call of an offered tool
  };

  virtual ~CallReader() = default;
  virtual State Put(char c) = 0;
  // nullptr until the name and the beginning of the arguments were read.
  const std::string* name() const { return has_begun_ ? &name_ : nullptr; }
  // The arguments that were read since the last call; "" before there is a name.
  std::string TakeArguments() { return has_begun_ ? std::exchange(arguments_, {}) : std::string(); }

 protected:
  explicit CallReader(const OfferedTools* offered) : offered_(offered) {}
  // Sets the name. Returns false if that tool is not offered.
  bool SetName(const std::string& name);

  const OfferedTools* offered_;
  const OfferedTool* tool_ = nullptr;  // set when the name is known
  std::string name_, arguments_;
  bool has_begun_ = false;
};

// Makes a reader for a call that begins with the next character. For kJson and kNamed it begins
// with "{", for kNamed perhaps after a head; for the other styles it begins with the function.
// `offered` must outlive the reader. `is_marked`: an opener stands before the call; without an
// opener, an object is checked more strictly.
std::unique_ptr<CallReader> MakeCallReader(const ToolFormat& format, bool is_marked,
                                           const OfferedTools* offered);

}  // namespace mlc
