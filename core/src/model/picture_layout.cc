#include "model/picture_layout.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/picture_lines.h"
#include "model/picture_sizes.h"

namespace mlc {
namespace {

using Kind = PictureSettings::Kind;

// "<row_{row}_col_{column}>" with numbers.
std::string Numbered(std::string text, int row, int column) {
  for (auto [word, number] : {std::pair("{row}", row), std::pair("{column}", column)}) {
    size_t at = text.find(word);
    if (at != std::string::npos) text.replace(at, std::string(word).size(), std::to_string(number));
  }
  return text;
}

// Puts the pieces of a plan together: neighbouring texts become one.
class Builder {
 public:
  explicit Builder(const PictureSettings& settings) : settings_(settings) {
    layout_.rule = {settings.filter};
  }

  void UsePillow() { layout_.rule.weights = ResizeWeights::kPillow; }
  void Resize(PictureSize size) { layout_.resizes.push_back(size); }
  void Text(const std::string& text) {
    if (!text.empty()) text_ += text;
  }
  void Place(const char* place) { Text(settings_.text(place)); }
  void View(const PictureView& view) {
    See(view);
    Rows(NumRows(settings_, view), Positions(view));
  }
  // A view whose rows come in pieces, which Rows adds.
  void See(const PictureView& view) { layout_.views.push_back(view); }
  void Rows(int count, std::vector<RotaryPosition> positions = {}) {
    Flush();
    layout_.plan.pieces.push_back({"", count, std::move(positions)});
    layout_.plan.num_rows += count;
  }
  // All but the plan: its rows are one piece.
  void Lines(PictureLayout layout) {
    layout_ = std::move(layout);
    Rows(static_cast<int>(layout_.order.size()));
  }
  Result<PictureLayout> Take() {
    Flush();
    layout_.plan.rows_see_each_other = settings_.rows_see_each_other;
    int64_t pixels = 0, most = PictureLimits().pixels;
    for (PictureSize size : layout_.resizes) pixels = std::max(pixels, Area(size));
    for (const PictureView& view : layout_.views) pixels = std::max(pixels, Area(view.size));
    if (pixels <= most && layout_.views.size() <= kMostViews) return std::move(layout_);
    return Unsupported("the picture is too long and narrow for the model: the tower would see " +
                       std::to_string(pixels) + " pixels in " +
                       std::to_string(layout_.views.size()) + " views; crop it");
  }

 private:
  static constexpr size_t kMostViews = 4096;

  void Flush() {
    if (!text_.empty()) layout_.plan.pieces.push_back({std::exchange(text_, {}), 0, {}});
  }
  // M-RoPE: one time, and a grid.
  std::vector<RotaryPosition> Positions(const PictureView& view) const {
    std::vector<RotaryPosition> positions;
    if (!settings_.rotary) return positions;
    int rows = view.size.height / settings_.block(), columns = view.size.width / settings_.block();
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) positions.push_back({0, row, column});
    }
    return positions;
  }

  const PictureSettings& settings_;
  std::string text_;
  PictureLayout layout_;
};

PictureView Tile(int row, int column, int side) {
  return {false, {column * side, row * side, side, side}, Square(side)};
}

// Idefics3ImageProcessor: the longest side, then multiples of the tile; floats as in Python.
PictureSize LongestSide(const PictureSettings& settings, PictureSize size) {
  double ratio = static_cast<double>(size.width) / size.height;
  int longest = settings.longest_edge, most = settings.largest_side;
  bool is_wide = size.width >= size.height;
  auto other = [&](int side) { return static_cast<int>(is_wide ? side / ratio : side * ratio); };
  int shorter = other(longest);
  shorter = std::max(shorter + shorter % 2, 1);
  if (longest > most) {
    ratio =
        is_wide ? static_cast<double>(longest) / shorter : static_cast<double>(shorter) / longest;
    longest = most;
    shorter = std::max(other(longest), 1);
  }
  return is_wide ? PictureSize{longest, shorter} : PictureSize{shorter, longest};
}

PictureSize MultiplesOfTile(PictureSize size, int tile) {
  double ratio = static_cast<double>(size.width) / size.height;
  if (size.width >= size.height) {
    int width = UpTo(size.width, tile);
    return {width, std::max(tile, UpTo(static_cast<int>(width / ratio), tile))};
  }
  int height = UpTo(size.height, tile);
  return {std::max(tile, UpTo(static_cast<int>(height * ratio), tile)), height};
}

void Tiles(const PictureSettings& settings, PictureSize size, bool split, Builder* builder) {
  int side = settings.tile;
  PictureSize resized = LongestSide(settings, size);
  builder->Resize(resized);
  PictureSize whole = split ? MultiplesOfTile(resized, side) : Square(side);
  builder->Resize(whole);
  int rows = whole.height / side, columns = whole.width / side;
  bool is_one = rows * columns == 1;
  for (int row = 0; row < rows && !is_one; ++row) {
    for (int column = 0; column < columns; ++column) {
      builder->Text(Numbered(settings.text("tile"), row + 1, column + 1));
      builder->View(Tile(row, column, side));
    }
    builder->Place("row_end");
  }
  builder->Place(is_one ? "single" : "whole");
  builder->View({false, All(whole), Square(side)});
  builder->Place("end");
}

