#include "model/picture_settings.h"

#include <array>
#include <cmath>
#include <utility>

namespace mlc {
namespace {

using Kind = PictureSettings::Kind;

constexpr int kMostSide = 1 << 15;  // of a picture that is resized
constexpr int kMostPatch = 256;     // pixels of a side
constexpr int kMostTilesOfSide = 60;
constexpr size_t kMostGrids = 256;
constexpr int kMostTiles = 256;
constexpr int kMostQueries = 4096;
constexpr int64_t kMostPixels = 1 << 26;  // of a picture that is resized

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"tiles", Kind::kTiles},
    {"stretched", Kind::kStretched},
    {"cropped", Kind::kCropped},
    {"multiples", Kind::kMultiples},
    {"bounded", Kind::kBounded},
    {"closest_grid", Kind::kClosestGrid},
    {"filled", Kind::kFilled},
    {"any_resolution", Kind::kAnyResolution},
    {"high_definition", Kind::kHighDefinition},
    {"slices", Kind::kSlices},
};
constexpr std::pair<std::string_view, ResizeFilter> kFilters[] = {
    {"bilinear", ResizeFilter::kBilinear},
    {"bicubic", ResizeFilter::kBicubic},
    {"lanczos", ResizeFilter::kLanczos},
};
constexpr std::pair<std::string_view, bool> kOrders[] = {
    {"channel_row_column", false},
    {"row_column_channel", true},
};

Status Bad(const std::string& field, const std::string& what) {
  return Corrupt("'pictures." + field + "' of mlc-chat-config.json " + what +
                 "; convert the model again (mlc_llm gen_config)")
      .WithParam("pictures." + field);
}

