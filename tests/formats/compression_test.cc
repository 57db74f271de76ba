#include "formats/compression.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

struct Decoded {
  std::string text;
  Status status;
};

Decoded Decode(Compression compression, std::string bytes, std::size_t chunk = 1 << 20,
               std::size_t piece = 1 << 16, Status failure = {}) {
  Decoded decoded;
  auto reader = compression.Decode(
      std::make_unique<MemoryReader>(std::move(bytes), chunk, std::stop_token(), std::move(failure)));
  EXPECT_TRUE(reader.ok());
  decoded.text = ReadAll(**reader, decoded.status, piece);
  std::string again(1, '\0');
  const auto after = (*reader)->Read(again);  // an end stays an end, an error the same error
  EXPECT_EQ(after.status().message(), decoded.status.message());
  return decoded;
}

std::string TextOfWords(std::size_t bytes) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < bytes) {
    static const std::vector<std::string> kWords = {"猫",   "である", "名前", "は",  "まだ",
                                                    "無い", "。",     "\n",   "abc "};
    text += kWords[random() % kWords.size()];
    if (random() % 50 == 0) text += std::to_string(random());
  }
  return text;
}

Compression Named(std::string_view name) { return Compression::Named(name).value(); }

/// Writers of all compressed formats. A new row of the table needs one here: the tests below hold for all.
const std::map<std::string_view, std::string (*)(std::string_view)> kCompressors = {
    {"xz", [](std::string_view text) { return XzCompress(text); }},
    {"zstd", [](std::string_view text) { return ZstdCompress(text); }},
    {"gzip", [](std::string_view text) { return GzipCompress(text); }},
    {"bzip2", [](std::string_view text) { return Bzip2Compress(text); }},
    {"lz4", [](std::string_view text) { return Lz4Compress(text); }},
};

std::string Compressed(Compression compression, std::string_view text) {
  return compression.is_plain() ? std::string(text) : kCompressors.at(compression.name())(text);
}

std::vector<Compression> Packed() {
  std::vector<Compression> packed;
  for (const CompressedFormat& format : CompressedFormats()) packed.emplace_back(format);
  return packed;
}

const std::string kGzipExample(
    "\x1F\x8B\x08\x00\0\0\0\0\x00\x03\x7B\xDE\xB3\x9A\x0B\x00\x45\xC8\xE5\x2F\x04\0\0\0", 24);
const std::string kXzExample(
    "\xFD\x37\x7A\x58\x5A\x00\x00\x04\xE6\xD6\xB4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2F\xE5\xA3"
    "\x01\x00\x03\xE7\x8C\xAB\x0A\x00\x72\xCD\xDB\x59\x7C\x4C\x42\x02\x00\x01\x1C\x04\x6F\x2C\x9C\xC1"
    "\x1F\xB6\xF3\x7D\x01\x00\x00\x00\x00\x04\x59\x5A",
    60);
const std::string kBzip2Example(
    "\x42\x5A\x68\x31\x31\x41\x59\x26\x53\x59\x29\x92\x86\x1B\x00\x00\x01\xC0\x51\x00\x10\x00"
    "\x04\x00\x08\x00\x80\x20\x00\x21\x9A\x68\x33\x4D\x32\xBC\x5D\xC9\x14\xE1\x42\x40\xA6\x4A"
    "\x18\x6C",
    46);
const std::string kLz4Example(
    "\x04\x22\x4D\x18\x64\x40\xA7\x04\x00\x00\x80\xE7\x8C\xAB\x0A\x00\x00\x00\x00\x29\xB9\xDD\x33", 23);

TEST(CompressionTest, ExamplesOfTheFormatPage) {
  const std::pair<Compression, std::string> examples[] = {{Named("gzip"), kGzipExample},
                                                          {Named("xz"), kXzExample},
                                                          {Named("bzip2"), kBzip2Example},
                                                          {Named("lz4"), kLz4Example}};
  for (const auto& [compression, bytes] : examples) {
    const Decoded decoded = Decode(compression, bytes);
    EXPECT_EQ(decoded.text, "猫\n");
    EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
  }
}

