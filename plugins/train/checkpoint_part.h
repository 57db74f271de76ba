// One host's part of a checkpoint: in the bucket, and on the host's own disk. Formats:
// plugins/train/hosts/checkpoints.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

/// A list of files as JSON, as markers and records have it.
Json FilesToJson(const std::vector<FileFacts>& files);
/// kDataLoss names `where` if it is no list of files.
Result<std::vector<FileFacts>> ParseFiles(const Json& list, std::string_view where);
/// The hexadecimal digits of the name of a checkpoint, and of the digest of its files.
inline constexpr std::size_t kIdDigits = 16;
/// kIdDigits hexadecimal digits, derived from the names, lengths and checksums of the files.
std::string DigestOfFiles(const std::vector<FileFacts>& files);

struct CheckpointPart {
  int host = 0;
  std::vector<FileFacts> files;  // by name

  std::string Digest() const { return DigestOfFiles(files); }
  bool operator==(const CheckpointPart&) const = default;
};

/// checkpoints/STEP/NNNNN-K.json: host K has sent its part of the checkpoint that attempt NNNNN made.
struct PartRecord {
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  int hosts = 1;
  CheckpointPart part;

  /// Below checkpoints/.
  static std::string Name(std::int64_t step, std::int64_t attempt, int host);
  std::string Name() const { return Name(step, attempt, part.host); }
  std::string Encode() const;
  bool operator==(const PartRecord&) const = default;
};
/// The most bytes of a part record.
inline constexpr std::uint64_t kMostPartRecord = 64 << 20;
/// kDataLoss names `where` if the text is no part record of a known version.
Result<PartRecord> ParsePartRecord(std::string_view text, std::string_view where);
/// The step of a part record's name below checkpoints/; absent: the name is not one.
std::optional<std::int64_t> StepOfPartRecord(std::string_view name);

/// checkpoints/STEP.json of a host's own disk, version 2: CONTRACT.md, section 13.
struct LocalPart {
  std::int64_t step = 0;
  std::int64_t attempt = 0;  // that made it
  int hosts = 1;
  CheckpointPart part;            // the files that this host sends
  bool unfinished = false;        // the trainer has not committed it
  bool fetched = false;           // the stage brought it: it is not this host's own making
  std::vector<std::string> pins;  // as in a marker
  Json best;
};
/// kDataLoss names `where`. Absent: it is of version 1.
Result<std::optional<LocalPart>> ParseLocalPart(const Json& json, std::string_view where);

}  // namespace pipeline