// Reads the members of one object, each with its bounds. The first error stays.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  int64_t Number(const char* field, int64_t least, int64_t most) {
    const Json* value = json_.Find(field);
    bool fits =
        value != nullptr && value->is_int() && value->as_int() >= least && value->as_int() <= most;
    if (fits) return value->as_int();
    Fail(field,
         "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }
  int64_t NumberOr(const char* field, int64_t least, int64_t most, int64_t usual) {
    return Has(field) ? Number(field, least, most) : usual;
  }
  int Side(const char* field) { return static_cast<int>(Number(field, 1, kMostSide)); }
  // [height, width], multiples of `block`.
  PictureSize HeightAndWidth(const char* field, int block) {
    return HeightAndWidth(field, json_.Find(field), block, "patch_size * merge");
  }
  // [[height, width], ...], multiples of the tile, which is `side`.
  std::vector<PictureSize> Grids(const char* field, int side) {
    const Json* value = json_.Find(field);
    bool fits = value != nullptr && value->is_array() && !value->as_array().empty() &&
                value->as_array().size() <= kMostGrids;
    std::vector<PictureSize> grids;
    if (!fits)
      Fail(field, "must be a list of [height, width], at most " + std::to_string(kMostGrids));
    for (size_t i = 0; fits && i < value->as_array().size(); ++i) {
      grids.push_back(HeightAndWidth(field, &value->as_array()[i], side, "the tile"));
      int64_t tiles = int64_t{grids.back().width / side} * (grids.back().height / side);
      if (tiles > kMostTiles)
        Fail(field, "must have at most " + std::to_string(kMostTiles) + " tiles each");
    }
    return grids;
  }
  PictureSize HeightAndWidth(const char* field, const Json* value, int block,
                             const std::string& unit) {
    std::array<int, 2> sides{block, block};
    bool fits = value != nullptr && value->is_array() && value->as_array().size() == 2;
    for (size_t i = 0; fits && i < 2; ++i) {
      const Json& side = value->as_array()[i];
      fits = side.is_int() && side.as_int() > 0 && side.as_int() <= kMostSide &&
             side.as_int() % block == 0;
      if (fits) sides[i] = static_cast<int>(side.as_int());
    }
    if (!fits) Fail(field, "must be [height, width], multiples of " + unit);
    return {sides[1], sides[0]};
  }
  double Ratio(const char* field) {
    const Json* value = json_.Find(field);
    bool fits = value != nullptr && value->is_number() && value->as_double() >= 1 &&
                value->as_double() <= kMostSide;
    if (fits) return value->as_double();
    Fail(field, "must be a number from 1 to " + std::to_string(kMostSide));
    return 1;
  }
  bool Flag(const char* field, bool usual) {
    const Json* value = json_.Find(field);
    if (value == nullptr || value->is_null()) return usual;
    if (value->is_bool()) return value->as_bool();
    Fail(field, "must be true or false");
    return usual;
  }
  template <typename T, size_t kSize>
  T Choice(const char* field, const std::pair<std::string_view, T> (&choices)[kSize]) {
    const Json* value = json_.Find(field);
    std::string words;
    for (const auto& [word, choice] : choices) {
      if (value != nullptr && value->is_string() && value->as_string() == word) return choice;
      words += (words.empty() ? "'" : ", '") + std::string(word) + "'";
    }
    Fail(field, "must be one of " + words + "; another one needs a newer engine");
    return choices[0].second;
  }
  std::array<float, 3> Colours(const char* field, bool may_be_zero) {
    const Json* value = json_.Find(field);
    std::array<float, 3> colours{1, 1, 1};
    bool fits = value != nullptr && value->is_array() && value->as_array().size() == 3;
    for (size_t i = 0; fits && i < 3; ++i) {
      const Json& number = value->as_array()[i];
      fits = number.is_number() && std::abs(number.as_double()) < 1e6 &&
             (may_be_zero || std::abs(number.as_double()) > 1e-6);
      if (fits) colours[i] = static_cast<float>(number.as_double());
    }
    if (!fits) Fail(field, "must be three numbers, one for each colour");
    return colours;
  }
  std::string Text(const char* field) {
    const Json* value = json_.Find(field);
    if (value == nullptr || value->is_null()) return "";
    if (value->is_string()) return value->as_string();
    Fail(field, "must be a text");
    return "";
  }
  bool Has(const char* field) const {
    const Json* value = json_.Find(field);
    return value != nullptr && !value->is_null();
  }
  void Fail(const char* field, const std::string& what) {
    if (status_.ok()) status_ = Bad(field, what);
  }
  const Status& status() const { return status_; }

 private:
  const Json& json_;
  Status status_;
};

void ReadTexts(const Json& json, Reader* reader, PictureSettings* settings) {
  const Json* texts = json.Find("text");
  if (texts == nullptr || texts->is_null()) return;
  if (!texts->is_object()) return reader->Fail("text", "must be an object of texts");
  for (const auto& [place, text] : texts->as_object()) {
    if (!text.is_string()) return reader->Fail("text", "must be an object of texts");
    settings->texts[place] = text.as_string();
  }
}

// Without "max_tiles" there is one view.
void ReadStretched(Reader* reader, PictureSettings* settings) {
  settings->view = reader->HeightAndWidth("size", settings->block());
  if (!reader->Has("max_tiles")) {
    if (reader->Flag("split", false)) reader->Fail("max_tiles", "must be there with 'split'");
    return;
  }
  int most = static_cast<int>(reader->Number("max_tiles", 1, kMostTiles));
  settings->max_tiles = most;
  // tiles of at least as many pixels as there are tiles: none of them is empty
  settings->min_tile = static_cast<int>(reader->Number("min_tile", most, kMostSide));
  settings->split_ratio = reader->Ratio("split_ratio");
}

