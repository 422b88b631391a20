#include "runtime/device/kernel_table.h"

#include <cstring>

namespace mlc {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  Result<T> Number() {
    if (rest_.size() < sizeof(T)) return CutOff();
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  Result<std::string> Text() {
    MLC_ASSIGN_OR_RETURN(uint64_t length, Number<uint64_t>());
    if (length > rest_.size()) return CutOff();
    std::string text(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return text;
  }

  // Reads the number of items that follow. Each item has at least `item_bytes`.
  Result<uint64_t> Count(size_t item_bytes) {
    MLC_ASSIGN_OR_RETURN(uint64_t count, Number<uint64_t>());
    if (count > rest_.size() / item_bytes) return CutOff();
    return count;
  }

 private:
  static Status CutOff() { return Corrupt("the model library's table of kernels is damaged"); }
  std::string_view rest_;
};

Result<DLDataType> ParseType(Reader* reader) {
  DLDataType type;
  MLC_ASSIGN_OR_RETURN(type.code, reader->Number<uint8_t>());
  MLC_ASSIGN_OR_RETURN(type.bits, reader->Number<uint8_t>());
  MLC_ASSIGN_OR_RETURN(type.lanes, reader->Number<uint16_t>());
  return type;
}

// "blockIdx.y" is 1, "threadIdx.x" is 3.
Result<int> ParseExtent(const std::string& tag) {
  for (int i = 0; i < 6; ++i) {
    const char* kind = i < 3 ? "blockIdx." : "threadIdx.";
    if (tag == std::string(kind) + "xyz"[i % 3]) return i;
  }
  return Unsupported("a kernel of the model library wants '" + tag + "'");
}

// "paramWriteAccess:[0,1]" describes the code. It is not an argument.
constexpr std::string_view kWrites = "paramWriteAccess:";

std::vector<bool> ParseWrites(std::string_view tag) {
  std::vector<bool> writes;
  for (char c : tag.substr(kWrites.size())) {
    if (c == '0' || c == '1') writes.push_back(c == '1');
  }
  return writes;
}

Result<KernelInfo> ParseKernel(Reader* reader) {
  KernelInfo kernel;
  MLC_ASSIGN_OR_RETURN(kernel.name, reader->Text());
  MLC_ASSIGN_OR_RETURN(uint64_t num_args, reader->Count(4));
  for (uint64_t i = 0; i < num_args; ++i) {
    MLC_ASSIGN_OR_RETURN(DLDataType type, ParseType(reader));
    kernel.args.push_back(type);
  }
  MLC_ASSIGN_OR_RETURN(uint64_t num_tags, reader->Count(8));
  for (uint64_t i = 0; i < num_tags; ++i) {
    MLC_ASSIGN_OR_RETURN(std::string tag, reader->Text());
    if (tag.rfind(kWrites, 0) == 0) {
      kernel.writes = ParseWrites(tag);
      continue;
    }
    MLC_ASSIGN_OR_RETURN(int extent, ParseExtent(tag));
    kernel.extents.push_back(extent);
  }
  MLC_ASSIGN_OR_RETURN(uint64_t num_extras, reader->Count(4));
  for (uint64_t i = 0; i < num_extras; ++i) {
    MLC_RETURN_IF_ERROR(reader->Number<int32_t>().status());
  }
  return kernel;
}

Result<std::map<std::string, KernelInfo>> ParseKernels(Reader* reader) {
  std::map<std::string, KernelInfo> kernels;
  MLC_ASSIGN_OR_RETURN(uint64_t count, reader->Count(16));
  for (uint64_t i = 0; i < count; ++i) {
    MLC_ASSIGN_OR_RETURN(std::string name, reader->Text());
    MLC_ASSIGN_OR_RETURN(KernelInfo kernel, ParseKernel(reader));
    kernels.emplace(std::move(name), std::move(kernel));
  }
  return kernels;
}

}  // namespace

LaunchSize KernelInfo::SizeOf(const TVMFFIAny* arguments) const {
  LaunchSize size;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t extent = arguments[args.size() + i].v_int64;
    if (extent <= 0) size.empty = true;
    int place = extents[i];
    (place < 3 ? size.groups[place] : size.items[place - 3]) = static_cast<size_t>(extent);
  }
  return size;
}

Result<KernelTable> ParseKernelTable(std::string_view bytes) {
  Reader reader(bytes);
  KernelTable table;
  MLC_ASSIGN_OR_RETURN(table.format, reader.Text());
  MLC_ASSIGN_OR_RETURN(table.kernels, ParseKernels(&reader));
  MLC_ASSIGN_OR_RETURN(table.code, reader.Text());
  return table;
}

Result<KernelTable> ParseWgslTable(std::string_view bytes) {
  Reader reader(bytes);
  KernelTable table;
  table.format = "wgsl";
  MLC_ASSIGN_OR_RETURN(table.kernels, ParseKernels(&reader));
  MLC_ASSIGN_OR_RETURN(uint64_t count, reader.Count(16));
  for (uint64_t i = 0; i < count; ++i) {
    MLC_ASSIGN_OR_RETURN(std::string name, reader.Text());
    MLC_ASSIGN_OR_RETURN(table.sources[name], reader.Text());
  }
  for (const auto& [name, kernel] : table.kernels) {
    size_t pointers = 0;
    for (DLDataType type : kernel.args) pointers += type.code == kDLOpaqueHandle;
    if (table.sources.count(name) == 0 || kernel.writes.size() != pointers) {
      return Corrupt("the model library's table of kernels is damaged");
    }
  }
  return table;
}

}  // namespace mlc
