// Runs every fuzz target on its corpus, without a fuzzer:
//
//   mlc_fuzz_replay FOLDER           FOLDER/<target>/* are the inputs of each target
//   mlc_fuzz_replay FOLDER target    one target, naming each input before it runs
//   mlc_fuzz_replay FILE target      one input
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz.h"

namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> Inputs(const fs::path& path, const std::string& target) {
  if (fs::is_regular_file(path)) return {path};
  std::vector<fs::path> files;
  if (!fs::is_directory(path / target)) return files;
  for (const auto& entry : fs::directory_iterator(path / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER|FILE [target]\n", argv[0]), 2;
  for (const auto& [name, target] : mlc::fuzz::Targets()) {
    if (argc > 2 && name != argv[2]) continue;
    std::vector<fs::path> inputs = Inputs(argv[1], name);
    for (const fs::path& input : inputs) {
      std::string bytes = Read(input);
      if (argc > 2) std::fprintf(stderr, "%s\n", input.c_str());  // which one crashed
      target(bytes);
    }
    std::fprintf(stderr, "%s: %zu inputs\n", name.c_str(), inputs.size());
    if (inputs.empty()) return 1;  // a corpus that is not found must not pass
  }
}
