// The part of reading text that needs no order: every record becomes clean UTF-8, or does not come through.
#pragma once

#include <cstdint>
#include <vector>

#include "records/transform.h"
#include "spec/reason.h"

namespace pipeline {

enum class InvalidUtf8 : std::uint8_t { kReplace, kQuarantine, kFail };

/// What Utf8Repair counts.
std::vector<Reason> RepairReasons();

/// Works on column `text`; counts records, not bytes. kReplace: U+FFFD as text/utf8.md says, reasons
/// `invalid_utf8` and `nul`, the original in the quarantine. kQuarantine: the record goes there, reasons
/// `dropped_invalid_utf8` and `dropped_nul`. One that has both counts as invalid UTF-8 alone. Only reasons
/// are counted: the Segment knows what went in and came out.
class Utf8Repair : public Transform {
 public:
  explicit Utf8Repair(InvalidUtf8 policy) : policy_(policy) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override;

 private:
  const InvalidUtf8 policy_;
};

}  // namespace pipeline