// "Pan and scan" of Gemma3ImageProcessor: cuts across the longer side of a long picture, the last
// tile may be smaller.
std::vector<PictureWindow> Cuts(const PictureSettings& settings, PictureSize size) {
  int longer = std::max(size.width, size.height), shorter = std::min(size.width, size.height);
  double ratio = static_cast<double>(longer) / shorter;
  if (settings.max_tiles == 0 || ratio < settings.split_ratio) return {};
  int tiles = std::min(longer / settings.min_tile, static_cast<int>(std::floor(ratio + 0.5)));
  tiles = std::min(std::max(tiles, 2), settings.max_tiles);
  int side = (longer + tiles - 1) / tiles;
  if (std::min(side, shorter) < settings.min_tile) return {};
  std::vector<PictureWindow> cuts;
  for (int at = 0; at < longer; at += side) {
    int length = std::min(side, longer - at);
    cuts.push_back(size.width >= size.height ? PictureWindow{at, 0, length, size.height}
                                             : PictureWindow{0, at, size.width, length});
  }
  return cuts;
}

// Gemma3ImageProcessor: the whole picture, squeezed, and in a long one its tiles behind it.
void Stretched(const PictureSettings& settings, PictureSize size, bool split, Builder* builder) {
  auto view = [&](const PictureWindow& window) {
    builder->Place("begin");
    builder->View({true, window, settings.view});
    builder->Place("end");
  };
  std::vector<PictureWindow> cuts;
  if (split) cuts = Cuts(settings, size);
  if (!cuts.empty()) builder->Place("whole");
  view(All(size));
  for (size_t i = 0; i < cuts.size(); ++i) {
    builder->Place(i == 0 ? "first_tile" : "next_tile");
    view(cuts[i]);
  }
}

// CLIPImageProcessor: the short side, then the middle.
void Cropped(const PictureSettings& settings, PictureSize size, Builder* builder) {
  int side = settings.shortest_edge, shorter = std::min(size.width, size.height);
  auto scaled = [&](int length) {
    return static_cast<int>(std::min<int64_t>(int64_t{side} * length / shorter, 1 << 26));
  };
  PictureSize resized{scaled(size.width), scaled(size.height)};
  builder->Resize(resized);
  auto [width, height] = settings.view;
  PictureWindow middle{(resized.width - width) >> 1, (resized.height - height) >> 1, width, height};
  builder->Place("begin");
  builder->View({false, middle, settings.view});
  builder->Place("end");
}

Status Multiples(const PictureSettings& settings, PictureSize size, PictureDetail detail,
                 Builder* builder) {
  constexpr int64_t kLowPixels = 512 * 512;
  int64_t most = settings.max_pixels;
  if (detail == PictureDetail::kLow) {
    most = std::clamp(kLowPixels, settings.min_pixels, settings.max_pixels);
  }
  MLC_ASSIGN_OR_RETURN(PictureSize resized, SmartSize(settings, size, most));
  builder->Place("begin");
  builder->View({true, All(size), resized});
  builder->Place("end");
  return Status();
}

// Gemma4ImageProcessor: the largest multiples of a block that keep the picture's shape and have at
// most that many pixels.
Status Filled(const PictureSettings& settings, PictureSize size, bool is_low, Builder* builder) {
  int64_t block = settings.block(), most = is_low ? settings.min_pixels : settings.max_pixels;
  double factor = std::sqrt(static_cast<double>(most) / static_cast<double>(Area(size)));
  auto fit = [&](int side) {
    return static_cast<int64_t>(std::floor(factor * side / static_cast<double>(block))) * block;
  };
  int64_t height = fit(size.height), width = fit(size.width);
  int64_t longest = most / (block * block) * block;
  if (height == 0) {
    height = block;
    width = std::min(size.width / size.height * block, longest);
  } else if (width == 0) {
    width = block;
    height = std::min(size.height / size.width * block, longest);
  }
  if (width == 0 || height == 0 || height * width > most) {
    return Unsupported(
        "'pictures.max_pixels' of the model is too small for a picture of this shape");
  }
  builder->Place("begin");
  builder->View({true, All(size), {static_cast<int>(width), static_cast<int>(height)}});
  builder->Place("end");
  return Status();
}

