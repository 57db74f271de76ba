#include "formats/line_cutter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/digest.h"
#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kKeyBytes = 1024;
constexpr std::size_t kCarryBytes = 4096;  // enough for most lines and for a key

std::string_view WithoutCr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

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

bool EndsDocument(std::string_view before, Documents documents) {
  if (documents == Documents::kLine) return before.ends_with('\n');
  return before.ends_with("\n\n") || before.ends_with("\n\r\n");
}

LineCutter::LineCutter(const LineRules& rules, const CutterStart& start)
    : rules_(rules),
      bom_passed_(start.raw > 0),
      header_passed_(!rules.header || start.raw > 0),
      raw_(start.raw),
      document_(start.document),
      partition_(start.partition),
      knows_outside_(start.raw > 0) {
  CHECK(rules.max_record_bytes >= 4, "a record of less than a character");
}

void LineCutter::Feed(std::string_view bytes) {
  in_carry_ = !rest().empty();
  if (!in_carry_) begin_ = 0;
  carried_ = 0;
  fed_ = bytes;
}

Result<LineCutter::Event> LineCutter::Next() {
  while (true) {
    ASSIGN_OR_RETURN(const Event event, Cut());
    if (event != Event::kNeedInput) return event;
    if (LookFurther()) continue;
    Carry();
    return event;
  }
}

// Makes rest() longer by bytes that were fed; false where it has them all.
bool LineCutter::LookFurther() {
  if (!in_carry_ || carried_ == fed_.size()) return false;
  const std::size_t left = rest().size();
  if (left <= carried_) {  // nothing of it is older than fed_
    in_carry_ = false;
    begin_ = carried_ - left;
    return true;
  }
  carry_.erase(0, begin_);
  begin_ = 0;
  const std::string_view more = fed_.substr(carried_, std::max(carried_, kCarryBytes));
  carry_.append(more);
  carried_ += more.size();
  return true;
}

// Takes over what is left: the bytes that were fed go away.
void LineCutter::Carry() {
  if (in_carry_)
    carry_.erase(0, begin_);
  else
    carry_.assign(rest());
  in_carry_ = true;
  begin_ = 0;
  carried_ = 0;
  fed_ = {};
}

Result<LineCutter::Event> LineCutter::Cut() {
  if (!bom_passed_ && !IsPastLimit()) {
    ASSIGN_OR_RETURN(bom_passed_, PassBom());
    if (!bom_passed_) return Event::kNeedInput;
  }
  if (in_line_) return NextPiece();
  Line line;
  while (true) {
    if (!in_document_ && document_ >= rules_.max_documents) return EndInput();
    if (IsPastLimit()) PassOver();
    if (rest().empty() && finished()) {
      EndDocument();
      if (std::exchange(section_ends_, false)) {
        finished_ = bom_passed_ = false;
        section_documents_ = kNoLimit;
        header_passed_ = !rules_.header;
        return Event::kSectionEnd;
      }
      return EndInput();
    }
    // A border comes before the next record, and is due as soon as that is known not to be blank.
    const std::string_view front = rest().substr(0, 2);
    if (front.empty() || (front == "\r" && !finished())) return Event::kNeedInput;
    const bool blank = front[0] == '\n' || front == "\r\n" || front == "\r";
    if (!blank && header_passed_ && BorderIsDue()) return EndPartition();
    if (!FindLine(line)) return Event::kNeedInput;
    if (!blank && !header_passed_) return TakeHeader(line);
    if (!blank) break;
    ++counts_.blank_lines;
    field_ = Field::kBegins;
    Consume(line.size);
    EndDocument();
  }
  if (!in_document_) {
    if (!ReadKey(line)) return Event::kNeedInput;
    in_document_ = true;
    document_raw_ = raw_;
  }
  if (!line.fits && rules_.on_long == OnLong::kFail)
    return Status(Code::kFailedPrecondition,
                  StrCat("line at byte ", raw_, " of the text is longer than max_record_bytes (",
                         rules_.max_record_bytes, "); raise it, or set on_long: split"));
  if (!std::exchange(knows_outside_, true)) outside_ = TakeCounts();
  ++counts_.lines;
  piece_ = 0;
  if (!line.fits) {
    ++(rules_.on_long == OnLong::kSplit ? counts_.long_split : counts_.long_quarantined);
    in_line_ = true;
    return NextPiece();
  }
  const Event event = Emit(line.content, line.size, false);
  EndLine(line);
  return event;
}

