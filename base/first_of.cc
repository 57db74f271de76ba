#include "base/first_of.h"

#include <cstddef>

#include "base/str.h"

namespace pipeline {

std::string FirstOf(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t at = 0; at < names.size() && at < kShown; ++at)
    text += StrCat(at == 0 ? "" : ", ", names[at]);
  return names.size() <= kShown ? text : StrCat(text, " and ", names.size() - kShown, " more");
}

}  // namespace pipeline
