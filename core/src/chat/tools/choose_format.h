// Finds formats in a list: by name, or by the marks in a chat template.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

template <typename Format>
const Format* Find(const std::vector<Format>& formats, std::string_view name) {
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

template <typename Format>
const Format* Choose(const std::vector<Format>& formats, std::string_view chat_template) {
  auto holds = [&](const std::string& mark) {
    return chat_template.find(mark) != std::string_view::npos;
  };
  for (const Format& format : formats) {
    const auto& marks = format.template_marks;
    if (!marks.empty() && std::all_of(marks.begin(), marks.end(), holds)) return &format;
  }
  return nullptr;
}

}  // namespace mlc