TEST(CompressionTest, DetectedByBytesNotByName) {
  EXPECT_EQ(*DetectCompression(kXzExample, "corpus.txt"), Named("xz"));
  EXPECT_EQ(*DetectCompression(kGzipExample, "corpus.xz"), Named("gzip"));
  EXPECT_EQ(*DetectCompression(ZstdCompress("a"), "corpus"), Named("zstd"));
  EXPECT_EQ(*DetectCompression("\x5A\x2A\x4D\x18\1\0\0\0x"s, "corpus"), Named("zstd"));
  EXPECT_EQ(*DetectCompression(kBzip2Example, "corpus"), Named("bzip2"));
  EXPECT_EQ(*DetectCompression(Bzip2Compress(""), "corpus"), Named("bzip2"));
  EXPECT_EQ(*DetectCompression(kLz4Example, "corpus"), Named("lz4"));
  EXPECT_EQ(*DetectCompression("BZh9 is how a line may begin", "corpus.txt"), Compression());
  EXPECT_EQ(*DetectCompression("text", "corpus.txt"), Compression());
  EXPECT_EQ(*DetectCompression("", "corpus.txt"), Compression());
}

TEST(CompressionTest, NamesThatPromiseMoreAreRefused) {
  EXPECT_EQ(DetectCompression("<!DOCTYPE html>", "ja.txt.xz").status().code(), Code::kDataLoss);
  EXPECT_EQ(DetectCompression("", "ja.txt.gz").status().message(),
            "is named .gz but is empty; fetch the file again");
  EXPECT_EQ(DetectCompression("", "ja.txt.gz", "set compression: plain").status().message(),
            "is named .gz but is empty; fetch the file again, or set compression: plain if it is text");
  EXPECT_EQ(DetectCompression("\x02\x21\x4C\x18....", "ja.lz4").status().code(), Code::kUnimplemented);
  EXPECT_EQ(DetectCompression("PK\x03\x04....", "ja").status().code(), Code::kUnimplemented);
}

