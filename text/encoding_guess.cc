#include "text/encoding_guess.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/str.h"
#include "base/words.h"
#include "text/frequent_characters.h"
#include "text/letter_statistics.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

// text/encodings.md explains these numbers.
constexpr double kFits = 0.5;
constexpr double kAlike = 0.9;
constexpr double kIllegal = -4;
constexpr double kRareKanji = 0.3;
constexpr double kHalfWidth = 0.7;
constexpr double kOtherLanguage = 0.8;
constexpr std::uint64_t kMostDamagedLines = 20;
constexpr std::uint64_t kLinesPerDamaged = 100;
constexpr std::uint64_t kLinesPerForeign = 10;
constexpr double kMostBits = 6.8;     // for each byte beyond ASCII
constexpr double kLeastEvidence = 8;  // bits
constexpr double kMargin = 6;         // bits
constexpr std::uint64_t kPlacesPerCharacter = 10;
constexpr std::ptrdiff_t kLeastWords = 3;
constexpr double kMostBitsOfCharacter = 13;  // for each character

bool IsAmong(std::u16string_view sorted, char32_t c) {
  return c <= 0xFFFF && std::binary_search(sorted.begin(), sorted.end(), static_cast<char16_t>(c));
}

bool IsIn(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

bool IsPunctuation(char32_t c) {
  return IsIn(c, 0x2010, 0x2027) || IsIn(c, 0x3000, 0x301F) || c == 0x30FB || c == 0x30FC ||
         IsIn(c, 0xFF01, 0xFF5E);
}

double Japanese(char32_t c) {
  if (IsIn(c, 0x3041, 0x309E) || IsIn(c, 0x30A1, 0x30FE) || IsPunctuation(c)) return 1;
  if (IsIn(c, 0x4E00, 0x9FFF) || c == 0x3005) return IsAmong(kFrequentKanji, c) ? 1 : kRareKanji;
  return 0;
}

double Korean(char32_t c) {
  if (IsPunctuation(c)) return 1;
  if (IsIn(c, 0xAC00, 0xD7A3)) return IsAmong(kFrequentHangul, c) ? 1 : 0.2;
  if (c == 0x314B || c == 0x314E || c == 0x3160 || c == 0x315C) return 1;  // ㅋ ㅎ ㅠ ㅜ: laughing, crying
  return IsIn(c, 0x3131, 0x318E) ? 0.2 : 0;
}

/// Counts over a decoded sample.
struct Makeup {
  std::uint64_t ascii = 0;       // characters that text has
  std::uint64_t others = 0;      // characters that are neither ASCII nor illegal
  std::uint64_t illegal = 0;     // illegal sequences
  std::uint64_t strange = 0;     // control characters, private characters and the like
  std::uint64_t line_feeds = 0;  // part of `ascii`
  std::uint64_t swapped = 0;     // part of `others`: characters that are LF in the other byte order
  std::uint64_t half_width = 0;  // part of `others`: katakana
  std::uint64_t rare_kanji = 0;  // part of `others`
  std::uint64_t low = 0;         // part of `others`: below U+2000, or punctuation
  double japanese = 0;           // points
  double korean = 0;

  double Mean(double points) const {
    const auto all = static_cast<double>(others + illegal);
    return all == 0 ? 0 : (points + kIllegal * static_cast<double>(illegal)) / all;
  }
};

Makeup MakeupOf(std::string_view decoded) {
  Makeup makeup;
  std::array<char32_t, 1024> characters;
  while (!decoded.empty()) {
    std::string_view clean = decoded.substr(0, decoded.find(kIllegalSequence));
    decoded.remove_prefix(clean.size());
    while (!clean.empty()) {
      const std::size_t count = DecodeUtf8(clean, characters);
      for (const char32_t c : std::span(characters).first(count)) {
        if (c < 0x80) {
          const bool is_text = c >= 0x20 || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == 0x1B;
          ++(is_text ? makeup.ascii : makeup.strange);
          if (c == '\n') ++makeup.line_feeds;
          continue;
        }
        ++makeup.others;
        if (IsIn(c, 0x0A00, 0x0AFF)) ++makeup.swapped;
        if (IsIn(c, 0x80, 0x9F) || IsIn(c, 0xE000, 0xF8FF) || IsIn(c, 0xFFF0, 0xFFFF)) ++makeup.strange;
        if (c < 0x2000 || IsPunctuation(c)) ++makeup.low;
        if (IsIn(c, 0xFF66, 0xFF9F)) ++makeup.half_width;
        const double points = Japanese(c);
        if (points == kRareKanji) ++makeup.rare_kanji;
        makeup.japanese += points;
        makeup.korean += Korean(c);
      }
    }
    while (!decoded.empty() && decoded.front() == kIllegalSequence) {
      ++makeup.illegal;
      decoded.remove_prefix(1);
    }
  }
  // If Chinese bytes are read as Shift_JIS, they are half-width katakana among rare kanji.
  if (makeup.rare_kanji * 10 <= makeup.others)
    makeup.japanese += kHalfWidth * static_cast<double>(makeup.half_width);
  return makeup;
}

Result<Makeup> MakeupAs(Encoding encoding, std::string_view bytes) {
  ASSIGN_OR_RETURN(EncodingDecoder decoder, EncodingDecoder::New(encoding));
  std::string decoded;
  RETURN_IF_ERROR(decoder.Decode(bytes, false, decoded));
  return MakeupOf(decoded);
}

/// The score of an encoding; below kFits the encoding does not fit.
struct Fit {
  Encoding encoding = Encoding::kUtf8;
  double score = 0;
};

Result<Fit> FitOf(Encoding encoding, std::string_view bytes) {
  ASSIGN_OR_RETURN(const Makeup makeup, MakeupAs(encoding, bytes));
  return Fit{encoding, makeup.Mean(encoding == Encoding::kCp949 ? makeup.korean : makeup.japanese)};
}

Result<Fit> FitOfUtf16(Encoding encoding, std::string_view bytes) {
  ASSIGN_OR_RETURN(const Makeup makeup, MakeupAs(encoding, bytes));
  const auto all = static_cast<double>(makeup.ascii + makeup.others);
  const bool is_no_text = makeup.illegal * 1000 > makeup.others || makeup.swapped * 4 > makeup.line_feeds ||
                          makeup.strange * 100 > makeup.ascii + makeup.others;
  if (makeup.ascii == 0 || is_no_text) return Fit{encoding, 0};
  const auto ascii = static_cast<double>(makeup.ascii);
  const double low = (ascii + static_cast<double>(makeup.low)) / all;
  const double score = (ascii + std::max(makeup.japanese, makeup.korean)) / all;
  // The score is over all characters, so that a line end in the right byte order counts, too.
  return Fit{encoding, std::max(score, low >= kOtherLanguage ? low : 0)};
}

/// Returns the encodings that fit, the best one first.
std::vector<Fit> Fitting(std::vector<Fit> fits) {
  std::erase_if(fits, [](const Fit& fit) { return fit.score < kFits; });
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.score > b.score; });
  return fits;
}

