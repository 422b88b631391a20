#include "media/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

// The rules are those of Pillow's Resample.c and of torch's UpSampleKernel.cpp, which has its
// weights in doubles from there.
namespace mlc {
namespace {

constexpr double kPi = 3.14159265358979323846;

double Bilinear(double x) { return std::max(0.0, 1.0 - std::fabs(x)); }

double Bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double Sinc(double x) { return x == 0.0 ? 1.0 : std::sin(x * kPi) / (x * kPi); }

double Lanczos(double x) { return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0; }

struct FilterShape {
  double (*weight)(double x);
  double support;  // where it becomes zero
};

FilterShape ShapeOf(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBilinear:
      return {&Bilinear, 1.0};
    case ResizeFilter::kBicubic:
      return {&Bicubic, 2.0};
    default:
      return {&Lanczos, 3.0};
  }
}

// The old pixels of one new pixel: `count` of them from `first`, their weights from `weight_at`.
struct Taps {
  int first = 0, count = 0;
  size_t weight_at = 0;
};

// A pass: new[i] = clamp((Σ weights[j] · old[first + j] + half) >> bits).
struct Pass {
  std::vector<Taps> taps;
  std::vector<int32_t> weights;
  int bits = 0;
};

// Weights that add up to 1, before they are rounded.
std::vector<double> ExactWeights(FilterShape shape, int from, int to, Pass* pass) {
  double scale = static_cast<double>(from) / to, widening = std::max(scale, 1.0);
  double support = shape.support * widening, inverse = 1.0 / widening;
  std::vector<double> weights;
  for (int i = 0; i < to; ++i) {
    double centre = (i + 0.5) * scale, sum = 0.0;
    int first = std::max(static_cast<int>(centre - support + 0.5), 0);
    int last = std::min(static_cast<int>(centre + support + 0.5), from);
    size_t begin = weights.size();
    for (int j = first; j < last; ++j) {
      weights.push_back(shape.weight((j - centre + 0.5) * inverse));
      sum += weights.back();
    }
    for (size_t j = begin; sum != 0.0 && j < weights.size(); ++j) weights[j] /= sum;
    pass->taps.push_back({first, last - first, begin});
  }
  return weights;
}

// The bits behind the point with which the largest weight fits 16 bits.
int TorchBits(const std::vector<double>& weights) {
  double largest = 0.0;
  for (double weight : weights) largest = std::max(largest, weight);
  int bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + largest * (1 << (bits + 1))) < 1 << 15) ++bits;
  return bits;
}

Pass PlanPass(int from, int to, const ResizeRule& rule) {
  Pass pass;
  std::vector<double> exact = ExactWeights(ShapeOf(rule.filter), from, to, &pass);
  pass.bits = rule.weights == ResizeWeights::kPillow ? 22 : TorchBits(exact);
  for (double weight : exact) {
    double scaled = weight * (1 << pass.bits);
    pass.weights.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return pass;
}

uint8_t Rounded(int32_t sum, int bits) {
  return static_cast<uint8_t>(std::clamp(sum >> bits, 0, 255));
}

int32_t Half(const Pass& pass) { return pass.bits > 0 ? 1 << (pass.bits - 1) : 0; }

Picture ResizeWidth(const Picture& picture, int width, const ResizeRule& rule) {
  if (width == picture.width) return picture;
  Pass pass = PlanPass(picture.width, width, rule);
  Picture out{width, picture.height, std::vector<uint8_t>(size_t{3} * width * picture.height)};
  uint8_t* target = out.rgb.data();
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* row = &picture.rgb[size_t{3} * y * picture.width];
    for (const Taps& taps : pass.taps) {
      const uint8_t* pixel = row + size_t{3} * taps.first;
      const int32_t* weight = pass.weights.data() + taps.weight_at;
      int32_t red = Half(pass), green = red, blue = red;
      for (int j = 0; j < taps.count; ++j, pixel += 3) {
        red += weight[j] * pixel[0];
        green += weight[j] * pixel[1];
        blue += weight[j] * pixel[2];
      }
      for (int32_t sum : {red, green, blue}) *target++ = Rounded(sum, pass.bits);
    }
  }
  return out;
}

Picture ResizeHeight(const Picture& picture, int height, const ResizeRule& rule) {
  if (height == picture.height) return picture;
  Pass pass = PlanPass(picture.height, height, rule);
  size_t row_bytes = size_t{3} * picture.width;
  Picture out{picture.width, height, std::vector<uint8_t>(row_bytes * height)};
  std::vector<int32_t> sums(row_bytes);
  uint8_t* target = out.rgb.data();
  for (const Taps& taps : pass.taps) {
    std::fill(sums.begin(), sums.end(), Half(pass));
    for (int j = 0; j < taps.count; ++j) {
      const uint8_t* row = &picture.rgb[row_bytes * (taps.first + j)];
      int32_t weight = pass.weights[taps.weight_at + j];
      for (size_t i = 0; i < row_bytes; ++i) sums[i] += weight * row[i];
    }
    for (int32_t sum : sums) *target++ = Rounded(sum, pass.bits);
  }
  return out;
}

bool IsHeightFirst(const Picture& picture, int width, int height, ResizeOrder order) {
  int64_t lower = int64_t{picture.height} - height, narrower = int64_t{picture.width} - width;
  if (order == ResizeOrder::kTallHeightsFirst) return lower > 0 && lower > 2 * narrower;
  return order == ResizeOrder::kHeightFirst;
}

// The four pixels of a new one along a side of `from` pixels, and their weights.
struct FourTaps {
  int at[4];
  double weights[4];
};

std::vector<FourTaps> PlanFour(int from, int to) {
  constexpr double a = -0.75;
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  std::vector<FourTaps> taps(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    double place = (i + 0.5) * from / to - 0.5, first = std::floor(place), t = place - first;
    FourTaps& own = taps[static_cast<size_t>(i)];
    for (int j = 0; j < 4; ++j) {
      own.at[j] = std::clamp(static_cast<int>(first) - 1 + j, 0, from - 1);
      double away = std::fabs(t + 1 - j);
      own.weights[j] = j == 1 || j == 2 ? near(away) : far(away);
    }
  }
  return taps;
}

}  // namespace

Picture Resize(const Picture& picture, int width, int height, const ResizeRule& rule) {
  if (IsHeightFirst(picture, width, height, rule.order)) {
    return ResizeWidth(ResizeHeight(picture, height, rule), width, rule);
  }
  return ResizeHeight(ResizeWidth(picture, width, rule), height, rule);
}

std::vector<float> Interpolate(const Picture& picture, int width, int height) {
  const std::vector<FourTaps> over = PlanFour(picture.width, width);
  std::vector<float> out;
  out.reserve(size_t{3} * width * height);
  for (const FourTaps& down : PlanFour(picture.height, height)) {
    for (const FourTaps& across : over) {
      double sums[3] = {0, 0, 0};
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          size_t at = size_t{3} * (size_t{1} * down.at[i] * picture.width + across.at[j]);
          double weight = down.weights[i] * across.weights[j];
          for (size_t c = 0; c < 3; ++c) sums[c] += weight * picture.rgb[at + c];
        }
      }
      for (double sum : sums) out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

}  // namespace mlc
