#include "text/letter_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <unordered_set>

#include "text/encoding.h"
#include "text/frequent_characters.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

// text/encodings.md explains these numbers, which are bits.
constexpr std::size_t kEnoughBytes = 64 << 10;
constexpr double kAsciiLetter = 4.5;
constexpr double kStrange = 22;
constexpr double kIllegalCost = 24;
constexpr double kUnknownLetter = 3;
constexpr double kMisplaced = 8;
constexpr double kSurprising = 4;
constexpr double kBesideLatin = 2;
constexpr float kCapital = 2;

/// What a text is made of. How often each kind occurs is part of the text, not of the language.
enum Kind : std::uint8_t { kLetters, kKatakana, kHalfWidthKatakana, kIdeographs, kSigns, kOthers, kKinds };

struct Letter {
  Kind kind = kOthers;
  float bits = kStrange;
};

constexpr std::u16string_view kHiraganaByRank =
    u"のにをしはいでるすてまたとながれからもうっありんさこきせくそよつだけやえめばわみどおへちずろじむべふほ"
    u"ねびゐひぬ"
    u"ぎょげぞぐぶゃざづごゆぜぼぱぢぽぴゅぺゑ";
constexpr std::u16string_view kKatakanaByRank =
    u"ーンルトイスックリフシラプタドアデョァバロテジレブィコグサセパキエオマメカムウケェポュダチボベャザモォ"
    u"ソナユズビ"
    u"ニガネピペハワヘツミホゲゴノヤヒゾヴギヌゥゼヨヲ";
constexpr std::u16string_view kHalfWidthByRank =
    u"ﾝｲｳﾞｼｶｷｺｸﾀﾏﾗﾅﾔﾁﾂﾄﾐﾘｻｽｮｵｱﾖﾉﾆﾜｭﾓﾕｹﾊﾋﾌﾎﾙﾛｰﾃｾｬﾒｴｿﾚｯﾑﾈﾍﾇﾟｨｪｧ･｡､｢｣ｦｫｩ";
constexpr std::u16string_view kCyrillicByRank = u"аоенитрвслкдпмзуяіьбйчгжыцфхшющъєїэёґўј";
constexpr std::u16string_view kThaiByRank =
    u"าอร่กมนเ้งดัลีตบยิสแวไขทหจคพป์ะูืชำใุถโฟซ็ณผภึธญษฮฐศฉๆฝฏ๊ฤฑฎฬฒฆฯฺ๋ฅฌ๐๑๒๓๔๕๖๗๘๙";
// What headings, dates and tables are made of, and the most frequent ones.
constexpr std::u16string_view kPlainKanji =
    u"一二三四五六七八九十百千年月日時分人大小中上下本国名前後第章節回市区町村県部編巻話題山田川";
constexpr std::u16string_view kPlainHanzi =
    u"一二三四五六七八九十百千年月日時时分人大小中上下本国國名前后後第章节節回市区區县縣部的是不了在有我他这"
    u"這个個来來到们們";
constexpr std::u16string_view kPlainHangul =
    u"이다는가에의을를은로고한지하도서사기나그제장시있아인자어니리부해일대정보수과만년월호회";
constexpr std::u16string_view kPunctuation = u"、。，．・「」『』（）ー：；？！〜…“”‘’《》【】〈〉　―–—·";
constexpr std::u16string_view kSmallKana = u"ぁぃぅぇぉっゃゅょァィゥェォッャュョーｧｨｩｪｫｬｭｮｯｰ";

