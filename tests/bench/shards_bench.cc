// The time of a sum over shards that all arrive at the same time.
//
//   mlc_shards_bench SHARDS FLOATS     prints microseconds: the median of rounds of 200 sums
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/parallel.h"
#include "runtime/shards/host_collective.h"
#include "runtime/shards/shard_threads.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int shards = std::atoi(argv[1]), floats = std::atoi(argv[2]);
  if (shards < 1 || shards > 64 || floats < 1) return 2;
  constexpr int kRounds = 101, kSums = 200;
  mlc::SetComputeThreads(1);
  mlc::HostCollective group(shards);
  mlc::Result<std::unique_ptr<mlc::ShardThreads>> threads = mlc::ShardThreads::Make(shards, true);
  if (!threads.ok()) return 1;
  std::vector<std::vector<float>> x(static_cast<size_t>(shards)), sums = x;
  for (auto* all : {&x, &sums}) {
    for (std::vector<float>& one : *all) one.assign(static_cast<size_t>(floats), 1.0f);
  }
  std::vector<double> microseconds;
  for (int round = 0; round < kRounds; ++round) {
    (*threads)->Run([&](int rank) {
      auto index = static_cast<size_t>(rank);
      mlc::Collective* shard = group.shard(rank);
      (void)shard->Sum(x[index].data(), floats, sums[index].data());  // both are there now
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kSums; ++i) {
        (void)shard->Sum(x[index].data(), floats, sums[index].data());
      }
      std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      if (rank == 0) microseconds.push_back(took.count() / kSums);
    });
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + kRounds / 2, microseconds.end());
  std::printf("%.3f\n", microseconds[kRounds / 2]);
}
