#include "runtime/device/kept_code.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "platform/folders.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

class KeptCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("MLC_JIT_POLICY");
    before_ = CurrentFolders();
    Folders folders = before_;
    folders.cache = folder_.path();
    SetFolders(folders);
  }
  void TearDown() override {
    unsetenv("MLC_JIT_POLICY");
    SetFolders(before_);
  }
  static KeptCode Under(const char* policy) {
    setenv("MLC_JIT_POLICY", policy, 1);
    return KeptCode("driver", "a key");
  }
  std::filesystem::path OnlyFile() const {
    return std::filesystem::directory_iterator(folder_.Path("driver"))->path();
  }

  testing::TempFolder folder_;
  Folders before_;
};

TEST_F(KeptCodeTest, IsThereForItsKeyAlone) {
  EXPECT_EQ(KeptCode("driver", "a key").Read(), "");
  KeptCode("driver", "a key").Write(std::string("co\0de", 5));
  EXPECT_EQ(KeptCode("driver", "a key").Read(), std::string("co\0de", 5));
  EXPECT_EQ(KeptCode("driver", "another").Read(), "");
  EXPECT_EQ(KeptCode("other", "a key").Read(), "");
}

TEST_F(KeptCodeTest, ADamagedFileIsNone) {
  KeptCode("driver", "a key").Write("code");
  std::ofstream(OnlyFile(), std::ios::app) << "more";
  EXPECT_EQ(KeptCode("driver", "a key").Read(), "");
  std::ofstream(OnlyFile()) << "short";
  EXPECT_EQ(KeptCode("driver", "a key").Read(), "");
}

TEST_F(KeptCodeTest, ThePolicyOfLibrariesApplies) {
  Under("READONLY").Write("code");
  Under("OFF").Write("code");
  EXPECT_EQ(Under("ON").Read(), "");
  Under("REDO").Write("code");
  EXPECT_EQ(Under("REDO").Read(), "");
  EXPECT_EQ(Under("OFF").Read(), "");
  EXPECT_EQ(Under("READONLY").Read(), "code");
  EXPECT_EQ(Under("ON").Read(), "code");
}

}  // namespace
}  // namespace mlc
