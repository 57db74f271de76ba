#include "cli/terminal/counted.h"

#include "base/str.h"

namespace pipeline {

std::string Counted(std::uint64_t number, std::string_view one) {
  return StrCat(number, " ", one, number == 1 ? "" : "s");
}

}  // namespace pipeline