/// Returns the encodings with bytes above 7F that fit, except UTF-16.
Result<std::vector<Fit>> FitsOfBytes(std::string_view bytes) {
  std::vector<Fit> fits;
  for (const Encoding encoding : {Encoding::kShiftJis, Encoding::kEucJp, Encoding::kCp949}) {
    ASSIGN_OR_RETURN(const Fit fit, FitOf(encoding, bytes));
    fits.push_back(fit);
  }
  return Fitting(std::move(fits));
}

Result<Encoding> Best(const std::vector<Fit>& fits) {
  if (fits.empty()) return Encoding::kUtf8;
  if (fits.size() == 1 || fits[1].score < kAlike * fits[0].score) return fits[0].encoding;
  return Status(Code::kInvalidArgument,
                StrCat("is no UTF-8, and fits ", EncodingName(fits[0].encoding), " and ",
                       EncodingName(fits[1].encoding), " alike; set encoding: to the one that it has"));
}

/// Returns the encoding that a byte order mark names. Absent: there is no mark, or it does not change the
/// text.
std::optional<Encoding> ByMark(std::string_view sample) {
  if (sample.starts_with("\xFF\xFE\0\0"sv) || sample.starts_with("\0\0\xFE\xFF"sv)) return Encoding::kUtf8;
  if (sample.starts_with("\xFF\xFE")) return Encoding::kUtf16Le;
  if (sample.starts_with("\xFE\xFF")) return Encoding::kUtf16Be;
  if (sample.starts_with("\xEF\xBB\xBF")) return Encoding::kUtf8;
  return std::nullopt;
}

