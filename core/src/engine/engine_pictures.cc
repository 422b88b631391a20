// The part of Engine that runs a model's tower: between steps, one turn at a time, for the rows
// that a running sequence needs next.
#include "engine/engine.h"

namespace mlc {

bool Engine::EncodeRows() {
  for (const std::shared_ptr<Sequence>& sequence : running_) {
    LateRows* rows;
    while ((rows = sequence->AwaitedRows()) != nullptr) {
      RowValues kept = rows->has_begun() ? nullptr : row_cache_->Find(rows->key());
      if (kept == nullptr) {
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
  metrics_.encode_s += SecondsBetween(begin, Clock::now());
  if (!status.ok()) return Abort(request.request.id, status);
  if (rows->is_ready()) row_cache_->Put(rows->key(), rows->values());
}

}  // namespace mlc
