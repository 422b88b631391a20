#include "runtime/library_imports.h"

#include <gtest/gtest.h>

#include <string>

#include "fixture_paths.h"
#include "platform/shared_library.h"

namespace mlc {
namespace {

#if !defined(_WIN32)  // a DLL names the library of each function that it calls

int Twice(int number) { return 2 * number; }

class LibraryImportsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(library_, nullptr) << LibraryError(); }
  void TearDown() override { CloseLibrary(library_); }

  void* library_ = OpenLibrary(MLC_LATE_CALL_LIBRARY, LibraryScope::kLazy);
};

TEST_F(LibraryImportsTest, AMissingFunctionIsBound) {
  EXPECT_EQ(BindImports(library_, {{"mlc_test_nowhere", reinterpret_cast<void*>(Twice)}}), 1);
  auto* call = reinterpret_cast<int (*)(int)>(FindSymbol(library_, "CallNowhere"));
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call(20), 41);
}

TEST_F(LibraryImportsTest, NothingElseIsTouched) {
  EXPECT_EQ(BindImports(library_, {{"mlc_test_nowher", reinterpret_cast<void*>(Twice)}}), 0);
  EXPECT_EQ(BindImports(library_, {}), 0);
}

TEST_F(LibraryImportsTest, AFunctionThatTheLoaderFindsStays) {
  EXPECT_EQ(BindImports(library_, {{"toupper", reinterpret_cast<void*>(Twice)}}), 0);
  auto* call = reinterpret_cast<int (*)(int)>(FindSymbol(library_, "CallKnown"));
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call('a'), 'A');
}

// As the engine inside a JVM: dlsym finds its functions for itself, but not for the model library.
TEST_F(LibraryImportsTest, AFunctionOfALocalLibraryIsBound) {
  void* host = OpenLibrary(MLC_LOCAL_HOST_LIBRARY, LibraryScope::kLocal);
  ASSERT_NE(host, nullptr) << LibraryError();
  auto* bind = reinterpret_cast<int (*)(void*)>(FindSymbol(host, "BindLate"));
  ASSERT_NE(bind, nullptr);
  ASSERT_EQ(bind(library_), 1);
  auto* call = reinterpret_cast<int (*)(int)>(FindSymbol(library_, "CallNowhere"));
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call(20), 61);
  CloseLibrary(host);
}

#endif

TEST(TvmImportsTest, EachHasANameAndAnAddress) {
  for (const Import& import : TvmImports()) {
    EXPECT_EQ(std::string(import.name).rfind("TVM", 0), 0u);
    EXPECT_NE(import.address, nullptr);
  }
  EXPECT_GE(TvmImports().size(), 2u);
}

}  // namespace
}  // namespace mlc
