// Counts documents and records, and decides where a partition ends. Rules: formats/lines.md. All offsets are
// bytes of the input.
#pragma once

#include <cstdint>
#include <utility>

#include "formats/line_rules.h"

namespace pipeline {

/// The end of a partition.
struct CutEnd {
  std::uint32_t partition = 0;
  std::uint64_t raw_end = 0;
  std::uint64_t document_end = 0;  // number of the document with which the next partition begins
};

/// One thread at a time.
class DocumentBorders {
 public:
  DocumentBorders(const LineRules& rules, const CutterStart& start)
      : partition_bytes_(rules.partition_bytes),
        max_document_bytes_(rules.max_document_bytes),
        document_(start.document),
        partition_(start.partition) {}

  bool in_document() const { return in_document_; }
  bool in_partition() const { return in_partition_; }
  std::uint64_t document() const { return document_; }    // the current one, or the next one
  std::uint32_t partition() const { return partition_; }  // the current one, or the next one
  std::uint64_t key() const { return key_; }              // of the current document

  void BeginDocument(std::uint64_t raw, std::uint64_t key) {
    in_document_ = true;
    document_raw_ = raw;
    key_ = key;
  }
  /// Does nothing between documents.
  void EndDocument() {
    if (std::exchange(in_document_, false)) ++document_;
  }

  /// Returns the index in its partition of a record that begins at `raw`.
  std::uint64_t TakeIndex(std::uint64_t raw) {
    if (!std::exchange(in_partition_, true)) {
      partition_raw_ = raw;
      index_ = 0;
    }
    return index_++;
  }
  /// Call at the end of each non-blank line, with the offset after its line end.
  void EndLine(std::uint64_t raw) { text_end_ = raw; }

  /// Returns true if the partition ends before a record at `raw`.
  bool BorderIsDue(std::uint64_t raw) const {
    if (!in_partition_) return false;
    return in_document_ ? raw - document_raw_ >= max_document_bytes_
                        : text_end_ - partition_raw_ >= partition_bytes_;
  }
  /// Ends the current partition at `raw`. A current document continues in the next partition.
  CutEnd EndPartition(std::uint64_t raw) {
    if (in_document_) document_raw_ = raw;
    in_partition_ = false;
    return {partition_++, raw, document_};
  }

 private:
  std::uint64_t partition_bytes_, max_document_bytes_;
  bool in_document_ = false;
  std::uint64_t document_;
  std::uint64_t document_raw_ = 0;  // where the document began or was last cut
  std::uint64_t key_ = 0;
  bool in_partition_ = false;
  std::uint32_t partition_;
  std::uint64_t partition_raw_ = 0;
  std::uint64_t text_end_ = 0;  // after the last non-blank line
  std::uint64_t index_ = 0;
};

}  // namespace pipeline
