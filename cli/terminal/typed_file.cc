#include "cli/terminal/typed_file.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/yaml.h"
#include "storage/local_file.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargestTypedFile = 16 << 20;

}  // namespace

Result<std::string> ReadTypedFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  if (file->size() > kLargestTypedFile)
    return Status(Code::kInvalidArgument, StrCat(path, ": is ", HumanBytes(file->size()),
                                                 ", too large for a file that a person writes"));
  std::string text(file->size(), '\0');
  if (text.empty()) return text;
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, {}));
  RETURN_IF_ERROR(ReadExactly(*reader, text));
  return text;
}

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