bool IsSevenBit(std::string_view sample) {
  return std::none_of(sample.begin(), sample.end(),
                      [](char byte) { return static_cast<signed char>(byte) < 0; });
}

bool HasOne(std::string_view sample, std::span<const std::string_view> escapes) {
  return std::any_of(escapes.begin(), escapes.end(), [sample](std::string_view escape) {
    return sample.find(escape) != std::string_view::npos;
  });
}

constexpr std::array kEscapesOfJp = {"\x1B$@"sv, "\x1B$B"sv, "\x1B$(D"sv, "\x1B(I"sv};
constexpr std::array kEscapesOfJp2 = {"\x1B$A"sv, "\x1B$(C"sv, "\x1B.A"sv, "\x1B.F"sv};
constexpr std::array kEscapesOfKr = {"\x1B$)C"sv};
constexpr std::array kEscapesOfCn = {"\x1B$)A"sv, "\x1B$)G"sv, "\x1B$*H"sv};

/// Removes an incomplete character from the end.
std::string_view WithoutTorn(std::string_view sample) {
  for (std::size_t back = 1; back <= 3 && back <= sample.size(); ++back) {
    const auto byte = static_cast<unsigned char>(sample[sample.size() - back]);
    if (byte >= 0xC0) return sample.substr(0, sample.size() - back);
    if (byte < 0x80) break;
  }
  return sample;
}

struct Damage {
  std::uint64_t lines = 0;            // that are not empty
  std::uint64_t damaged_lines = 0;    // part of `lines`
  std::uint64_t switching_lines = 0;  // part of `lines`; they have characters of ISO-2022
  std::uint64_t characters = 0;       // of several bytes
  std::uint64_t places = 0;           // that are not UTF-8
};

/// In ISO-2022-KR and CN one line has the escape, and each line behind it has SO.
bool HasIso2022(std::string_view line, bool shifts) {
  return (shifts && line.find('\x0E') != std::string_view::npos) || HasIso2022Jp(line);
}

Damage DamageOf(std::string_view sample) {
  Damage damage;
  std::string repaired;
  const auto leads_of = [](std::string_view text) {
    return static_cast<std::uint64_t>(std::count_if(
        text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) >= 0xC0; }));
  };
  const bool shifts = HasOne(sample, kEscapesOfCn) || HasOne(sample, kEscapesOfKr);
  for (std::string_view rest = WithoutTorn(sample); !rest.empty();) {
    const std::string_view line = TakeUntil(rest, '\n');
    if (line.empty()) continue;
    ++damage.lines;
    if (HasIso2022(line, shifts)) ++damage.switching_lines;
    if (IsCleanUtf8(line)) {
      damage.characters += leads_of(line);
      continue;
    }
    repaired.clear();
    const Utf8Damage found = RepairUtf8(line, repaired);
    damage.damaged_lines += found.invalid_utf8 > 0 ? 1 : 0;
    damage.places += found.invalid_utf8;
    damage.characters += leads_of(repaired) - found.invalid_utf8 - found.nul;
  }
  return damage;
}

bool IsUtf8Enough(const Damage& damage) {
  return damage.damaged_lines * kLinesPerDamaged <= damage.lines ||
         (damage.damaged_lines <= kMostDamagedLines && damage.characters >= damage.places);
}

/// An encoding and the language that text in it has.
struct Reading {
  Encoding encoding = Encoding::kUtf8;
  Language language = Language::kJapanese;
};

constexpr std::array kReadings = {
    Reading{Encoding::kShiftJis, Language::kJapanese},  Reading{Encoding::kEucJp, Language::kJapanese},
    Reading{Encoding::kCp949, Language::kKorean},       Reading{Encoding::kJohab, Language::kKorean},
    Reading{Encoding::kGb18030, Language::kSimplified}, Reading{Encoding::kBig5, Language::kTraditional},
    Reading{Encoding::kKoi8, Language::kCyrillic},      Reading{Encoding::kWindows1251, Language::kCyrillic},
    Reading{Encoding::kTis620, Language::kThai}};

