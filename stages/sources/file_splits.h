// Assigns records to splits by the name of their file or archive member. Rules: formats/lines.md.
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
#include "dag/pipeline_file/config.h"
#include "dag/records/schema.h"
#include "dag/records/source.h"

namespace pipeline {

/// The key `splits` of stages that read files: maps each split to one pattern or several.
ConfigKey FileSplitsKey();

class FileSplits {
 public:
  /// kInvalidArgument tells which part of the key is wrong.
  static Result<FileSplits> Make(const Json& splits);

  /// The split names; a record's split is an index into this list.
  std::vector<std::string> names() const;
  /// Absent: no pattern matches the name; kInvalidArgument: patterns of two splits match it.
  Result<std::optional<std::uint8_t>> Find(std::string_view name) const;
  /// kInvalidArgument if no pattern matches the file.
  Result<std::uint8_t> Of(std::string_view file) const;
  /// As Of, for an archive member, by its name in the archive.
  Result<std::uint8_t> OfMember(std::string_view member) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> splits_;
};

/// For StageType::check: adds the column `split` if the configuration has the key.
Status CheckFileSplits(const Json& config, Schema& schema);
/// The reason with which StageCounts count the files and members of a split.
std::string SplitCount(std::string_view split);

/// For SourceKind::check_inputs: every file must have a split, or may be an archive whose members have
/// splits. Without such an archive, every split must have a file.
Status CheckInputSplits(const Json& config, const std::vector<std::string>& files);

/// For SourceKind::taken_from_names: the split of each file; empty: the name gives none.
std::vector<std::string> SplitsOfFiles(const Json& config, const std::vector<std::string>& files);

/// Wraps `stage` so that its records get their split, if the configuration has the key. If a file's name
/// gives no split, its records already have one from their archive member. At the end, every split must
/// have a file or a member.
Result<std::unique_ptr<SourceStage>> WithFileSplits(const Json& config, std::unique_ptr<SourceStage> stage);

}  // namespace pipeline
