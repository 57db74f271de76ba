#include "stages/lines/partition_file.h"

#include <gtest/gtest.h>

#include <random>

#include "dag/records/partition_output.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct PartitionRecord {
  RecordHead head;
  std::string text;
  std::uint8_t split = 0;
};

const PartitionId kId = {3, 14};
const char* const kObject = "0003-00014.part";

Schema WithSplits() {
  return {{{"text", ColumnType::kUtf8}, {"split", ColumnType::kU8}}, {"train", "validation"}};
}

std::vector<PartitionRecord> RandomRecords(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<PartitionRecord> records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back({{i * 2, static_cast<std::uint32_t>(i % 2), i / 5, i / 5 + 77},
                       std::string(random() % 400, 'x'),
                       static_cast<std::uint8_t>(random() % 2)});
  return records;
}

/// Writes `records` in batches of so many, as a segment does, and gives the piece.
PartitionOutput Write(MapStore& store, const std::vector<PartitionRecord>& records, std::size_t batch_records,
                      const Schema& schema = WithSplits()) {
  const PartitionFileFormat format;
  Result<std::unique_ptr<SinkStage>> stage = format.NewSink(schema);
  EXPECT_TRUE(stage.ok());
  Result<std::unique_ptr<Worker>> worker = (*stage)->encoder()->NewWorker();
  Result<std::unique_ptr<Sink>> sink = (*stage)->OpenPartition(store, kId);
  EXPECT_TRUE(worker.ok() && sink.ok());
  Batch batch;
  for (std::size_t first = 0; first <= records.size(); first += batch_records) {
    batch.Clear(2);
    for (std::size_t i = first; i < std::min(records.size(), first + batch_records); ++i) {
      batch.heads.push_back(records[i].head);
      batch.text.Append(records[i].text);
      if (schema.columns.contains("split")) batch.split.push_back(records[i].split);
    }
    EXPECT_TRUE((*worker)->Apply(batch, 1, batch.counts[1]).ok());
    EXPECT_TRUE(batch.payload.empty());  // no record has a payload of its own
    EXPECT_EQ(batch.counts[1], StageCounts());
    EXPECT_TRUE((*sink)->Write(batch).ok());
  }
  Result<CommittedPartition> output = (*sink)->Commit({1000, 200});
  EXPECT_TRUE(output.ok());
  return {kId, *output, {}};
}

struct PartitionReadBack {
  std::vector<PartitionRecord> records;
  std::size_t batches = 0;
  std::size_t largest = 0;  // bytes of text in a batch of more than one record
  PartitionEnd end;
};

Result<PartitionReadBack> ReadPartition(MapStore& store, const PartitionOutput& output,
                                        std::size_t batch_bytes, const Schema& schema = WithSplits(),
                                        std::stop_token stop = {}) {
  const PartitionFileFormat format;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   format.Open(store, output, schema, batch_bytes, stop));
  PartitionReadBack read;
  bool closed = false;
  Batch batch;
  while (true) {
    batch.Clear(1);
    ASSIGN_OR_RETURN(const bool more, source->Next(batch));
    if (!more) break;
    EXPECT_FALSE(closed) << "a batch after the one that closes";
    ++read.batches;
    EXPECT_EQ(batch.partition, kId);
    EXPECT_EQ(batch.counts[0].records_out, batch.size());
    EXPECT_EQ(batch.counts[0].bytes_out, batch.text.bytes());
    if (batch.size() > 1) read.largest = std::max(read.largest, batch.text.bytes());
    for (std::size_t i = 0; i < batch.size(); ++i)
      read.records.push_back({batch.heads[i], std::string(batch.text[i]),
                              batch.split.empty() ? std::uint8_t{0} : batch.split[i]});
    if (batch.closes) closed = true, read.end = batch.end;
  }
  EXPECT_TRUE(closed);
  EXPECT_FALSE(source->End().has_value());
  return read;
}

void ExpectSame(const std::vector<PartitionRecord>& got, const std::vector<PartitionRecord>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].head.index, wanted[i].head.index);
    ASSERT_EQ(got[i].head.sub, wanted[i].head.sub);
    ASSERT_EQ(got[i].head.document, wanted[i].head.document);
    ASSERT_EQ(got[i].head.key, wanted[i].head.key);
    ASSERT_EQ(got[i].text, wanted[i].text);
    ASSERT_EQ(got[i].split, wanted[i].split);
  }
}