Result<LineCutter::Event> LineCutter::TakeHeader(const Line& line) {
  if (!line.fits)
    return Status(Code::kFailedPrecondition,
                  StrCat("header at byte ", raw_, " is longer than max_record_bytes (",
                         rules_.max_record_bytes, "); raise it, or set header: false"));
  header_passed_ = true;
  field_ = Field::kBegins;
  record_ = {line.content, partition_, 0, document_, 0, 0};
  Consume(line.size);
  return Event::kHeader;
}

// The next piece of a long line, or a border before it.
Result<LineCutter::Event> LineCutter::NextPiece() {
  if (BorderIsDue()) return EndPartition();
  Line line;
  if (!FindLine(line)) return Event::kNeedInput;
  const bool set_aside = rules_.on_long == OnLong::kQuarantine;
  if (line.fits) {
    const Event event = Emit(line.content, line.size, set_aside);
    EndLine(line);
    return event;
  }
  const std::size_t limit = rules_.max_record_bytes;
  const std::size_t size = set_aside ? limit : SplitPoint(rest(), limit);
  return Emit(rest().substr(0, size), size, set_aside);
}

// False where more input is needed. A line that does not fit may have its end beyond rest().
bool LineCutter::FindLine(Line& line) {
  const std::string_view window = rest().substr(0, rules_.max_record_bytes + 2);  // and CR LF
  const std::size_t end = FindEnd(window);
  line = {};
  if (end != std::string_view::npos) {
    line.size = end + 1;
    line.content = window.substr(0, end);
  } else {
    if (window.size() == rules_.max_record_bytes + 2) return true;
    if (!finished()) return false;
    line.size = window.size();
    line.content = window;
  }
  line.cr = line.content.ends_with('\r');
  line.content = WithoutCr(line.content);
  line.fits = line.content.size() <= rules_.max_record_bytes;
  return true;
}

// Where the LF of a line's end stands; npos where `window` has none. What is before need not be looked at
// again, also where only a part of it is consumed.
std::size_t LineCutter::FindEnd(std::string_view window) {
  std::size_t at = scanned_;
  if (rules_.quoted_delimiter == '\0') {
    at = std::min(window.find('\n', at), window.size());
  } else {
    for (; at < window.size(); ++at) {
      if (field_ == Field::kQuoted) {
        at = std::min(window.find('"', at), window.size());
        if (at == window.size()) break;
        field_ = Field::kQuoteEnds;
        continue;
      }
      const char byte = window[at];
      if (byte == '\n') break;
      if (byte == '"' && field_ != Field::kPlain)
        field_ = Field::kQuoted;
      else
        field_ = byte == rules_.quoted_delimiter ? Field::kBegins : Field::kPlain;
    }
  }
  scanned_ = at;
  return at < window.size() ? at : std::string_view::npos;
}

