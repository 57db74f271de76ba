// Cuts decoded text into lines with document numbers, document keys and partition borders. No I/O: the
// caller feeds bytes, and the cuts do not depend on how the bytes are divided. Rules: formats/lines.md; for
// rows also formats/rows.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/document_borders.h"
#include "formats/document_key.h"
#include "formats/line_rules.h"
#include "formats/row_finder.h"
#include "formats/section_feed.h"

namespace pipeline {

/// A record, or a part of a long line that goes to the quarantine.
struct CutRecord {
  std::string_view bytes;  // without the line end; valid until the next call of the cutter
  std::uint32_t partition = 0;
  std::uint64_t index = 0;     // in the partition
  std::uint64_t document = 0;  // in the input
  std::uint64_t key = 0;
  std::uint32_t piece = 0;  // number of the part in a long line, from 0
  std::uint64_t begin = 0;  // offset in the text; a header has none
};

struct CutCounts {
  std::uint64_t lines = 0;       // non-blank lines
  std::uint64_t line_bytes = 0;  // bytes of these lines, without line ends
  std::uint64_t blank_lines = 0;
  std::uint64_t bom = 0;
  std::uint64_t crlf = 0;  // of non-blank lines
  std::uint64_t cr = 0;    // of those in a text of LineEnds::kCr, as the next
  std::uint64_t lf = 0;
  std::uint64_t long_split = 0;
  std::uint64_t long_quarantined = 0;
  std::uint64_t document_cut = 0;
  bool operator==(const CutCounts&) const = default;
};

/// One thread at a time.
class LineCutter {
 public:
  enum class Event : std::uint8_t {
    kNeedInput,     // call Feed or FinishInput, then Next
    kRecord,        // see record()
    kSetAside,      // see record(): a part of a long line, for the quarantine
    kHeader,        // see record(): only `bytes` is meaningful
    kPartitionEnd,  // see partition_end()
    kSectionEnd,    // everything fed before EndSection is cut: call Feed or FinishInput, then Next
    kInputEnd,      // every later call returns it again
  };

  explicit LineCutter(const LineRules& rules, const CutterStart& start = {});

  /// Call once before the first Next, and once after each kNeedInput or kSectionEnd. `bytes` must stay
  /// valid until the next kNeedInput: records refer to them, not to a copy.
  void Feed(std::string_view bytes) { feed_.Feed(bytes); }
  void FinishInput() { feed_.FinishInput(); }
  /// Ends a section, a file of the input: its last line, quoted field and document end here. The next
  /// section may have its own byte order mark and header.
  void EndSection() { feed_.EndSection(); }
  /// Call only after kSectionEnd. In the section that begins, the cutter skips document `last` of the input
  /// and everything after it, as if it did not exist. The section after that has no such limit.
  void LimitSection(std::uint64_t last) { section_documents_ = last; }

  /// After an error (UTF-16, a long line with OnLong::kFail) no function may be called.
  Result<Event> Next();

  const CutRecord& record() const { return record_; }
  const CutEnd& partition_end() const { return end_; }
  /// Returns the counts since the last call. All of them belong to the partition of the latest event.
  CutCounts TakeCounts();

  /// Totals of the input at kInputEnd. outside() counts everything before the first record; it is final
  /// from the first record on, and 0 if the cutter began at a partition.
  const CutCounts& outside() const { return outside_; }
  std::uint64_t raw_bytes() const { return feed_.raw(); }
  std::uint64_t documents() const { return borders_.document(); }
  std::uint32_t partitions() const { return borders_.partition(); }
  /// The line ends of the section; known from its first event on.
  LineEnds ends() const { return rows_.ends(); }
  /// Bytes of memory that the cutter holds now.
  std::size_t memory_bytes() const { return feed_.memory_bytes() + key_.memory_bytes(); }

 private:
  Result<Event> Cut();
  bool IsPastLimit() const;
  void PassOver();
  bool FindRow(FoundRow& row) { return rows_.Find(feed_.rest(), feed_.finished(), row); }
  bool BeginDocument(const FoundRow& row);
  Result<Event> TakeHeader(const FoundRow& row);
  Result<Event> NextPiece();
  Event Emit(std::string_view bytes, std::size_t size, bool set_aside);
  Event EndInput();
  Event EndPartition();
  void EndLine(const FoundRow& row);
  void Consume(std::size_t bytes);

  LineRules rules_;
  SectionFeed feed_;
  RowFinder rows_;
  DocumentKey key_;
  DocumentBorders borders_;
  std::uint64_t section_documents_ = kNoLimit;
  LineEndSearch ends_;
  bool knows_ends_;
  bool header_passed_;
  bool in_line_ = false;  // the next bytes continue a long line
  std::uint32_t piece_ = 0;
  bool knows_outside_;

  CutRecord record_;
  CutEnd end_;
  CutCounts counts_;
  CutCounts outside_;
};

}  // namespace pipeline