/// One that a text may be in.
struct Candidate {
  Encoding encoding = Encoding::kUtf8;
  TextCost cost;

  bool Fits() const {
    const auto bytes = static_cast<double>(cost.high_bytes);
    return cost.high_bits <= kMostBits * bytes && cost.high_bits + kLeastEvidence <= 8 * bytes;
  }
  bool IsLikelierThan(const Candidate& other) const {
    return !other.Fits() || cost.bits + kMargin < other.cost.bits;
  }
};

/// Returns all that a text with these distinct words may be, the likeliest first.
Result<std::vector<Candidate>> CandidatesFor(std::string_view words) {
  std::vector<Candidate> candidates = {{Encoding::kWindows1252, CostOfLatinText(words)}};
  std::string decoded;
  for (const Reading& reading : kReadings) {
    Result<EncodingDecoder> decoder = EncodingDecoder::New(reading.encoding);
    if (!decoder.ok() && IsRead(reading.encoding)) return std::move(decoder).status();
    if (!decoder.ok()) continue;
    decoded.clear();
    RETURN_IF_ERROR(decoder->Decode(words, false, decoded));
    candidates.push_back({reading.encoding, CostOfText(reading.language, decoded, words.size())});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost.bits < b.cost.bits; });
  return candidates;
}

Status IsNotRead(Encoding encoding) {
  return Status(
      Code::kInvalidArgument,
      StrCat("is not UTF-8, and reads as ", EncodingName(encoding),
             ", which is not read; convert it to UTF-8, or set encoding: utf-8 to take its bytes as "
             "they are"));
}

Result<Encoding> GuessByLetters(std::string_view sample, const Damage& damage) {
  const std::string words = DistinctWords(sample);
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, CandidatesFor(words));
  const Candidate &best = candidates[0], &next = candidates[1];
  if (best.Fits() && IsRead(best.encoding)) {
    if (best.IsLikelierThan(next)) return best.encoding;
    return Status(Code::kInvalidArgument,
                  StrCat("is no UTF-8, and fits ", EncodingName(best.encoding), " and ",
                         EncodingName(next.encoding), " alike; set encoding: to the one that it has",
                         IsRead(next.encoding) ? "" : ", or convert it to UTF-8"));
  }
  if (damage.damaged_lines * kLinesPerForeign < damage.lines) return Encoding::kUtf8;
  if (best.Fits()) return IsNotRead(best.encoding);
  const bool is_other = damage.characters * kPlacesPerCharacter < damage.places &&
                        std::count(words.begin(), words.end(), '\n') >= kLeastWords;
  if (!is_other || damage.damaged_lines > kMostDamagedLines)
    return Encoding::kUtf8;  // `invalid_lines` decides
  return Status(Code::kInvalidArgument,
                "is no UTF-8, and fits no encoding that is read; convert it to UTF-8, or set encoding: if it "
                "has one of these");
}

/// A text in UTF-7 or HZ has characters beyond ASCII, nothing illegal, and a likely content.
Result<bool> IsIn(Encoding encoding, std::string_view ascii) {
  ASSIGN_OR_RETURN(EncodingDecoder decoder, EncodingDecoder::New(encoding));
  std::string decoded;
  RETURN_IF_ERROR(decoder.Decode(ascii, false, decoded));
  const Makeup makeup = MakeupOf(decoded);
  if ((makeup.illegal + makeup.strange) * 20 > makeup.others) return false;
  const auto fits = [&](Language language) {
    return CostOfText(language, decoded, ascii.size()).high_bits <=
           kMostBitsOfCharacter * static_cast<double>(makeup.others);
  };
  if (makeup.others == 0 || encoding == Encoding::kHz)
    return makeup.others > 0 && fits(Language::kSimplified);
  return std::any_of(kReadings.begin(), kReadings.end(),
                     [&](const Reading& reading) { return fits(reading.language); }) ||
         static_cast<double>(makeup.low) >= kOtherLanguage * static_cast<double>(makeup.others);
}

