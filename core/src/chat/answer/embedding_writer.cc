#include "chat/answer/embedding_writer.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/base64.h"

namespace mlc {
namespace {

std::string LittleEndian(const std::vector<float>& vector) {
  std::string bytes;
  bytes.reserve(4 * vector.size());
  for (float value : vector) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift));
  }
  return bytes;
}

// A double with the nine digits that give this float32 again. Otherwise it would be written with 17
// digits.
double Shortened(float value) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.9g", static_cast<double>(value));
  return std::strtod(digits, nullptr);
}

}  // namespace

std::vector<float> FinishVector(std::vector<double> vector, int64_t dimensions, bool normalize) {
  if (dimensions > 0) vector.resize(static_cast<size_t>(dimensions));
  double squares = 0;
  for (double value : vector) squares += value * value;
  double scale = !normalize ? 1 : squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> unit;
  for (double value : vector) unit.push_back(static_cast<float>(value * scale));
  return unit;
}

EmbeddingWriter::EmbeddingWriter(const protocol::EmbeddingRequest& request, size_t num_texts,
                                 std::string model, bool normalize)
    : num_unfinished_(num_texts),
      dimensions_(request.dimensions.value_or(0)),
      is_base64_(request.encoding_format == protocol::EmbeddingEncoding::kBase64),
      normalize_(normalize) {
  whole_.model = std::move(model);
  whole_.data.resize(num_texts);
  for (size_t i = 0; i < num_texts; ++i) whole_.data[i].index = static_cast<int64_t>(i);
}

void EmbeddingWriter::Collect(size_t text, const RequestEvent& event) {
  if (!event.finished) return;
  std::vector<float> vector = FinishVector(event.embedding, dimensions_, normalize_);
  protocol::EmbeddingVector& out = whole_.data[text].embedding;
  if (is_base64_) {
    out.value = EncodeBase64(LittleEndian(vector));
  } else {
    std::vector<double> numbers;
    for (float value : vector) numbers.push_back(Shortened(value));
    out.value = std::move(numbers);
  }
  whole_.usage.prompt_tokens += event.usage.prompt_tokens;
  whole_.usage.total_tokens = whole_.usage.prompt_tokens;
  --num_unfinished_;
}

}  // namespace mlc
