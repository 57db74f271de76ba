// Which split the records of a file belong to, by the file's name.
#pragma once

#include <cstdint>
#include <memory>
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
  /// kInvalidArgument where the name matches the patterns of no split, or of two.
  Result<std::uint8_t> Of(std::string_view file) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> splits_;
};

/// For StageType::check: adds the column `split` where the configuration has the key.
Status CheckFileSplits(const Json& config, Schema& schema);
/// For StageType::check_inputs: every file has its split, and every split a file.
Status CheckInputSplits(const Json& config, const std::vector<std::string>& files);

/// For StageType::taken_from_names: the split of each file; empty for one without.
std::vector<std::string> SplitsOfFiles(const Json& config, const std::vector<std::string>& files);

/// `stage`, whose records also get their split where the configuration has the key.
Result<std::unique_ptr<SourceStage>> WithFileSplits(const Json& config, std::unique_ptr<SourceStage> stage);

}  // namespace pipeline
