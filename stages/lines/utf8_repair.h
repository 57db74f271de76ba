// The parallel part of reading text: makes every record valid UTF-8, or drops it.
#pragma once

#include <cstdint>
#include <vector>

#include "dag/pipeline_file/reason.h"
#include "dag/records/transform.h"

namespace pipeline {

enum class InvalidUtf8 : std::uint8_t { kReplace, kQuarantine, kFail };

/// The reasons that Utf8Repair counts.
std::vector<Reason> RepairReasons();

/// Works on the column `text`; counts records, not bytes. kReplace: inserts U+FFFD as text/utf8.md says,
/// with the reasons `invalid_utf8` and `nul`, and puts the original in the quarantine. kQuarantine: puts
/// the record there, with the reasons `dropped_invalid_utf8` and `dropped_nul`. A record with both faults
/// counts only as invalid UTF-8. A record without them that has characters of ISO-2022-JP is of another
/// encoding than its text: with `finds_iso2022` kReplace keeps it as it is with the reason `iso_2022`, and
/// the others treat it as invalid. Counts only reasons: the Segment counts input and output.
class Utf8Repair : public Transform {
 public:
  Utf8Repair(InvalidUtf8 policy, bool finds_iso2022) : policy_(policy), finds_iso2022_(finds_iso2022) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override;

 private:
  const InvalidUtf8 policy_;
  const bool finds_iso2022_;
};

}  // namespace pipeline
