#include "text/sentence_cutter.h"

#include <algorithm>
#include <array>

#include "text/code_point_set.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

enum class Mark : std::uint8_t { kNone, kEnd, kWideStop, kAsciiEnd, kStop, kMore, kOpen, kClose };

struct Found {
  Mark mark = Mark::kNone;
  std::uint8_t size = 1;  // of the character
  std::uint8_t pair = 0;  // number of the pair of a quotation mark; 0: another closing character
};

constexpr std::array<Mark, 128> kAscii = [] {
  std::array<Mark, 128> table{};
  table['.'] = Mark::kStop;
  table['!'] = table['?'] = Mark::kAsciiEnd;
  for (const char close : {'"', '\'', ')', ']', '}'}) table[static_cast<std::size_t>(close)] = Mark::kClose;
  return table;
}();

/// The bytes that may begin a mark for Run, and the bytes that may follow them there: both have a common bit.
/// Run looks at each byte once and rarely branches (measured: four times as fast as a loop over characters).
struct Pairs {
  std::array<std::uint8_t, 256> first{};
  std::array<std::uint8_t, 256> second{};
};
constexpr Pairs kPairs = [] {
  Pairs pairs;
  for (const char stop : {'.', '!', '?'}) pairs.first[static_cast<std::size_t>(stop)] = 1;
  for (std::uint8_t& any : pairs.second) any = 1;
  pairs.first[0xE3] = 2, pairs.first[0xE2] = 4, pairs.first[0xEF] = 8;
  pairs.second[0x80] |= 2 | 4, pairs.second[0x81] |= 4;
  pairs.second[0xBC] |= 8, pairs.second[0xBD] |= 8;
  return pairs;
}();

constexpr Found Wide(std::uint32_t code_point) {
  switch (code_point) {
    case 0x3002:
    case 0xFF61:
    case 0xFF01:
    case 0xFF1F:
    case 0x203C:
    case 0x2047:
    case 0x2048:
    case 0x2049: return {Mark::kEnd, 3};
    case 0xFF0E: return {Mark::kWideStop, 3};
    case 0x2026: return {Mark::kMore, 3};
    case 0x300C: return {Mark::kOpen, 3, 1};
    case 0x300D: return {Mark::kClose, 3, 1};
    case 0x300E: return {Mark::kOpen, 3, 2};
    case 0x300F: return {Mark::kClose, 3, 2};
    case 0xFF08: return {Mark::kOpen, 3, 3};
    case 0xFF09: return {Mark::kClose, 3, 3};
    case 0x201C: return {Mark::kOpen, 3, 4};
    case 0x201D: return {Mark::kClose, 3, 4};
    case 0x3011:
    case 0x3009:
    case 0x300B:
    case 0x3015:
    case 0xFF3D:
    case 0xFF5D:
    case 0xFF63:
    case 0x2019: return {Mark::kClose, 3};
    default: return {Mark::kNone, 3};
  }
}

/// Cuts one line; it never reads beyond the end of the line.
class Cutter {
 public:
  Cutter(std::string_view line, std::vector<std::uint32_t>& ends) : line_(line), ends_(ends) {}

  void Run() {
    for (std::size_t at = NextMark(0); at < line_.size(); at = NextMark(at)) {
      const Found found = At(at);
      if (found.mark == Mark::kNone || found.mark == Mark::kMore) {
        at += found.size;
      } else if (found.mark == Mark::kOpen) {
        Open(found.pair, at);
        at += found.size;
      } else if (found.mark == Mark::kClose) {
        if (Close(found.pair, at)) ends_.resize(kept_);
        at += found.size;
      } else {
        at = End(found, at);
      }
    }
    // White space after the last sentence is no sentence.
    if (!ends_.empty() && WhiteSpaceEnd(line_, ends_.back()) == line_.size()) ends_.pop_back();
    if (!line_.empty()) ends_.push_back(static_cast<std::uint32_t>(line_.size()));
  }

 private:
  static constexpr std::size_t kMostNested = 8;

  /// Returns the first place from `at` on where a mark may be, or the end of the line.
  std::size_t NextMark(std::size_t at) const {
    if (at + 1 < line_.size()) {
      unsigned byte = Byte(at);
      for (const std::size_t last = line_.size() - 1; at < last; ++at) {
        const unsigned next = Byte(at + 1);
        if ((kPairs.first[byte] & kPairs.second[next]) != 0) return at;
        byte = next;
      }
    }
    return at < line_.size() && (kPairs.first[Byte(at)] & 1) != 0 ? at : line_.size();
  }

  unsigned Byte(std::size_t at) const { return static_cast<unsigned char>(line_[at]); }
  bool IsDigit(std::size_t at) const { return at < line_.size() && line_[at] >= '0' && line_[at] <= '9'; }
  bool IsLetter(std::size_t at) const {
    const unsigned lower = Byte(at) | 0x20;
    return lower >= 'a' && lower <= 'z';
  }

  Found At(std::size_t at) const {
    const unsigned lead = Byte(at);
    if (lead < 0x80) return {kAscii[lead], 1};
    // Hiragana, katakana, kanji and hangul have other second bytes, or another lead byte.
    if (lead == 0xE3 || lead == 0xEF || lead == 0xE2) {
      if (line_.size() - at < 3) return {};
      const unsigned middle = Byte(at + 1);
      const bool marks = lead == 0xEF ? middle == 0xBC || middle == 0xBD : middle == 0x80 || middle == 0x81;
      if (!marks) return {Mark::kNone, 3};
      return Wide((lead & 0xF) << 12 | (middle & 0x3F) << 6 | (Byte(at + 2) & 0x3F));
    }
    if (lead == 0xC2 && line_.size() - at >= 2 && Byte(at + 1) == 0xBB) return {Mark::kClose, 2};  // »
    return {Mark::kNone, lead < 0xE0 ? std::uint8_t{1} : static_cast<std::uint8_t>(Utf8Size(line_[at]))};
  }

