#include "runtime/shards/shard_devices.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ShardDevices, ShardsShareTheCpu) {
  std::vector<Device> devices = std::move(DevicesOfShards(Device{}, 3)).value();
  ASSERT_EQ(devices.size(), 3u);
  for (Device device : devices) EXPECT_EQ(device.name(), "cpu:0");
  EXPECT_LE(AvailableMemoryBytes(devices), 2 * AvailableMemoryBytes(Device{}));  // counted once
}

TEST(ShardDevices, TooFewDevicesAreAnErrorThatNamesTheFirstMissing) {
  constexpr int kOpenCl = 4;  // DLPack's device type
  Status status = DevicesOfShards({kOpenCl, 0}, 64).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.param(), "tensor_parallel_shards");
  size_t known = 0;  // in front of the first that is missing
  while (ParseDevice("opencl:" + std::to_string(known)).ok()) ++known;
  EXPECT_NE(status.message().find("64 shards need as many devices from opencl:0 on, and there is "
                                  "no opencl:" +
                                  std::to_string(known) + " ("),
            std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace mlc
