// The TensorBoard event files of a program: external.md, section 3. Format: TFRecords (formats/tfrecord.md)
// of tensorflow.Event (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipeline {

/// The value of a tag in an event.
struct EventScalar {
  std::int64_t step = 0;
  double value = 0;
};

/// Absent: `event` is no message, or has no number with this tag.
std::optional<EventScalar> ScalarOf(std::string_view event, std::string_view tag);

/// Returns the end of the whole records from `from` on, in the first `size` bytes of the file at `path`: of
/// the first record, or of those that `most` bytes hold. `from` itself: there is none, or it is damaged.
std::int64_t EndOfRecords(const std::string& path, std::int64_t from, std::int64_t size, std::int64_t most);

/// One thread at a time. Files that it cannot read are left out.
class EventFiles {
 public:
  /// Reads all files below `directory` whose names have `tfevents`; it need not exist yet.
  EventFiles(std::string directory, std::string tag)
      : directory_(std::move(directory)), tag_(std::move(tag)) {}

  /// Passes over all events that are there now: earlier attempts wrote them.
  void Skip();

  /// The values since the last call, file by file. A record whose end is missing is read later.
  std::vector<EventScalar> Read();

  /// The first file with bytes that are no records, and their offset; empty: there is none. After the end of
  /// the program.
  std::string Unread() const;

 private:
  struct Position {
    std::uint64_t offset = 0;  // of the next record
    std::uint64_t size = 0;    // when it was read last
  };
  std::vector<std::string> List() const;
  void ReadFile(const std::string& path, Position& at, std::vector<EventScalar>& scalars) const;

  const std::string directory_;
  const std::string tag_;
  std::map<std::string, Position> positions_;  // by path
};

}  // namespace pipeline
