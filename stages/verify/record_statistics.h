// Takes from a reader everything that a trainer sees of each record.
#pragma once

#include <cstdint>
#include <string_view>

namespace pipeline {

/// One thread at a time.
class RecordStatistics {
 public:
  virtual ~RecordStatistics() = default;
  /// Adds the text of a record; valid UTF-8.
  virtual void AddText(std::string_view text) = 0;
  /// Adds the number of ids of a record.
  virtual void AddIds(std::uint64_t ids) = 0;
  /// Adds text that was counted when its ids were made and is no longer available.
  virtual void AddCounted(std::uint64_t characters, std::uint64_t bytes) = 0;
  virtual void AddDocuments(std::uint64_t documents) = 0;
};

}  // namespace pipeline
