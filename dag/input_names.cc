#include "dag/input_names.h"

#include <vector>

#include "base/str.h"

namespace pipeline {

Status WhyNotRead(const std::string& giver, const StageSpec& reader, const Facts::Files& files) {
  if (!files.missing.ok()) return Status(files.missing).Annotate(StrCat("stage '", giver, "'"));
  if (!reader.type->check_inputs) return {};
  std::vector<std::string> names;
  for (const SourceFile& file : files.files) names.push_back(file.input.name);
  return reader.type->check_inputs(reader.config, names).Annotate(StrCat("stage '", reader.name, "'"));
}

}  // namespace pipeline
