// Adapters beside layers that multiply integers: codes instead of floats.
//
// A has codes of 7 bits, 64 for 0, and for each rank a scale for each group of inputs: its largest
// value has the code 127 or 1. A part of a layer has, for each group of inputs, the scales of the 8
// ranks, and then its quads: of each rank the codes of four inputs. The inputs are in the order of
// the layer's own weights: with `step` 2 a quad has every second one of 8 neighbours, and those of
// the even ones come first.
//
// B has codes of 8 bits: for each 16 outputs, pairs of ranks: of each output both codes. Its
// scales, one for each rank and part, are factors of those of A.
#pragma once

#include <vector>

#include "model/adapter_file.h"

namespace mlc {

// Of A and B of a group of ranks.
std::vector<AdapterTensor> CodedAdapter(const AdapterLayer& layer);

// From groups of ranks as the file has them, in the shapes of `layer.shapes()`. All are finite.
// `b` is the layer's B, from which A gets factors. Their products may be too large: Unsupported.
Result<std::vector<char>> CodesOfA(const AdapterLayer& layer, const float* a, const float* b,
                                   int num_groups);
std::vector<char> CodesOfB(const AdapterLayer& layer, const float* b, int num_groups);

}  // namespace mlc
