// "tower" in a library's metadata: the function that turns the patches of a picture into rows.
//
//   {"function": "image_embed", "patch_dim": 768, "merge": 4, "width": 576, "class_row": false,
//    "window": 0, "columns": 32, "rotary": false, "max_patches": 4096, "memory": 123}
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

struct TowerSpec {
  std::string function;
  int patch_dim = 0;       // numbers of a patch
  int merge = 1;           // merge * merge patches become one row
  int width = 0;           // of a row
  int window = 0;          // patches of a side of a window that some layers see; 0: none
  int columns = 0;         // of the square that its table of positions covers; 0: another kind
  bool rotary = false;     // rows of pictures have three positions in the text
  bool class_row = false;  // each view has one patch more, its first, which becomes no row
  int max_patches = 0, max_views = 0;  // of one call
  int64_t memory = 0;                  // bytes of temporaries of such a call
  int queries = 0;       // that look at each view and become its rows; 0: blocks become rows
  int learned_rows = 0;  // the same for every picture; asked for as -1 - k
};

// Nothing if the library has no tower. `bytes`: gets its memory. Errors name the field.
Result<std::optional<TowerSpec>> ReadTowerSpec(const Json& metadata, int64_t* bytes);

}  // namespace mlc
