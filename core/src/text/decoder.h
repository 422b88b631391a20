// Decoders: turn the tokens' strings back into text.
//
// A decoder is a chain of stages, and tokens flow through it. A token moves as fragments and an end
// mark. So text can leave the chain before the single token that "Fuse" makes of everything is
// complete. Decoding a whole sequence and streaming it are therefore the same code.
//
//   DecodeChain chain = tokenizer.decode_chain();   // a copy is a fresh stream
//   chain.PutToken("▁Hello");
//   Send(chain.Take());
//   chain.Finish();
//   Send(chain.Take());
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"

namespace mlc {

class DecodeChain;

// One decoder of the file. Stages hold the state of one stream.
class DecodeStage {
 public:
  // The output of a stage: the next stage, or the text.
  class Output {
   public:
    Output(DecodeChain* chain, size_t stage) : chain_(chain), stage_(stage) {}
    void Put(std::string_view fragment) const;
    void EndToken() const;
    void PutToken(std::string_view token) const {
      Put(token);
      EndToken();
    }

   private:
    DecodeChain* chain_;
    size_t stage_;
  };

  virtual ~DecodeStage() = default;
  virtual std::unique_ptr<DecodeStage> Clone() const = 0;
  virtual void Put(std::string_view fragment, const Output& out) = 0;
  virtual void EndToken(const Output& out) = 0;
  virtual void Finish(const Output& /*out*/) {}
  // What the stage does to a token inside a text, as raw bytes.
  virtual std::string InsideText(std::string token) const { return token; }
};

class DecodeChain {
 public:
  // Reads the file's "decoder". Without one, tokens are joined by spaces.
  static Result<DecodeChain> FromJson(const JsonView& file);
  DecodeChain() = default;
  DecodeChain(const DecodeChain& other);
  DecodeChain& operator=(const DecodeChain& other);
  DecodeChain(DecodeChain&&) = default;
  DecodeChain& operator=(DecodeChain&&) = default;

  void PutToken(std::string_view token);
  // Ends the sequence: the stages release the text that they hold back.
  void Finish();
  // The text since the last call: whole code points, never taken back.
  std::string Take();

  std::string InsideText(std::string token) const;

 private:
  friend class DecodeStage::Output;
  static Status Append(const JsonView& view, DecodeChain* chain);
  void PutAt(size_t stage, std::string_view fragment);
  void EndTokenAt(size_t stage);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
  std::string text_;
};

}  // namespace mlc
