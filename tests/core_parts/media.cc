// Pictures as Python sees them: (width, height, RGB bytes).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core_parts.h"
#include "media/picture.h"
#include "media/pixels.h"
#include "media/resize.h"
#include "model/picture_layout.h"
#include "model/picture_views.h"
#include "model/prompt.h"
#include "status.h"

namespace py = pybind11;

namespace mlc {
namespace {

using PythonPicture = std::tuple<int, int, py::bytes>;

PythonPicture ToPython(const Picture& picture) {
  py::bytes rgb(reinterpret_cast<const char*>(picture.rgb.data()), picture.rgb.size());
  return {picture.width, picture.height, std::move(rgb)};
}

Picture FromPython(const PythonPicture& given) {
  std::string_view rgb = std::get<2>(given);
  Picture picture{std::get<0>(given), std::get<1>(given), {rgb.begin(), rgb.end()}};
  if (picture.width <= 0 || picture.height <= 0 ||
      picture.rgb.size() != size_t{3} * picture.width * picture.height) {
    ThrowIfError(InvalidArgument("the bytes are no picture of this size"));
  }
  return picture;
}

PythonPicture Decode(const py::bytes& file) {
  std::string_view bytes = file;
  Result<Picture> picture = [&] {
    py::gil_scoped_release release;
    return DecodePicture(bytes);
  }();
  return ToPython(Unwrap(std::move(picture)));
}

std::pair<int, int> Size(const py::bytes& file) {
  PictureSize size = Unwrap(ReadPictureSize(std::string_view(file)));
  return {size.width, size.height};
}

PythonPicture Resized(const PythonPicture& picture, int width, int height,
                      const std::string& filter, const std::string& rule) {
  ResizeRule chosen;
  if (filter == "bicubic") chosen.filter = ResizeFilter::kBicubic;
  if (filter == "lanczos") chosen.filter = ResizeFilter::kLanczos;
  if (rule != "torch") chosen.weights = ResizeWeights::kPillow;
  if (rule == "pillow13") chosen.order = ResizeOrder::kTallHeightsFirst;
  return ToPython(Resize(FromPython(picture), width, height, chosen));
}

PythonPicture Seen(const PythonPicture& picture, const std::array<int, 4>& window,
                   const std::array<uint8_t, 3>& fill) {
  auto [left, top, width, height] = window;
  return ToPython(Look(FromPython(picture), {left, top, width, height}, fill));
}

std::array<int, 4> Middle(const PythonPicture& picture, int width, int height) {
  PictureWindow window = Centre(FromPython(picture), width, height);
  return {window.left, window.top, window.width, window.height};
}

py::bytes Normalized(const PythonPicture& picture, const std::array<float, 3>& mean,
                     const std::array<float, 3>& std) {
  std::vector<float> values = Normalize(FromPython(picture), {mean, std});
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

struct LaidOut {
  PictureSettings settings;
  PictureLayout layout;
};

LaidOut LayOut(const std::string& settings, PictureSize size, const std::string& detail) {
  LaidOut out{Unwrap(PictureSettings::Parse(Unwrap(Json::Parse(settings)))), {}};
  auto chosen = detail == "low" ? PictureDetail::kLow : PictureDetail::kAuto;
  out.layout = Unwrap(LayOutPicture(out.settings, size, chosen));
  return out;
}

std::vector<std::pair<std::string, int>> Pieces(const std::string& settings, int width, int height,
                                                const std::string& detail) {
  std::vector<std::pair<std::string, int>> pieces;
  for (const auto& piece : LayOut(settings, {width, height}, detail).layout.plan.pieces) {
    pieces.emplace_back(piece.text, piece.num_rows);
  }
  return pieces;
}

std::vector<int32_t> OrderOf(const std::string& settings, int width, int height,
                             const std::string& detail) {
  return LayOut(settings, {width, height}, detail).layout.order;
}

std::vector<RotaryPosition> PositionsOf(const std::string& settings, const py::list& parts) {
  Prompt prompt;
  for (const py::handle& part : parts) {
    if (!py::isinstance<py::tuple>(part)) {
      prompt.Append(part.cast<std::vector<int32_t>>());
      continue;
    }
    auto [width, height] = part.cast<std::pair<int, int>>();
    for (const auto& piece : LayOut(settings, {width, height}, "auto").layout.plan.pieces) {
      if (piece.num_rows == 0) continue;
      std::vector<float> values(static_cast<size_t>(piece.num_rows), 1);
      prompt.Append(Unwrap(EmbeddingRows::Make(std::move(values), 1, piece.positions)));
    }
  }
  std::vector<RotaryPosition> positions;
  for (int i = 0; i < prompt.size(); ++i) positions.push_back(prompt.RotaryAt(i));
  return positions;
}

std::pair<py::bytes, std::vector<int32_t>> PatchesOf(const std::string& settings,
                                                     const PythonPicture& given,
                                                     const std::string& detail) {
  Picture picture = FromPython(given);
  LaidOut out = LayOut(settings, {picture.width, picture.height}, detail);
  Patches patches;
  for (const ViewPixels& view : LookAtViews(out.layout, std::move(picture))) {
    patches.Append(out.settings, view);
  }
  return {py::bytes(reinterpret_cast<const char*>(patches.values.data()),
                    patches.values.size() * sizeof(float)),
          patches.positions};
}

}  // namespace

void BindMedia(py::module_& m) {
  m.def("decode_picture", &Decode, py::arg("file"));
  m.def("picture_size", &Size, py::arg("file"), "(width, height), of the header alone.");
  m.def("resize_picture", &Resized, py::arg("picture"), py::arg("width"), py::arg("height"),
        py::arg("filter"), py::arg("rule"),
        "`filter`: bilinear, bicubic, lanczos. `rule`: torch, pillow (up to 12), pillow13.");
  m.def("look_at_picture", &Seen, py::arg("picture"), py::arg("window"), py::arg("fill"),
        "`window`: (left, top, width, height).");
  m.def("picture_centre", &Middle, py::arg("picture"), py::arg("width"), py::arg("height"));
  m.def("normalize_picture", &Normalized, py::arg("picture"), py::arg("mean"), py::arg("std"),
        "float32 as bytes, [3, height, width].");
  m.def("picture_pieces", &Pieces, py::arg("settings"), py::arg("width"), py::arg("height"),
        py::arg("detail") = "auto",
        "(text, number of rows) of each piece. `settings`: JSON, \"pictures\" of "
        "mlc-chat-config.json.");
  m.def("picture_order", &OrderOf, py::arg("settings"), py::arg("width"), py::arg("height"),
        py::arg("detail") = "auto", "PictureLayout::order.");
  m.def("prompt_positions", &PositionsOf, py::arg("settings"), py::arg("parts"),
        "(time, height, width) of each row. `parts`: lists of tokens; tuples: a picture's size.");
  m.def("picture_patches", &PatchesOf, py::arg("settings"), py::arg("picture"),
        py::arg("detail") = "auto",
        "float32 as bytes, [n, 3 * patch_size ** 2], of all views, and their positions, [2 n].");
}

}  // namespace mlc
