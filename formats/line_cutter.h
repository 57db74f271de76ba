// Decoded text to lines with document numbers, document keys and partition borders. No I/O: bytes are
// fed as they come, and what they are cut into does not depend on how. Rules: formats/lines.md, and for
// rows formats/rows.md.
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
  /// The input ends, as far as anybody is told, after so many documents.
  std::uint64_t max_documents = kNoLimit;
  /// For rows, with Documents::kLine. Between these the quotes of RFC 4180 count: a line end inside a
  /// quoted field belongs to the row. NUL: quotes are bytes like others.
  char quoted_delimiter = '\0';
  bool header = false;  // the first line of each section that is not blank is no record
};

/// Where a cutter begins: the input's start, or the first byte of a partition whose first record is
/// also the first of its document.
struct CutterStart {
  std::uint64_t raw = 0;
  std::uint64_t document = 0;
  std::uint32_t partition = 0;
};

/// Whether a partition that `before` stands in front of begins with a document, as CutterStart needs it.
/// `before` is the last kBorderBytes bytes, or all there are.
inline constexpr std::size_t kBorderBytes = 3;
bool EndsDocument(std::string_view before, Documents documents);

/// A record, or a piece of a line that is set aside.
struct CutRecord {
  std::string_view bytes;  // without the line's end; valid until the cutter is called again
  std::uint32_t partition = 0;
  std::uint64_t index = 0;     // in the partition
  std::uint64_t document = 0;  // in the input
  std::uint64_t key = 0;
  std::uint32_t piece = 0;  // of a long line
};

struct CutEnd {
  std::uint32_t partition = 0;
  std::uint64_t raw_end = 0;
  std::uint64_t document_end = 0;  // number of the document that the next partition begins with
};

struct CutCounts {
  std::uint64_t lines = 0;       // that are not blank
  std::uint64_t line_bytes = 0;  // of those, without their ends
  std::uint64_t blank_lines = 0;
  std::uint64_t bom = 0;
  std::uint64_t crlf = 0;  // of lines that are not blank
  std::uint64_t long_split = 0;
  std::uint64_t long_quarantined = 0;
  std::uint64_t document_cut = 0;
  bool operator==(const CutCounts&) const = default;
};

/// One thread at a time.
class LineCutter {
 public:
  enum class Event : std::uint8_t {
    kNeedInput,     // Feed or FinishInput, then go on
    kRecord,        // see record()
    kSetAside,      // see record(): a piece for the quarantine
    kHeader,        // see record(): its bytes alone
    kPartitionEnd,  // see partition_end()
    kSectionEnd,    // what was fed before EndSection is cut: Feed or FinishInput, then go on
    kInputEnd,      // and so it stays
  };

  explicit LineCutter(const LineRules& rules, const CutterStart& start = {});

  /// Only after kNeedInput or before the first Next, and once: `bytes` stay where they are until
  /// kNeedInput comes (again), since lines are cut out of them and not of a copy.
  void Feed(std::string_view bytes);
  void FinishInput() { finished_ = true; }
  /// What comes next begins anew, with a byte order mark and a header of its own: another file of the
  /// same input. A line, a quoted field and a document end here.
  void EndSection() { finished_ = section_ends_ = true; }
  /// Only after kSectionEnd: of the section that begins, what stands behind document `last` - 1 of the input
  /// is passed over, as if it were not there. The next section has no such limit.
  void LimitSection(std::uint64_t last) { section_documents_ = last; }

  /// An error (UTF-16, a long line with OnLong::kFail) ends it: nothing may be called after.
  Result<Event> Next();

  const CutRecord& record() const { return record_; }
  const CutEnd& partition_end() const { return end_; }
  /// What was counted since the last call. All of it belongs to the partition of the latest event.
  CutCounts TakeCounts();

  /// Facts about the input at kInputEnd. What is outside is known from the first record on, unless
  /// the cutter began at a partition.
  const CutCounts& outside() const { return outside_; }
  std::uint64_t raw_bytes() const { return raw_; }
  std::uint64_t documents() const { return document_; }
  std::uint32_t partitions() const { return partition_; }
  /// What the cutter holds on to at the moment.
  std::size_t memory_bytes() const { return carry_.capacity() + head_.capacity(); }

 private:
  /// A line, or what is left of one, at the front of rest().
  struct Line {
    bool fits = false;         // into a record; only then is the rest of this valid
    std::string_view content;  // without its end
    std::size_t size = 0;      // with it
    bool cr = false;           // which has a CR
  };

  /// Where in a row of RFC 4180 a byte stands.
  enum class Field : std::uint8_t { kBegins, kPlain, kQuoted, kQuoteEnds };

  /// What can be looked at and is not yet cut.
  std::string_view rest() const { return (in_carry_ ? std::string_view(carry_) : fed_).substr(begin_); }
  /// The input ends with rest().
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
  // A line that lies across two feeds is put together in carry_: what was left of the first, and a copy
  // of as much of the second as it takes. After it, lines are cut from fed_ itself.
  std::string_view fed_;
  std::string carry_;
  std::size_t carried_ = 0;  // bytes at the front of fed_ that carry_ ends with
  bool in_carry_ = false;
  std::size_t begin_ = 0;         // of rest(), in carry_ or fed_
  std::size_t scanned_ = 0;       // bytes at the front of rest() that hold no line's end
  Field field_ = Field::kBegins;  // what they leave open
  bool finished_ = false;
  bool section_ends_ = false;  // it is the section that is finished
  std::uint64_t section_documents_ = kNoLimit;
  bool bom_passed_ = false;
  bool header_passed_ = false;
  std::string head_;  // scratch of ReadKey

  std::uint64_t raw_ = 0;  // offset of rest() in the input
  bool in_line_ = false;   // the next bytes continue a long line
  std::uint32_t piece_ = 0;
  bool in_document_ = false;
  std::uint64_t document_ = 0;      // the current document, or the next one
  std::uint64_t document_raw_ = 0;  // where it began or was last cut
  std::uint64_t key_ = 0;
  bool in_partition_ = false;
  std::uint32_t partition_ = 0;  // the current partition, or the next one
  std::uint64_t partition_raw_ = 0;
  std::uint64_t text_end_ = 0;  // just after the last line that is not blank
  std::uint64_t index_ = 0;
  bool knows_outside_ = false;

  CutRecord record_;
  CutEnd end_;
  CutCounts counts_;
  CutCounts outside_;
};

}  // namespace pipeline
