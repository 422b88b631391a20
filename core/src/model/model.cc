#include "model/model.h"

#include <algorithm>

namespace mlc {
namespace {

bool HasPages(const LayerState& layer) {
  return layer.kind == LayerKind::kAttention || layer.kind == LayerKind::kLatent;
}

}  // namespace

void ModelInfo::SetLayers(const std::vector<LayerState>& layers, bool two_tables) {
  page_bytes = windowed_page_bytes = state_bytes = 0;
  layer_window = 0;
  bool any_sees_all = std::any_of(layers.begin(), layers.end(), [](const LayerState& layer) {
    return HasPages(layer) && layer.window == 0;
  });
  int widest = 0;
  for (const LayerState& layer : layers) {
    if (layer.kind == LayerKind::kRecurrent) state_bytes += layer.bytes;
    if (!HasPages(layer)) continue;
    widest = std::max(widest, layer.window);
    bool is_apart = two_tables && any_sees_all && layer.window > 0;
    (is_apart ? windowed_page_bytes : page_bytes) += layer.bytes;
    if (is_apart) layer_window = widest;
  }
  sliding_window_size = widest > 0 && !any_sees_all ? widest : -1;
}

bool ModelInfo::SetShards(int count) {
  num_shards = count;
  for (int64_t* bytes :
       {&page_bytes, &windowed_page_bytes, &state_bytes, &weight_bytes, &table_bytes, &step_bytes,
        &row_bytes, &logit_row_bytes, &decode_row_bytes}) {
    if (__builtin_mul_overflow(*bytes, count, bytes)) return false;
  }
  return true;
}

std::vector<int64_t> ModelInfo::PageBytes() const {
  if (!has_windowed_pages()) return {page_bytes};
  return {page_bytes, windowed_page_bytes};
}

}  // namespace mlc
