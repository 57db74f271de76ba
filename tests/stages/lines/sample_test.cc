#include "stages/lines/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/str.h"
#include "dag/records/barrier_stage.h"
#include "dag/records/partition_output.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/partition_file.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct Record {
  PartitionId partition;
  RecordHead head;
  std::string text;
  std::vector<std::uint32_t> cuts;
  std::string label;
  std::uint8_t split = 0;
  bool operator==(const Record& other) const {
    return head.key == other.head.key && text == other.text && cuts == other.cuts && label == other.label &&
           split == other.split;
  }
};
using Records = std::vector<Record>;

const Schema kSampleSchema = {{{"text", ColumnType::kUtf8},
                               {"cuts", ColumnType::kU32List},
                               {"label", ColumnType::kUtf8},
                               {"split", ColumnType::kU8}},
                              {"train", "validation"}};

/// Inputs of partitions of documents of lines, in the order of the corpus.
Records RandomCorpus(std::uint32_t seed, std::uint32_t inputs = 2, std::uint32_t partitions = 3,
                     std::uint64_t documents = 20) {
  std::mt19937 random(seed);
  Records records;
  for (std::uint32_t input = 0; input < inputs; ++input) {
    std::uint64_t document = 0;
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      std::uint64_t index = 0;
      for (std::uint64_t i = 0; i < documents; ++i, ++document) {
        const std::uint64_t key = random();
        const auto split = static_cast<std::uint8_t>(key % 4 == 0);
        for (auto lines = 1 + random() % 8; lines > 0; --lines) {
          Record record{{input, partition}, {index, 0, document, key}, {}, {}, {}, split};
          record.text = std::string(random() % 90, static_cast<char>('a' + random() % 26));
          for (std::uint32_t cut = 3; cut < record.text.size(); cut += 5) record.cuts.push_back(cut);
          record.label = StrCat("label ", random() % 3);
          index += 1 + random() % 2;
          records.push_back(record);
        }
      }
    }
  }
  return records;
}

struct Settings {
  std::string split = {};
  std::uint64_t bytes = 1000;
  std::uint64_t seed = 0;
  std::uint64_t partition = 1 << 20;
};

std::unique_ptr<BarrierStage> MakeSample(const Settings& settings) {
  Json config;
  if (!settings.split.empty()) config["split"] = settings.split;
  config["bytes"] = static_cast<std::int64_t>(settings.bytes);
  config["seed"] = static_cast<std::int64_t>(settings.seed);
  config["partition"] = static_cast<std::int64_t>(settings.partition);
  auto made = SampleType().barrier()->make({"pick", config, kSampleSchema});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made).value() : nullptr;
}

/// The sample by its definition.
Records ByDefinition(const Records& corpus, const Settings& settings) {
  std::vector<std::pair<SamplePlace, std::size_t>> order;
  for (std::size_t i = 0; i < corpus.size(); ++i)
    if (settings.split.empty() || kSampleSchema.splits[corpus[i].split] == settings.split)
      order.emplace_back(LocationOf(settings.seed, corpus[i].partition, corpus[i].head), i);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> drawn;
  std::uint64_t sum = 0;
  for (const auto& [place, i] : order) {
    sum += corpus[i].text.size();
    if (sum > settings.bytes) break;
    drawn.push_back(i);
  }
  std::sort(drawn.begin(), drawn.end());
  Records records;
  for (const std::size_t i : drawn) records.push_back(corpus[i]);
  return records;
}

