#include "formats/spill_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "formats/footer.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct Row {
  std::uint8_t split = 0;
  std::uint64_t hash = 0;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string payload;
  auto operator<=>(const Row&) const = default;
};

std::vector<Row> RandomRows(std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({static_cast<std::uint8_t>(random() % 8 == 0 ? 5 : 1), random(), i,
                    static_cast<std::uint32_t>(random() % 3), std::string(random() % 300, 'p')});
  std::sort(rows.begin(), rows.end());
  return rows;
}

struct Written {
  std::string bytes;
  Digest digest;
};

Written Write(const std::vector<Row>& rows, bool compress) {
  Written written;
  SpillFileWriter writer(0, 2, {.compress = compress}, [&](std::string_view bytes) {
    written.bytes += bytes;
    return Status();
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i == 0 || rows[i - 1].split != row.split) {
      const auto records =
          std::count_if(rows.begin(), rows.end(), [&](const Row& other) { return other.split == row.split; });
      EXPECT_TRUE(writer.BeginSplit(row.split, static_cast<std::uint64_t>(records)).ok());
    }
    EXPECT_TRUE(writer.Add({row.hash, row.index, row.sub, row.payload}).ok());
  }
  Result<Digest> digest = writer.Finish();
  EXPECT_TRUE(digest.ok());
  written.digest = *digest;
  return written;
}

Result<std::vector<Row>> Read(const std::string& bytes) {
  const StringFile file(bytes);
  ASSIGN_OR_RETURN(const SpillIndex index, ReadSpillIndex(file, {}));
  std::vector<Row> rows;
  ZstdFrameCoder coder;
  for (const SpillSplit& split : index.splits) {
    for (const SpillFrame& frame : split.frames) {
      std::string raw(frame.stored, '\0');
      RETURN_IF_ERROR(ReadAt(file, frame.offset, raw, {}));
      RETURN_IF_ERROR(OpenSpillFrame(frame, index.compressed, coder, raw));
      EXPECT_EQ(raw.size(), frame.raw);
      Decoder in(raw);
      for (std::uint32_t i = 0; i < frame.records; ++i) {
        const SpillRow row = TakeSpillRow(in);
        if (i == 0) {
          EXPECT_EQ(row.hash, frame.first_hash);
        }
        rows.push_back({split.number, row.hash, row.index, row.sub, std::string(row.payload)});
      }
      if (!in.ok() || in.left() > 0) return Status(Code::kDataLoss, "rows do not fill their frame");
    }
  }
  return rows;
}

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) hex += {kDigits[(byte >> 4) & 15], kDigits[byte & 15], ' '};
  return hex;
}

TEST(SpillFileTest, GivesBackRowsStoredAndCompressed) {
  const std::vector<Row> rows = RandomRows(3000, 1);
  const Written stored = Write(rows, false);
  const Written compressed = Write(rows, true);
  EXPECT_EQ(stored.digest, compressed.digest);
  EXPECT_LT(compressed.bytes.size(), stored.bytes.size());
  for (const Written* written : {&stored, &compressed}) {
    const Result<std::vector<Row>> read = Read(written->bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(*read == rows);
  }
}

TEST(SpillFileTest, TheIndexCountsBinsAndSplits) {
  const std::vector<Row> rows = RandomRows(3000, 2);
  const Written written = Write(rows, false);
  const Result<SpillIndex> index = ReadSpillIndex(StringFile(written.bytes), {});
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->input, 0u);
  EXPECT_EQ(index->partition, 2u);
  EXPECT_EQ(index->digest, written.digest);
  ASSERT_EQ(index->splits.size(), 2u);
  for (const SpillSplit& split : index->splits) {
    std::vector<std::uint64_t> records(kSpillBins), bytes(kSpillBins);
    std::uint64_t total = 0;
    for (const Row& row : rows) {
      if (row.split != split.number) continue;
      ++records[SpillBinOf(row.hash)];
      bytes[SpillBinOf(row.hash)] += row.payload.size();
      ++total;
    }
    EXPECT_EQ(split.records, total);
    for (const SpillBin& bin : split.bins) {
      EXPECT_EQ(bin.records, records[bin.bin]);
      EXPECT_EQ(bin.bytes, bytes[bin.bin]);
      records[bin.bin] = 0;
    }
    EXPECT_EQ(std::count(records.begin(), records.end(), 0u), kSpillBins);
  }
}

TEST(SpillFileTest, FramesEndBefore64KibibytesAndHoldALargerRow) {
  std::vector<Row> rows = RandomRows(2000, 3);
  rows[1000].payload.assign(1 << 20, 'x');
  const Result<SpillIndex> index = ReadSpillIndex(StringFile(Write(rows, false).bytes), {});
  ASSERT_TRUE(index.ok());
  for (const SpillSplit& split : index->splits)
    for (const SpillFrame& frame : split.frames) {
      if (frame.records > 1) {
        EXPECT_LE(frame.raw, kSpillFrameBytes);
      }
    }
  EXPECT_TRUE(*Read(Write(rows, false).bytes) == rows);
}

TEST(SpillFileTest, FindsEveryChangedByteAndEveryTruncation) {
  for (const bool compress : {false, true}) {
    const Written written = Write(RandomRows(30, 4), compress);
    for (std::size_t at = 0; at < written.bytes.size(); ++at) {
      std::string damaged = written.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      EXPECT_FALSE(Read(damaged).ok()) << "byte " << at;
      EXPECT_EQ(Read(written.bytes.substr(0, at)).status().code(), Code::kDataLoss) << "cut at " << at;
    }
  }
}

TEST(SpillFileTest, ADigestSeesEveryField) {
  const std::vector<Row> rows = RandomRows(5, 5);
  const Digest digest = Write(rows, false).digest;
  const std::vector<std::function<void(Row&)>> changes = {
      [](Row& row) { ++row.hash; }, [](Row& row) { ++row.index; }, [](Row& row) { ++row.sub; },
      [](Row& row) { row.payload += 'x'; }};
  for (const auto& change : changes) {
    std::vector<Row> changed = rows;
    change(changed[2]);
    EXPECT_NE(Write(changed, false).digest, digest);
  }
}

TEST(SpillFileTest, LooksAsTheDocumentSays) {
  const Written written =
      Write({{1, 0x0010000000000005u, 3, 0, "hi"}, {1, 0xffff000000000001u, 1, 2, ""}}, false);
  EXPECT_EQ(ToHex(written.bytes),
            "50 49 50 45 53 50 49 4c "
            "05 00 00 00 00 00 10 00 03 00 02 68 69 "
            "01 00 00 00 00 00 ff ff 01 02 00 "
            "00 02 00 01 "
            "01 02 01 01 02 fd 1f 01 00 "
            "01 05 00 00 00 00 00 10 00 02 18 bd db c3 6c "
            "d2 c8 51 71 a8 c9 8f 06 34 4f da 8d db 95 5c ad "
            "2c 00 00 00 00 00 00 00 01 00 00 00 "
            "82 8f be ca 50 49 50 45 53 50 49 4c ");
}

}  // namespace
}  // namespace pipeline
