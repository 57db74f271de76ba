#include "text/encoding.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/times.h"
#include "text/encoding_guess.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string Decoded(Encoding encoding, const std::string& bytes, std::size_t piece = std::string::npos) {
  auto decoder = EncodingDecoder::New(encoding);
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  std::string utf8;
  for (std::size_t at = 0; at < bytes.size(); at += std::min(piece, bytes.size() - at))
    EXPECT_TRUE(decoder->Decode(std::string_view(bytes).substr(at, piece), false, utf8).ok());
  EXPECT_TRUE(decoder->Decode({}, true, utf8).ok());
  return utf8;
}

TEST(EncodingTest, EachIsKnownByItsName) {
  for (const Encoding encoding : kEncodings) EXPECT_EQ(EncodingByName(EncodingName(encoding)), encoding);
  EXPECT_EQ(EncodingByName("cp932"), Encoding::kShiftJis);
  EXPECT_EQ(EncodingByName("auto"), std::nullopt);
  EXPECT_EQ(EncodingByName(""), std::nullopt);
}

TEST(EncodingTest, OtherUsualNamesMeanThatOfTheKey) {
  for (const std::string_view word :
       {"euc-kr", "EUC-KR", "euckr", "ks_c_5601-1987", "ksc5601", "uhc", "949", "MS949"})
    EXPECT_EQ(EncodingOfWord(word), "cp949") << word;
  EXPECT_EQ(EncodingOfWord("UTF-8"), "utf-8");
  EXPECT_EQ(EncodingOfWord("Shift-JIS"), "shift_jis");
  EXPECT_EQ(EncodingOfWord("Windows-31J"), "cp932");
  for (const std::string_view word : {"utf-16", "big5", "latin1", "", "-"})
    EXPECT_EQ(EncodingOfWord(word), "") << word;
}

TEST(EncodingTest, BytesBecomeUtf8) {
  EXPECT_EQ(Decoded(Encoding::kShiftJis, "\x82\xA0\\~\x81\x60\x87\x40\xB1\n"), "あ\\~～①ｱ\n");
  EXPECT_EQ(Decoded(Encoding::kEucJp, "\xA4\xA2\\~\xA1\xC1\x8E\xB1\n"), "あ\\~～ｱ\n");
  EXPECT_EQ(Decoded(Encoding::kIso2022Jp, "a\x1B$B$\"\x1B(B\n"), "aあ\n");
  EXPECT_EQ(Decoded(Encoding::kCp949, "\xB0\xA1\x81\x41\n"), "가갂\n");
  EXPECT_EQ(Decoded(Encoding::kIso2022Kr, "\x1B$)C\na\x0E\x30\x21\x0F\n"), "\na가\n");
  EXPECT_EQ(Decoded(Encoding::kUtf16Le, "\x42\x30\x3D\xD8\x00\xDE\x0A\x00"s), "あ😀\n");
  EXPECT_EQ(Decoded(Encoding::kUtf16Be, "\x30\x42\xD8\x3D\xDE\x00\x00\x0A"s), "あ😀\n");
}

TEST(EncodingTest, JohabIsNumbersOfJamoAndTheRowsOfKsX1001) {
  // A syllable with and without a final, single jamo, a sign, two hanja: bytes by Python's codec.
  EXPECT_EQ(Decoded(Encoding::kJohab, "\xD0\x65\x88\xC1\x99\xA2\n"), "한걔똑\n");
  EXPECT_EQ(Decoded(Encoding::kJohab, "\x88\x41\x84\x61\x84\x44"), "ㄱㅏㄳ");
  EXPECT_EQ(Decoded(Encoding::kJohab, "\xD9\x31\xE0\x31\xF9\xFE"), "　伽詰");
  EXPECT_EQ(Decoded(Encoding::kJohab, "\x84\x41\xD0\n\xD0"),
            "\xFF"
            "A\xFF\n\xFF");
}

TEST(EncodingTest, ControlCharactersStayAsTheyAre) {
  std::string bytes;
  for (int byte = 0; byte < 128; ++byte)
    if (byte != 0x1B) bytes += static_cast<char>(byte);
  for (const Encoding encoding : {Encoding::kShiftJis, Encoding::kEucJp, Encoding::kCp949, Encoding::kJohab})
    EXPECT_EQ(Decoded(encoding, bytes), bytes) << EncodingName(encoding);
}