void ReadKind(Reader* reader, PictureSettings* settings) {
  Kind kind = settings->kind;
  bool has_plain_rows = kind == Kind::kBounded || kind == Kind::kAnyResolution ||
                        kind == Kind::kHighDefinition || kind == Kind::kSlices;
  if (settings->rotary && has_plain_rows) {
    reader->Fail("rotary", "does not go with this layout, which gives no positions of three axes");
  }
  bool is_square = kind == Kind::kTiles || kind == Kind::kClosestGrid ||
                   kind == Kind::kAnyResolution || kind == Kind::kHighDefinition ||
                   kind == Kind::kSlices;
  if (kind == Kind::kStretched) ReadStretched(reader, settings);
  if (kind == Kind::kCropped) {
    settings->shortest_edge = reader->Side("shortest_edge");
    settings->view = reader->HeightAndWidth("crop", settings->block());
  }
  if (is_square) settings->tile = reader->Side("tile");
  if (is_square && settings->tile % settings->block() != 0) {
    reader->Fail("tile", "must be a multiple of patch_size * merge");
  }
  if (kind == Kind::kTiles || kind == Kind::kBounded) {
    settings->longest_edge = reader->Side("longest_edge");
  }
  settings->largest_side =
      static_cast<int>(reader->NumberOr("largest_side", 1, kMostSide, kMostSide));
  settings->split = reader->Flag("split", true);
  if (kind == Kind::kTiles && settings->longest_edge / settings->tile >= kMostTilesOfSide) {
    reader->Fail("longest_edge", "must be below " + std::to_string(kMostTilesOfSide) + " tiles");
  }
  if (kind == Kind::kAnyResolution) settings->grids = reader->Grids("grids", settings->tile);
  if (kind == Kind::kSlices) {
    settings->queries = static_cast<int>(reader->Number("queries", 1, kMostQueries));
  }
  if (kind == Kind::kHighDefinition || kind == Kind::kSlices) {
    settings->max_tiles = static_cast<int>(reader->Number("max_tiles", 1, kMostTiles));
  }
  if (kind == Kind::kClosestGrid) {
    settings->min_tiles = static_cast<int>(reader->NumberOr("min_tiles", 1, kMostTiles, 1));
    settings->max_tiles =
        static_cast<int>(reader->Number("max_tiles", settings->min_tiles, kMostTiles));
    settings->split_above = reader->NumberOr("split_above", 0, kMostPixels, 0);
    settings->thumbnail = reader->Flag("thumbnail", true);
    if (!reader->Has("max_pixels")) return;
  }
  if (kind != Kind::kMultiples && kind != Kind::kClosestGrid && kind != Kind::kFilled) return;
  settings->min_pixels = reader->Number("min_pixels", 1, kMostPixels);
  settings->max_pixels = reader->Number("max_pixels", settings->min_pixels, kMostPixels);
  settings->longest_ratio = static_cast<int>(reader->NumberOr("longest_ratio", 1, kMostSide, 200));
}

}  // namespace

const std::string& PictureSettings::text(std::string_view place) const {
  static const std::string none;
  auto found = texts.find(place);
  return found == texts.end() ? none : found->second;
}

Result<PictureSettings> PictureSettings::Parse(const Json& pictures) {
  if (!pictures.is_object()) {
    return Corrupt("'pictures' of mlc-chat-config.json must be an object").WithParam("pictures");
  }
  PictureSettings settings;
  Reader reader(pictures);
  settings.kind = reader.Choice("layout", kKinds);
  settings.filter = reader.Choice("filter", kFilters);
  settings.channel_is_last = reader.Choice("patch_order", kOrders);
  settings.normalization = {reader.Colours("mean", true), reader.Colours("std", false)};
  settings.patch_size = static_cast<int>(reader.Number("patch_size", 1, kMostPatch));
  settings.merge = static_cast<int>(reader.Number("merge", 1, 16));
  settings.columns = static_cast<int>(reader.NumberOr("columns", 0, kMostSide, 0));
  settings.rotary = reader.Flag("rotary", false);
  settings.rows_see_each_other = reader.Flag("rows_see_each_other", false);
  settings.marker = reader.Text("marker");
  ReadTexts(pictures, &reader, &settings);
  ReadKind(&reader, &settings);
  settings.source = pictures.Dump();
  MLC_RETURN_IF_ERROR(reader.status());
  return settings;
}

}  // namespace mlc
