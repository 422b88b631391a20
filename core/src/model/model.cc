#include "model/model.h"

#include <algorithm>

namespace mlc {

void ModelInfo::SetLayers(const std::vector<LayerState>& layers) {
  page_bytes = state_bytes = 0;
  int window = -1;  // no layer with pages seen yet
  for (const LayerState& layer : layers) {
    bool has_pages = layer.kind == LayerKind::kAttention || layer.kind == LayerKind::kLatent;
    if (layer.kind == LayerKind::kRecurrent) state_bytes += layer.bytes;
    if (!has_pages) continue;
    page_bytes += layer.bytes;
    bool sees_all = layer.window == 0 || window == 0;
    window = sees_all ? 0 : std::max(window, layer.window);
  }
  sliding_window_size = window > 0 ? window : -1;
}

}  // namespace mlc