// Sets the key of the document at the front of rest(); false where more input is needed.
bool LineCutter::ReadKey(const Line& line_of_row) {
  head_.clear();
  if (rules_.quoted_delimiter != '\0') {  // such a row may have several lines, and all of them are its key
    const std::string_view row =
        line_of_row.fits ? line_of_row.content : rest().substr(0, rules_.max_record_bytes);
    for (std::size_t at = 0; at < row.size() && head_.size() < kKeyBytes; ++at)
      if (row.substr(at, 2) != "\r\n") head_ += row[at];
    key_ = Hash64(head_);
    return true;
  }
  for (std::string_view text = rest(); head_.size() < kKeyBytes;) {
    const std::size_t separator = head_.empty() ? 0 : 1;
    const std::size_t wanted = kKeyBytes - head_.size() - separator;
    const std::string_view window = text.substr(0, wanted + 2);  // two more show a line end as such
    const std::size_t end = window.find('\n');
    const bool complete = end != std::string_view::npos || window.size() < wanted + 2;
    if (complete && end == std::string_view::npos && !finished()) return false;
    const std::string_view line = complete ? WithoutCr(window.substr(0, end)) : window;
    if (line.empty()) break;
    head_.append(separator, '\n').append(line.substr(0, wanted));
    if (!complete || rules_.documents == Documents::kLine) break;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  key_ = Hash64(head_);
  return true;
}

bool LineCutter::BorderIsDue() const {
  if (!in_partition_) return false;
  return in_document_ ? raw_ - document_raw_ >= rules_.max_document_bytes
                      : text_end_ - partition_raw_ >= rules_.partition_bytes;
}

LineCutter::Event LineCutter::Emit(std::string_view bytes, std::size_t size, bool set_aside) {
  if (!std::exchange(in_partition_, true)) {
    partition_raw_ = raw_;
    index_ = 0;
  }
  record_ = {bytes, partition_, index_++, document_, key_, piece_++};
  counts_.line_bytes += bytes.size();
  Consume(size);
  return set_aside ? Event::kSetAside : Event::kRecord;
}

// To be asked again after the partition's end.
LineCutter::Event LineCutter::EndInput() {
  if (in_partition_) return EndPartition();
  if (!std::exchange(knows_outside_, true)) outside_ = TakeCounts();
  return Event::kInputEnd;
}

LineCutter::Event LineCutter::EndPartition() {
  end_ = {partition_, raw_, document_};
  if (in_document_) {
    ++counts_.document_cut;
    document_raw_ = raw_;
  }
  in_partition_ = false;
  ++partition_;
  return Event::kPartitionEnd;
}

void LineCutter::EndLine(const Line& line) {
  in_line_ = false;
  field_ = Field::kBegins;
  text_end_ = raw_;
  if (line.cr) ++counts_.crlf;
  if (rules_.documents == Documents::kLine) EndDocument();
}

void LineCutter::EndDocument() {
  if (std::exchange(in_document_, false)) ++document_;
}

// The bytes stay where they are: record_ may point to them.
void LineCutter::Consume(std::size_t bytes) {
  begin_ += bytes;
  raw_ += bytes;
  scanned_ -= std::min(scanned_, bytes);
}

// As if it had never been fed: it has no offset.
void LineCutter::PassOver() {
  begin_ += rest().size();
  scanned_ = 0;
}

Result<bool> LineCutter::PassBom() {
  using namespace std::string_view_literals;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRefused = {{
      {"\xFF\xFE\0\0"sv, "UTF-32LE"},
      {"\0\0\xFE\xFF"sv, "UTF-32BE"},
      {"\xFF\xFE"sv, "UTF-16LE"},
      {"\xFE\xFF"sv, "UTF-16BE"},
  }};
  if (rest().size() < 4 && !finished()) return false;
  for (const auto& [mark, name] : kRefused)
    if (rest().starts_with(mark))
      return Status(Code::kInvalidArgument,
                    StrCat("text is ", name,
                           ", as its byte order mark says, and not UTF-8; convert it first (iconv -f ", name,
                           " -t UTF-8)"));
  if (rest().starts_with("\xEF\xBB\xBF")) {
    ++counts_.bom;
    Consume(3);
  }
  return true;
}

CutCounts LineCutter::TakeCounts() { return std::exchange(counts_, {}); }

}  // namespace pipeline
