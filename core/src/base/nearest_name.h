// Which known name is meant by one that nobody knows.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace mlc {

// The number of letters to insert, remove, replace or swap with the next letter.
size_t EditDistance(std::string_view a, std::string_view b);

// The known name that looks most like `name`; "" where more than a third of the letters differ.
std::string_view NearestName(std::string_view name, std::initializer_list<std::string_view> known);

}  // namespace mlc
