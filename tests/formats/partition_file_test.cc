#include "formats/partition_file.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/footer.h"
#include "tests/formats/spaced_hex.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

const PartitionColumns kAllTypes = {{"text", PartitionColumnType::kUtf8},
                                    {"cuts", PartitionColumnType::kU32List},
                                    {"split", PartitionColumnType::kU8}};

struct PartitionRow {
  PartitionHead head;
  std::string text;
  std::vector<std::uint32_t> cuts;
  std::uint8_t split = 0;
  bool operator==(const PartitionRow&) const = default;
};

PartitionRows ToColumns(const std::vector<PartitionRow>& rows, std::size_t first, std::size_t last) {
  PartitionRows columns;
  columns.columns.resize(3);
  for (std::size_t i = first; i < last; ++i) {
    columns.heads.push_back(rows[i].head);
    PartitionRows::Column& text = columns.columns[0];
    PartitionRows::Column& cuts = columns.columns[1];
    text.bytes += rows[i].text;
    text.ends.push_back(static_cast<std::uint32_t>(text.bytes.size()));
    cuts.numbers.insert(cuts.numbers.end(), rows[i].cuts.begin(), rows[i].cuts.end());
    cuts.ends.push_back(static_cast<std::uint32_t>(cuts.numbers.size()));
    columns.columns[2].values.push_back(rows[i].split);
  }
  return columns;
}

std::vector<ColumnView> ViewsOf(const PartitionRows& rows) {
  std::vector<ColumnView> views;
  for (const PartitionRows::Column& column : rows.columns) views.push_back(column.view());
  return views;
}

std::vector<PartitionRow> RandomPartitionRows(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<PartitionRow> rows;
  std::uint64_t index = 0;
  for (std::size_t i = 0; i < count; ++i) {
    PartitionRow row;
    row.head = {index += random() % 3, static_cast<std::uint32_t>(random() % 2), i / 7,
                (i / 7) * 0x9e3779b97f4a7c15u};
    row.text.assign(random() % 200, static_cast<char>('a' + random() % 26));
    row.cuts.resize(random() % 5, static_cast<std::uint32_t>(random()));
    row.split = static_cast<std::uint8_t>(random() % 3);
    rows.push_back(std::move(row));
  }
  return rows;
}

struct WrittenPartition {
  std::string bytes;
  Digest digest;
};

WrittenPartition WritePartitionFile(const std::vector<PartitionRow>& rows, std::size_t batch_rows,
                                    const PartitionFacts& facts = {1, 2, 3, 4}) {
  WrittenPartition written;
  PartitionFileWriter writer(kAllTypes, [&](std::string_view bytes) {
    written.bytes += bytes;
    return Status();
  });
  PartitionFrameEncoder encoder(kAllTypes);
  for (std::size_t first = 0; first < rows.size(); first += batch_rows) {
    const PartitionRows batch = ToColumns(rows, first, std::min(rows.size(), first + batch_rows));
    const std::vector<ColumnView> views = ViewsOf(batch);
    std::string frames;
    EXPECT_TRUE(encoder.Encode({batch.heads, views}, frames).ok());
    EXPECT_TRUE(writer.Append(frames, {batch.heads, views}).ok());
  }
  EXPECT_TRUE(writer.Finish(facts).ok());
  written.digest = writer.digest();
  return written;
}

Result<std::vector<PartitionRow>> ReadPartitionFile(const std::string& bytes, std::stop_token stop = {}) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionFileReader> reader,
                   PartitionFileReader::Open(std::make_shared<StringFile>(bytes), stop));
  std::vector<PartitionRow> rows;
  PartitionRows frame;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader->Next(frame));
    if (!more) return rows;
    for (std::size_t i = 0; i < frame.heads.size(); ++i) {
      const auto begin = [i](const PartitionRows::Column& column) { return i == 0 ? 0 : column.ends[i - 1]; };
      const PartitionRows::Column& text = frame.columns[0];
      const PartitionRows::Column& cuts = frame.columns[1];
      rows.push_back({frame.heads[i],
                      text.bytes.substr(begin(text), text.ends[i] - begin(text)),
                      {cuts.numbers.begin() + begin(cuts), cuts.numbers.begin() + cuts.ends[i]},
                      frame.columns[2].values[i]});
    }
  }
}

