// A config and the metadata of a library that are right, for tests that change them.
#pragma once

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

inline constexpr const char* kFunctions = R"({
  "batch_prefill": {"inputs": [{"name": "positions", "shape": ["n"], "dtype": "int32"},
                               {"name": "rotary", "shape": ["n", 3], "dtype": "int32"},
                               {"name": "params"}],
                    "results": ["logits"]}})";

inline Json GoodMetadata() {
  Json param =
      Json().Set("name", "w").Set("shape", Json(Json::Array{2, 3})).Set("dtype", "float32");
  Json wide = Json()
                  .Set("page_shape", Json(Json::Array{2, 3, 16, 64}))
                  .Set("slot_runs", *Json::Parse("[[192, 1], [3, 64]]"))
                  .Set("dtype", "float32")
                  .Set("sliding_window_size", -1);
  Json narrow = Json()
                    .Set("page_shape", Json(Json::Array{2, 1, 16, 32}))
                    .Set("slot_runs", *Json::Parse("[[32, 1], [1, 32]]"))
                    .Set("dtype", "float16")
                    .Set("sliding_window_size", 512);
  Json pages = Json().Set("page_size", 16).Set("layers", Json(Json::Array{wide, narrow}));
  return Json()
      .Set("schema_version", 3)
      .Set("model_type", "llama")
      .Set("quantization", "q4f32_1")
      .Set("context_window_size", 2048)
      .Set("prefill_chunk_size", 512)
      .Set("max_batch_size", 8)
      .Set("vocab_size", 49152)
      .Set("functions", *Json::Parse(kFunctions))
      .Set("kv_cache", pages)
      .Set("params", Json(Json::Array{param}));
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
