// Labels of records: the keys that name all of them, and their numbers in this order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/reason.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/records/batch.h"

namespace pipeline {

/// The keys `labels` and `labels_file`. The file counts by its bytes, not its path: see LabelFiles.
std::vector<ConfigKey> LabelKeys(std::string_view help_of_labels);
bool HasLabels(const Json& config);
/// Checks as much as possible without reading the file.
Status CheckLabelKeys(const Json& config);

/// The source that stands for the file in a recipe.
inline constexpr std::string_view kLabelsSource = "labels";
/// For StageType::files.
Result<std::vector<StageFile>> LabelFiles(const Json& config);

/// The names in the order of their numbers; empty: none. Reads the file.
Result<std::vector<std::string>> LabelNames(const Json& config);

/// The key `on_unknown_label`: the treatment of a record with another label.
ConfigKey UnknownLabelKey();
/// True: a record with another label is an error; false: it is set aside.
bool FailsOnUnknownLabel(const Json& config);
/// The reason of a record that was set aside.
Reason UnknownLabelReason();

/// Keeps the records whose label `accepts` takes, which is asked once for each. Another record is the error
/// kFailedPrecondition, with batch.failed_index, whose message has `wrong`: what is wrong with a label, and
/// the remedy. Unless that `fails`, it is dropped and set aside.
Status KeepLabels(Batch& batch, std::uint32_t stage, StageCounts& counts, bool fails, std::string_view wrong,
                  const std::function<bool(std::string_view label)>& accepts);

/// Immutable; any thread may use it.
class LabelNumbers {
 public:
  /// `names` by number, from 0; none comes twice.
  LabelNumbers(const std::vector<std::string>& names, bool fails);

  bool empty() const { return numbers_.empty(); }
  /// Absent: no name.
  std::optional<std::uint32_t> Of(std::string_view label) const;

  /// KeepLabels; sets `numbers` to the number of each record's label that is kept.
  Status Number(Batch& batch, std::uint32_t stage, StageCounts& counts,
                std::vector<std::uint32_t>& numbers) const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  const bool fails_;
};

}  // namespace pipeline
