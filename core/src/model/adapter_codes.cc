#include "model/adapter_codes.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"

namespace mlc {
namespace {

constexpr int kRanks = AdapterSpec::kRanks, kLanes = AdapterSpec::kLanes;
constexpr int kZero = 64;  // the code of 0 in A
constexpr float kLargestA = 63, kLargestB = 127;
constexpr int kQuad = 4;
// Of the scales of A times those of B. With it what the most inputs (2^20) add is a finite float32
// for activations of up to 1e9, so the kernel never rounds NaN to whole numbers.
constexpr float kLargestScale = 1e18f;

int64_t NumGroups(const AdapterLayer& layer) {  // of the inputs of a part
  return (layer.inputs + layer.group - 1) / layer.group;
}

int64_t NumOutputs(const AdapterLayer& layer) {
  int64_t all = 0;
  for (int64_t part : layer.outputs) all += part;
  return all;
}

// To the nearest code, ties to even: the sum has no bits behind the point.
int CodeOf(float value, float inverse) {
  constexpr float kWhole = 0x1.8p23f;
  return static_cast<int>(BitsOfFloat(value * inverse + kWhole) - BitsOfFloat(kWhole));
}

// 0 where the inverse would be infinite: the codes of such tiny values are 0.
float InverseOf(float scale) { return scale > 1e-37f ? 1 / scale : 0; }

// The bits of its size, which finite floats have in the order of their sizes; compilers use vectors
// for whole numbers.
int32_t SizeOf(float value) { return static_cast<int32_t>(BitsOfFloat(value) & 0x7FFFFFFFu); }

// The scales of a part of B, whose blocks of 16 outputs begin at `b`: [blocks, 8, 16].
void ScalesOfB(const float* b, int64_t blocks, float* scales) {
  int32_t most[kRanks * kLanes] = {};
  for (int64_t block = 0; block < blocks; ++block, b += kRanks * kLanes) {
    for (int i = 0; i < kRanks * kLanes; ++i) most[i] = std::max(most[i], SizeOf(b[i]));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int32_t size = *std::max_element(most + rank * kLanes, most + (rank + 1) * kLanes);
    scales[rank] = FloatOfBits(static_cast<uint32_t>(size)) / kLargestB;
  }
}

// The place of each input of a group among its codes of a rank.
std::vector<int64_t> Places(const AdapterLayer& layer) {
  std::vector<int64_t> places;
  int64_t block = kQuad * layer.step;
  for (int64_t i = 0; i < layer.group; ++i) {
    int64_t quad = i % block % layer.step * (layer.group / block) + i / block;
    places.push_back(quad * kQuad + i % block / layer.step);
  }
  return places;
}

// A group of inputs of a part, from `first` on: the scales and the quads. `a` begins at the part:
// [inputs / 16, 8, 16]. Returns whether no scale is too large; an infinite one is.
bool WriteGroup(const AdapterLayer& layer, const std::vector<int64_t>& places, const float* a,
                int64_t first, const float* factors, char* out) {
  int64_t count = std::min(layer.group, layer.inputs - first);
  char* quads = out + kRanks * sizeof(float);
  std::fill_n(quads, layer.group * kRanks, static_cast<char>(kZero));
  float largest = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    auto value = [&](int64_t i) {
      int64_t input = first + i;
      return a[(input / kLanes * kRanks + rank) * kLanes + input % kLanes];
    };
    int32_t most = 0;
    for (int64_t i = 0; i < count; ++i) most = std::max(most, SizeOf(value(i)));
    float scale = FloatOfBits(static_cast<uint32_t>(most)) / kLargestA;
    float inverse = InverseOf(scale), given = scale * factors[rank];
    std::memcpy(out + rank * sizeof(float), &given, sizeof(given));
    largest = std::max(largest, given);
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = places[i];
      quads[(place / kQuad * kRanks + rank) * kQuad + place % kQuad] =
          static_cast<char>(kZero + CodeOf(value(i), inverse));
    }
  }
  return largest <= kLargestScale;
}

}  // namespace

std::vector<AdapterTensor> CodedAdapter(const AdapterLayer& layer) {
  auto parts = static_cast<int64_t>(layer.outputs.size());
  return {{{parts * NumGroups(layer), 1 + layer.group / kQuad, kRanks}, DType::kInt32},
          {{NumOutputs(layer) / kLanes, kRanks * kLanes}, DType::kInt8}};
}

Result<std::vector<char>> CodesOfA(const AdapterLayer& layer, const float* a, const float* b,
                                   int num_groups) {
  int64_t each = (1 + layer.group / kQuad) * kRanks * kQuad;  // bytes of a group of inputs
  auto parts = static_cast<int64_t>(layer.outputs.size());
  std::vector<char> out(static_cast<size_t>(num_groups * parts * NumGroups(layer) * each));
  std::vector<int64_t> places = Places(layer);
  char* to = out.data();
  for (int group = 0; group < num_groups; ++group) {
    for (int64_t width : layer.outputs) {
      float factors[kRanks];
      ScalesOfB(b, width / kLanes, factors);
      for (int64_t first = 0; first < layer.inputs; first += layer.group, to += each) {
        if (!WriteGroup(layer, places, a, first, factors, to)) {
          return Unsupported("holds numbers that are too large: those of '" + layer.name +
                             ".a' times those of '" + layer.name + ".b'");
        }
      }
      a += layer.inputs * kRanks;
      b += width * kRanks;
    }
  }
  return out;
}

std::vector<char> CodesOfB(const AdapterLayer& layer, const float* b, int num_groups) {
  std::vector<char> out(static_cast<size_t>(num_groups * NumOutputs(layer) * kRanks));
  char* to = out.data();
  for (int group = 0; group < num_groups; ++group) {
    for (int64_t width : layer.outputs) {
      float inverses[kRanks];
      ScalesOfB(b, width / kLanes, inverses);
      for (float& scale : inverses) scale = InverseOf(scale);
      for (int64_t block = 0; block < width / kLanes; ++block) {
        for (int rank = 0; rank < kRanks; ++rank, b += kLanes) {
          char* pair = to + rank / 2 * 2 * kLanes + rank % 2;
          for (int lane = 0; lane < kLanes; ++lane) {
            pair[2 * lane] = static_cast<char>(CodeOf(b[lane], inverses[rank]));
          }
        }
        to += kRanks * kLanes;
      }
    }
  }
  return out;
}

}  // namespace mlc