  void Open(std::uint8_t pair, std::size_t at) {
    DropLongQuotation(at);
    if (depth_ == 0) kept_ = ends_.size(), opened_ = at;
    if (depth_ < kMostNested) open_[depth_++] = pair;
  }

  /// Returns whether an outermost quotation ends here.
  bool Close(std::uint8_t pair, std::size_t at) {
    DropLongQuotation(at);
    if (depth_ == 0 || pair == 0) return false;
    for (std::size_t level = depth_; level-- > 0;) {
      if (open_[level] != pair) continue;
      depth_ = level;  // no mark closes the quotations inside of it any more
      return depth_ == 0;
    }
    return false;
  }

  void DropLongQuotation(std::size_t at) {
    if (depth_ > 0 && at - opened_ > kMostQuotedBytes) depth_ = 0;
  }

  /// Returns the end of the marks and of the closing characters after them; a sentence may end there.
  std::size_t End(const Found& first, std::size_t begin) {
    std::size_t at = begin;
    std::size_t stops = 0;  // number of full stops among the marks
    bool strong = false;    // one mark ends a sentence whatever follows
    bool ascii = false;     // one mark is ! or ?
    bool quoted = false;    // an outermost quotation ended after the last mark
    for (Found found = first; found.mark != Mark::kNone && found.mark != Mark::kOpen;) {
      const std::size_t next = at + found.size;
      if (found.mark == Mark::kClose) {
        if (Close(found.pair, at)) {
          quoted = true;
          ends_.resize(kept_);
        }
      } else {
        quoted = false;
        if (found.mark == Mark::kStop) ++stops;
        if (found.mark == Mark::kAsciiEnd) ascii = true;
        if (found.mark == Mark::kEnd || (found.mark == Mark::kWideStop && !IsAnyDigit(next))) strong = true;
      }
      at = next;
      if (at == line_.size()) break;
      found = At(at);
    }
    const std::size_t after = WhiteSpaceEnd(line_, at);
    const bool separate = after > at || at == line_.size();
    const bool lower = after > at && after < line_.size() && IsLower(after);
    bool ends =
        strong || (ascii && !JoinsAscii(at)) || (stops > 0 && separate && !lower && StopEnds(begin, stops));
    if (ends && quoted) ends = !lower && (separate || At(at).mark == Mark::kOpen);
    if (ends) ends_.push_back(static_cast<std::uint32_t>(at));
    return at;
  }

  bool IsLower(std::size_t at) const { return line_[at] >= 'a' && line_[at] <= 'z'; }

  /// True for an ASCII digit and for a full-width digit.
  bool IsAnyDigit(std::size_t at) const {
    if (IsDigit(at)) return true;
    return at + 3 <= line_.size() && Byte(at) == 0xEF && Byte(at + 1) == 0xBC && Byte(at + 2) >= 0x90 &&
           Byte(at + 2) <= 0x99;
  }

  /// True for characters that continue an address after ! and ?.
  bool JoinsAscii(std::size_t at) const {
    if (at == line_.size()) return false;
    return IsDigit(at) || IsLetter(at) ||
           std::string_view("/=&_-%#:;,@~+*").find(line_[at]) != std::string_view::npos;
  }

  bool StopEnds(std::size_t begin, std::size_t stops) const {
    if (stops > 1 || begin == 0) return true;
    if (IsDigit(begin - 1)) return false;
    std::size_t word = begin;
    bool stop_inside = false;
    // A longer word is no abbreviation, and no two calls look back over the same letters.
    while (word > 0 && begin - word < 12 && (IsLetter(word - 1) || line_[word - 1] == '.')) {
      --word;
      if (line_[word] == '.') stop_inside = true;
    }
    const std::string_view letters = line_.substr(word, begin - word);
    if (letters.size() == 1 && (word == 0 || Byte(word - 1) < 0x80)) return false;
    if (stop_inside) return false;
    return std::find(kShort.begin(), kShort.end(), letters) == kShort.end();
  }

  static constexpr std::array<std::string_view, 50> kShort = {
      "Mr",   "Mrs",  "Ms",  "Dr",   "Prof", "Sr",  "Jr",  "St",   "Mt",  "No",  "Nos", "Vol",  "Vols",
      "Fig",  "Figs", "Eq",  "Sec",  "Ch",   "pp",  "vs",  "etc",  "cf",  "Inc", "Ltd", "Co",   "Corp",
      "Dept", "Gen",  "Col", "Capt", "Lt",   "Sgt", "Rev", "Hon",  "Gov", "Sen", "Rep", "Pres", "Jan",
      "Feb",  "Mar",  "Apr", "Jun",  "Jul",  "Aug", "Sep", "Sept", "Oct", "Nov", "Dec"};

  const std::string_view line_;
  std::vector<std::uint32_t>& ends_;
  std::array<std::uint8_t, kMostNested> open_{};  // open pairs, outermost first
  std::size_t depth_ = 0;
  std::size_t opened_ = 0;  // position of the outermost opening mark
  // Number of ends before it; later ends count only if it turns out to be no quotation.
  std::size_t kept_ = 0;
};

}  // namespace

void FindSentenceEnds(std::string_view line, std::vector<std::uint32_t>& ends) {
  ends.clear();
  Cutter(line, ends).Run();
}

}  // namespace pipeline