TEST(EncodingTest, IllegalSequencesBecomeOneByteThatNoUtf8Has) {
  EXPECT_EQ(Decoded(Encoding::kShiftJis, "\x82\n\x82\xA0"), "\xFF\nあ");
  EXPECT_EQ(Decoded(Encoding::kEucJp, "\xFF\xA4\xA2\xA4"), "\xFFあ\xFF");
  EXPECT_EQ(Decoded(Encoding::kCp949, "\x81\n\xB0\xA1"), "\xFF\n가");
  EXPECT_EQ(Decoded(Encoding::kUtf16Le, "\x3D\xD8\x0A\x00\x42"s), "\xFF\n\xFF");
}

TEST(EncodingTest, BlocksDoNotMatter) {
  std::mt19937 random(5);
  for (const Encoding encoding : kEncodings) {
    if (encoding == Encoding::kUtf8) continue;
    for (int round = 0; round < 30; ++round) {
      std::string bytes;
      static const std::string kPieces[] = {"\x82\xA0", "\xA4\xA2", "\xB0\xA1", "\x1B$B",  "\x1B(B",
                                            "\x1B",     "\n",       "a",        "\xFF",    "\0"s,
                                            "\xD8",     "\xDC",     "\x8F",     "\x81\x30"};
      while (bytes.size() < 3000) bytes += kPieces[random() % std::size(kPieces)];
      const std::string whole = Decoded(encoding, bytes);
      for (const std::size_t piece : {1u, 2u, 3u, 7u, 1000u})
        ASSERT_EQ(Decoded(encoding, bytes, piece), whole) << EncodingName(encoding) << ' ' << piece;
    }
  }
}

// Sentences of our own; the bytes were made by Python's codecs.
const std::string kJapaneseShiftJis =
    "\x8D\xF0\x93\xFA\x82\xCD\x97\x46\x92\x42\x82\xC6\x89\x77\x82\xCC\x8B\xDF\x82\xAD\x82\xCC\x8E\x9B\x82\xC9"
    "\x8D\x73\x82\xAB"
    "\x82\xDC\x82\xB5\x82\xBD\x81\x42\n";
const std::string kJapaneseEucJp =
    "\xBA\xF2\xC6\xFC\xA4\xCF\xCD\xA7\xC3\xA3\xA4\xC8\xB1\xD8\xA4\xCE\xB6\xE1\xA4\xAF\xA4\xCE\xBB\xFB\xA4\xCB"
    "\xB9\xD4\xA4\xAD"
    "\xA4\xDE\xA4\xB7\xA4\xBF\xA1\xA3\n";
const std::string kKorean =
    "\xBE\xEE\xC1\xA6 \xC4\xA3\xB1\xB8\xB6\xFB \xBF\xB5\xC8\xAD\xB8\xA6 \xBA\xC3\xB4\xC2\xB5\xA5 "
    "\xC1\xA4\xB8\xBB "
    "\xC0\xE7\xB9\xCC\xC0\xD6\xBE\xFA\xBE\xEE\xBF\xE4.\n";

std::string Utf16(const std::string& utf8_of_bmp, bool big) {
  std::string wide;
  for (std::size_t at = 0; at < utf8_of_bmp.size();) {
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned>(static_cast<unsigned char>(utf8_of_bmp[at + i]));
    };
    unsigned c = byte(0);
    if (c >= 0xE0) {
      c = (c & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
      at += 3;
    } else {
      ++at;
    }
    const char low = static_cast<char>(c & 0xFF), high = static_cast<char>(c >> 8);
    wide += big ? high : low;
    wide += big ? low : high;
  }
  return wide;
}

Encoding Guess(const std::string& sample) {
  const auto guess = GuessEncoding(sample);
  EXPECT_TRUE(guess.ok()) << guess.status().message();
  return guess.ok() ? *guess : Encoding::kUtf8;
}

TEST(EncodingGuessTest, TextIsKnownByItsCharacters) {
  for (const std::size_t lines : {1u, 3u, 30u, 3000u}) {
    EXPECT_EQ(Guess(Times(kJapaneseShiftJis, lines)), Encoding::kShiftJis);
    EXPECT_EQ(Guess(Times(kJapaneseEucJp, lines)), Encoding::kEucJp);
    EXPECT_EQ(Guess(Times(kKorean, lines)), Encoding::kCp949);
    EXPECT_EQ(Guess(Times("a \x1B$B$\"$$\x1B(B\n", lines)), Encoding::kIso2022Jp);
    EXPECT_EQ(Guess(Times("昨日は友達と駅の近くの寺に行きました。\n", lines)), Encoding::kUtf8);
  }
}

