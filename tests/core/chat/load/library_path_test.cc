#include "chat/load/library_path.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace mlc {
namespace {

TEST(LibraryPath, ABareNameIsALinkedLibrary) {
  testing::TempFolder folder;
  std::string file = folder.Write("model.so", "");
  for (const auto& [named, expected] : std::vector<std::pair<std::string, std::string>>{
           {"llama_q3f16_1", "system://llama_q3f16_1"},
           {"system://llama_q3f16_1", "system://llama_q3f16_1"},
           {"model.so", "model.so"},
           {"./model", "./model"},
           {file, file},
           {"", ""}}) {
    EXPECT_EQ(*LibraryPath(folder.path(), named), expected);
  }
}

TEST(LibraryPath, WithoutANameTheOneInTheModelsFolder) {
  testing::TempFolder folder;
  Result<std::string> none = LibraryPath(folder.path(), std::nullopt);
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(none.status().param(), "model_lib");
  EXPECT_NE(none.status().message().find("mlc_llm compile"), std::string::npos);
  std::filesystem::create_directory(folder.Path("lib"));
  folder.Write("lib/notes.txt", "");
  std::string library = folder.Write("lib/model.so", "");
  EXPECT_EQ(*LibraryPath(folder.path(), std::nullopt), library);
  folder.Write("lib.so", "");
  Result<std::string> two = LibraryPath(folder.path(), std::nullopt);
  EXPECT_EQ(two.status().code(), StatusCode::kInvalidArgument);
  std::filesystem::remove(library);
  EXPECT_EQ(*LibraryPath(folder.path(), std::nullopt), folder.Path("lib.so"));
}

}  // namespace
}  // namespace mlc
