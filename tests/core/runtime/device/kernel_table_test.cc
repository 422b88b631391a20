#include "runtime/device/kernel_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace mlc {
namespace {

template <typename T>
std::string Number(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Text(const std::string& text) { return Number(uint64_t{text.size()}) + text; }

// One kernel with a pointer and an int32, launched by blockIdx.y and threadIdx.x.
std::string Table(const std::string& tag = "threadIdx.x") {
  std::string type = Number(uint8_t{kDLOpaqueHandle}) + Number(uint8_t{64}) + Number(uint16_t{1});
  type += Number(uint8_t{kDLInt}) + Number(uint8_t{32}) + Number(uint16_t{1});
  std::string kernel = Text("add_kernel") + Number(uint64_t{2}) + type;
  kernel += Number(uint64_t{3}) + Text("blockIdx.y") + Text(tag) + Text("paramWriteAccess:[1]");
  kernel += Number(uint64_t{1}) + Number(int32_t{0});
  return Text("cl") + Number(uint64_t{1}) + Text("add_kernel") + kernel + Text("the code");
}

TVMFFIAny Int(int64_t value) {
  TVMFFIAny any{};
  any.v_int64 = value;
  return any;
}

TEST(KernelTable, IsReadAsTvmWritesIt) {
  Result<KernelTable> table = ParseKernelTable(Table());
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->format, "cl");
  EXPECT_EQ(table->code, "the code");
  const KernelInfo& kernel = table->kernels.at("add_kernel");
  EXPECT_EQ(kernel.num_arguments(), 4);
  EXPECT_EQ(kernel.args[0].code, kDLOpaqueHandle);
  TVMFFIAny arguments[] = {Int(0), Int(0), Int(7), Int(64)};
  LaunchSize size = kernel.SizeOf(arguments);
  EXPECT_FALSE(size.empty);
  EXPECT_EQ(size.groups, (std::array<size_t, 3>{1, 7, 1}));
  EXPECT_EQ(size.items, (std::array<size_t, 3>{64, 1, 1}));
  arguments[2] = Int(0);
  EXPECT_TRUE(kernel.SizeOf(arguments).empty);
}

// The same kernel as WebGPU's modules have it: its source by its name, and what it writes.
std::string WgslTable(const std::string& writes = "paramWriteAccess:[1]",
                      const std::string& source_of = "add_kernel") {
  std::string whole = Table().substr(Text("cl").size());
  std::string kernels = whole.substr(0, whole.size() - Text("the code").size());
  size_t tag = kernels.find(Text("paramWriteAccess:[1]"));
  kernels.replace(tag, Text("paramWriteAccess:[1]").size(), Text(writes));
  return kernels + Number(uint64_t{1}) + Text(source_of) + Text("fn add_kernel");
}

TEST(WgslTable, IsReadAsTvmWritesIt) {
  Result<KernelTable> table = ParseWgslTable(WgslTable());
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->sources.at("add_kernel"), "fn add_kernel");
  EXPECT_EQ(table->kernels.at("add_kernel").writes, std::vector<bool>{true});
}

TEST(WgslTable, WhatDoesNotFitTogetherIsDamage) {
  for (const std::string& table :
       {WgslTable("paramWriteAccess:[1,0]"), WgslTable("paramWriteAccess:[]"),
        WgslTable("paramWriteAccess:[1]", "another_kernel"), std::string()}) {
    EXPECT_EQ(ParseWgslTable(table).status().code(), StatusCode::kCorrupt);
  }
  std::string whole = WgslTable();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseWgslTable(whole.substr(0, length)).ok()) << length;
  }
}

TEST(KernelTable, AnUnknownTagIsRefused) {
  Result<KernelTable> table = ParseKernelTable(Table("clusterIdx.x"));
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), StatusCode::kUnsupported);
}

TEST(KernelTable, EveryCutAndAnyByteIsAnError_OrATable) {
  std::string whole = Table();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseKernelTable(whole.substr(0, length)).ok()) << length;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)ParseKernelTable(damaged).ok();  // must end
  }
}

}  // namespace
}  // namespace mlc