TEST(PartitionFileTest, GivesBackEveryColumnInAnyBatches) {
  const std::vector<PartitionRow> rows = RandomPartitionRows(2000, 1);
  const Digest digest = WritePartitionFile(rows, 2000).digest;
  for (const std::size_t batch_rows : {1u, 7u, 500u, 2000u}) {
    const WrittenPartition written = WritePartitionFile(rows, batch_rows);
    EXPECT_EQ(written.digest, digest) << batch_rows;
    Result<std::vector<PartitionRow>> read = ReadPartitionFile(written.bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(*read == rows) << batch_rows;
  }
}

TEST(PartitionFileTest, DigestSeesEveryFieldOfEveryRow) {
  const std::vector<PartitionRow> rows = RandomPartitionRows(20, 2);
  const Digest digest = WritePartitionFile(rows, 20).digest;
  const std::vector<std::function<void(PartitionRow&)>> changes = {
      [](PartitionRow& row) { ++row.head.index; },    [](PartitionRow& row) { ++row.head.sub; },
      [](PartitionRow& row) { ++row.head.document; }, [](PartitionRow& row) { ++row.head.key; },
      [](PartitionRow& row) { row.text += 'x'; },     [](PartitionRow& row) { row.cuts.push_back(1); },
      [](PartitionRow& row) { ++row.split; }};
  for (std::size_t change = 0; change < changes.size(); ++change) {
    std::vector<PartitionRow> changed = rows;
    changes[change](changed[11]);
    EXPECT_NE(WritePartitionFile(changed, 20).digest, digest) << change;
  }
  std::vector<PartitionRow> moved = {PartitionRow{.head = {}, .text = "ab", .cuts = {}},
                                     PartitionRow{.head = {}, .text = "c", .cuts = {}}};
  const Digest before = WritePartitionFile(moved, 2).digest;
  moved[0].text = "a", moved[1].text = "bc";
  EXPECT_NE(WritePartitionFile(moved, 2).digest, before);
}

TEST(PartitionFileTest, APartitionWithoutRowsHasFactsAndADigest) {
  const WrittenPartition written = WritePartitionFile({}, 1, {7, 8, 9, 10});
  Result<std::unique_ptr<PartitionFileReader>> reader =
      PartitionFileReader::Open(std::make_shared<StringFile>(written.bytes), {});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->facts(), (PartitionFacts{7, 8, 9, 10}));
  EXPECT_EQ((*reader)->columns(), kAllTypes);
  EXPECT_EQ((*reader)->digest(), written.digest);
  PartitionRows rows;
  Result<bool> more = (*reader)->Next(rows);
  ASSERT_TRUE(more.ok());
  EXPECT_FALSE(*more);
}

TEST(PartitionFileTest, FramesEndBeforeOneMebibyteAndHoldALargerRecord) {
  std::vector<PartitionRow> rows = RandomPartitionRows(30, 3);
  for (PartitionRow& row : rows) row.text.assign(100'000, 'x');
  rows[13].text.assign(3 << 20, 'y');
  const WrittenPartition written = WritePartitionFile(rows, 30);
  Result<std::unique_ptr<PartitionFileReader>> reader =
      PartitionFileReader::Open(std::make_shared<StringFile>(written.bytes), {});
  ASSERT_TRUE(reader.ok());
  std::size_t frames = 0;
  PartitionRows frame;
  while (true) {
    Result<bool> more = (*reader)->Next(frame);
    ASSERT_TRUE(more.ok()) << more.status().message();
    if (!*more) break;
    ++frames;
    if (frame.columns[0].bytes.size() > kPartitionFrameBytes) {
      EXPECT_EQ(frame.heads.size(), 1u);
    }
  }
  EXPECT_EQ(frames, 2u + 1u + 2u);  // 13 rows of 100 kB, the large one, 16 rows
  EXPECT_TRUE(*ReadPartitionFile(written.bytes) == rows);
}

TEST(PartitionFileTest, FindsEveryChangedByteAndEveryTruncation) {
  const std::vector<PartitionRow> rows = RandomPartitionRows(40, 4);
  const WrittenPartition written = WritePartitionFile(rows, 10);
  for (std::size_t at = 0; at < written.bytes.size(); ++at) {
    std::string damaged = written.bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    Result<std::vector<PartitionRow>> read = ReadPartitionFile(damaged);
    ASSERT_FALSE(read.ok()) << "byte " << at;
    EXPECT_TRUE(read.status().message().find("offset") != std::string_view::npos ||
                read.status().code() == Code::kFailedPrecondition)
        << read.status().message();
    read = ReadPartitionFile(written.bytes.substr(0, at));
    ASSERT_FALSE(read.ok()) << "cut at " << at;
    EXPECT_EQ(read.status().code(), Code::kDataLoss);
  }
}

TEST(PartitionFileTest, ADamagedFrameIsNamedByItsOffset) {
  const WrittenPartition written = WritePartitionFile(RandomPartitionRows(40, 5), 40);
  std::string damaged = written.bytes;
  damaged[kHeadBytes + 20] ^= 1;
  const Result<std::vector<PartitionRow>> read = ReadPartitionFile(damaged);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "frame at offset 8: its checksum differs");
}

