#include "formats/line_cutter.h"

#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/str.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 9> kSentenceEnds = {"。", "．", "！",     "？",    "!",
                                                           "?",  ".",  "\u2028", "\u2029"};
constexpr std::array<bool, 256> kEndsSentence = [] {  // the last bytes of those
  std::array<bool, 256> table{};
  for (const std::string_view mark : kSentenceEnds) table[static_cast<unsigned char>(mark.back())] = true;
  return table;
}();

// The length of the first piece of a line that is longer than `limit`.
std::size_t SplitPoint(std::string_view line, std::size_t limit) {
  for (std::size_t end = limit; end > 0; --end) {
    if (!kEndsSentence[static_cast<unsigned char>(line[end - 1])]) continue;
    for (const std::string_view mark : kSentenceEnds)
      if (line.substr(0, end).ends_with(mark)) return end;
  }
  std::size_t end = limit;
  while (limit - end < 3 && IsUtf8Tail(line[end])) --end;
  return IsUtf8Tail(line[end]) ? limit : end;
}

}  // namespace

LineCutter::LineCutter(const LineRules& rules, const CutterStart& start)
    : rules_(rules),
      feed_(start.raw),
      rows_(rules.quoted_delimiter, rules.max_record_bytes, rules.wrong_quotes_end_lines),
      borders_(rules, start),
      knows_ends_(!rules.cr_may_end_lines || start.ends || start.raw > 0),
      header_passed_(!rules.header || start.raw > 0),
      knows_outside_(start.raw > 0) {
  CHECK(rules.max_record_bytes >= 4, "a record of less than a character");
  rows_.SetEnds(start.ends.value_or(LineEnds::kLf));
}

Result<LineCutter::Event> LineCutter::Next() {
  while (true) {
    ASSIGN_OR_RETURN(const Event event, Cut());
    if (event != Event::kNeedInput) return event;
    if (feed_.LookFurther()) continue;
    feed_.Carry();
    return event;
  }
}

Result<LineCutter::Event> LineCutter::Cut() {
  if (!feed_.mark_passed() && !IsPastLimit()) {
    if (!knows_ends_) {
      const std::optional<LineEnds> ends = ends_.In(feed_.rest(), feed_.finished());
      if (!ends) return Event::kNeedInput;
      rows_.SetEnds(*ends);
    }
    ASSIGN_OR_RETURN(const bool passed, feed_.PassMark(counts_.bom));
    if (!passed) return Event::kNeedInput;
  }
  if (in_line_) return NextPiece();
  FoundRow row;
  while (true) {
    if (!borders_.in_document() && borders_.document() >= rules_.max_documents) return EndInput();
    if (IsPastLimit()) PassOver();
    if (feed_.rest().empty() && feed_.finished()) {
      borders_.EndDocument();
      if (!feed_.BeginNextSection()) return EndInput();
      section_documents_ = kNoLimit;
      header_passed_ = !rules_.header;
      knows_ends_ = !rules_.cr_may_end_lines;
      ends_ = {};
      return Event::kSectionEnd;
    }
    // A border comes before the next record, as soon as that is known not to be blank.
    const std::string_view front = feed_.rest().substr(0, 2);
    if (front.empty() || (front == "\r" && !feed_.finished())) return Event::kNeedInput;
    bool blank =
        front[0] == '\n' || front == "\r\n" || front == "\r" || (front[0] == '\r' && ends() == LineEnds::kCr);
    if (!blank && rules_.space_is_blank) {
      if (feed_.rest().size() < 3 && !feed_.finished())
        return Event::kNeedInput;  // a character has that many
      if (UnicodeSpaceEnd(feed_.rest().substr(0, 3), 0) > 0) {
        if (!FindRow(row)) return Event::kNeedInput;
        blank = row.fits && IsBlankLine(row.content);
      }
    }
    if (!blank && header_passed_ && borders_.BorderIsDue(feed_.raw())) return EndPartition();
    if (!FindRow(row)) return Event::kNeedInput;
    if (!blank && !header_passed_) return TakeHeader(row);
    if (!blank) break;
    ++counts_.blank_lines;
    rows_.EndRow();
    Consume(row.size);
    borders_.EndDocument();
  }
  if (!borders_.in_document() && !BeginDocument(row)) return Event::kNeedInput;
  if (!row.fits && rules_.on_long == OnLong::kFail)
    return Status(Code::kFailedPrecondition,
                  StrCat("line at byte ", feed_.raw(), " of the text is longer than max_record_bytes (",
                         rules_.max_record_bytes, "); raise it, or set on_long: quarantine"));
  if (!std::exchange(knows_outside_, true)) outside_ = TakeCounts();
  ++counts_.lines;
  piece_ = 0;
  if (!row.fits) {
    ++(rules_.on_long == OnLong::kSplit ? counts_.long_split : counts_.long_quarantined);
    in_line_ = true;
    return NextPiece();
  }
  const Event event = Emit(row.content, row.size, false);
  EndLine(row);
  return event;
}

