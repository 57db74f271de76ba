#include "tests/support/archive.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/archive_text.h"
#include "formats/compression.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

struct ArchivedText {
  std::string bytes;
  std::vector<std::string> borders;  // OFFSET:NAME
  MemberBorders::Counts counts;
  Status status;
};

/// `read_per_look`: how much of the file is said to have been read between two questions about that.
ArchivedText ReadArchive(const std::string& bytes, ArchiveRules rules = {}, std::size_t chunk = 1 << 20,
                         std::size_t piece = 1 << 16, std::uint64_t read_per_look = 1 << 16) {
  ArchivedText text;
  const MemoryFile file(bytes, chunk);
  const bool zip = DetectArchive(bytes) == ArchiveKind::kZip;
  auto archive = zip ? OpenZip(file, {}) : OpenTar(std::make_unique<MemoryReader>(bytes, chunk));
  if (!archive.ok()) {
    text.status = archive.status();
    return text;
  }
  const auto borders = std::make_shared<MemberBorders>();
  const std::unique_ptr<ByteReader> reader = NewArchiveText(
      std::move(archive).value(), std::move(rules),
      [read = std::uint64_t{0}, read_per_look]() mutable { return read += read_per_look; }, bytes.size(),
      borders);
  std::string buffer(piece, '\0');
  while (true) {
    const Result<std::size_t> got = reader->Read(buffer);
    while (const auto border = borders->Take(text.bytes.size()))
      text.borders.push_back(std::to_string(border->offset) + ":" + border->name);
    if (!got.ok()) {
      text.status = got.status();
      EXPECT_EQ(reader->Read(buffer).status().message(), text.status.message());
      break;
    }
    if (*got == 0) break;
    EXPECT_FALSE(borders->next() && *borders->next() < text.bytes.size() + *got) << "bytes of two members";
    text.bytes.append(buffer, 0, *got);
  }
  text.counts = borders->counts();
  return text;
}

const std::vector<TestMember> kMembers = {{"a/", "", '5'},
                                          {"a/1.txt", "猫\n"},
                                          {"a/link", "1.txt", '2'},
                                          {"a/empty.txt", ""},
                                          {"a/2.md", "last line without its end"},
                                          {"a/3.txt", "\uFEFF犬\n"}};

const std::string kZipExample(
    "\x50\x4B\x03\x04\x0A\x00\x00\x00\x00\x00\x00\x00\x21\x00\x45\xC8\xE5\x2F\x04\x00\x00\x00\x04\x00\x00\x00"
    "\x05\x00\x00\x00\x61\x2E\x74\x78\x74\xE7\x8C\xAB\x0A"
    "\x50\x4B\x01\x02\x0A\x03\x0A\x00\x00\x00\x00\x00\x00\x00\x21\x00\x45\xC8\xE5\x2F\x04\x00\x00\x00\x04\x00"
    "\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xA4\x81\x00\x00\x00\x00\x61\x2E\x74\x78\x74"
    "\x50\x4B\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x33\x00\x00\x00\x27\x00\x00\x00\x00\x00",
    112);

TEST(ArchiveTest, ExampleOfTheFormatPage) {
  const ArchivedText text = ReadArchive(kZipExample);
  EXPECT_TRUE(text.status.ok()) << text.status.message();
  EXPECT_EQ(text.bytes, "猫\n");
  EXPECT_EQ(text.borders, std::vector<std::string>{"0:a.txt"});
  EXPECT_EQ(Zip({{"a.txt", "猫\n"}}), kZipExample);
}