/// kInvalidArgument: too many lines of a text that is not in ISO-2022 have characters of ISO-2022.
Status CheckEscapes(const Damage& damage) {
  if (damage.switching_lines * kLinesPerDamaged <= damage.lines) return {};
  return Status(Code::kInvalidArgument,
                StrCat(damage.switching_lines, " of its first ", damage.lines,
                       " lines have text in ISO-2022 (escape sequences), which the text as a whole is not; "
                       "split it where it changes, or convert these lines"));
}

}  // namespace

bool HasIso2022Jp(std::string_view line) {
  return line.find('\x1B') != std::string_view::npos &&
         (HasOne(line, kEscapesOfJp) || HasOne(line, kEscapesOfJp2));
}

std::size_t FindDecidingByte(std::string_view bytes, bool nul) {
  // Subtracting 1 from a byte borrows only if the byte is 0, because no byte is above 7F here.
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080, kEscapes = 0x1B * kOnes;
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    const std::uint64_t found = word | ((word ^ kEscapes) - kOnes) | (nul ? word - kOnes : 0);
    if ((found & kHighs) != 0) break;
  }
  for (; at < bytes.size(); ++at)
    if (static_cast<signed char>(bytes[at]) < 0 || bytes[at] == '\x1B' || (nul && bytes[at] == '\0'))
      return at;
  return std::string_view::npos;
}

Result<std::optional<Encoding>> GuessWideEncoding(std::string_view front) {
  if (const std::optional<Encoding> marked = ByMark(front)) return marked;
  if (front.find('\0') == std::string_view::npos) return std::nullopt;
  std::vector<Fit> fits;
  for (const Encoding encoding : {Encoding::kUtf16Le, Encoding::kUtf16Be}) {
    ASSIGN_OR_RETURN(const Fit fit, FitOfUtf16(encoding, front));
    fits.push_back(fit);
  }
  fits = Fitting(std::move(fits));
  if (fits.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const Encoding best, Best(fits));
  return std::optional(best);
}

Result<Encoding> GuessEncoding(std::string_view sample, bool by_letters) {
  const bool seven_bit = IsSevenBit(sample);
  if (seven_bit && (HasOne(sample, kEscapesOfJp) || (by_letters && HasOne(sample, kEscapesOfJp2)))) {
    ASSIGN_OR_RETURN(const Makeup makeup, MakeupAs(Encoding::kIso2022Jp, sample));
    if (makeup.others > 0 && makeup.illegal * 100 <= makeup.others) return Encoding::kIso2022Jp;
  }
  if (seven_bit && by_letters && HasOne(sample, kEscapesOfKr)) return Encoding::kIso2022Kr;
  if (seven_bit && by_letters && HasOne(sample, kEscapesOfCn)) return IsNotRead(Encoding::kIso2022Cn);
  const Damage damage = DamageOf(sample);
  if (by_letters) RETURN_IF_ERROR(CheckEscapes(damage));
  if (IsUtf8Enough(damage)) return Encoding::kUtf8;
  if (by_letters) return GuessByLetters(sample, damage);
  ASSIGN_OR_RETURN(const std::vector<Fit> fits, FitsOfBytes(sample));
  return Best(fits);
}

Status CheckAscii(std::string_view front) {
  for (const auto& [encoding, opening] :
       {std::pair(Encoding::kHz, "~{"sv), std::pair(Encoding::kUtf7, "+"sv)}) {
    const std::size_t at = front.find(opening);
    // Behind a blank, as in "a + b", is no text in either.
    if (at == std::string_view::npos || front.substr(at + opening.size()).starts_with(' ')) continue;
    const Result<bool> is_in = IsIn(encoding, front);
    if (is_in.ok() && *is_in) return IsNotRead(encoding);
  }
  return {};
}

std::string FittingNames(std::string_view bytes) {
  std::string names;
  const Result<std::vector<Candidate>> candidates = CandidatesFor(DistinctWords(bytes));
  if (!candidates.ok()) return names;
  bool one_is_read = false;
  for (const Candidate& candidate : *candidates) {
    if (!candidate.Fits() || candidates->front().IsLikelierThan(candidate)) continue;
    names += StrCat(names.empty() ? "" : " or ", EncodingName(candidate.encoding));
    one_is_read = one_is_read || IsRead(candidate.encoding);
  }
  if (names.empty()) return names;
  return StrCat(names, one_is_read ? ": set encoding" : ", which is not read: convert the text to UTF-8");
}

}  // namespace pipeline
