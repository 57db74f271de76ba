// Long texts for tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// Returns `text`, repeated `times` times.
inline std::string Times(std::string_view text, std::size_t times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

}  // namespace pipeline
