// The cores of the machine, and threads that run on some of them. Only Linux tells and does this;
// on other systems no cores are known, and threads run where they ran before.
#pragma once

#include <string>
#include <vector>

namespace mlc {

using Cpus = std::vector<int>;  // hardware threads, by their numbers

// Those on which the calling thread may run.
Cpus ThreadCpus();

// The same by core: the hardware threads of each.
using Cores = std::vector<Cpus>;

inline constexpr const char* kDescribedMachine = "/sys/devices/system";  // by the kernel

Cores AllowedCores(const std::string& system = kDescribedMachine);

// Those cores by NUMA node: a part of the memory is nearer to its cores.
std::vector<Cores> AllowedNodes(const std::string& system = kDescribedMachine);

// While it lives, the calling thread runs on those of these CPUs that it may use; then on those of
// before. Threads that are started meanwhile stay on them. Nothing changes if it may use none, or
// if the system refuses.
class OnCpus {
 public:
  explicit OnCpus(const Cpus& cpus);
  ~OnCpus();
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;

 private:
  Cpus before_;
};

}  // namespace mlc
