#include "platform/shared_library.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fixture_paths.h"
#include "platform/paths.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;

// A folder with a library. It is gone at the end of the scope.
struct LibraryFolder {
  fs::path path;
  LibraryFolder(fs::path folder, const fs::path& library) : path(std::move(folder)) {
    fs::create_directory(path);
    fs::copy_file(library, path / PathOf("modèle.so"));
  }
  ~LibraryFolder() { fs::remove_all(path); }
};

// The folder that relative paths begin at, until the end of the scope.
struct CurrentFolder {
  fs::path before = fs::current_path();
  explicit CurrentFolder(const std::string& path) { fs::current_path(PathOf(path)); }
  ~CurrentFolder() { fs::current_path(before); }
};

TEST(SharedLibrary, ARelativePathBeginsAtTheCurrentFolder) {
  void* given = OpenLibrary(MLC_TVM_LOOP_LIBRARY, LibraryScope::kLocal);
  ASSERT_NE(given, nullptr) << LibraryError();
  fs::path file = fs::absolute(PathOf(LibraryOf(FindSymbol(given, "RunLoop"))));
  CloseLibrary(given);
  TempFolder folder;
  std::string name = LastPartOf(folder.path());
  LibraryFolder inside(PathOf(folder.Path(name)), file);
  // On Windows the file is beside the program, where the loader begins to search.
  LibraryFolder beside(file.parent_path() / PathOf(name), file);
  CurrentFolder current(folder.path());
  for (const std::string& path : {name + "/modèle.so", "./" + name + "/modèle.so"}) {
    EXPECT_EQ(OpenIfLoaded(path.c_str()), nullptr) << path;
    void* library = OpenLibrary(path.c_str(), LibraryScope::kLocal);
    ASSERT_NE(library, nullptr) << path << ": " << LibraryError();
    std::string opened = LibraryOf(FindSymbol(library, "RunLoop"));
    EXPECT_TRUE(fs::equivalent(PathOf(opened), PathOf(path))) << opened;
    void* again = OpenIfLoaded(path.c_str());
    EXPECT_EQ(again, library) << path;
    if (again != nullptr) CloseLibrary(again);
    CloseLibrary(library);
  }
}

}  // namespace
}  // namespace mlc
