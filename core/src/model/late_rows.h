// Embedding rows whose values are computed when a step needs them. Everything else about them is
// known at once: their number, their positions, and the key that stands for their values.
//
// One thread at a time may use an object: the one that builds a request, then that of the engine.
#pragma once

#include <memory>
#include <vector>

#include "base/content_hash.h"
#include "base/status.h"

namespace mlc {

// Computes rows in turns, so that an engine can do other work in between.
class RowMaker {
 public:
  virtual ~RowMaker() = default;
  // One turn. Appends those rows to `values` that are ready behind it, maybe none.
  virtual Status Next(std::vector<float>* values) = 0;
};

using RowValues = std::shared_ptr<const std::vector<float>>;

class LateRows {
 public:
  // All rows of one picture: [num_rows, width]. `key`: two objects with the same key get the same
  // values. `maker`: null if nobody will ask for the values, or Take gives them.
  LateRows(const ContentHash& key, int num_rows, int width, std::unique_ptr<RowMaker> maker);

  const ContentHash& key() const { return key_; }
  int num_rows() const { return num_rows_; }
  int width() const { return width_; }
  bool has_begun() const { return has_begun_ || is_ready(); }
  bool is_ready() const { return values_ != nullptr; }
  const RowValues& values() const { return values_; }  // null unless it is ready
  // One turn of the maker. Errors are final; also kInternal for rows that are not what was said.
  Status Advance();
  // Values that were made for the same key before.
  void Take(RowValues values);

 private:
  ContentHash key_;
  int num_rows_, width_;
  std::unique_ptr<RowMaker> maker_;
  bool has_begun_ = false;
  std::vector<float> made_;
  RowValues values_;
};

}  // namespace mlc