// PixtralImageProcessor: smaller only, then up to whole blocks. A word ends each row of the grid.
void Bounded(const PictureSettings& settings, PictureSize size, bool is_low, Builder* builder) {
  constexpr int kLowEdge = 512;
  int edge = is_low ? std::min(kLowEdge, settings.longest_edge) : settings.longest_edge;
  double ratio = static_cast<double>(std::max(size.width, size.height)) / edge;
  auto fit = [&](int side) {
    int fitted = ratio > 1 ? static_cast<int>(std::floor(side / ratio)) : side;
    return UpTo(std::max(fitted, 1), settings.block());
  };
  PictureView view{true, All(size), {fit(size.width), fit(size.height)}};
  int rows = view.size.height / settings.block(), columns = view.size.width / settings.block();
  builder->Place("begin");
  builder->See(view);
  for (int row = 0; row < rows; ++row) {
    builder->Rows(columns);
    builder->Place(row + 1 < rows ? "row_end" : "end");
  }
}

// LFM2-VL's: whether a picture has too many pixels for one view.
bool IsSplit(const PictureSettings& settings, PictureSize size) {
  auto rounded = [&](int side) {
    int64_t blocks = RoundHalfToEven(static_cast<double>(side) / settings.block());
    return std::max(blocks * settings.block(), int64_t{settings.patch_size});
  };
  return rounded(size.width) * rounded(size.height) > settings.split_above;
}

Status Grid(const PictureSettings& settings, PictureSize size, bool split, Builder* builder) {
  int side = settings.tile;
  PictureSize grid = Square(1), whole = Square(side);
  if (split && IsSplit(settings, size)) grid = ClosestGrid(settings, size);
  if (settings.max_pixels > 0) {
    MLC_ASSIGN_OR_RETURN(whole, SmartSize(settings, size, settings.max_pixels));
  }
  builder->Place("begin");
  if (Area(grid) == 1) {
    builder->View({true, All(size), whole});
    builder->Place("end");
    return Status();
  }
  builder->Resize({side * grid.width, side * grid.height});
  for (int row = 0; row < grid.height; ++row) {
    for (int column = 0; column < grid.width; ++column) {
      builder->Text(Numbered(settings.text("tile"), row + 1, column + 1));
      builder->View(Tile(row, column, side));
    }
  }
  if (settings.thumbnail) {
    builder->Place("whole");
    builder->View({true, All(size), whole});
  }
  builder->Place("end");
  return Status();
}

// MiniCPM-V: the whole picture, and slices of it if it has more pixels than a view.
void Slices(const PictureSettings& settings, PictureSize size, bool split, Builder* builder) {
  SliceSizes sizes = SizesOfSlices(settings, size, split);
  auto [columns, rows] = sizes.grid;
  builder->UsePillow();
  builder->Place("begin");
  builder->View({true, All(size), sizes.whole});
  builder->Place("end");
  if (columns == 0) return;
  auto [width, height] = sizes.slice;
  builder->Resize({columns * width, rows * height});
  for (int slice = 0; slice < rows * columns; ++slice) {
    int row = slice / columns, column = slice % columns;
    if (row > 0 && column == 0) builder->Place("row_end");
    builder->Place("tile");
    builder->View({false, {column * width, row * height, width, height}, sizes.slice});
    builder->Place("tile_end");
  }
}

}  // namespace

int NumRows(const PictureSettings& settings, const PictureView& view) {
  if (settings.queries > 0) return settings.queries;
  return view.size.width / settings.block() * (view.size.height / settings.block());
}

Result<PictureLayout> LayOutPicture(const PictureSettings& settings, PictureSize size,
                                    PictureDetail detail) {
  Builder builder(settings);
  bool is_low = detail == PictureDetail::kLow;
  switch (settings.kind) {
    case Kind::kTiles:
      Tiles(settings, size, settings.split && !is_low, &builder);
      break;
    case Kind::kStretched:
      Stretched(settings, size, settings.split && !is_low, &builder);
      break;
    case Kind::kCropped:
      Cropped(settings, size, &builder);
      break;
    case Kind::kMultiples:
      MLC_RETURN_IF_ERROR(Multiples(settings, size, detail, &builder));
      break;
    case Kind::kBounded:
      Bounded(settings, size, is_low, &builder);
      break;
    case Kind::kFilled:
      MLC_RETURN_IF_ERROR(Filled(settings, size, is_low, &builder));
      break;
    case Kind::kClosestGrid:
      MLC_RETURN_IF_ERROR(Grid(settings, size, settings.split && !is_low, &builder));
      break;
    case Kind::kSlices:
      Slices(settings, size, settings.split && !is_low, &builder);
      break;
    case Kind::kAnyResolution:
      builder.Lines(AnyResolution(settings, size, is_low));
      break;
    case Kind::kHighDefinition:
      builder.Lines(HighDefinition(settings, size, is_low));
      break;
  }
  return builder.Take();
}

int NumLearnedRows(const PictureSettings& settings) {
  if (settings.kind == Kind::kHighDefinition) return 2;
  return settings.kind == Kind::kAnyResolution ? 1 : 0;
}

}  // namespace mlc
