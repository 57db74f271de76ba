#include "formats/encoding_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/memory_file.h"
#include "tests/support/times.h"

namespace pipeline {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

struct Utf8Text {
  std::string utf8;
  Status status;
  std::optional<EncodingChoice::Made> made;
};

Utf8Text ReadAsUtf8(const std::string& bytes, const EncodingRules& rules = {}, std::size_t chunk = 1 << 20,
                    std::size_t piece = 1 << 20, std::uint64_t offset = 0) {
  Utf8Text text;
  const auto choice = std::make_shared<EncodingChoice>();
  const auto reader = NewEncodingReader(std::make_unique<MemoryReader>(bytes, chunk), rules, offset, choice);
  std::string buffer(piece, '\0');
  while (true) {
    const Result<std::size_t> got = reader->Read(buffer);
    text.status = got.status();
    if (!got.ok() || *got == 0) break;
    text.utf8.append(buffer, 0, *got);
  }
  text.made = choice->made();
  return text;
}

const std::string kSjis =
    "\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x82\xC5\x82\xB7\x81\x42\n";  // 日本語の文です。
const std::string kUtf8 = "日本語の文です。\n";
const std::string kAscii =
    "plain text of a hundred bytes or so, which says nothing about what may follow it in the file ...\n";

TEST(EncodingReaderTest, Utf8AndAsciiComeThroughAsTheyAre) {
  for (const std::string& bytes : {""s, "a"s, kAscii, Times(kAscii, 40'000), Times(kUtf8, 100'000),
                                   Times(kAscii, 20'000) + Times(kUtf8, 3) + "\xE6\x97", "b\xFF\n"s}) {
    const Utf8Text text = ReadAsUtf8(bytes);
    ASSERT_TRUE(text.status.ok());
    EXPECT_TRUE(text.utf8 == bytes);
    if (text.made) {
      EXPECT_EQ(text.made->encoding, Encoding::kUtf8);
    }
  }
  EXPECT_FALSE(ReadAsUtf8(Times(kAscii, 40'000)).made);
}

TEST(EncodingReaderTest, TheFirstMebibyteThatTellsDecides) {
  for (const std::size_t lines : {0u, 1u, 10'000u, 30'000u}) {
    const std::string front = Times(kAscii, lines);
    const Utf8Text text = ReadAsUtf8(front + Times(kSjis, 100'000));
    ASSERT_TRUE(text.status.ok());
    EXPECT_TRUE(text.utf8 == front + Times(kUtf8, 100'000)) << lines;
    ASSERT_TRUE(text.made);
    EXPECT_EQ(text.made->encoding, Encoding::kShiftJis);
    EXPECT_EQ(text.made->offset, front.size());
  }
  // Whatever comes later: it was decided.
  const std::string first = Times(kUtf8, 50'000), later = Times(kSjis, 100'000);
  EXPECT_TRUE(ReadAsUtf8(first + later).utf8 == first + later);
}

TEST(EncodingReaderTest, PiecesDoNotMatter) {
  const std::string front = Times(kAscii, 11'000);
  for (const std::string& bytes :
       {Times(kSjis, 20'000), front + Times(kSjis, 2'000), front + Times(kUtf8, 2'000),
        "\xFF\xFE\x42\x30\x0A\x00"s, front + "\x1B$B$\"\x1B(B\n"}) {
    const Utf8Text whole = ReadAsUtf8(bytes);
    for (const std::size_t chunk : {13u, 4096u})
      for (const std::size_t piece : {11u, 65536u}) {
        const Utf8Text pieces = ReadAsUtf8(bytes, {}, chunk, piece);
        ASSERT_TRUE(pieces.utf8 == whole.utf8) << chunk << ' ' << piece;
        ASSERT_EQ(pieces.made->encoding, whole.made->encoding);
        ASSERT_EQ(pieces.made->offset, whole.made->offset);
      }
  }
}

TEST(EncodingReaderTest, WhatAnEarlierRunKnewIsTakenOver) {
  const std::string front = Times(kAscii, 30'000), bytes = front + Times(kSjis, 1000);
  EXPECT_TRUE(ReadAsUtf8(bytes, {{}, Encoding::kShiftJis}).utf8 == ReadAsUtf8(bytes).utf8);
  EXPECT_TRUE(ReadAsUtf8(bytes, {{}, Encoding::kUtf8}).utf8 == bytes);
  EXPECT_EQ(ReadAsUtf8("\x42\x30", {{}, Encoding::kUtf16Le}).utf8, "あ");
  // All in front of an offset was ASCII: what follows decides as it would have.
  const std::size_t at = front.size() / 2 + 1;
  const Utf8Text rest = ReadAsUtf8(bytes.substr(at), {}, 1 << 20, 1 << 20, at);
  EXPECT_TRUE(rest.utf8 == ReadAsUtf8(bytes).utf8.substr(at));
  ASSERT_TRUE(rest.made);
  EXPECT_EQ(rest.made->offset, front.size());
}

TEST(EncodingReaderTest, SomebodySaysSo) {
  EXPECT_EQ(ReadAsUtf8(kSjis, {Encoding::kShiftJis, {}}).utf8, kUtf8);
  EXPECT_EQ(ReadAsUtf8(kSjis, {Encoding::kUtf8, {}}).utf8, kSjis);
  EXPECT_EQ(ReadAsUtf8("a\0"s, {Encoding::kUtf16Le, {}}).utf8, "a");
  EXPECT_FALSE(ReadAsUtf8(kUtf8, {Encoding::kUtf16Le, Encoding::kUtf8}).made);  // nobody found it out
}

TEST(EncodingReaderTest, ACharacterThatTheTextEndsInIsIllegal) {
  EXPECT_EQ(ReadAsUtf8(Times(kSjis, 5) + "\x93").utf8, Times(kUtf8, 5) + "\xFF");
}

std::string Wide(std::u16string_view text, bool big) {
  std::string bytes;
  for (const char16_t c : text) {
    const char low = static_cast<char>(c & 0xFF), high = static_cast<char>(c >> 8);
    bytes += big ? high : low;
    bytes += big ? low : high;
  }
  return bytes;
}

TEST(EncodingReaderTest, Utf8BehindUtf16IsFoundWhereverItBegins) {
  const std::string ascii = Times("2026-11-29 a line of a log\n", 10);
  for (const bool big : {false, true})
    for (const std::string& mark : {big ? "\xFE\xFF"s : "\xFF\xFE"s, ""s})
      for (const std::size_t lines : {1u, 40u, 7000u}) {
        const std::string good = mark + Times(Wide(u"ヘビがリスを見るミミズの話。\n", big), lines);
        ASSERT_TRUE(ReadAsUtf8(good).status.ok()) << lines;
        for (const std::string& behind : {ascii, Times(kUtf8, 30), ascii + good}) {
          const Status status = ReadAsUtf8(good + behind).status;
          if (mark.empty() && lines < 7000) continue;  // the sample is not UTF-16, and its NULs are faults
          EXPECT_EQ(status.code(), Code::kInvalidArgument);
          EXPECT_NE(status.message().find(" on: these bytes are UTF-8 or ASCII"), std::string::npos)
              << status.message();
        }
      }
}

TEST(EncodingReaderTest, Utf8BehindAMarkOfUtf16IsNoUtf16) {
  for (const char* const mark : {"\xFF\xFE", "\xFE\xFF"})
    for (const std::string& text :
         {"一行だけの短い文。\n"s, "a short line of ASCII\r\nand another\n"s, Times(kUtf8, 3000)})
      EXPECT_EQ(ReadAsUtf8(mark + text).status.code(), Code::kInvalidArgument) << text.substr(0, 60);
}

TEST(EncodingReaderTest, Utf16WithManyBytesOfUtf8IsUtf16) {
  // Hiragana up to U+307E, and 上, are bytes of ASCII; LF beside them has a NUL.
  const std::u16string one_line = u"このはなのかたちはこのうえにかいたとおりである上";
  for (const bool big : {false, true}) {
    std::u16string text;
    for (int line = 0; line < 200; ++line) text += one_line + u"《\n";
    const Utf8Text read = ReadAsUtf8(Wide(text, big), {big ? Encoding::kUtf16Be : Encoding::kUtf16Le, {}});
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_EQ(std::count(read.utf8.begin(), read.utf8.end(), '\n'), 200);
  }
}

TEST(EncodingReaderTest, ALostByteOfUtf16IsFound) {
  for (const std::u16string_view line :
       {u"ヘビがリスを見るミミズの話。\n"sv, u"맛있는 망고를 맞은편 가게에서 샀다.\n"sv,
        u"plain text of one line\n"sv})
    for (const bool big : {false, true}) {
      const std::string good = Times(Wide(line, big), 40);
      const EncodingRules rules = {big ? Encoding::kUtf16Be : Encoding::kUtf16Le, {}};
      EXPECT_TRUE(ReadAsUtf8(good + good, rules).status.ok());
      for (const std::string& bad : {good + "x" + good, good + good.substr(1)}) {
        const Status status = ReadAsUtf8(bad, rules).status;
        EXPECT_EQ(status.code(), Code::kInvalidArgument);
        EXPECT_NE(status.message().find("a byte was lost or added there"), std::string::npos)
            << status.message();
      }
    }
  // Surrogates alone in many lines, and a language whose letters are U+0A00 to 0AFF, are none.
  const std::string alone = Times(Wide(u"\xD83D\xD83D\n\xDE00 あ\n", false), 40),
                    gujarati = Times(Wide(u"કેમ છો\n", false), 40);
  for (const std::string& text : {alone, gujarati})
    EXPECT_TRUE(ReadAsUtf8(text, {Encoding::kUtf16Le, {}}).status.ok());
}

TEST(EncodingReaderTest, WhatStandsInFrontOfDamageIsGivenOut) {
  for (const std::string& front : {kAscii, Times(kUtf8, 10), Times(kSjis, 10)}) {
    const auto reader = NewEncodingReader(
        std::make_unique<MemoryReader>(front, 1000, std::stop_token(), Status(Code::kDataLoss, "torn")), {},
        0, nullptr);
    std::string buffer(1 << 20, '\0'), utf8;
    Result<std::size_t> got = std::size_t{0};
    while ((got = reader->Read(buffer)).ok() && *got > 0) utf8.append(buffer, 0, *got);
    EXPECT_EQ(got.status().code(), Code::kDataLoss);
    EXPECT_EQ(utf8, front == Times(kSjis, 10) ? Times(kUtf8, 10) : front);
  }
  // A connection that ends says nothing about the bytes behind it.
  const auto reader = NewEncodingReader(
      std::make_unique<MemoryReader>(kSjis, 1000, std::stop_token(), Status(Code::kUnavailable, "torn")), {},
      0, nullptr);
  std::string buffer(100, '\0');
  EXPECT_EQ(reader->Read(buffer).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace pipeline
