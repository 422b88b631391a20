// A prompt: spans of token ids and spans of embedding rows, one after another.
//
//   Prompt prompt({1, 2, 3});
//   prompt.Append(rows);        // made by a tower from a picture
//   prompt.Append({4, 5});
//
// Embedding rows replace the rows that `embed` computes for tokens. They are shared, never copied.
// Their values may come later (late_rows.h).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/content_hash.h"
#include "base/status.h"
#include "model/late_rows.h"

namespace mlc {

// The position of a row for rotary embeddings: time, height, width. For a token all three are
// equal.
using RotaryPosition = std::array<int32_t, 3>;

class EmbeddingRows {
 public:
  // `values` [num_rows, width], finite, at least one row. `positions`: one per row, relative to the
  // begin of the span, none below zero; empty: 0, 1, 2, ... Caches treat rows as equal when their
  // values and positions are equal.
  static Result<std::shared_ptr<const EmbeddingRows>> Make(
      std::vector<float> values, int width, std::vector<RotaryPosition> positions = {});
  // The rows [first, first + num_rows) of `late`. `see_each_other`: attention of each row reaches
  // to the end of the span, so a step computes all of them or none.
  static Result<std::shared_ptr<const EmbeddingRows>> Late(
      std::shared_ptr<LateRows> late, int first, int num_rows, bool see_each_other = false,
      std::vector<RotaryPosition> positions = {});

  int num_rows() const { return num_rows_; }
  int width() const { return width_; }
  bool see_each_other() const { return see_each_other_; }
  // Where the values will come from; null when they are there.
  LateRows* awaited() const {
    return late_ == nullptr || late_->is_ready() ? nullptr : late_.get();
  }
  const float* row(int index) const;  // null while the values are awaited
  const ContentHash& hash() const { return hash_; }
  bool has_positions() const { return !positions_.empty(); }
  RotaryPosition position(int index) const;
  // The distance from the span's first position to that of the next span: its largest position + 1.
  int num_positions() const { return num_positions_; }

 private:
  EmbeddingRows() = default;
  Status SetPositions(std::vector<RotaryPosition> positions);

  std::vector<float> values_;
  std::shared_ptr<LateRows> late_;  // null: `values_` are the values
  int first_ = 0;                   // in `late_`
  bool see_each_other_ = false;
  std::vector<RotaryPosition> positions_;
  int num_rows_ = 0, width_ = 0, num_positions_ = 0;
  ContentHash hash_{};
};

class Prompt {
 public:
  struct Span {
    int begin = 0, size = 0;                    // rows of the prompt
    int position = 0;                           // rotary position of its first row
    std::vector<int32_t> tokens;                // empty when there are `rows`
    std::shared_ptr<const EmbeddingRows> rows;  // null: the span is tokens
  };

  Prompt() = default;
  Prompt(std::vector<int32_t> tokens);  // NOLINT(google-explicit-constructor)
  Prompt(std::initializer_list<int32_t> tokens) : Prompt(std::vector<int32_t>(tokens)) {}

  void Append(std::vector<int32_t> tokens);
  void Append(std::initializer_list<int32_t> tokens) { Append(std::vector<int32_t>(tokens)); }
  void Append(std::shared_ptr<const EmbeddingRows> rows);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Span>& spans() const { return spans_; }
  bool has_rows() const { return has_rows_; }
  // Whether any rotary position differs from the row's index.
  bool has_positions() const { return has_positions_; }

  // The embedding row at `index`; null for a token. `index` may be past the end of the prompt.
  const float* RowAt(int index) const;
  RotaryPosition RotaryAt(int index) const;
  // How many of the `num_rows` rows from `from` on, the first ones, one step can compute: none
  // whose values are awaited, and rows that see each other only together.
  int NumStepRows(int from, int num_rows) const;
  // What the first row from `from` on awaits; null if none does.
  LateRows* AwaitedFrom(int from) const;
  // The span of the row at `index`; null past the end.
  const Span* SpanAt(int index) const;

 private:
  // The first span that ends behind `index`.
  std::vector<Span>::const_iterator SpanFrom(int index) const;

  std::vector<Span> spans_;
  int size_ = 0, next_position_ = 0;
  bool has_rows_ = false, has_positions_ = false;
};

// Compares tokens and the contents of embedding rows.
bool operator==(const Prompt& a, const Prompt& b);

}  // namespace mlc
