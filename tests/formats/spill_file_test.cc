#include "formats/spill_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "formats/footer.h"
#include "tests/formats/spaced_hex.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct SpilledRow {
  std::uint8_t split = 0;
  std::uint64_t hash = 0;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string payload;
  auto operator<=>(const SpilledRow&) const = default;
};

std::vector<SpilledRow> RandomSpilledRows(std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<SpilledRow> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({static_cast<std::uint8_t>(random() % 8 == 0 ? 5 : 1), random(), i,
                    static_cast<std::uint32_t>(random() % 3), std::string(random() % 300, 'p')});
  std::sort(rows.begin(), rows.end());
  return rows;
}

struct WrittenSpill {
  std::string bytes;
  Digest digest;
};

WrittenSpill WriteSpillFile(const std::vector<SpilledRow>& rows, bool compress) {
  WrittenSpill written;
  SpillFileWriter writer(0, 2, {.compress = compress}, [&](std::string_view bytes) {
    written.bytes += bytes;
    return Status();
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SpilledRow& row = rows[i];
    if (i == 0 || rows[i - 1].split != row.split) {
      const auto records = std::count_if(rows.begin(), rows.end(),
                                         [&](const SpilledRow& other) { return other.split == row.split; });
      EXPECT_TRUE(writer.BeginSplit(row.split, static_cast<std::uint64_t>(records)).ok());
    }
    EXPECT_TRUE(writer.Add({row.hash, row.index, row.sub, row.payload}).ok());
  }
  Result<Digest> digest = writer.Finish();
  EXPECT_TRUE(digest.ok());
  written.digest = *digest;
  return written;
}

Result<std::vector<SpilledRow>> ReadSpillFile(const std::string& bytes) {
  const StringFile file(bytes);
  ASSIGN_OR_RETURN(const SpillIndex index, ReadSpillIndex(file, {}));
  std::vector<SpilledRow> rows;
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

TEST(SpillFileTest, GivesBackRowsStoredAndCompressed) {
  const std::vector<SpilledRow> rows = RandomSpilledRows(3000, 1);
  const WrittenSpill stored = WriteSpillFile(rows, false);
  const WrittenSpill compressed = WriteSpillFile(rows, true);
  EXPECT_EQ(stored.digest, compressed.digest);
  EXPECT_LT(compressed.bytes.size(), stored.bytes.size());
  for (const WrittenSpill* written : {&stored, &compressed}) {
    const Result<std::vector<SpilledRow>> read = ReadSpillFile(written->bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(*read == rows);
  }
}

TEST(SpillFileTest, TheIndexCountsBinsAndSplits) {
  const std::vector<SpilledRow> rows = RandomSpilledRows(3000, 2);
  const WrittenSpill written = WriteSpillFile(rows, false);
  const Result<SpillIndex> index = ReadSpillIndex(StringFile(written.bytes), {});
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->input, 0u);
  EXPECT_EQ(index->partition, 2u);
  EXPECT_EQ(index->digest, written.digest);
  ASSERT_EQ(index->splits.size(), 2u);
  for (const SpillSplit& split : index->splits) {
    std::vector<std::uint64_t> records(kSpillBins), bytes(kSpillBins);
    std::uint64_t total = 0;
    for (const SpilledRow& row : rows) {
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
  std::vector<SpilledRow> rows = RandomSpilledRows(2000, 3);
  rows[1000].payload.assign(1 << 20, 'x');
  const Result<SpillIndex> index = ReadSpillIndex(StringFile(WriteSpillFile(rows, false).bytes), {});
  ASSERT_TRUE(index.ok());
  for (const SpillSplit& split : index->splits)
    for (const SpillFrame& frame : split.frames) {
      if (frame.records > 1) {
        EXPECT_LE(frame.raw, kSpillFrameBytes);
      }
    }
  EXPECT_TRUE(*ReadSpillFile(WriteSpillFile(rows, false).bytes) == rows);
}

TEST(SpillFileTest, FindsEveryChangedByteAndEveryTruncation) {
  for (const bool compress : {false, true}) {
    const WrittenSpill written = WriteSpillFile(RandomSpilledRows(30, 4), compress);
    for (std::size_t at = 0; at < written.bytes.size(); ++at) {
      std::string damaged = written.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      EXPECT_FALSE(ReadSpillFile(damaged).ok()) << "byte " << at;
      EXPECT_EQ(ReadSpillFile(written.bytes.substr(0, at)).status().code(), Code::kDataLoss)
          << "cut at " << at;
    }
  }
}

TEST(SpillFileTest, ADigestSeesEveryField) {
  const std::vector<SpilledRow> rows = RandomSpilledRows(5, 5);
  const Digest digest = WriteSpillFile(rows, false).digest;
  const std::vector<std::function<void(SpilledRow&)>> changes = {
      [](SpilledRow& row) { ++row.hash; }, [](SpilledRow& row) { ++row.index; },
      [](SpilledRow& row) { ++row.sub; }, [](SpilledRow& row) { row.payload += 'x'; }};
  for (const auto& change : changes) {
    std::vector<SpilledRow> changed = rows;
    change(changed[2]);
    EXPECT_NE(WriteSpillFile(changed, false).digest, digest);
  }
}

TEST(SpillFileTest, LooksAsTheDocumentSays) {
  const WrittenSpill written =
      WriteSpillFile({{1, 0x0010000000000005u, 3, 0, "hi"}, {1, 0xffff000000000001u, 1, 2, ""}}, false);
  EXPECT_EQ(SpacedHex(written.bytes),
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