TEST(PartitionFileTest, RowsThatDoNotHaveThePromisedDigestEndInDataLoss) {
  // A footer with another digest, its checksum right.
  const WrittenPartition written = WritePartitionFile(RandomPartitionRows(5, 6), 5);
  const StringFile file(written.bytes);
  const FooterKind kind = {"partition file", "PIPEPART", 1};
  Result<Footer> footer = ReadFooter(kind, file, {});
  ASSERT_TRUE(footer.ok());
  footer->bytes.back() ^= 1;
  const std::string forged = written.bytes.substr(0, footer->offset) + SealFooter(kind, footer->bytes);
  const Result<std::vector<PartitionRow>> read = ReadPartitionFile(forged);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::kDataLoss);
  EXPECT_NE(read.status().message().find("digest of the rows"), std::string_view::npos);
}

TEST(PartitionFileTest, AnotherVersionIsRefusedByItsNumber) {
  const FooterKind newer = {"partition file", "PIPEPART", 2};
  const Result<std::vector<PartitionRow>> read = ReadPartitionFile("PIPEPART" + SealFooter(newer, ""));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(read.status().message(), "a partition file of version 2; this program reads version 1");
}

TEST(PartitionFileTest, StopsWhenAsked) {
  std::stop_source stop;
  const WrittenPartition written = WritePartitionFile(RandomPartitionRows(5, 7), 5);
  stop.request_stop();
  EXPECT_EQ(ReadPartitionFile(written.bytes, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(PartitionFileTest, LooksAsTheDocumentSays) {
  const PartitionColumns columns = {{"split", PartitionColumnType::kU8},
                                    {"text", PartitionColumnType::kUtf8}};
  PartitionRows rows;
  rows.heads = {{0, 0, 0, 1}, {1, 0, 0, 1}};
  rows.columns.resize(2);
  rows.columns[0].values = {0, 1};
  rows.columns[1].bytes = "abc";
  rows.columns[1].ends = {2, 3};
  const std::vector<ColumnView> views = ViewsOf(rows);
  std::string raw;
  EncodeRows(columns, {rows.heads, views}, 0, 2, raw);
  const std::string document(
      "\x00\x02"
      "\x00\x00"
      "\x00\x00"
      "\x02\x01\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x01"
      "\x02\x01"
      "abc",
      22);
  EXPECT_EQ(raw, document);

  std::string bytes;
  PartitionFileWriter writer(columns, [&](std::string_view more) {
    bytes += more;
    return Status();
  });
  ASSERT_TRUE(writer.Finish({0, 2, 9, 1}).ok());  // without rows: what zstd makes is not ours to fix
  EXPECT_EQ(SpacedHex(bytes),
            "50 49 50 45 50 41 52 54 "
            "00 02 09 01 "
            "02 03 05 73 70 6c 69 74 01 04 74 65 78 74 "
            "00 00 "
            "0e a0 26 f7 b4 e7 20 e8 15 6a 60 b2 53 6a 50 85 "
            "24 00 00 00 00 00 00 00 01 00 00 00 "
            "39 c9 88 48 50 49 50 45 50 41 52 54 ");
}

}  // namespace
}  // namespace pipeline
