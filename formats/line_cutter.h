// Cuts decoded text into lines with document numbers, document keys and partition borders. No I/O: the
// caller feeds bytes, and the cuts do not depend on how the bytes are divided. Rules: formats/lines.md; for
// rows also formats/rows.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

enum class Documents : std::uint8_t { kBlankLine, kLine };
enum class OnLong : std::uint8_t { kSplit, kQuarantine, kFail };

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct LineRules {
  Documents documents = Documents::kBlankLine;
  OnLong on_long = OnLong::kSplit;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  std::size_t max_record_bytes = std::size_t{8} << 20;  // at least 4: a character must fit
  /// The cutter reports the end of the input after this number of documents.
  std::uint64_t max_documents = kNoLimit;
  /// Delimiter of rows with quoted fields (RFC 4180), with Documents::kLine: a line end inside a quoted
  /// field belongs to the row. NUL: a quote is an ordinary byte.
  char quoted_delimiter = '\0';
  bool header = false;  // the first non-blank line of each section is a header, not a record
};

/// Start position of a cutter: the start of the input, or the first byte of a partition whose first record
/// is also the first record of its document.
struct CutterStart {
  std::uint64_t raw = 0;
  std::uint64_t document = 0;
  std::uint32_t partition = 0;
};

/// Returns true if a partition that follows the bytes `before` begins with a document, as CutterStart
/// requires. `before`: the last kBorderBytes bytes, or all bytes if there are fewer.
inline constexpr std::size_t kBorderBytes = 3;
bool EndsDocument(std::string_view before, Documents documents);

/// A record, or a part of a long line that goes to the quarantine.
struct CutRecord {
  std::string_view bytes;  // without the line end; valid until the next call of the cutter
  std::uint32_t partition = 0;
  std::uint64_t index = 0;     // in the partition
  std::uint64_t document = 0;  // in the input
  std::uint64_t key = 0;
  std::uint32_t piece = 0;  // number of the part in a long line, from 0
};

struct CutEnd {
  std::uint32_t partition = 0;
  std::uint64_t raw_end = 0;
  std::uint64_t document_end = 0;  // number of the document with which the next partition begins
};

struct CutCounts {
  std::uint64_t lines = 0;       // non-blank lines
  std::uint64_t line_bytes = 0;  // bytes of these lines, without line ends
  std::uint64_t blank_lines = 0;
  std::uint64_t bom = 0;
  std::uint64_t crlf = 0;  // of non-blank lines
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
  void Feed(std::string_view bytes);
  void FinishInput() { finished_ = true; }
  /// Ends a section, a file of the input: its last line, quoted field and document end here. The next
  /// section may have its own byte order mark and header.
  void EndSection() { finished_ = section_ends_ = true; }
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
  std::uint64_t raw_bytes() const { return raw_; }
  std::uint64_t documents() const { return document_; }
  std::uint32_t partitions() const { return partition_; }
  /// Bytes of memory that the cutter holds now.
  std::size_t memory_bytes() const { return carry_.capacity() + head_.capacity(); }

 private:
  /// A line, or the remaining part of a line, at the front of rest().
  struct Line {
    bool fits = false;         // the line fits into a record; other members are valid only then
    std::string_view content;  // without the line end
    std::size_t size = 0;      // with the line end
    bool cr = false;           // the line end has a CR
  };

  /// Position in a row of RFC 4180.
  enum class Field : std::uint8_t { kBegins, kPlain, kQuoted, kQuoteEnds };

  /// Bytes that are visible and not yet cut.
  std::string_view rest() const { return (in_carry_ ? std::string_view(carry_) : fed_).substr(begin_); }
  /// True if the input or section ends with rest().
  bool finished() const { return finished_ && !(in_carry_ && carried_ < fed_.size()); }
  Result<Event> Cut();
  bool IsPastLimit() const { return !in_document_ && document_ >= section_documents_; }
  void PassOver();
  bool LookFurther();
  void Carry();
  Result<bool> PassBom();
  bool FindLine(Line& line);
  std::size_t FindEnd(std::string_view window);
  bool ReadKey(const Line& line);
  bool BorderIsDue() const;
  Result<Event> TakeHeader(const Line& line);
  Result<Event> NextPiece();
  Event Emit(std::string_view bytes, std::size_t size, bool set_aside);
  Event EndInput();
  Event EndPartition();
  void EndLine(const Line& line);
  void EndDocument();
  void Consume(std::size_t bytes);

  LineRules rules_;
  // carry_ joins a line that spans two feeds: the rest of the first feed, and a copy of as many bytes of
  // the second as the line needs. Later lines are cut from fed_ itself.
  std::string_view fed_;
  std::string carry_;
  std::size_t carried_ = 0;  // carry_ ends with this many bytes from the front of fed_
  bool in_carry_ = false;
  std::size_t begin_ = 0;         // start of rest() in carry_ or fed_
  std::size_t scanned_ = 0;       // bytes at the front of rest() without a line end
  Field field_ = Field::kBegins;  // state after these bytes
  bool finished_ = false;
  bool section_ends_ = false;  // the section is finished, not the input
  std::uint64_t section_documents_ = kNoLimit;
  bool bom_passed_ = false;
  bool header_passed_ = false;
  std::string head_;  // scratch of ReadKey

  std::uint64_t raw_ = 0;  // offset of rest() in the input
  bool in_line_ = false;   // the next bytes continue a long line
  std::uint32_t piece_ = 0;
  bool in_document_ = false;
  std::uint64_t document_ = 0;      // the current document, or the next one
  std::uint64_t document_raw_ = 0;  // where the document began or was last cut
  std::uint64_t key_ = 0;
  bool in_partition_ = false;
  std::uint32_t partition_ = 0;  // the current partition, or the next one
  std::uint64_t partition_raw_ = 0;
  std::uint64_t text_end_ = 0;  // just after the last non-blank line
  std::uint64_t index_ = 0;
  bool knows_outside_ = false;

  CutRecord record_;
  CutEnd end_;
  CutCounts counts_;
  CutCounts outside_;
};

}  // namespace pipeline
