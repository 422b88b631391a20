#include "runtime/program_memory.h"

#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <cstring>

#include "platform/memory.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

constexpr int64_t kAlignment = 64;  // the alignment that kernels assume
// Memory of a larger step is returned at the next small step.
constexpr int64_t kKeptBytes = int64_t{16} << 20;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

int64_t BufferBytes(const ProgramSpec::Buffer& buffer, const std::vector<int64_t>& sizes) {
  if (buffer.size == kFixedSize) return buffer.bytes;
  return sizes[static_cast<size_t>(buffer.size)] * buffer.bytes;
}

}  // namespace

Result<char*> Arena::Reserve(int64_t bytes) {
  bool on_host = device_.type == Device{}.type;
  bool wasteful = on_host && capacity_ > kKeptBytes && bytes < capacity_ / 2;
  if (bytes > capacity_ || wasteful || !memory_.defined()) {
    Release();
    int64_t wanted = Aligned(std::max<int64_t>(bytes, 1));
    MLC_ASSIGN_OR_RETURN(memory_, Tensor::Empty({wanted}, DType::kUInt8, device_));
    capacity_ = wanted;
    ++number_;
    // Neighbouring rows of a long prompt are in different pages of 4 KB.
    if (on_host) UseLargePages(memory_.data(), wanted);
  }
  return static_cast<char*>(memory_.impl()->tensor.data_ptr());
}

bool ProgramMemory::in_pieces() const {
  return !on_host() && device_.type != kDLCUDA && device_.type != kDLROCM;
}

Status ProgramMemory::Place(const ProgramSpec& spec, const ProgramInput* given,
                            const std::vector<int64_t>& sizes) {
  inputs_.resize(spec.inputs.size());
  buffers_.resize(spec.buffers.size());
  return in_pieces() ? PlaceInPieces(spec, given, sizes) : PlaceInOne(spec, given, sizes);
}

// On a device the inputs come first, so that all addresses depend only on the sizes.
Status ProgramMemory::PlaceInOne(const ProgramSpec& spec, const ProgramInput* given,
                                 const std::vector<int64_t>& sizes) {
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    bool copied = !on_host() || !IsAligned(given[i].data);
    if (copied) bytes += Aligned(given[i].size * spec.inputs[i].row_bytes());
  }
  int64_t input_bytes = bytes;
  for (const ProgramSpec::Buffer& buffer : spec.buffers)
    bytes += Aligned(BufferBytes(buffer, sizes));
  MLC_ASSIGN_OR_RETURN(char* next, whole_.Reserve(bytes));
  if (!on_host()) upload_.resize(static_cast<size_t>(input_bytes));
  next = PlaceInputs(spec, given, next);
  if (!on_host()) MLC_RETURN_IF_ERROR(whole_.Write(upload_.data(), input_bytes));
  for (size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i] = next;
    next += Aligned(BufferBytes(spec.buffers[i], sizes));
  }
  return Status();
}

// Copies the inputs that must be copied: to `next` on the host, or to the upload buffer. Returns
// the end.
char* ProgramMemory::PlaceInputs(const ProgramSpec& spec, const ProgramInput* given, char* next) {
  const char* begin = next;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i] = static_cast<char*>(const_cast<void*>(given[i].data));
    if (on_host() && IsAligned(given[i].data)) continue;
    int64_t size = given[i].size * spec.inputs[i].row_bytes();
    char* to = on_host() ? next : upload_.data() + (next - begin);
    if (size > 0) std::memcpy(to, given[i].data, static_cast<size_t>(size));
    inputs_[i] = next;
    next += Aligned(size);
  }
  return next;
}

Status ProgramMemory::PlaceInPieces(const ProgramSpec& spec, const ProgramInput* given,
                                    const std::vector<int64_t>& sizes) {
  pieces_.resize(inputs_.size() + buffers_.size(), Arena(device_));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    int64_t bytes = given[i].size * spec.inputs[i].row_bytes();
    MLC_ASSIGN_OR_RETURN(inputs_[i], pieces_[i].Reserve(bytes));
    MLC_RETURN_IF_ERROR(pieces_[i].Write(given[i].data, bytes));
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Arena& piece = pieces_[inputs_.size() + i];
    MLC_ASSIGN_OR_RETURN(buffers_[i], piece.Reserve(BufferBytes(spec.buffers[i], sizes)));
  }
  return Status();
}

const Tensor& ProgramMemory::owner(int buffer) const {
  if (!in_pieces()) return whole_.memory();
  return pieces_[inputs_.size() + static_cast<size_t>(buffer)].memory();
}

void ProgramMemory::Release() {
  whole_.Release();
  pieces_.clear();
}

}  // namespace mlc
