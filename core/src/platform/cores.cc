#include "platform/cores.h"

#if defined(__linux__)
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#endif

namespace mlc {

#if defined(__linux__)
namespace {

std::string LineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The NUMA node of each CPU. The kernel writes a node's CPUs as "0-3,8-11".
std::map<int, int> NodesOfCpus(const std::string& system) {
  std::map<int, int> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(system + "/node", error)) {
    std::string name = entry.path().filename().string();
    if (name.rfind("node", 0) != 0) continue;
    std::istringstream ranges(LineOf(entry.path().string() + "/cpulist"));
    for (std::string range; std::getline(ranges, range, ',');) {
      int first = std::atoi(range.c_str());
      size_t dash = range.find('-');
      int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
      for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) {
        nodes[cpu] = std::atoi(name.c_str() + 4);
      }
    }
  }
  return nodes;
}

bool Bind(const Cpus& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

}  // namespace

Cpus ThreadCpus() {
  Cpus cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Cores AllowedCores(const std::string& system) {
  std::map<std::string, Cpus> cores;  // by a text that is the same for all threads of a core
  for (int cpu : ThreadCpus()) {
    std::string name = std::to_string(cpu);
    std::string own = LineOf(system + "/cpu/cpu" + name + "/topology/thread_siblings_list");
    cores[own.empty() ? name : own].push_back(cpu);
  }
  Cores found;
  for (auto& [name, cpus] : cores) found.push_back(std::move(cpus));
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Cores> AllowedNodes(const std::string& system) {
  std::map<int, int> nodes = NodesOfCpus(system);
  std::map<int, Cores> sorted;
  for (Cpus& core : AllowedCores(system)) sorted[nodes[core[0]]].push_back(std::move(core));
  std::vector<Cores> found;
  for (auto& [node, cores] : sorted) found.push_back(std::move(cores));
  return found;
}

OnCpus::OnCpus(const Cpus& cpus) {
  Cpus before = ThreadCpus(), own;
  for (int cpu : before) {
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) own.push_back(cpu);
  }
  if (!own.empty() && Bind(own)) before_ = std::move(before);
}

OnCpus::~OnCpus() {
  if (!before_.empty()) (void)Bind(before_);
}
#else
Cpus ThreadCpus() { return {}; }
Cores AllowedCores(const std::string&) { return {}; }
std::vector<Cores> AllowedNodes(const std::string&) { return {}; }
OnCpus::OnCpus(const Cpus&) {}
OnCpus::~OnCpus() = default;
#endif

}  // namespace mlc