TEST(EncodingGuessTest, Utf16IsKnownByItsNuls) {
  for (const bool big : {false, true})
    for (const std::string& text : {"昨日は友達と駅の近くの寺に行きました。\n"s, "plain\nascii\n"s,
                                    "《上》と\n"s, "어제 친구랑 영화를\n"s}) {
      const auto wide = GuessWideEncoding(Utf16(Times(text, 20), big));
      ASSERT_TRUE(wide.ok() && *wide) << text;
      EXPECT_EQ(**wide, big ? Encoding::kUtf16Be : Encoding::kUtf16Le) << text;
    }
  EXPECT_EQ(*GuessWideEncoding("\xFF\xFE\x42\x30"), Encoding::kUtf16Le);
  EXPECT_EQ(*GuessWideEncoding("\xFE\xFF\x30\x42"), Encoding::kUtf16Be);
  EXPECT_EQ(*GuessWideEncoding("\xFF\xFE\0\0"s), Encoding::kUtf8);
  EXPECT_EQ(*GuessWideEncoding("\xEF\xBB\xBF"
                               "a"),
            Encoding::kUtf8);
  EXPECT_EQ(*GuessWideEncoding(Times("text with a \0 in each line, 100 of them\n"s, 100)), std::nullopt);
  EXPECT_EQ(*GuessWideEncoding("吾輩は猫\0である\n"s), std::nullopt);
}

TEST(EncodingGuessTest, DamagedUtf8StaysUtf8) {
  const std::string good = "昨日は友達と駅の近くの寺に行きました。\n";
  EXPECT_EQ(Guess(Times(good, 3) + "b\xFF\n" + "caf\xE9\n"), Encoding::kUtf8);
  EXPECT_EQ(Guess(Times(good, 3000) + Times("b\xFF\n", 25)), Encoding::kUtf8);
  EXPECT_EQ(Guess("b\xFF"), Encoding::kUtf8);
  EXPECT_EQ(Guess(Times(good + kJapaneseShiftJis, 100)), Encoding::kUtf8);  // two encodings in one text
  EXPECT_EQ(Guess(Times(good, 10) + "\xE6\x98"), Encoding::kUtf8);          // the sample ends in a character
  EXPECT_EQ(Guess("\x1B[31mred\x1B[0m\n"), Encoding::kUtf8);
}

