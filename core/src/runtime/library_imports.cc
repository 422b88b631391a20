#include "runtime/library_imports.h"

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "platform/shared_library.h"
#if defined(__linux__) && defined(__LP64__) && !defined(__ANDROID__)
#include <link.h>

#include <cstring>
#define MLC_BINDS_IMPORTS 1
#endif

namespace mlc {
namespace {

template <typename Function>
Import Named(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

#if defined(MLC_BINDS_IMPORTS)

using Symbol = ElfW(Sym);
using Slot = ElfW(Rela);
using Address = ElfW(Addr);
using Entry = ElfW(Dyn);

// The parts of a library's dynamic section that say which functions it calls by name.
struct CallTable {
  Address base = 0;
  const Symbol* symbols = nullptr;
  const char* names = nullptr;
  const Slot* slots = nullptr;
  size_t num_slots = 0;

  const char* NameOf(const Slot& slot) const {
    return names + symbols[ELF64_R_SYM(slot.r_info)].st_name;
  }
};

CallTable CallsOf(void* library) {
  CallTable table;
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return table;
  table.base = map->l_addr;
  for (const Entry* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    // glibc has added the base to the addresses, musl has not.
    Address value = entry->d_un.d_ptr;
    Address address = value < table.base ? table.base + value : value;
    if (entry->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<const Symbol*>(address);
    if (entry->d_tag == DT_STRTAB) table.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_JMPREL) table.slots = reinterpret_cast<const Slot*>(address);
    if (entry->d_tag == DT_PLTRELSZ) table.num_slots = value / sizeof(Slot);
  }
  if (table.symbols == nullptr || table.names == nullptr || table.slots == nullptr) {
    table.num_slots = 0;
  }
  return table;
}

// The loader finds a function among those that the process shows, or in what the library needs.
// RTLD_DEFAULT would also find the engine's own, where the engine was opened by RTLD_LOCAL (as in a
// JVM) and a model library does not see them.
bool LoaderFinds(void* library, const char* name) {
  static void* const process = OpenLibrary(nullptr, LibraryScope::kLazy);
  return FindSymbol(process, name) != nullptr || FindSymbol(library, name) != nullptr;
}

#endif

}  // namespace

const std::vector<Import>& TvmImports() {
  static const auto* imports = new std::vector<Import>{
      Named("TVMFFIErrorSetRaisedFromCStr", TVMFFIErrorSetRaisedFromCStr),
      Named("TVMFFIErrorSetRaisedFromCStrParts", TVMFFIErrorSetRaisedFromCStrParts),
      Named("TVMFFIFunctionCall", TVMFFIFunctionCall),
      Named("TVMFFIFunctionGetGlobal", TVMFFIFunctionGetGlobal),
      Named("TVMFFIEnvModLookupFromImports", TVMFFIEnvModLookupFromImports),
  };
  return *imports;
}

int BindImports([[maybe_unused]] void* library,
                [[maybe_unused]] const std::vector<Import>& imports) {
  int bound = 0;
#if defined(MLC_BINDS_IMPORTS)
  CallTable table = CallsOf(library);
  for (size_t i = 0; i < table.num_slots; ++i) {
    const Slot& slot = table.slots[i];
    for (const Import& import : imports) {
      if (std::strcmp(table.NameOf(slot), import.name) != 0) continue;
      if (LoaderFinds(library, import.name)) continue;
      // Until the first call the slot holds the address of the loader's own search.
      *reinterpret_cast<void**>(table.base + slot.r_offset) = import.address;
      ++bound;
    }
  }
#endif
  return bound;
}

void* OpenWithTvm(const std::string& file, std::string* error) {
  auto open = [&] {
    void* library = OpenLibrary(file.c_str(), LibraryScope::kLocal);
    if (library == nullptr) *error = LibraryError();
    return library;
  };
  void* library = open();
#if defined(MLC_BINDS_IMPORTS)
  // glibc says "undefined symbol: ...", musl "...: symbol not found".
  if (library == nullptr && error->find("symbol") != std::string::npos) {
    // A library that is open already is shown by this, and is not loaded again.
    std::string tvm = LibraryOf(reinterpret_cast<void*>(TVMFFIErrorSetRaisedFromCStrParts));
    (void)OpenLibrary(tvm.c_str(), LibraryScope::kGlobal);
    library = open();
  }
#endif
  return library;
}

BoundLibrary::BoundLibrary([[maybe_unused]] const std::string& path) {
#if defined(MLC_BINDS_IMPORTS)
  library_ = OpenLibrary(path.c_str(), LibraryScope::kLazy);
  // If it cannot be opened, TVM says why.
  if (library_ != nullptr) BindImports(library_, TvmImports());
#endif
}

BoundLibrary::~BoundLibrary() {
  if (library_ != nullptr) CloseLibrary(library_);
}

}  // namespace mlc
