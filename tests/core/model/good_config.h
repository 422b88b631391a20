// A config that is right, for tests that change it.
#ifndef MLC_TESTS_CORE_MODEL_GOOD_CONFIG_H_
#define MLC_TESTS_CORE_MODEL_GOOD_CONFIG_H_

#include <string>

#include "base/json.h"

namespace mlc {

inline Json GoodConfig() {
  return Json()
      .Set("model_type", "llama")
      .Set("quantization", "q4f32_1")
      .Set("context_window_size", 2048)
      .Set("vocab_size", 49152)
      .Set("temperature", 0.6)
      .Set("eos_token_id", 2)
      .Set("bos_token_id", 1);
}

// One member replaced; `value` is JSON text, "absent" removes it.
inline Json With(Json json, const std::string& key, const std::string& value) {
  if (value != "absent") return json.Set(key, *Json::Parse(value));
  Json out = Json::MakeObject();
  for (const auto& [name, member] : json.as_object()) {
    if (name != key) out.Set(name, member);
  }
  return out;
}

struct Fault {
  const char* key;
  const char* value;
};

}  // namespace mlc

#endif  // MLC_TESTS_CORE_MODEL_GOOD_CONFIG_H_
