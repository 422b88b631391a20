#include "runtime/shards/shard_cores.h"

#include <mutex>

namespace mlc {
namespace {

std::mutex mutex;
int num_bound = 0;  // threads of all models

}  // namespace

ShardCores::ShardCores(int num_shards, const std::string& system) {
  if (num_shards == 0) return;
  std::vector<Cores> nodes = AllowedNodes(system);
  if (nodes.size() < 2) return;
  Cores cores;  // one node after another
  for (const Cores& node : nodes) cores.insert(cores.end(), node.begin(), node.end());
  num_cores_ = static_cast<int>(cores.size());
  if (num_cores_ < num_shards) return;
  auto core = cores.begin();
  for (int rank = 0; rank < num_shards; ++rank) {
    // as many as ShardThreads gives threads to, if there is a thread for each core
    int count = num_cores_ / num_shards + (rank < num_cores_ % num_shards ? 1 : 0);
    Cpus& own = shards_.emplace_back();
    for (auto end = core + count; core != end; ++core) {
      own.insert(own.end(), core->begin(), core->end());
    }
  }
}

ShardCores::~ShardCores() {
  std::lock_guard<std::mutex> lock(mutex);
  num_bound -= num_taken_;
}

bool ShardCores::Take(int num_threads) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!has_cores() || num_threads > num_cores_ - num_bound) return false;
  num_bound += num_taken_ = num_threads;
  return true;
}

}  // namespace mlc