TEST(PartitionFileStageTest, RecordsComeBackInAnyBatches) {
  const std::vector<PartitionRecord> records = RandomRecords(1000, 1);
  for (const std::size_t written : {1u, 33u, 1000u}) {
    for (const std::size_t batch_bytes : {1u, 1000u, 50'000u, 10'000'000u}) {
      MapStore store;
      const PartitionOutput output = Write(store, records, written);
      const Result<PartitionReadBack> read = ReadPartition(store, output, batch_bytes);
      ASSERT_TRUE(read.ok()) << read.status().message();
      ExpectSame(read->records, records);
      EXPECT_LE(read->largest, batch_bytes);
      EXPECT_EQ(read->end.raw_end, 1000u);
      EXPECT_EQ(read->end.document_end, 200u);
    }
  }
}

TEST(PartitionFileStageTest, TheDigestDoesNotSeeBatches) {
  const std::vector<PartitionRecord> records = RandomRecords(500, 2);
  MapStore one;
  MapStore two;
  EXPECT_EQ(Write(one, records, 500).committed.digest, Write(two, records, 7).committed.digest);
}

TEST(PartitionFileStageTest, EveryColumnComesBack) {
  const Schema schema = {{{"text", ColumnType::kUtf8},
                          {"label", ColumnType::kUtf8},
                          {"fields", ColumnType::kU32List},
                          {"cuts", ColumnType::kU32List},
                          {"ids", ColumnType::kU32List},
                          {"id_ends", ColumnType::kU32List},
                          {"split", ColumnType::kU8}},
                         {"train", "test"},
                         {"a", "b"}};
  Batch batch;
  batch.Clear(2);
  batch.heads.push_back({});
  batch.text.Append("ab cd");
  batch.label.Append("x");
  batch.fields.Append(std::vector<std::uint32_t>{2, 5});
  batch.cuts.Append(std::vector<std::uint32_t>{1, 5});
  batch.ids.Append(std::vector<std::uint32_t>{70000});
  batch.id_ends.Append(std::vector<std::uint32_t>{4});
  batch.split.push_back(1);

  const PartitionFileFormat format;
  MapStore store;
  Result<std::unique_ptr<SinkStage>> stage = format.NewSink(schema);
  ASSERT_TRUE(stage.ok());
  Result<std::unique_ptr<Sink>> sink = (*stage)->OpenPartition(store, kId);
  ASSERT_TRUE((*(*stage)->encoder()->NewWorker())->Apply(batch, 1, batch.counts[1]).ok());
  ASSERT_TRUE((*sink)->Write(batch).ok());
  Result<CommittedPartition> output = (*sink)->Commit({});
  ASSERT_TRUE(output.ok());

  auto source = format.Open(store, {kId, *output, {}}, schema, 1 << 10, {});
  ASSERT_TRUE(source.ok());
  Batch back;
  back.Clear(1);
  ASSERT_TRUE(*(*source)->Next(back));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back.text[0], "ab cd");
  EXPECT_EQ(back.label[0], "x");
  EXPECT_EQ(back.split[0], 1);
  for (const auto member : {&Batch::fields, &Batch::cuts, &Batch::ids, &Batch::id_ends})
    EXPECT_TRUE(std::ranges::equal((back.*member)[0], (batch.*member)[0]));
}

TEST(PartitionFileStageTest, TheStoredObjectIsMeasured) {
  MapStore store;
  const PartitionOutput output = Write(store, RandomRecords(100, 3), 10);
  ASSERT_EQ(output.committed.objects.size(), 1u);
  const StoredObject& object = output.committed.objects[0];
  EXPECT_EQ(object.name, kObject);
  EXPECT_EQ(object.bytes, store[kObject].size());
  EXPECT_EQ(object.digest, DigestOf(store[kObject]));
}

TEST(PartitionFileStageTest, WorksWithoutASplitAndWithoutRecords) {
  const Schema text_only = {{{"text", ColumnType::kUtf8}}, {"train"}};
  MapStore store;
  std::vector<PartitionRecord> records = RandomRecords(10, 4);
  for (PartitionRecord& record : records) record.split = 0;
  Result<PartitionReadBack> read = ReadPartition(store, Write(store, records, 3, text_only), 500, text_only);
  ASSERT_TRUE(read.ok());
  ExpectSame(read->records, records);
  read = ReadPartition(store, Write(store, {}, 3), 500);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->batches, 1u);  // the empty one that closes
}

TEST(PartitionFileStageTest, AChangedByteNamesThePiece) {
  MapStore store;
  const PartitionOutput output = Write(store, RandomRecords(60, 5), 20);
  const std::string good = store[kObject];
  for (std::size_t at = 0; at < good.size(); at += 13) {
    store[kObject] = good;
    store[kObject][at] ^= 4;
    const Result<PartitionReadBack> read = ReadPartition(store, output, 1000);
    ASSERT_FALSE(read.ok()) << at;
    if (read.status().code() == Code::kFailedPrecondition) continue;  // the version
    EXPECT_EQ(DamagedOutput(read.status()), kId) << read.status().message();
  }
}

TEST(PartitionFileStageTest, AnotherOrMissingFileNamesThePiece) {
  MapStore store;
  const PartitionOutput output = Write(store, RandomRecords(60, 6), 20);
  Write(store, RandomRecords(60, 7), 20);  // sound, but not what the piece promises
  EXPECT_EQ(DamagedOutput(ReadPartition(store, output, 1000).status()), kId);
  store[kObject] += 'x';
  EXPECT_EQ(DamagedOutput(ReadPartition(store, output, 1000).status()), kId);
  ASSERT_TRUE(store.Remove(kObject).ok());
  EXPECT_EQ(DamagedOutput(ReadPartition(store, output, 1000).status()), kId);
}

TEST(PartitionFileStageTest, StoppingIsNoDamage) {
  MapStore store;
  const PartitionOutput output = Write(store, RandomRecords(60, 8), 20);
  std::stop_source stop;
  stop.request_stop();
  const Result<PartitionReadBack> read = ReadPartition(store, output, 1000, WithSplits(), stop.get_token());
  EXPECT_EQ(read.status().code(), Code::kCancelled);
  EXPECT_FALSE(DamagedOutput(read.status()).has_value());
}

TEST(PartitionOutputTest, NamesAreParsedBack) {
  EXPECT_EQ(OutputName({0, 12}, ".part"), "0000-00012.part");
  for (const PartitionId id : {PartitionId{0, 0}, PartitionId{9999, 99999}, PartitionId{10000, 100000}})
    EXPECT_EQ(ParseOutputName(OutputName(id, ".spill")), id);
  for (const char* other : {"", "0000-00012", "000-00012.part", "0000-0012.part", "00000-00012.part",
                            "0000_00012.part", "reading 0000-00012.part", "99999999999-00012.part"})
    EXPECT_FALSE(ParseOutputName(other).has_value()) << other;
}

}  // namespace
}  // namespace pipeline