TEST(ArchiveTest, MembersFollowEachOtherInAnyPieces) {
  for (const std::size_t chunk : {1u, 100u, 1u << 20})
    for (const std::size_t piece : {1u, 7u, 1u << 16}) {
      const ArchivedText tar = ReadArchive(Tar(kMembers), {}, chunk, piece);
      ASSERT_TRUE(tar.status.ok()) << tar.status.message();
      EXPECT_EQ(tar.bytes, "猫\nlast line without its end\uFEFF犬\n");
      EXPECT_EQ(tar.borders.back(), "29:a/3.txt");
      EXPECT_EQ(tar.counts, (MemberBorders::Counts{4, 2, 0}));
      std::vector<TestMember> files = kMembers;
      files.erase(files.begin() + 2);  // our zips have no links
      const ArchivedText zip = ReadArchive(Zip(files), {}, chunk, piece);
      ASSERT_TRUE(zip.status.ok()) << zip.status.message();
      EXPECT_EQ(zip.bytes, tar.bytes);
      EXPECT_EQ(zip.borders, tar.borders);
      EXPECT_EQ(zip.counts, (MemberBorders::Counts{4, 1, 0}));
    }
}

TEST(ArchiveTest, DetectedByBytes) {
  EXPECT_EQ(DetectArchive(Tar(kMembers)), ArchiveKind::kTar);
  EXPECT_EQ(DetectArchive(Zip(kMembers)), ArchiveKind::kZip);
  EXPECT_EQ(DetectArchive(Zip({})), ArchiveKind::kZip);
  EXPECT_EQ(DetectArchive(std::string(1024, '\0')), std::nullopt);
  EXPECT_EQ(DetectArchive(std::string(1024, '0')), std::nullopt);
  EXPECT_EQ(DetectArchive("text"), std::nullopt);
  EXPECT_EQ(ReadArchive(Zip({})).bytes, "");
}

TEST(ArchiveTest, PatternsLeaveMembersOut) {
  ArchiveRules rules;
  rules.members = {"*.txt", "b?"};
  const ArchivedText text = ReadArchive(Tar(kMembers), rules);
  EXPECT_EQ(text.bytes, "猫\n\uFEFF犬\n");
  EXPECT_EQ(text.counts, (MemberBorders::Counts{3, 2, 1}));
  rules.members = {"日本*.txt"};
  for (const std::string& bytes :
       {Tar({{"日本語.txt", "a"}, {"x.txt", "b"}}), Zip({{"日本語.txt", "a"}, {"x.txt", "b"}})})
    EXPECT_EQ(ReadArchive(bytes, rules).bytes, "a") << "names are UTF-8 whatever the locale";
}

TEST(ArchiveTest, BordersSayTheSplitOfAMemberByItsOwnName) {
  ArchiveRules rules;
  rules.members = {"*.txt"};
  std::vector<std::string> asked;
  rules.split_of = [&](std::string_view name) -> Result<std::uint8_t> {
    asked.emplace_back(name);
    if (name == "c.txt") return Status(Code::kInvalidArgument, "no split");
    return static_cast<std::uint8_t>(name.size());
  };
  const auto borders = std::make_shared<MemberBorders>();
  const std::string bytes = Tar({{"a\x01.txt", "a"}, {"b.md", "b"}, {"d/", "", '5'}, {"c.txt", "c"}});
  const std::unique_ptr<ByteReader> text = NewArchiveText(
      std::move(OpenTar(std::make_unique<MemoryReader>(bytes, 512))).value(), rules, [] { return 1u << 20; },
      bytes.size(), borders);
  std::string buffer(10, '\0');
  EXPECT_EQ(*text->Read(buffer), 1u);
  const auto border = borders->Take(0);
  ASSERT_TRUE(border);
  EXPECT_EQ(border->name, "a?.txt");
  EXPECT_EQ(border->split, 6);
  EXPECT_EQ(text->Read(buffer).status().message(), "no split");
  EXPECT_EQ(asked, (std::vector<std::string>{"a\x01.txt", "c.txt"}));
}

