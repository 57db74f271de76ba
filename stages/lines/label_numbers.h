// The numbers of labels, and records with other labels.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/reason.h"
#include "dag/records/batch.h"

namespace pipeline {

/// The key `on_unknown_label`: the treatment of a record with another label.
ConfigKey UnknownLabelKey();
/// True: a record with another label is an error; false: it is set aside.
bool FailsOnUnknownLabel(const Json& config);
/// The reason of a record that was set aside.
Reason UnknownLabelReason();

/// Immutable; any thread may use it.
class LabelNumbers {
 public:
  /// `names` by number, from 0; none comes twice.
  LabelNumbers(const std::vector<std::string>& names, bool fails);

  bool empty() const { return numbers_.empty(); }
  /// Absent: no name.
  std::optional<std::uint32_t> Of(std::string_view label) const;

  /// Sets `numbers` to the number of each record's label. A record with another label is the error
  /// kFailedPrecondition, with batch.failed_index; unless that fails, it is dropped and set aside.
  Status Number(Batch& batch, std::uint32_t stage, StageCounts& counts,
                std::vector<std::uint32_t>& numbers) const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  const bool fails_;
};

}  // namespace pipeline
