#include "dag/pipeline_file/mistake.h"

namespace pipeline {

std::string ToString(const Mistake& mistake, std::string_view file) {
  if (mistake.at.line == 0) return StrCat(file, ": ", mistake.message);
  return StrCat(file, ":", mistake.at.line, ":", mistake.at.column, ": ", mistake.message);
}

}  // namespace pipeline