bool IsWithin(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

bool Has(std::u16string_view set, char32_t c) {
  return c <= 0xFFFF && set.find(static_cast<char16_t>(c)) != std::u16string_view::npos;
}

/// The costs of the characters of a language.
class Letters {
 public:
  explicit Letters(Language language) {
    // All that East Asian text has: signs, full-width letters and digits.
    Set(0x0391, 0x0451, kSigns, 11);
    Set(0x2150, 0x266F, kSigns, 10);
    Set(0x3200, 0x33FF, kSigns, 10);
    Set(0x4E00, 0x9FFF, kIdeographs, 20);
    Set(0xF900, 0xFA2D, kIdeographs, 20);
    Set(0xFF01, 0xFF5E, kSigns, 8);
    for (const char16_t c : kPunctuation) Set(c, c, kSigns, 4);
    switch (language) {
      case Language::kJapanese:
        SetBlock(Encoding::kEucJp, 0xB0, 0xF4, kIdeographs, 19);
        SetBlock(Encoding::kEucJp, 0xB0, 0xCF, kIdeographs, 13.3);
        SetAll(kFrequentKanji, kIdeographs, 8.8);
        SetAll(kPlainKanji, kIdeographs, 7);
        Set(0x3005, 0x3005, kIdeographs, 9);
        SetByRank(kHiraganaByRank, kLetters, 6);
        SetByRank(kKatakanaByRank, kKatakana, 6);
        SetByRank(kHalfWidthByRank, kHalfWidthKatakana, 12);
        break;
      case Language::kKorean:
        SetBlock(Encoding::kCp949, 0xCA, 0xFD, kIdeographs, 17);
        Set(0xAC00, 0xD7A3, kLetters, 20);
        SetBlock(Encoding::kCp949, 0xB0, 0xC8, kLetters, 13);
        SetAll(kFrequentHangul, kLetters, 8.7);
        SetAll(kPlainHangul, kLetters, 7);
        Set(0x3131, 0x318E, kSigns, 10);
        SetAll(u"ㅋㅎㅠㅜ", kSigns, 5);
        break;
      case Language::kSimplified:
        SetBlock(Encoding::kGb18030, 0xB0, 0xF7, kIdeographs, 18);
        SetBlock(Encoding::kGb18030, 0xB0, 0xD7, kIdeographs, 13.4);
        SetAll(kFrequentHanzi, kIdeographs, 9);
        SetAll(kFrequentSimplified, kIdeographs, 9);
        SetAll(kPlainHanzi, kIdeographs, 7);
        break;
      case Language::kTraditional:
        SetBlock(Encoding::kBig5, 0xC9, 0xF9, kIdeographs, 19);
        SetBlock(Encoding::kBig5, 0xA4, 0xC6, kIdeographs, 14);
        SetAll(kFrequentHanzi, kIdeographs, 9);
        SetAll(kFrequentTraditional, kIdeographs, 9);
        SetAll(kPlainHanzi, kIdeographs, 7);
        break;
      case Language::kCyrillic:
        Set(0, 0xFFFF, kOthers, kStrange);
        SetByRank(kCyrillicByRank, kLetters, 3);
        break;
      case Language::kThai:
        Set(0, 0xFFFF, kOthers, kStrange);
        SetByRank(kThaiByRank, kLetters, 4);
        break;
    }
  }
  const Letter& Of(char32_t c) const { return letters_[c <= 0xFFFF ? c : 0xFFFF]; }

  void Set(char32_t first, char32_t last, Kind kind, double bits) {
    for (char32_t c = first; c <= last; ++c) letters_[c] = {kind, static_cast<float>(bits)};
  }
  void SetAll(std::u16string_view characters, Kind kind, double bits) {
    for (const char16_t c : characters) Set(c, c, kind, bits);
  }
  /// The character of rank r has a share of 1 / (r + flat) of all.
  void SetByRank(std::u16string_view characters, Kind kind, double flat) {
    double sum = 0;
    for (std::size_t r = 0; r < characters.size(); ++r) sum += 1 / (static_cast<double>(r) + flat);
    for (std::size_t r = 0; r < characters.size(); ++r)
      Set(characters[r], characters[r], kind, std::log2(sum * (static_cast<double>(r) + flat)));
  }
  /// Rows of two-byte characters, by their first byte.
  void SetBlock(Encoding encoding, unsigned first, unsigned last, Kind kind, double bits) {
    std::string bytes, decoded;
    for (unsigned row = first; row <= last; ++row)
      for (unsigned cell = 0x40; cell <= 0xFE; ++cell) {
        if (cell < 0xA1 && (cell >= 0x7F || encoding != Encoding::kBig5)) continue;
        bytes += static_cast<char>(row);
        bytes += static_cast<char>(cell);
      }
    Result<EncodingDecoder> decoder = EncodingDecoder::New(encoding);
    if (!decoder.ok() || !decoder->Decode(bytes, true, decoded).ok()) return;
    std::erase(decoded, kIllegalSequence);
    std::array<char32_t, 256> characters;
    for (std::string_view rest = decoded; !rest.empty();)
      for (const char32_t c : std::span(characters).first(DecodeUtf8(rest, characters)))
        if (c <= 0xFFFF) letters_[c] = {kind, static_cast<float>(bits)};
  }

 private:
  std::array<Letter, 0x10000> letters_{};
};

const Letters& LettersOf(Language language) {
  static const std::array<std::unique_ptr<const Letters>, 6> kLetters = [] {
    std::array<std::unique_ptr<const Letters>, 6> made;
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = std::make_unique<const Letters>(static_cast<Language>(i));
    return made;
  }();
  return *kLetters[static_cast<std::size_t>(language)];
}

bool IsLatin(char32_t c) { return IsWithin(c | 0x20, 'a', 'z'); }

/// What a letter costs because of the one before it.
double CostOfPlace(char32_t before, char32_t c) {
  if (c < 0x80) return before >= 0x80 && IsLatin(c) ? kBesideLatin : 0;
  double cost = IsLatin(before) ? kBesideLatin : 0;
  if (IsWithin(c, 0xFF66, 0xFF9F)) {
    if (IsLatin(before)) cost += kBesideLatin;
    const bool ha = IsWithin(before, 0xFF8A, 0xFF8E);
    if (c == 0xFF9F) return cost + (ha ? 0 : kMisplaced);
    if (c == 0xFF9E)
      return cost + (ha || before == 0xFF73 || IsWithin(before, 0xFF76, 0xFF84) ? 0 : kMisplaced);
    if (Has(kSmallKana, c) && !IsWithin(before, 0xFF66, 0xFF9F)) return cost + kMisplaced;
    return cost;
  }
  if (Has(kSmallKana, c) && !IsWithin(before, 0x3041, 0x30FE)) return cost + kMisplaced;
  if (IsWithin(c, 0x410, 0x42F) && IsWithin(before, 0x430, 0x44F)) return cost + kMisplaced;
  return cost;
}

}  // namespace

