#include "runtime/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace mlc {
namespace {

TEST(ParseDevice, TheCpuIsAlwaysThere) {
  for (const char* name : {"cpu", "cpu:0"}) {
    Result<Device> device = ParseDevice(name);
    ASSERT_TRUE(device.ok()) << name;
    EXPECT_EQ(device->name(), "cpu:0");
  }
  EXPECT_TRUE(ParseDevice("auto").ok());
}

TEST(ParseDevice, RefusesWhatIsNoDevice) {
  for (const char* name : {"", "gpu", "cpu:", "cpu:1", "cpu:-1", "cpu:0x0", "cpu:0:0", "CPU",
                           "cpu :0", "auto:1", "cpu:99999999999999999999"}) {
    Result<Device> device = ParseDevice(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(device.status().param(), "device");
  }
}

TEST(ParseDevice, AWrongNameIsAnsweredWithAllKinds) {
  std::string message = ParseDevice("gpu").status().message();
  for (const DeviceProbe& probe : ProbeDevices()) {
    std::string kind = probe.name.substr(0, probe.name.find(':'));
    EXPECT_NE(message.find(", " + kind), std::string::npos) << message;
  }
}

// On a machine without it, a known kind is told apart from a wrong name.
TEST(ParseDevice, AKnownDeviceThatIsNotHereIsUnavailable) {
  for (const DeviceProbe& probe : ProbeDevices()) {
    Result<Device> device = ParseDevice(probe.name);
    EXPECT_EQ(device.ok(), probe.found) << probe.name;
    if (probe.found) continue;
    EXPECT_EQ(device.status().code(), StatusCode::kUnavailable);
    EXPECT_NE(device.status().message().find(probe.reason), std::string::npos);
  }
}

// Drivers take time to open, and some bring signal handlers: only those that are needed are.
TEST(ChooseDevice, LooksAtNoOtherKind) {
  for (const char* name : {"cpu", "cpu:0"}) {
    Result<ChosenDevice> choice = ChooseDevice(name);
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->name(), "cpu:0");
    EXPECT_EQ(choice->probes.size(), 1u);
  }
}

TEST(ChooseDevice, AutoTellsWhatItLookedAt) {
  Result<ChosenDevice> choice = ChooseDevice("auto");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->probes.front().name, "cuda:0");
  EXPECT_TRUE(choice->probes.back().found);
  for (size_t i = 0; i + 1 < choice->probes.size(); ++i) {
    EXPECT_TRUE(!choice->probes[i].found || choice->probes[i].is_processor);
  }
}

TEST(ProbeDevices, ListsEveryKindAndTheCpu) {
  std::vector<DeviceProbe> probes = ProbeDevices();
  std::set<std::string> names;  // several devices of a kind have an entry each
  for (const DeviceProbe& probe : probes) {
    EXPECT_EQ(probe.found, probe.reason.empty());
    EXPECT_TRUE(names.insert(probe.name).second) << probe.name;
    if (probe.name == "cpu:0") {
      EXPECT_TRUE(probe.found);
    }
  }
  EXPECT_EQ(probes.front().name, "cuda:0");
  for (const char* kind : {"cuda", "rocm", "metal", "vulkan", "opencl", "cpu", "webgpu"}) {
    EXPECT_EQ(names.count(std::string(kind) + ":0"), 1u) << kind;
  }
}

TEST(ParseDevice, VulkanIsDrivenByWebGpu) {
  Result<Device> device = ParseDevice("vulkan");
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  EXPECT_EQ(device->name(), "webgpu:0");
  EXPECT_EQ(ParseDevice("webgpu:0")->type, device->type);
}

TEST(ParseDevice, AnIndexBeyondTheDevicesIsUnavailable) {
  Result<Device> device = ParseDevice("opencl:99");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(device.status().param(), "device");
}

// The CPU through OpenCL (PoCL) is slower than our own code for it.
TEST(ParseDevice, AutoPassesOverProcessorsOfOtherBackends) {
  Result<Device> chosen = ParseDevice("auto");
  ASSERT_TRUE(chosen.ok());
  for (const DeviceProbe& probe : ProbeDevices()) {
    if (probe.name == chosen->name()) {
      EXPECT_FALSE(probe.is_processor);
    }
  }
}

TEST(Device, AnUnknownTypeHasANameToo) { EXPECT_EQ((Device{99, 2}).name(), "device99:2"); }

}  // namespace
}  // namespace mlc