TEST(ArchiveTest, NamesPromiseArchives) {
  for (const char* name : {"a.tar", "a.tar.xz", "a.b.tar.zst", "a.tgz", "a.tbz2", "a.txz", "a.tzst"})
    EXPECT_EQ(ArchiveByName(name), ArchiveKind::kTar) << name;
  EXPECT_EQ(ArchiveByName("a.zip"), ArchiveKind::kZip);
  for (const char* name : {"", "a", "tar", "a.txt", "a.tar.b.c", "a.gz", "zip"})
    EXPECT_EQ(ArchiveByName(name), std::nullopt) << name;
}

TEST(ArchiveTest, CompressedMembersAreDecoded) {
  const std::string text(100'000, 'x');
  const ArchivedText tar =
      ReadArchive(Tar({{"1.gz", GzipCompress(text)}, {"2", XzCompress("b")}, {"3.zst", ZstdCompress("c")}}));
  EXPECT_TRUE(tar.status.ok()) << tar.status.message();
  EXPECT_EQ(tar.bytes, text + "bc");
  std::string damaged = GzipCompress(text);
  damaged.resize(damaged.size() - 3);
  const ArchivedText bad = ReadArchive(Zip({{"x/1.gz", damaged}}));
  EXPECT_EQ(bad.status.code(), Code::kDataLoss);
  EXPECT_TRUE(bad.status.message().starts_with("member 'x/1.gz': damaged gzip data at byte "))
      << bad.status.message();
  EXPECT_EQ(ReadArchive(Tar({{"1.gz", "text"}})).status.message(),
            "member '1.gz': is named .gz but holds no such data; fetch the file again, or rename it in the "
            "archive if it is text");
}

TEST(ArchiveTest, MemberThatIsNoTextNamesRemediesThatExist) {
  EXPECT_EQ(
      ReadArchive(Tar({{"LC/._a.txt", "\0\5\x16\7\0\2\0\0Mac OS X"s}})).status.message(),
      "member 'LC/._a.txt': is a file that macOS keeps beside another (._NAME), not plain text; it holds "
      "no text: leave it out; tar --exclude='._*', or zip -x '*._*' '__MACOSX*', packs an archive without "
      "such files; `members` says which are read, and a * of its patterns takes names that begin with a dot, "
      "too");
}

TEST(ArchiveTest, ArchivesInArchivesAreRefused) {
  for (const std::string& inner : {Tar(kMembers), Zip(kMembers), GzipCompress(Tar(kMembers))}) {
    const ArchivedText text = ReadArchive(Zip({{"good", "text"}, {"inner", inner}}));
    EXPECT_EQ(text.bytes, "text");
    EXPECT_EQ(text.status.code(), Code::kUnimplemented);
    EXPECT_TRUE(text.status.message().starts_with("member 'inner': is an archive inside"))
        << text.status.message();
  }
}

TEST(ArchiveTest, NamesAreOnlyEverNames) {
  for (const std::string& bytes : {Tar({{"../../etc/x\x1b[2J", "a"}, {"/abs", "b"}, {"\xff", "c"}}),
                                   Zip({{"../../etc/x\x1b[2J", "a"}, {"/abs", "b"}, {"\xff", "c"}})}) {
    const ArchivedText text = ReadArchive(bytes);
    EXPECT_EQ(text.bytes, "abc");
    EXPECT_EQ(text.borders, (std::vector<std::string>{"0:../../etc/x?[2J", "1:/abs", "2:?"}));
  }
}

TEST(ArchiveTest, TruncationAtEveryLengthIsAnError) {
  const std::vector<TestMember> members = {{"a", "猫\n"}, {"b", std::string(600, 'x')}};
  const std::string zip = Zip(members), tar = Tar(members);
  for (std::size_t length = 4; length < zip.size(); ++length)
    ASSERT_EQ(ReadArchive(zip.substr(0, length)).status.code(), Code::kDataLoss) << length;
  for (std::size_t length = 0; length + 512 < tar.size(); ++length) {
    const ArchivedText text = ReadArchive(tar.substr(0, length));
    ASSERT_EQ(text.status.code(), Code::kDataLoss) << length;
    ASSERT_TRUE(text.status.message().ends_with("; fetch the file again")) << text.status.message();
  }
}

TEST(ArchiveTest, DamagedBytesOfAZipAreNoticedOrMeanNothing) {
  const std::string zip = Zip({{"a", "猫が鳴く\n"}, {"b", "text"}});
  const std::string good = ReadArchive(zip).bytes;
  for (std::size_t at = 0; at < zip.size(); ++at) {
    std::string bad = zip;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const ArchivedText text = DetectArchive(bad) ? ReadArchive(bad) : ArchivedText{good, {}, {}, {}};
    if (text.status.ok() && at >= 4) {
      // A name, a time or a kind of file is nobody's checksum.
      EXPECT_TRUE(text.bytes == good || text.counts.not_files > 0) << at << ": " << text.bytes;
    } else {
      EXPECT_NE(text.status.code(), Code::kInternal) << text.status.message();
    }
  }
  std::string bad = zip;
  bad[31 + 3] ^= 1;
  EXPECT_EQ(ReadArchive(bad).status.message().substr(0, 46),
            "member 'a': damaged zip archive, from byte 0 o");
}

TEST(ArchiveTest, ConcatenatedTarsAreOne) {
  const ArchivedText text = ReadArchive(Tar({{"a", "1"}}) + Tar({{"b", "2"}}));
  EXPECT_TRUE(text.status.ok()) << text.status.message();
  EXPECT_EQ(text.bytes, "12");
  EXPECT_EQ(ReadArchive(Tar({{"a", "1"}}) + std::string(2000, 'x')).status.code(), Code::kDataLoss);
}

TEST(ArchiveTest, BombsEndAfter16MiB) {
  const std::string zeros(20 << 20, '\0');
  const std::string zip = Zip({{"small", "text"}, {"zeros.gz", GzipCompress(zeros)}});
  ArchiveRules rules;
  rules.max_ratio = 50;
  ArchivedText text = ReadArchive(zip, rules, 1 << 20, 65'000, 100);  // no divisor of 16 MiB
  EXPECT_EQ(text.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(text.status.message(),
            "member 'zeros.gz' expands to more than 50 times its size: no text does; leave it out with "
            "`members`, or "
            "raise max_ratio if it is what you want");
  EXPECT_LT(text.bytes.size(), (16u << 20) + (1 << 17));
  // As where members overlap: what is read twice is no other byte of the file.
  text = ReadArchive(zip, rules);
  EXPECT_TRUE(text.status.message().starts_with("the archive expands to more than 50 times"))
      << text.status.message();
  EXPECT_LT(text.bytes.size(), (16u << 20) + (1 << 17));
  rules.max_ratio = 100'000;
  text = ReadArchive(zip, rules);
  EXPECT_TRUE(text.status.ok()) << text.status.message();
  EXPECT_EQ(text.bytes.size(), zeros.size() + 4);
}

TEST(ArchiveTest, EncryptedMembersAreNamed) {
  std::string zip = Zip({{"secret.txt", "0123456789abcdef"}});
  zip[6] |= 1;
  zip[zip.find("PK\x01\x02") + 8] |= 1;
  const ArchivedText text = ReadArchive(zip);
  EXPECT_EQ(text.status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(text.status.message().starts_with("member 'secret.txt' is encrypted; "))
      << text.status.message();
}

TEST(ArchiveTest, FailureOfTheInputIsToldAsItIs) {
  const std::string tar = Tar({{"a", std::string(5000, 'x')}});
  auto archive = OpenTar(std::make_unique<MemoryReader>(tar.substr(0, 2000), 1000, std::stop_token(),
                                                        Status(Code::kUnavailable, "the line broke")));
  Status status = archive.status();
  if (archive.ok()) {
    ASSERT_TRUE((*archive)->Next().ok());
    ReadAll(**archive, status);
  }
  EXPECT_EQ(status.message(), "the line broke");
}

}  // namespace
}  // namespace pipeline