std::string DistinctWords(std::string_view sample) {
  std::string words;
  std::unordered_set<std::string_view> seen;
  const auto divides = [](char byte) { return byte >= 0 && byte < 0x40; };
  while (!sample.empty()) {
    const auto end = std::find_if(sample.begin(), sample.end(), divides);
    const std::string_view word = sample.substr(0, static_cast<std::size_t>(end - sample.begin()));
    sample.remove_prefix(std::min(word.size() + 1, sample.size()));
    const bool is_ascii =
        std::all_of(word.begin(), word.end(), [](char byte) { return static_cast<signed char>(byte) >= 0; });
    if (is_ascii || !seen.insert(word).second) continue;
    words += word;
    words += '\n';
  }
  if (words.size() <= kEnoughBytes) return words;
  std::string some;
  for (std::size_t at = 0, end = 0; at < words.size(); at = end) {
    end = words.find('\n', at) + 1;
    if (some.size() * words.size() <= at * kEnoughBytes) some.append(words, at, end - at);
  }
  return some;
}

TextCost CostOfText(Language language, std::string_view decoded, std::size_t sample_bytes) {
  const Letters& letters = LettersOf(language);
  std::array<double, kKinds> counts{};
  TextCost cost;
  char32_t before = ' ';
  std::array<char32_t, 1024> characters;
  std::uint64_t ascii = 0;
  while (!decoded.empty()) {
    std::string_view clean = decoded.substr(0, decoded.find(kIllegalSequence));
    decoded.remove_prefix(clean.size());
    while (!clean.empty()) {
      const std::size_t count = DecodeUtf8(clean, characters);
      for (const char32_t c : std::span(characters).first(count)) {
        double bits = CostOfPlace(before, c);
        if (c < 0x80) {
          ++ascii;
          cost.bits += kAsciiLetter;
        } else {
          Letter letter = letters.Of(c);
          if (letter.kind == kOthers && IsWithin(c, 0x410, 0x42F)) {
            letter = letters.Of(c + 0x20);
            letter.bits += kCapital;
          }
          bits += letter.bits;
          ++counts[letter.kind];
        }
        cost.high_bits += bits;
        before = c;
      }
    }
    while (!decoded.empty() && decoded.front() == kIllegalSequence) {
      cost.high_bits += kIllegalCost;
      decoded.remove_prefix(1);
    }
  }
  double all = 0;
  for (const double count : counts) all += count;
  for (const double count : counts)
    if (count > 0) cost.high_bits += count * std::log2(all / count);
  cost.bits += cost.high_bits;
  cost.high_bytes = sample_bytes - std::min<std::size_t>(sample_bytes, ascii);
  return cost;
}

TextCost CostOfLatinText(std::string_view sample) {
  std::array<double, 256> counts{};
  TextCost cost;
  // The letter before the first byte is not known.
  unsigned char before = 'a', c = ' ';
  for (std::size_t i = 0; i < sample.size(); before = c, ++i) {
    c = static_cast<unsigned char>(sample[i]);
    const auto after = static_cast<unsigned char>(i + 1 < sample.size() ? sample[i + 1] : ' ');
    if (c < 0x80) {
      cost.bits += kAsciiLetter;
      if (before >= 0x80 && c >= 0x40 && !IsWithin(c, 'a', 'z')) cost.high_bits += kSurprising;
      continue;
    }
    ++counts[c];
    ++cost.high_bytes;
    if (before >= 0x80)
      cost.high_bits += kMisplaced;
    else if (!IsLatin(before) && !IsLatin(after))
      cost.high_bits += kSurprising;
  }
  for (const double count : counts)
    if (count > 0)
      cost.high_bits += count * std::log2(static_cast<double>(cost.high_bytes) / count) + kUnknownLetter;
  cost.bits += cost.high_bits;
  return cost;
}

}  // namespace pipeline
