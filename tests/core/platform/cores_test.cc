#include "platform/cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temp_folder.h"

namespace mlc {
namespace {

Cpus Flat(const Cores& cores) {
  Cpus all;
  for (const Cpus& core : cores) all.insert(all.end(), core.begin(), core.end());
  return all;
}

TEST(Cores, HaveTheCpusOfTheThread) {
  Cpus all = Flat(AllowedCores());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, ThreadCpus());
}

TEST(Cores, AThreadIsBoundWhileTheObjectLivesAndNoOther) {
  Cpus before = ThreadCpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs, and a system that binds threads";
  {
    OnCpus on({before.back()});
    EXPECT_EQ(ThreadCpus(), Cpus{before.back()});
    EXPECT_EQ(Flat(AllowedCores()), Cpus{before.back()});
    std::thread([&] { EXPECT_EQ(ThreadCpus(), Cpus{before.back()}); }).join();
  }
  EXPECT_EQ(ThreadCpus(), before);
}

TEST(Cores, AThreadGetsNoCpuThatItMayNotUse) {
  Cpus before = ThreadCpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs, and a system that binds threads";
  OnCpus on({before[1]});
  OnCpus both({before[0], before[1]}), other({before[0]});
  EXPECT_EQ(ThreadCpus(), Cpus{before[1]});
}

TEST(Cores, NoCpusChangeNothing) {
  Cpus before = ThreadCpus();
  {
    OnCpus on({});
    EXPECT_EQ(ThreadCpus(), before);
  }
  EXPECT_EQ(ThreadCpus(), before);
}

#if defined(__linux__)
class DescribedMachine : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::path file = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  testing::TempFolder folder_;
};

TEST_F(DescribedMachine, CoresOfANodeAreNeighbours) {
  Cpus cpus = ThreadCpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::string first = std::to_string(cpus[0]), second = std::to_string(cpus[1]);
  Write("node/node7/cpulist", first);
  Write("node/node3/cpulist", "900-903," + second + "-" + second);
  Write("node/possible", "3,7");
  std::vector<Cores> nodes = AllowedNodes(folder_.path());
  Cores cores;
  for (const Cores& node : nodes) cores.insert(cores.end(), node.begin(), node.end());
  auto place = [&](int cpu) { return std::find(cores.begin(), cores.end(), Cpus{cpu}); };
  EXPECT_LT(place(cpus[1]), place(cpus[0]));
  EXPECT_NE(place(cpus[0]), cores.end());
  EXPECT_GE(nodes.size(), 2u);
}

TEST_F(DescribedMachine, HardwareThreadsOfOneCoreAreTogether) {
  Cpus cpus = ThreadCpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::string pair = std::to_string(cpus[0]) + "," + std::to_string(cpus[1]);
  for (int i : {0, 1}) {
    std::string own = std::to_string(cpus[static_cast<size_t>(i)]);
    Write("cpu/cpu" + own + "/topology/thread_siblings_list", pair);
  }
  Cores cores = AllowedCores(folder_.path());
  EXPECT_EQ(cores.size(), cpus.size() - 1);
  EXPECT_EQ(cores.front(), (Cpus{cpus[0], cpus[1]}));
}
#endif

}  // namespace
}  // namespace mlc
