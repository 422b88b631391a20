#include "base/nearest_name.h"

#include <algorithm>
#include <vector>

namespace mlc {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      size_t differs = a[i - 1] != b[j - 1];
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differs});
      bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string_view NearestName(std::string_view name, std::initializer_list<std::string_view> known) {
  constexpr size_t kLongest = 100;  // a caller's text of any length is no misspelt name
  std::string_view nearest;
  if (name.size() > kLongest) return nearest;
  size_t least = SIZE_MAX;
  for (std::string_view one : known) {
    size_t distance = EditDistance(name, one);
    bool is_near = 3 * distance <= std::max(name.size(), one.size());
    if (!is_near || distance >= least) continue;
    least = distance;
    nearest = one;
  }
  return nearest;
}

}  // namespace mlc
