// Reasons: named counters of a stage, beside records and bytes. A reason names the counted things and says
// whether those records are gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dag/records/counts.h"

namespace pipeline {

/// Describes a name in StageCounts::reasons.
struct Reason {
  enum class Of : std::uint8_t {
    kRecords,    // records that the stage took in; for a stage that reads tables, rows
    kLookedAt,   // the same, and also records outside of a `subset`, which the stage skips
    kDocuments,  // documents that the stage took in
    kOther,      // anything else, which has no share of them: ids, files, lines of a row
  };
  enum class Fate : std::uint8_t {
    kStays,    // the record went on, perhaps changed
    kDropped,  // the record is gone
    kNotMeant  // the record was read and is outside of the wanted part of the corpus
  };

  std::string name;       // snake_case; 'NAME*' stands for all names that begin with NAME
  std::string_view help;  // one sentence
  Of of = Of::kRecords;
  Fate fate = Fate::kStays;
};

/// Makes a reason for records that are dropped.
inline Reason Drop(std::string name, std::string_view help) {
  return {std::move(name), help, Reason::Of::kRecords, Reason::Fate::kDropped};
}
/// Makes a reason that counts neither records nor documents.
inline Reason Tally(std::string name, std::string_view help) {
  return {std::move(name), help, Reason::Of::kOther, Reason::Fate::kStays};
}

/// Returns null if none of them matches `name`.
const Reason* FindReason(const std::vector<Reason>& reasons, std::string_view name);

/// Returns the number of records that a stage with these reasons took in, without those of Fate::kNotMeant.
std::uint64_t RecordsTaken(const std::vector<Reason>& reasons, const StageCounts& counts);

/// Returns how many of RecordsTaken() were counted under `reason`, which is Of::kRecords or kLookedAt. A
/// count of kLookedAt is scaled down by the part of RecordsTaken() in all records.
double RecordsCounted(const std::vector<Reason>& reasons, const StageCounts& counts, const Reason& reason);

/// Returns how many of RecordsTaken() were dropped. A record that was counted under two reasons counts
/// twice.
double RecordsDropped(const std::vector<Reason>& reasons, const StageCounts& counts);

/// Returns the first name in `counts` that matches none of `reasons`; empty: there is none.
std::string_view UndeclaredReason(const std::vector<Reason>& reasons, const StageCounts& counts);

}  // namespace pipeline
