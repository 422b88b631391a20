// The part of Engine that runs a model's tower: between steps, one turn at a time, for the rows
// that a running sequence needs next.
#include <algorithm>

#include "engine/engine.h"

namespace mlc {

bool Engine::EncodeRows() {
  for (const std::shared_ptr<Sequence>& sequence : running_) {
    LateRows* rows;
    while ((rows = sequence->AwaitedRows()) != nullptr) {
      RowValues kept = row_cache_->Find(rows->key());
      if (kept == nullptr) {
        if (HasDecodes(running_) && Clock::now() < tower_rests_until_) return true;
        Encode(*sequence->request, rows);
        return true;
      }
      rows->Take(std::move(kept));
    }
  }
  return false;
}

void Engine::Encode(const RequestState& request, LateRows* rows) {
  Clock::time_point begin = Clock::now();
  if (!rows->has_begun()) ++metrics_.num_encoded_pictures;
  Status status = rows->Advance();
  Clock::time_point end = Clock::now();
  metrics_.encode_s += SecondsBetween(begin, end);
  tower_rests_until_ = end + (end - begin);  // running answers get as much time
  if (!status.ok()) {
    Abort(request.request.id, status);
    return EndUnread(status);
  }
  if (rows->is_ready()) row_cache_->Put(rows->key(), rows->values());
}

}  // namespace mlc
