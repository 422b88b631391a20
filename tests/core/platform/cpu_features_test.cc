#include "platform/cpu_features.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace mlc {
namespace {

TEST(CpuFeatures, TellsWhatIsMissing) {
  std::vector<std::string> required = {"what nobody knows"}, absent;
  for (const CpuFeature& feature : CpuFeatures()) {
    required.push_back(feature.name);
    if (!feature.present) absent.push_back(feature.name);
  }
  EXPECT_EQ(MissingCpuFeatures(required), absent);
  EXPECT_FALSE(absent.empty());  // no processor is of two architectures
  EXPECT_TRUE(MissingCpuFeatures({}).empty());
}

#if defined(__x86_64__) && defined(__linux__)
TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, word;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) continue;
  std::istringstream words(line);
  std::set<std::string> flags;
  while (words >> word) flags.insert(word);
  for (const CpuFeature& feature : CpuFeatures()) {
    for (const char* name : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "popcnt", "ssse3"}) {
      if (std::string(name) == feature.name) EXPECT_EQ(feature.present, flags.count(name) > 0);
    }
  }
}
#endif

}  // namespace
}  // namespace mlc
