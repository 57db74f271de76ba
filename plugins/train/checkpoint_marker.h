// The marker of a complete checkpoint in a bucket, and one host's part of a checkpoint. Formats and names:
// CONTRACT.md, section 10, and plugins/train/hosts/checkpoints.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
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

/// The versions of a marker, and of the list of a checkpoint's files: of one host, and of parts.
inline constexpr std::uint32_t kWholeCheckpoint = 1, kCheckpointOfParts = 2;

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

/// The name of a checkpoint below checkpoints/: "STEP/ID".
struct CheckpointName {
  std::int64_t step = 0;
  std::string id;  // 16 hexadecimal digits, derived from its content

  std::string Path() const;
  std::string Marker() const { return Path() + ".json"; }
  bool operator==(const CheckpointName&) const = default;
};

/// The parsed name of an object below checkpoints/.
struct CheckpointObject {
  CheckpointName checkpoint;
  std::string file;  // a file of the checkpoint; empty: its marker
};
/// Absent: the name is not ours.
std::optional<CheckpointObject> ParseCheckpointObject(std::string_view name);

/// The steps of STEP and STEP.json below `directory`, checkpoints/ of a disk.
std::set<std::int64_t> StepsBelow(const std::string& directory);

/// The failure of a training all of whose checkpoints are damaged.
Status NoneCanBeRead(std::string_view place, std::size_t checkpoints);

/// The pin names: a checkpoint with one is kept, however old; one checkpoint per name.
inline constexpr std::string_view kBest = "best";
inline constexpr std::string_view kBeforeDecay = "before_decay";
inline constexpr std::string_view kPins[] = {kBest, kBeforeDecay};

/// Version 1: of a single host. Version 2: of several hosts, each with a part.
struct CheckpointMarker {
  std::int64_t step = 0;
  std::vector<FileFacts> files;       // version 1: by name
  std::int64_t attempt = 0;           // version 2: that made it
  std::vector<CheckpointPart> parts;  // version 2: by host
  Json best;                          // the best evaluation of the run so far; null: none
  std::vector<std::string> pinned;    // names from kPins; a pinned checkpoint is never removed

  /// Derived from the names, lengths and checksums of the files.
  CheckpointName Name() const;
  bool by_parts() const { return !parts.empty(); }
  std::vector<FileFacts> AllFiles() const;
  /// A folder below checkpoints/ with some of the files: that of the checkpoint, or one for each part.
  struct Folder {
    std::string path;
    const std::vector<FileFacts>* files;  // of this marker
  };
  std::vector<Folder> Folders() const;
  Json ToJson() const;
  std::string Encode() const { return ToJson().DumpPretty(); }
};
/// Reads `pinned` from a marker, or from the digests beside a local checkpoint; kDataLoss names `where` if
/// it is not a list of known names.
Result<std::vector<std::string>> ParsePins(const Json& json, std::string_view where);

/// True if the digests beside a local checkpoint say that it was never finished: CONTRACT.md, section 11.
bool IsUnfinished(const Json& digests);

/// kDataLoss names `where` if the text is not a marker of a known version.
Result<CheckpointMarker> ParseCheckpointMarker(std::string_view text, std::string_view where);
Result<CheckpointMarker> ReadCheckpointMarker(const Json& json, std::string_view where);

/// checkpoints/STEP.json of a host's own disk, version 2: CONTRACT.md, section 13.
struct LocalPart : PartRecord {   // of the files that this host sends
  bool unfinished = false;        // the trainer has not committed it
  bool fetched = false;           // the stage brought it: it is not this host's own making
  std::vector<std::string> pins;  // as in a marker
  Json best;
};
/// kDataLoss names `where`. Absent: it is of version 1.
Result<std::optional<LocalPart>> ParseLocalPart(const Json& json, std::string_view where);

}  // namespace pipeline