TEST(EncodingGuessTest, TwoThatFitAlikeAreNamed) {
  // ㅋㅋㅋㅋ in CP949, せせせせ in EUC-JP.
  const auto guess = GuessEncoding(Times("\xA4\xBB\xA4\xBB\xA4\xBB\xA4\xBB\n", 30));
  EXPECT_EQ(guess.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(guess.status().message(),
            "is no UTF-8, and fits cp949 and euc-jp alike; set encoding: to the one that it has");
}

TEST(EncodingGuessTest, Iso2022BesideAnotherEncodingIsNeither) {
  const std::string good = "昨日は友達と駅の近くの寺に行きました。\n", jis = "\x1B$B$\"$$\x1B(B\n";
  for (const std::string& text :
       {good + jis, jis + good, Times(good, 30) + Times(jis, 30), Times(jis, 300) + good}) {
    const auto guess = GuessEncoding(text);
    EXPECT_EQ(guess.status().code(), Code::kInvalidArgument);
    EXPECT_NE(guess.status().message().find("lines have text in ISO-2022"), std::string::npos)
        << guess.status().message();
    EXPECT_EQ(*GuessEncoding(text, false), Encoding::kUtf8);  // rules 1 of reading
  }
  EXPECT_EQ(Guess(Times(good, 300) + jis), Encoding::kUtf8);  // a line that quotes some
  EXPECT_EQ(Guess(good + "\x1B$ls\n\x1B[31mred\x1B[0m\n"), Encoding::kUtf8);
}

testing::AssertionResult Says(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << message;
}

// ﾔﾏﾀﾞ ﾀﾛｳ,山田 太郎
const std::string kReading = "\xD4\xCF\xC0\xDE \xC0\xDB\xB3,\x8E\x52\x93\x63 \x91\xBE\x98\x59\n";
// Сегодня идёт дождь. in KOI8-R: half-width katakana in Shift_JIS.
const std::string kKoi8 = "\xF3\xC5\xC7\xCF\xC4\xCE\xD1 \xC9\xC4\xA3\xD4 \xC4\xCF\xD6\xC4\xD8.\n";

TEST(EncodingGuessTest, HalfWidthReadingsStandBesideKanji) {
  for (const std::size_t lines : {1u, 40u}) EXPECT_EQ(Guess(Times(kReading, lines)), Encoding::kShiftJis);
}

TEST(EncodingGuessTest, OtherLanguagesAreNamed) {
  const auto why = [](const std::string& text) {
    return std::string(GuessEncoding(text).status().message());
  };
  EXPECT_EQ(
      why(Times(kKoi8, 3)),
      "is not UTF-8, and reads as koi8-r, which is not read; convert it to UTF-8, or set encoding: utf-8 to "
      "take its bytes as they are");
  // 第1章 and 第1節 in GBK: half-width katakana in Shift_JIS. 5月2日 in Big5: hiragana in EUC-JP.
  EXPECT_TRUE(Says(why(Times("\xB5\xDA\x31\xD5\xC2\n\xB5\xDA\x32\xBD\xDA\n", 9)), "gb18030 (gbk)"));
  EXPECT_TRUE(Says(why(Times("5\xA4\xEB\x32\xA4\xE9\n", 9)), "big5"));
  EXPECT_TRUE(Says(why(Times("L'\xE9t\xE9 \xE0 la plage\nna\xEFve\n", 3)), "windows-1252"));
  EXPECT_TRUE(Says(why("\x1B$)A\x0E\x30\x21\x0F\n"), "iso-2022-cn"));
  // In fewer than a tenth of the lines it is damage.
  EXPECT_EQ(Guess(Times("plain\n", 40) + "caf\xE9\nna\xEFve\n"), Encoding::kUtf8);
}

TEST(EncodingGuessTest, EarlierVersionsDidNotLookAtLetters) {
  EXPECT_EQ(*GuessEncoding(Times(kKoi8, 30), false), Encoding::kShiftJis);
  EXPECT_EQ(*GuessEncoding(Times("L'\xE9t\xE9 \xE0 la plage, na\xEFve\n", 100), false), Encoding::kUtf8);
  EXPECT_EQ(*GuessEncoding("\x1B$)C\n", false), Encoding::kUtf8);
}

TEST(EncodingGuessTest, SevenBitsMayHoldChineseOrUtf7) {
  EXPECT_TRUE(Says(std::string(CheckAscii("~{::WVJGVP9z5DNDWV!#~}\n").message()), "hz-gb-2312"));
  EXPECT_TRUE(Says(std::string(CheckAscii("L'+AOk-t+AOk\n").message()), "utf-7"));
  for (const char* ascii : {"~{ab~} and ~{AB~}\n", "see ~{x} here, ~~ there\n", "C++ and x+foo-bar\n",
                            "+1-2\n", "call +4915112345678-9\n", "{\\em~{\\bf a}}\n"})
    EXPECT_TRUE(CheckAscii(ascii).ok()) << ascii;
}

TEST(EncodingGuessTest, FittingEncodingsAreNamed) {
  EXPECT_EQ(FittingNames(kJapaneseShiftJis), "shift_jis: set encoding");
  EXPECT_EQ(FittingNames(kKoi8), "koi8-r, which is not read: convert the text to UTF-8");
  EXPECT_EQ(FittingNames("b\xFF"), "");
}

TEST(EncodingGuessTest, TheFirstByteThatDecides) {
  EXPECT_EQ(FindDecidingByte("ascii\n", true), std::string_view::npos);
  EXPECT_EQ(FindDecidingByte("a\x1B", true), 1u);
  EXPECT_EQ(FindDecidingByte("ab\x80", true), 2u);
  EXPECT_EQ(FindDecidingByte("a\0b\x80"s, true), 1u);
  EXPECT_EQ(FindDecidingByte("a\0b\x80"s, false), 3u);
}

}  // namespace
}  // namespace pipeline
