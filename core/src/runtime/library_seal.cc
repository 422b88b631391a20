#include "runtime/library_seal.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/hash.h"

namespace mlc {
namespace {

constexpr std::string_view kMagic = "MLCSEAL1", kName = ".mlc_seal";
constexpr size_t kSealBytes = 24;
// The fields of ELF that are read (System V ABI, "Object Files").
constexpr std::string_view kElf64Little = "\177ELF\2\1";
constexpr size_t kHeaderBytes = 64, kSectionBytes = 64;
constexpr uint64_t kAlloc = 2;   // SHF_ALLOC: the section is loaded
constexpr uint32_t kNoBits = 8;  // SHT_NOBITS: it has no content in the file

template <typename T>
T Read(std::string_view bytes, size_t offset) {
  T value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Section {
  uint32_t name;
  bool is_loaded;
  std::string_view content;
};

// All sections; nothing if one lies outside the file.
std::optional<std::vector<Section>> ReadSections(std::string_view file) {
  if (file.size() < kHeaderBytes || file.substr(0, 6) != kElf64Little) return std::nullopt;
  uint64_t table = Read<uint64_t>(file, 0x28);
  uint16_t entry = Read<uint16_t>(file, 0x3a), count = Read<uint16_t>(file, 0x3c);
  if (entry != kSectionBytes || table > file.size() ||
      uint64_t{count} * entry > file.size() - table) {
    return std::nullopt;
  }
  std::vector<Section> sections;
  for (size_t i = 0; i < count; ++i) {
    std::string_view header = file.substr(table + i * entry, entry);
    bool has_content = Read<uint32_t>(header, 4) != kNoBits;
    uint64_t offset = Read<uint64_t>(header, 0x18), size = Read<uint64_t>(header, 0x20);
    if (has_content && (offset > file.size() || size > file.size() - offset)) return std::nullopt;
    bool is_loaded = has_content && (Read<uint64_t>(header, 8) & kAlloc) != 0;
    sections.push_back({Read<uint32_t>(header, 0), is_loaded,
                        has_content ? file.substr(offset, size) : std::string_view()});
  }
  return sections;
}

bool HasName(const Section& section, std::string_view names) {
  return section.name < names.size() && names.substr(section.name, kName.size()) == kName &&
         names.substr(section.name + kName.size(), 1) == std::string_view("\0", 1);
}

}  // namespace

std::optional<LibrarySeal> ReadLibrarySeal(std::string_view file) {
  std::optional<std::vector<Section>> sections = ReadSections(file);
  if (!sections) return std::nullopt;
  uint16_t names = Read<uint16_t>(file, 0x3e);
  if (names >= sections->size()) return std::nullopt;
  std::string covered;
  std::string_view seal;
  for (const Section& section : *sections) {
    if (!section.is_loaded) continue;
    if (HasName(section, (*sections)[names].content)) {
      seal = section.content;
    } else {
      covered += section.content;
    }
  }
  if (seal.size() != kSealBytes || seal.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  LibrarySeal found{Read<uint64_t>(seal, 16), false};
  found.fits = Read<uint64_t>(seal, 8) == covered.size() && found.hash == HashWords(covered);
  return found;
}

}  // namespace mlc