TEST(CompressionTest, AnyChunkOfInputAndOutputGivesTheSame) {
  const std::string text = TextOfWords(30'000);
  std::vector<Compression> all = Packed();
  all.emplace_back();  // plain
  for (const Compression compression : all) {
    const std::string bytes = Compressed(compression, text);
    for (const std::size_t chunk : {1u, 7u, 4096u, 1u << 20})
      for (const std::size_t piece : {1u, 13u, 65536u}) {
        const Decoded decoded = Decode(compression, bytes, chunk, piece);
        ASSERT_TRUE(decoded.status.ok()) << decoded.status.message();
        ASSERT_EQ(decoded.text, text) << compression.name() << ' ' << chunk << ' ' << piece;
      }
  }
}

TEST(CompressionTest, LargeTextsThatNeedSeveralBuffers) {
  std::string text = TextOfWords(3'000'000);
  text.append(5'000'000, 'x');  // compresses to next to nothing
  for (const Compression compression : Packed())
    EXPECT_EQ(Decode(compression, Compressed(compression, text)).text, text);
}

TEST(CompressionTest, StreamsFramesAndMembersFollowEachOther) {
  const std::string a = TextOfWords(5000), b = "", c = TextOfWords(300);
  for (const Compression compression : Packed())
    for (const std::size_t chunk : {1u, 1000u, 1u << 20}) {
      const std::string bytes =
          Compressed(compression, a) + Compressed(compression, b) + Compressed(compression, c);
      const Decoded decoded = Decode(compression, bytes, chunk);
      EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
      EXPECT_EQ(decoded.text, a + c);
    }
  const std::string padded = XzCompress(a) + std::string(8, '\0') + XzCompress(c) + std::string(4, '\0');
  EXPECT_EQ(Decode(Named("xz"), padded, 1).text, a + c);
  const std::string skip = "\x50\x2A\x4D\x18\3\0\0\0abc"s;
  EXPECT_EQ(Decode(Named("zstd"), skip + ZstdCompress(a) + skip + ZstdCompress(c) + skip, 1).text, a + c);
  EXPECT_EQ(Decode(Named("lz4"), skip + Lz4Compress(a) + skip + Lz4Compress(c) + skip, 1).text, a + c);
}

TEST(CompressionTest, ZerosBehindTheEndArePassedOver) {
  const std::string text = TextOfWords(300);
  for (const Compression compression : Packed())
    for (const std::size_t chunk : {1u, 7u, 1u << 20}) {
      const Decoded decoded =
          Decode(compression, Compressed(compression, text) + std::string(512, '\0'), chunk);
      EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
      EXPECT_EQ(decoded.text, text);
    }
}

TEST(CompressionTest, GzipHeaderFieldsArePassedOver) {
  // FHCRC is left out: the rest of the optional fields, with extra "ab", a name and a comment.
  const std::string header =
      "\x1F\x8B\x08\x1C\1\2\3\4\x00\x03\2\0ab"
      "ja.txt\0of whom\0"s;
  for (const std::size_t chunk : {1u, 1000u}) {
    const Decoded decoded = Decode(Named("gzip"), header + kGzipExample.substr(10), chunk);
    EXPECT_EQ(decoded.text, "猫\n") << decoded.status.message();
  }
}

TEST(CompressionTest, TruncationAtEveryLengthIsAnErrorAfterTheGoodBytes) {
  const std::string text = TextOfWords(2000);
  for (const Compression compression : Packed()) {
    const std::string bytes = Compressed(compression, text);
    std::size_t longest = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const Decoded decoded = Decode(compression, bytes.substr(0, length), 1 + length % 100);
      ASSERT_EQ(decoded.status.code(), Code::kDataLoss) << compression.name() << ' ' << length;
      ASSERT_EQ(decoded.text, text.substr(0, decoded.text.size()));
      longest = std::max(longest, decoded.text.size());
      if (length > 0) {
        ASSERT_NE(decoded.status.message().find(std::to_string(length)), std::string::npos)
            << decoded.status.message();
      }
    }
    EXPECT_EQ(longest, text.size());  // all that is missing is a checksum or an index
  }
  const Decoded decoded = Decode(Named("xz"), XzCompress(text).substr(0, 400));
  EXPECT_EQ(decoded.status.message(),
            "damaged xz data at byte 400: ends inside a stream: truncated; fetch the file again");
}

TEST(CompressionTest, EveryDamagedByteIsNoticedOrMeansNothing) {
  const std::string text = TextOfWords(600);
  for (const Compression compression : Packed()) {
    const std::string bytes = Compressed(compression, text);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      const Decoded decoded = Decode(compression, damaged, 64);
      if (decoded.status.ok()) {
        ASSERT_EQ(decoded.text, text) << compression.name() << ' ' << at;
      } else {
        ASSERT_NE(decoded.status.code(), Code::kInternal) << decoded.status.message();
      }
    }
  }
}

