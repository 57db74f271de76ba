// Which split the records of a file belong to, by the file's name, or those of an archive's member, by that
// one's. Rules: formats/lines.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "records/schema.h"
#include "records/source.h"
#include "spec/config.h"

namespace pipeline {

/// The key `splits` of stages that read files: a map of names to one pattern each, or several.
ConfigKey FileSplitsKey();

class FileSplits {
 public:
  /// kInvalidArgument saying what is wrong with the key.
  static Result<FileSplits> Make(const Json& splits);

  /// By name; a record's split is a place in this list.
  std::vector<std::string> names() const;
  /// Absent where the name matches the patterns of none; kInvalidArgument where it matches those of two.
  Result<std::optional<std::uint8_t>> Find(std::string_view name) const;
  /// kInvalidArgument where none has the file.
  Result<std::uint8_t> Of(std::string_view file) const;
  /// The same for a member of an archive, by its name there.
  Result<std::uint8_t> OfMember(std::string_view member) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> splits_;
};

/// For StageType::check: adds the column `split` where the configuration has the key.
Status CheckFileSplits(const Json& config, Schema& schema);
/// What StageCounts call the number of files and members that belong to a split.
std::string SplitCount(std::string_view split);

/// For StageType::check_inputs: every file has its split or may be an archive, whose members have theirs; and
/// every split a file, where there is no such archive.
Status CheckInputSplits(const Json& config, const std::vector<std::string>& files);

/// For StageType::taken_from_names: the split of each file; empty where its name says none.
std::vector<std::string> SplitsOfFiles(const Json& config, const std::vector<std::string>& files);

/// `stage`, whose records also get their split where the configuration has the key. Of a file whose name says
/// none, those that it gives have theirs already. In the end every split has a file or a member.
Result<std::unique_ptr<SourceStage>> WithFileSplits(const Json& config, std::unique_ptr<SourceStage> stage);

}  // namespace pipeline
