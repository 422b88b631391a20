#include "runtime/library_variants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "platform/cpu_features.h"

namespace mlc {
namespace {

std::string File(const std::string& index, const std::string& content = "") {
  std::string length;
  for (uint64_t rest = index.size(), i = 0; i < 8; ++i, rest >>= 8) {
    length += static_cast<char>(rest & 0xff);
  }
  return "MLCFAT01" + length + index + content;
}

std::string Absent() {
  for (const CpuFeature& feature : CpuFeatures()) {
    if (!feature.present) return feature.name;
  }
  return "";
}

std::string Entry(const std::string& device, const std::string& feature, const std::string& place) {
  return R"({"device": ")" + device + R"(", "cpu_features": [")" + feature + R"("], )" + place +
         "}";
}

TEST(LibraryVariants, TheFirstThatRunsIsTaken) {
  std::string wide = Entry("wide", Absent(), R"("offset": 0, "size": 4)");
  std::string good = Entry("good", "mmx", R"("offset": 4, "size": 3)");
  std::string late = Entry("late", "mmx", R"("offset": 0, "size": 1)");
  std::string file = File(R"({"variants": [)" + wide + "," + good + "," + late + "]}");
  ASSERT_TRUE(HasVariants(file));
  EXPECT_FALSE(HasVariants("ELF"));
  Result<std::string_view> variant = VariantForThisCpu(file, "model.so");
  ASSERT_TRUE(variant.ok()) << variant.status().message();
  EXPECT_EQ(*variant, "AT0");

  Status none = VariantForThisCpu(File(R"({"variants": [)" + wide + "]}"), "m.so").status();
  EXPECT_EQ(none.code(), StatusCode::kUnsupported);
  EXPECT_NE(none.message().find("'wide' needs " + Absent()), std::string::npos) << none.message();
}

TEST(LibraryVariants, ABadIndexIsAnError) {
  std::string good = Entry("good", "mmx", R"("offset": 4, "size": 3)");
  for (const std::string& file :
       {std::string("MLCFAT01"), std::string("MLCFAT01\xff\xff\xff\xff\xff\xff\xff\xff", 16),
        File(""), File("{"), File("[]"), File("{}"), File(R"({"variants": []})"),
        File(R"({"variants": [1]})"),
        File(R"({"variants": [)" + Entry("a", "mmx", R"("offset": -1, "size": 3)") + "]}"),
        File(R"({"variants": [)" + Entry("a", "mmx", R"("offset": 9999, "size": 3)") + "]}"),
        File(R"({"variants": [)" + Entry("a", "mmx", R"("offset": 4, "size": 9999)") + "]}"),
        File(R"({"variants": [)" + Entry("a", "mmx", R"("offset": 4, "size": 0)") + "]}"),
        File(R"({"variants": [{"device": "a", "offset": 4, "size": 3}]})")}) {
    Status status = VariantForThisCpu(file, "model.so").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << file;
    EXPECT_EQ(status.param(), "model_lib");
  }
}

TEST(LibraryVariants, TheFileGoesWithItsHolder) {
  std::string bytes(100000, 'x'), path;
  {
    auto library = TemporaryLibrary::Write(bytes);
    ASSERT_TRUE(library.ok()) << library.status().message();
    path = (*library)->path();
    std::ifstream file(path, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), bytes);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace mlc
