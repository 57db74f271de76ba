// What stages count under a name of its own, beside records and bytes: what it is counted of, and whether the
// records are gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/counts.h"

namespace pipeline {

/// A name in StageCounts::reasons.
struct Reason {
  enum class Of : std::uint8_t {
    kRecords,    // that the stage took in: of a stage that reads rows, rows
    kLookedAt,   // the same, and those outside of a `subset`, which it passes over
    kDocuments,  // that it took in
    kOther,      // something that has no share of those: ids, files, lines of a row
  };
  enum class Fate : std::uint8_t {
    kStays,    // the record went on, perhaps changed
    kDropped,  // it did not
    kNotMeant  // it was looked at and is not of the part of the corpus that is wanted
  };

  std::string name;       // snake_case; ends in '*' where it stands for all names that begin so
  std::string_view help;  // one sentence
  Of of = Of::kRecords;
  Fate fate = Fate::kStays;
};

/// A record that is gone for it.
inline Reason Drop(std::string name, std::string_view help) {
  return {std::move(name), help, Reason::Of::kRecords, Reason::Fate::kDropped};
}
/// One that counts something else than records or documents.
inline Reason Tally(std::string name, std::string_view help) {
  return {std::move(name), help, Reason::Of::kOther, Reason::Fate::kStays};
}

/// Null where none of them is called so.
const Reason* FindReason(const std::vector<Reason>& reasons, std::string_view name);

/// The records that a stage with these reasons took in, without those that were not meant.
std::uint64_t RecordsTaken(const std::vector<Reason>& reasons, const StageCounts& counts);

/// How many of them were counted under the reason, which may be Of::kRecords or kLookedAt: of the latter it
/// is as many as there are among all, in proportion.
double RecordsCounted(const std::vector<Reason>& reasons, const StageCounts& counts, const Reason& reason);

/// How many of them did not go on. One that was counted under two reasons counts twice.
double RecordsDropped(const std::vector<Reason>& reasons, const StageCounts& counts);

/// The first name in `counts` that is not among `reasons`; empty where there is none.
std::string_view UndeclaredReason(const std::vector<Reason>& reasons, const StageCounts& counts);

}  // namespace pipeline
