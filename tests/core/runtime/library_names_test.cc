#include "runtime/library_names.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

using Names = std::vector<std::string>;

TEST(LinkedPrefixes, DashesDotsAndTheLastUnderscore) {
  EXPECT_EQ(LinkedPrefixes("one"), (Names{"one", "one_"}));
  EXPECT_EQ(LinkedPrefixes("one_"), (Names{"one_", "one__"}));
  EXPECT_EQ(LinkedPrefixes("llama-3.1_q4"),
            (Names{"llama-3.1_q4", "llama-3.1_q4_", "llama_3_1_q4", "llama_3_1_q4_"}));
}

#if defined(_WIN32)
TEST(LibraryFileNames, OfWindows) {
  EXPECT_EQ(LibraryFileNames("one"), (Names{"libone.dll", "one.dll"}));
  EXPECT_EQ(BackendNames("C:/mlc", {}, "opencl"), Names{"C:/mlc/libmlc_llm_opencl.dll"});
}
#elif !defined(__APPLE__)
TEST(LibraryFileNames, AsAnApkHasThemFirst) {
  EXPECT_EQ(LibraryFileNames("one"), (Names{"libone.so", "one.so"}));
  EXPECT_EQ(LibraryFileNames("a-b"), (Names{"liba-b.so", "a-b.so", "liba_b.so", "a_b.so"}));
}

TEST(BackendNames, BesideTheCoreThenInTheLibraryFolders) {
  EXPECT_EQ(BackendNames("/opt/mlc", {"/app/lib"}, "opencl"),
            (Names{"/opt/mlc/libmlc_llm_opencl.so", "/app/lib/libmlc_llm_opencl.so"}));
}

TEST(BackendNames, ByNameAloneInsideAnApkAndInAProgram) {
  for (const char* folder : {"/data/app/a/base.apk!/lib/arm64-v8a", ""}) {
    EXPECT_EQ(BackendNames(folder, {}, "opencl"), Names{"libmlc_llm_opencl.so"}) << folder;
  }
}
#endif

}  // namespace
}  // namespace mlc