bool LineCutter::IsPastLimit() const {
  return !borders_.in_document() && borders_.document() >= section_documents_;
}

void LineCutter::PassOver() {
  rows_.Consume(feed_.rest().size());
  feed_.PassOver();
}

// Returns false if the key of the document needs more input.
bool LineCutter::BeginDocument(const FoundRow& row) {
  const std::string_view rest = feed_.rest();
  const std::optional<std::uint64_t> key =
      rows_.quoted() ? key_.OfRow(row.fits ? row.content : rest.substr(0, rules_.max_record_bytes), ends())
                     : key_.OfLines(rest, feed_.finished(), rules_, ends());
  if (key) borders_.BeginDocument(feed_.raw(), *key);
  return key.has_value();
}

Result<LineCutter::Event> LineCutter::TakeHeader(const FoundRow& row) {
  if (!row.fits)
    return Status(Code::kFailedPrecondition,
                  StrCat("header at byte ", feed_.raw(), " is longer than max_record_bytes (",
                         rules_.max_record_bytes, "); raise it, or set header: false"));
  header_passed_ = true;
  rows_.EndRow();
  record_ = {row.content, borders_.partition(), 0, borders_.document(), 0, 0};
  Consume(row.size);
  return Event::kHeader;
}

// Cuts the next piece of a long line, or a border before it.
Result<LineCutter::Event> LineCutter::NextPiece() {
  if (borders_.BorderIsDue(feed_.raw())) return EndPartition();
  FoundRow row;
  if (!FindRow(row)) return Event::kNeedInput;
  const bool set_aside = rules_.on_long == OnLong::kQuarantine;
  if (row.fits) {
    const Event event = Emit(row.content, row.size, set_aside);
    EndLine(row);
    return event;
  }
  const std::size_t limit = rules_.max_record_bytes;
  const std::size_t size = set_aside ? limit : SplitPoint(feed_.rest(), limit);
  return Emit(feed_.rest().substr(0, size), size, set_aside);
}

LineCutter::Event LineCutter::Emit(std::string_view bytes, std::size_t size, bool set_aside) {
  const std::uint64_t index = borders_.TakeIndex(feed_.raw());
  record_ = {bytes, borders_.partition(), index, borders_.document(), borders_.key(), piece_++, feed_.raw()};
  counts_.line_bytes += bytes.size();
  Consume(size);
  return set_aside ? Event::kSetAside : Event::kRecord;
}

// If a partition ends first, the next call ends the input.
LineCutter::Event LineCutter::EndInput() {
  if (borders_.in_partition()) return EndPartition();
  if (!std::exchange(knows_outside_, true)) outside_ = TakeCounts();
  return Event::kInputEnd;
}

LineCutter::Event LineCutter::EndPartition() {
  if (borders_.in_document()) ++counts_.document_cut;
  end_ = borders_.EndPartition(feed_.raw());
  return Event::kPartitionEnd;
}

void LineCutter::EndLine(const FoundRow& row) {
  in_line_ = false;
  rows_.EndRow();
  borders_.EndLine(feed_.raw());
  if (row.end == FoundRow::End::kCrLf) ++counts_.crlf;
  if (row.end == FoundRow::End::kCr) ++counts_.cr;
  if (row.end == FoundRow::End::kLf) ++counts_.lf;
  if (rules_.documents == Documents::kLine) borders_.EndDocument();
}

// The bytes stay where they are: record_ may point to them.
void LineCutter::Consume(std::size_t bytes) {
  feed_.Consume(bytes);
  rows_.Consume(bytes);
}

CutCounts LineCutter::TakeCounts() { return std::exchange(counts_, {}); }

}  // namespace pipeline
