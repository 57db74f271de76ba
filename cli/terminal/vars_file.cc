#include "cli/terminal/vars_file.h"

#include <utility>

#include "base/str.h"
#include "cli/terminal/typed_file.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

Result<Assignments> ReadVarsFile(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadTypedFile(file));
  const ParsedYaml yaml = ParseYaml(text);
  const auto wrong = [&file](FilePosition at, std::string message) {
    return Status(Code::kInvalidArgument, ToString({at, std::move(message)}, file));
  };
  if (!yaml.mistakes.empty()) return wrong(yaml.mistakes.front().at, yaml.mistakes.front().message);
  if (!yaml.root || !yaml.root->is_map())
    return wrong({}, "must have lines such as `vocab_size: 8000`: a map of names to values");
  Assignments all;
  for (const YamlEntry& entry : yaml.root->entries) {
    if (!entry.value.is_scalar())
      return wrong(entry.value.at, StrCat("'", entry.key, "' must be a text or a number, and this is ",
                                          Describe(entry.value)));
    all.emplace_back(entry.key, entry.value.text);
  }
  return all;
}

}  // namespace pipeline