TEST(CompressionTest, GoodBlocksBeforeADamagedOneAreGivenOut) {
  const std::string text = TextOfWords(1'000'000);
  std::string xz = XzCompress(text, 100'000);
  xz[xz.size() / 2] = static_cast<char>(xz[xz.size() / 2] ^ 1);
  EXPECT_GE(Decode(Named("xz"), xz).text.size(), 400'000u);
  std::string zstd = ZstdCompress(text);
  zstd[zstd.size() / 2] = static_cast<char>(zstd[zstd.size() / 2] ^ 1);
  EXPECT_GE(Decode(Named("zstd"), zstd).text.size(), 300'000u);
  std::string bzip2 = Bzip2Compress(text);
  bzip2[bzip2.size() / 2] = static_cast<char>(bzip2[bzip2.size() / 2] ^ 1);
  EXPECT_GE(Decode(Named("bzip2"), bzip2).text.size(), 300'000u);
  std::string lz4 = Lz4Compress(text);
  lz4[lz4.size() / 2] = static_cast<char>(lz4[lz4.size() / 2] ^ 1);
  EXPECT_GE(Decode(Named("lz4"), lz4).text.size(), 400'000u);
}

TEST(CompressionTest, OtherBytesAfterTheEndAreRefused) {
  for (const Compression compression : Packed()) {
    const Decoded decoded =
        Decode(compression, Compressed(compression, "text") + "garbage that is no header");
    EXPECT_EQ(decoded.text, "text");
    EXPECT_EQ(decoded.status.code(), Code::kDataLoss) << compression.name();
    const std::string padded = Compressed(compression, "text") + std::string(4, '\0');
    for (const std::string& behind : {"x"s, Compressed(compression, "more")}) {
      if (compression == Named("xz") && behind != "x") continue;  // its streams may have padding between them
      EXPECT_EQ(Decode(compression, padded + behind, 1).status.code(), Code::kDataLoss) << compression.name();
    }
  }
}

TEST(CompressionTest, BytesBehindTheEndAreCounted) {
  for (const Compression compression : Packed()) {
    const std::string whole = Compressed(compression, "text");
    const auto why = [&](const std::string& behind, std::size_t chunk) {
      const Decoded decoded = Decode(compression, whole + behind, chunk);
      EXPECT_EQ(decoded.text, "text");
      return std::string(decoded.status.message());
    };
    const std::string at = StrCat("damaged ", compression.name(), " data at byte ", whole.size());
    for (const std::size_t chunk : {1u, 3u, 1u << 20}) {
      EXPECT_EQ(why("\n", chunk), StrCat(at, ": 1 byte that is no ", compression.name(),
                                         " follows the end; cut it off there, or fetch the file again"));
      EXPECT_EQ(why("other bytes", chunk),
                StrCat(at, ": 11 bytes that are no ", compression.name(),
                       " follow the end; cut it off there, or fetch the file again"));
      if (compression == Named("xz")) continue;  // its streams may have padding between them
      EXPECT_EQ(why(std::string(5, '\0') + "x\n", chunk),
                StrCat("damaged ", compression.name(), " data at byte ", whole.size() + 5,
                       ": 2 bytes that are no ", compression.name(),
                       " follow the end and its padding; cut it off there, or fetch the file again"));
      const std::string more = Compressed(compression, "more");
      EXPECT_EQ(why(std::string(5, '\0') + more, chunk),
                StrCat("damaged ", compression.name(), " data at byte ", whole.size() + 5, ": another ",
                       compression.name(), " begins behind the end and 5 bytes of zeros, and has ",
                       more.size(), " bytes; cut out these zeros, or cut the file off in front of them"));
    }
    EXPECT_NE(why(std::string(3 << 20, 'x'), 1 << 20).find("more than 1 MiB that are no"), std::string::npos);
  }
}

TEST(CompressionTest, GarbageIsAnErrorNotText) {
  std::mt19937 random(5);
  for (const Compression compression : Packed())
    for (int round = 0; round < 200; ++round) {
      std::string bytes = Compressed(compression, "").substr(0, random() % 12);
      for (std::size_t i = random() % 300; i > 0; --i) bytes += static_cast<char>(random());
      EXPECT_FALSE(Decode(compression, bytes).status.ok());
    }
}

TEST(CompressionTest, WindowThatIsTooLargeSaysWhatToDo) {
  const std::string bytes = "\x28\xB5\x2F\xFD\x00\x90\x01\x00\x00"s;  // window 2^(10+18)
  const Decoded decoded = Decode(Named("zstd"), bytes);
  EXPECT_EQ(decoded.status.code(), Code::kResourceExhausted);
  EXPECT_NE(decoded.status.message().find("--long=27"), std::string::npos) << decoded.status.message();
}

TEST(CompressionTest, FailureOfTheInputComesAfterWhatCouldBeDecoded) {
  const std::string text = TextOfWords(100'000);
  for (const Compression compression : Packed()) {
    std::string bytes = Compressed(compression, text);
    bytes.resize(bytes.size() - 4);
    const Decoded decoded =
        Decode(compression, bytes, 1000, 100, Status(Code::kUnavailable, "the line broke"));
    EXPECT_EQ(decoded.status.code(), Code::kUnavailable);
    EXPECT_TRUE(decoded.text == text) << compression.name() << ' ' << decoded.text.size();
  }
}

}  // namespace
}  // namespace pipeline
