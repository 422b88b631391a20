#include "runtime/library_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "platform/cpu_features.h"

namespace mlc {
namespace {

using Names = std::vector<std::string>;

TEST(LinkedPrefixes, DashesDotsAndTheLastUnderscore) {
  EXPECT_EQ(LinkedPrefixes("one"), (Names{"one", "one_"}));
  EXPECT_EQ(LinkedPrefixes("one_"), (Names{"one_", "one__"}));
  EXPECT_EQ(LinkedPrefixes("llama-3.1_q4"),
            (Names{"llama-3.1_q4", "llama-3.1_q4_", "llama_3_1_q4", "llama_3_1_q4_"}));
}

TEST(CpuVariantNames, ThoseThatThisCpuRunsTheFastestFirst) {
  Names names = CpuVariantNames("one");
#if defined(__x86_64__)
  if (MissingCpuFeatures({"sse4.2"}).empty()) {
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(names.back(), "one_x86_64_v2");
  }
#elif defined(__aarch64__)
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.back(), "one_aarch64");
#endif
  // A variant, and a feature that decides whether this CPU runs it.
  const std::pair<const char*, const char*> deciding[] = {{"one_x86_64_v3", "avx2"},
                                                          {"one_x86_64_v4", "avx512bw"},
                                                          {"one_aarch64_dotprod", "dotprod"},
                                                          {"one_aarch64_i8mm", "i8mm"}};
  for (const auto& [name, feature] : deciding) {
    bool is_offered = std::find(names.begin(), names.end(), name) != names.end();
    EXPECT_EQ(is_offered, MissingCpuFeatures({feature}).empty()) << name;
  }
}

TEST(LinkedNameIn, BySymbolsWithAPrefix) {
  using std::string_literals::operator""s;
  auto name_in = [](const std::string& file) { return LinkedNameIn(file, "/app/lib/libother.so"); };
  EXPECT_EQ(name_in("ELF\0f\0__tvm_ffi__library_bin\0"s), "");
  EXPECT_EQ(name_in("Mach-O\0___tvm_ffi__library_bin\0"s), "");
  EXPECT_EQ(name_in("__tvm_ffi__library_bin"), "");
  EXPECT_EQ(name_in("nothing"), "");
  EXPECT_EQ(name_in("\0asm\7GOT.mem\x16"
                    "__tvm_ffi__library_bin\3"s),
            "");
  EXPECT_EQ(name_in("ELF\0one___tvm_ffi__library_bin\0"s), "one");
  EXPECT_EQ(name_in("ELF\0one__tvm_ffi__library_bin\0"s), "one");
}

TEST(LinkedNameIn, TheFilesOwnNameIfItIsThere) {
  using std::string_literals::operator""s;
  std::string two = "ELF\0one___tvm_ffi__library_bin\0two_q4___tvm_ffi__library_bin\0"s;
  EXPECT_EQ(LinkedNameIn(two, "libtwo-q4.so"), "two-q4");
  EXPECT_EQ(LinkedNameIn(two, "/app/lib/one.dylib"), "one");
  EXPECT_EQ(LinkedNameIn(two, "/app/lib.so"), "one");
  EXPECT_EQ(LinkedNameIn(two, "/app/q4.so"), "one");  // the end of a name is no name
}

TEST(LinkedNameIn, WithoutTheVariantOfACpu) {
  for (const std::string& name : CpuVariantNames("one")) {
    EXPECT_EQ(LinkedNameIn(name + "___tvm_ffi__library_bin", "lib.so"), "one");
  }
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
