// "pictures" in mlc-chat-config.json: all that stands between a picture file and a model's tower.
//
//   {"layout": "tiles", "tile": 512, "longest_edge": 2048, "split": true,
//    "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "filter": "lanczos",
//    "patch_size": 16, "patch_order": "channel_row_column", "merge": 4, "columns": 32,
//    "text": {"single": "<around><global-img>", "end": "<around>", ...}}
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "media/pixels.h"
#include "media/resize.h"

namespace mlc {

struct PictureSettings {
  // How a picture becomes views. The numbers of a kind are below; picture_layout.cc has its rules.
  enum class Kind {
    kTiles,           // "tiles": SmolVLM, Idefics 3
    kStretched,       // "stretched": Gemma 3
    kCropped,         // "cropped": LLaVA 1.5
    kMultiples,       // "multiples": Qwen
    kBounded,         // "bounded": Pixtral
    kClosestGrid,     // "closest_grid": InternVL, LFM2-VL
    kFilled,          // "filled": Gemma 4
    kAnyResolution,   // "any_resolution": LLaVA 1.6
    kHighDefinition,  // "high_definition": Phi-3-vision
    kSlices,          // "slices": MiniCPM-V
  };
  Kind kind = Kind::kTiles;
  // side of a square view: tiles, closest_grid, any_resolution, high_definition; slices: of the
  // square that has the pixels of a view
  int tile = 0;
  PictureSize view;                  // stretched, cropped: of the only view
  int shortest_edge = 0;             // cropped: of the resized picture
  int longest_edge = 0;              // tiles, bounded: of the resized picture
  int largest_side = 0;              // tiles: of the resized picture, whatever longest_edge is
  bool split = true;                 // tiles, stretched, closest_grid: false, one view
  int min_tiles = 1, max_tiles = 0;  // closest_grid; max_tiles: stretched, high_definition, slices
  int queries = 0;                   // slices: rows of a view; 0: one for each block
  int min_tile = 0;                  // stretched: the shortest side of a tile
  double split_ratio = 0;            // stretched: of the sides; below it there is one view
  std::vector<PictureSize> grids;    // any_resolution: pixels, multiples of the tile
  int64_t split_above = 0;           // closest_grid: pixels; up to them there is one view
  bool thumbnail = true;             // closest_grid: behind the tiles
  // multiples; closest_grid: of the only view and of the thumbnail, which are tiles if max_pixels
  // is 0; filled: of the only view, the least if the caller wants few rows
  int64_t min_pixels = 0, max_pixels = 0;
  int longest_ratio = 0;  // of the sides, where there are such views
  bool rotary = false;    // rows have the positions of a grid (M-RoPE)
  bool rows_see_each_other = false;

  ResizeFilter filter = ResizeFilter::kBilinear;
  Normalization normalization;
  int patch_size = 0;
  bool channel_is_last =
      false;           // in a patch: (row, column, channel) in place of (channel, row, column)
  int merge = 1;       // merge * merge neighbouring patches become one row
  int columns = 0;     // of the tower's square table of positions; 0: it has none
  std::string marker;  // what the chat template writes; empty: the text of image_token_id
  std::map<std::string, std::string, std::less<>> texts;  // around the rows, by place
  std::string source;                                     // the JSON

  // Pixels of a side that become one row's share.
  int block() const { return patch_size * merge; }
  // Empty if the model has no text at this place.
  const std::string& text(std::string_view place) const;

  // Errors name the field: "pictures.tile".
  static Result<PictureSettings> Parse(const Json& pictures);
};

}  // namespace mlc