/// First half: writes the pieces of `corpus`, in batches of so many records.
std::vector<PartitionOutput> WriteOutputs(const BarrierStage& sample, Store& store, const Records& corpus,
                                          std::size_t batch_records = 7) {
  std::vector<PartitionOutput> outputs;
  for (std::size_t first = 0; first < corpus.size();) {
    const PartitionId id = corpus[first].partition;
    PartitionOutput output{id, {}, {}};
    auto sink = sample.OpenPartition(store, id);
    EXPECT_TRUE(sink.ok());
    Batch batch;
    std::uint64_t document_end = 0;
    while (first < corpus.size() && corpus[first].partition == id) {
      batch.Clear(1);
      for (; batch.size() < batch_records && first < corpus.size() && corpus[first].partition == id;
           ++first) {
        const Record& record = corpus[first];
        batch.heads.push_back(record.head);
        batch.text.Append(record.text);
        batch.cuts.Append(record.cuts);
        batch.label.Append(record.label);
        batch.split.push_back(record.split);
        output.splits[kSampleSchema.splits[record.split]].records += 1;
        document_end = record.head.document + 1;
      }
      EXPECT_TRUE((*sink)->Write(batch).ok());
    }
    Result<CommittedPartition> committed = (*sink)->Commit({77, document_end});
    EXPECT_TRUE(committed.ok()) << committed.status().message();
    output.committed = *committed;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

struct ReadBack {
  Records records;
  std::vector<std::size_t> sizes;  // records of each partition that was wanted
  std::vector<PartitionEnd> ends;
  std::vector<std::string> batches;  // what each one was, for comparing
  std::optional<InputEnd> end;
};

Result<ReadBack> Read(
    const BarrierStage& sample, Store& store, const std::vector<PartitionOutput>& outputs,
    std::size_t batch_bytes = 300,
    std::function<bool(std::uint32_t)> wanted = [](std::uint32_t) { return true; },
    std::stop_token stop = {}) {
  BarrierRequest request{&store, outputs, wanted, batch_bytes, stop};
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, sample.Open(std::move(request)));
  ReadBack read;
  Batch batch;
  std::size_t in_partition = 0;
  while (true) {
    batch.Clear(1);
    ASSIGN_OR_RETURN(const bool more, source->Next(batch));
    if (!more) break;
    EXPECT_EQ(batch.partition.input, 0u);
    EXPECT_TRUE(wanted(batch.partition.partition));
    EXPECT_EQ(batch.counts[0].records_out, batch.size());
    EXPECT_EQ(batch.counts[0].bytes_out, batch.text.bytes());
    EXPECT_TRUE(batch.size() <= 1 || batch.text.bytes() <= batch_bytes);
    for (std::size_t row = 0; row < batch.size(); ++row, ++in_partition) {
      const auto cuts = batch.cuts[row];
      EXPECT_EQ(batch.heads[row].index, in_partition);
      EXPECT_EQ(batch.heads[row].sub, 0u);
      read.records.push_back({batch.partition,
                              batch.heads[row],
                              std::string(batch.text[row]),
                              {cuts.begin(), cuts.end()},
                              std::string(batch.label[row]),
                              batch.split[row]});
    }
    if (batch.closes) {
      read.sizes.push_back(in_partition);
      read.ends.push_back(batch.end);
      in_partition = 0;
    }
  }
  EXPECT_EQ(in_partition, 0u) << "a partition that does not close";
  read.end = source->End();
  return read;
}

ReadBack Draw(const Records& corpus, const Settings& settings) {
  const auto sample = MakeSample(settings);
  MapStore store;
  Result<ReadBack> read = Read(*sample, store, WriteOutputs(*sample, store, corpus));
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : ReadBack();
}

std::uint64_t TextOf(const Records& records) {
  std::uint64_t bytes = 0;
  for (const Record& record : records) bytes += record.text.size();
  return bytes;
}

TEST(SampleTest, IsTheOneThatTheDefinitionGives) {
  for (const std::uint32_t corpus_seed : {1u, 2u, 3u}) {
    const Records corpus = RandomCorpus(corpus_seed);
    for (const std::uint64_t bytes : {1u, 90u, 1000u, 5000u, 12'345u, 10'000'000u}) {
      for (const char* split : {"", "train", "validation"}) {
        const Settings settings{split, bytes, corpus_seed % 2};
        const ReadBack drawn = Draw(corpus, settings);
        ASSERT_EQ(drawn.records, ByDefinition(corpus, settings)) << bytes << " " << split;
        EXPECT_LE(TextOf(drawn.records), bytes);
      }
    }
  }
}

TEST(SampleTest, FillsTheBudgetToTheByte) {
  const Records corpus = RandomCorpus(4);
  const Records drawn = Draw(corpus, {.bytes = 5000}).records;
  const std::uint64_t bytes = TextOf(drawn);
  EXPECT_GT(bytes, 5000u - 90u);
  EXPECT_EQ(Draw(corpus, {.bytes = bytes}).records, drawn);
  EXPECT_LT(Draw(corpus, {.bytes = bytes - 1}).records.size(), drawn.size());
}

TEST(SampleTest, ARecordThatDoesNotFitEndsTheSampleOfEveryPartition) {
  // Drawn first: a record that is larger than all that may be in; smaller ones behind it stay out.
  Records corpus = RandomCorpus(5, 1, 3);
  std::vector<std::pair<SamplePlace, Record*>> order;
  for (Record& record : corpus) order.emplace_back(LocationOf(0, record.partition, record.head), &record);
  std::sort(order.begin(), order.end());
  order[3].second->text = std::string(2000, 'x');
  const ReadBack drawn = Draw(corpus, {.bytes = 1000});
  EXPECT_EQ(drawn.records.size(), 3u);
  EXPECT_EQ(drawn.records, ByDefinition(corpus, {.bytes = 1000}));
}

TEST(SampleTest, NothingButSeedAndOriginHasASay) {
  const Records corpus = RandomCorpus(6);
  const Settings settings{"train", 4000, 9};
  const auto sample = MakeSample(settings);
  std::optional<std::vector<Digest>> digests;
  for (const std::size_t batch_records : {1u, 7u, 1000u}) {
    MapStore store;
    std::vector<PartitionOutput> outputs = WriteOutputs(*sample, store, corpus, batch_records);
    std::vector<Digest> of_pieces;
    for (const PartitionOutput& output : outputs) of_pieces.push_back(output.committed.digest);
    if (digests) {
      EXPECT_EQ(of_pieces, *digests);
    }
    digests = of_pieces;
    std::reverse(outputs.begin(), outputs.end());
    for (const std::size_t batch_bytes : {1u, 100u, 1'000'000u}) {
      const Result<ReadBack> read = Read(*sample, store, outputs, batch_bytes);
      ASSERT_TRUE(read.ok());
      EXPECT_EQ(read->records, ByDefinition(corpus, settings));
    }
  }
  EXPECT_NE(ByDefinition(corpus, settings), ByDefinition(corpus, {"train", 4000, 10}));
}

TEST(SampleTest, PiecesHoldLittleMoreThanTheSample) {
  const Records corpus = RandomCorpus(7, 1, 1, 400);
  const auto sample = MakeSample({.bytes = 2000});
  MapStore store;
  const std::vector<PartitionOutput> outputs = WriteOutputs(*sample, store, corpus);
  const PartitionFileFormat format;
  auto source = format.Open(store, outputs[0], kSampleSchema, 1 << 20, {});
  ASSERT_TRUE(source.ok());
  Batch batch;
  batch.Clear(1);
  ASSERT_TRUE(*(*source)->Next(batch));
  EXPECT_TRUE(batch.closes);
  EXPECT_GT(batch.text.bytes(), 2000u);
  EXPECT_LE(batch.text.bytes(), 2000u + 90u);
  EXPECT_TRUE(std::is_sorted(batch.heads.begin(), batch.heads.end(),
                             [](const RecordHead& a, const RecordHead& b) { return a.index < b.index; }));
}

TEST(SampleTest, PartitionsCloseAtDocumentEnds) {
  const Records corpus = RandomCorpus(8);
  const ReadBack drawn = Draw(corpus, {.bytes = 20'000, .partition = 3000});
  ASSERT_GT(drawn.sizes.size(), 4u);
  std::size_t at = 0;
  std::uint64_t text = 0;
  for (std::size_t partition = 0; partition < drawn.sizes.size(); ++partition) {
    std::uint64_t bytes = 0;
    for (const std::size_t end = at + drawn.sizes[partition]; at < end; ++at)
      bytes += drawn.records[at].text.size();
    text += bytes;
    EXPECT_EQ(drawn.ends[partition].raw_end, text);
    EXPECT_EQ(drawn.ends[partition].document_end, drawn.records[at - 1].head.document + 1);
    if (at == drawn.records.size()) continue;
    EXPECT_GE(bytes, 3000u);
    EXPECT_LT(bytes, 3000u + 8 * 90);
    EXPECT_NE(drawn.records[at - 1].head.document, drawn.records[at].head.document);
  }
}

TEST(SampleTest, DocumentsOfAnotherInputGoOnWhereThoseOfTheFirstEnd) {
  const Records corpus = RandomCorpus(9, 3, 2, 5);
  const ReadBack drawn = Draw(corpus, {.bytes = 1'000'000});
  ASSERT_EQ(drawn.records.size(), corpus.size());
  for (std::size_t i = 0; i < corpus.size(); ++i)
    ASSERT_EQ(drawn.records[i].head.document, corpus[i].head.document + 10 * corpus[i].partition.input);
  EXPECT_EQ(drawn.end->documents, 30u);
}

TEST(SampleTest, UnwantedPartitionsArePassedOver) {
  const Records corpus = RandomCorpus(10);
  const auto sample = MakeSample({.bytes = 20'000, .partition = 3000});
  MapStore store;
  const std::vector<PartitionOutput> outputs = WriteOutputs(*sample, store, corpus);
  const Result<ReadBack> all = Read(*sample, store, outputs);
  const Result<ReadBack> odd = Read(*sample, store, outputs, 300, [](std::uint32_t p) { return p % 2 == 1; });
  ASSERT_TRUE(all.ok() && odd.ok());
  Records expected;
  for (const Record& record : all->records)
    if (record.partition.partition % 2 == 1) expected.push_back(record);
  EXPECT_EQ(odd->records, expected);
  ASSERT_TRUE(odd->end);
  EXPECT_EQ(odd->end->partitions, all->sizes.size());
  EXPECT_EQ(odd->end->raw_bytes, all->end->raw_bytes);
  EXPECT_EQ(odd->end->outside, all->end->outside);
}

TEST(SampleTest, WhatIsLeftOutIsCounted) {
  const Records corpus = RandomCorpus(11);
  const auto of_split = [&corpus](std::uint8_t split) {
    return static_cast<std::uint64_t>(std::count_if(
        corpus.begin(), corpus.end(), [split](const Record& record) { return record.split == split; }));
  };
  const ReadBack drawn = Draw(corpus, {.split = "train", .bytes = 1000});
  ASSERT_TRUE(drawn.end);
  EXPECT_EQ(drawn.end->partitions, 1u);
  EXPECT_EQ(drawn.end->raw_bytes, TextOf(drawn.records));
  EXPECT_EQ(drawn.end->outside.reasons.at("other_split"), of_split(1));
  EXPECT_EQ(drawn.end->outside.reasons.at("sampled_out"), of_split(0) - drawn.records.size());
  EXPECT_TRUE(Draw(corpus, {.bytes = 1'000'000}).end->outside.reasons.empty());
}

TEST(SampleTest, AnEmptySampleHasNoPartition) {
  Records corpus = RandomCorpus(12);
  for (Record& record : corpus) record.text += "xx";
  const ReadBack nothing = Draw(corpus, {.bytes = 1});
  EXPECT_TRUE(nothing.records.empty());
  EXPECT_EQ(nothing.end->partitions, 0u);
  EXPECT_EQ(nothing.end->outside.reasons.at("sampled_out"), corpus.size());
  const auto sample = MakeSample({});
  MapStore store;
  const Result<ReadBack> none = Read(*sample, store, {});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->sizes.empty());
  EXPECT_EQ(none->end->partitions, 0u);
}

TEST(SampleTest, ADamagedPieceIsNamed) {
  const auto sample = MakeSample({.bytes = 5000});
  MapStore store;
  const std::vector<PartitionOutput> outputs = WriteOutputs(*sample, store, RandomCorpus(13));
  const std::string object = "0001-00001.part";
  store[object][store[object].size() / 2] ^= 1;
  EXPECT_EQ(DamagedOutput(Read(*sample, store, outputs).status()), (PartitionId{1, 1}));
  ASSERT_TRUE(store.Remove(object).ok());
  EXPECT_EQ(DamagedOutput(Read(*sample, store, outputs).status()), (PartitionId{1, 1}));
}

TEST(SampleTest, AStopIsNoFailure) {
  const auto sample = MakeSample({.bytes = 5000});
  MapStore store;
  const std::vector<PartitionOutput> outputs = WriteOutputs(*sample, store, RandomCorpus(14));
  std::stop_source stop;
  stop.request_stop();
  const Result<ReadBack> read = Read(
      *sample, store, outputs, 300, [](std::uint32_t) { return true; }, stop.get_token());
  EXPECT_EQ(read.status().code(), Code::kCancelled);
}

TEST(SampleTest, AnotherSeedThanTheShufflesIsNoMatter) {
  // The records drawn with seed 0 are not the first ones of a shuffle with seed 0.
  const RecordHead head{5, 0, 0, 0};
  EXPECT_NE(LocationOf(0, {0, 1}, head).hash, LocationOf(1, {0, 1}, head).hash);
  EXPECT_EQ(LocationOf(0, {0, 1}, head).hash, 8151788707998943349u)
      << "what samples of earlier versions were drawn by";
}

TEST(SampleTypeTest, MistakesAreFoundBeforeARun) {
  const StageType type = SampleType();
  EXPECT_NE(type.barrier(), nullptr);
  Json config;
  config["bytes"] = std::int64_t{1000};
  config["seed"] = std::int64_t{0};
  config["partition"] = std::int64_t{1} << 26;
  Schema schema = kSampleSchema;
  EXPECT_TRUE(type.check(config, schema).ok());
  EXPECT_EQ(schema, kSampleSchema) << "every column goes on";
  config["split"] = "test";
  EXPECT_EQ(type.check(config, schema).message(),
            "split: the records that come in have no split 'test'; there are 'train', 'validation'");
  config["split"] = "validation";
  EXPECT_TRUE(type.check(config, schema).ok());
  config["bytes"] = std::int64_t{0};
  EXPECT_FALSE(type.check(config, schema).ok());
  Schema none;
  EXPECT_FALSE(type.check(config, none).ok());
}

}  // namespace
}  // namespace pipeline
