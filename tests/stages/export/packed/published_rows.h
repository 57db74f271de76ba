// Rows that write_packed publishes in memory, and configurations of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/array_record.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_info.h"
#include "tests/formats/megatron_file.h"
#include "tests/stages/export/packed/packed_corpus.h"
#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {

inline constexpr std::string_view kModel = "a model";
inline constexpr std::uint64_t kMemory = 1 << 20;

inline Json Config(std::int64_t seq_len) {
  Json config;
  config["seq_len"] = seq_len;
  config["shuffle"]["seed"] = 0;
  config["shards"] = 3;
  config["hosts"] = 2;
  config["equal"] = false;
  return config;
}

inline Json Unshuffled(std::int64_t seq_len) {
  Json config = Config(seq_len);
  config["shuffle"] = "none";
  config["shards"] = "auto";
  config["hosts"] = 1;
  return config;
}

struct Published {
  MapStore out;
  std::unique_ptr<Publication> plan;
  std::vector<ShardOutput> outputs;
  PackedInfo info;
};

/// Both passes and the description.
inline std::unique_ptr<Published> Publish(const Json& config, const TokenizerFacts& facts,
                                          const PackedCorpus& corpus, std::size_t batch_lines = 16,
                                          std::uint64_t memory = kMemory, const ChooseWeights& weights = {},
                                          std::string_view model = kModel) {
  auto published = std::make_unique<Published>();
  const auto stage = MakeWritePacked(config, ToJson(facts), model, {"train", "validation"}, weights);
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  MapStore artifact;
  const std::vector<PartitionOutput> outputs = WritePackedPieces(**stage, artifact, corpus, batch_lines);
  auto plan = (*stage)->Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  auto shards = WriteAll(**plan, published->out, memory);
  EXPECT_TRUE(shards.ok()) << shards.status().message();
  const auto sidecars = (*plan)->Describe(*shards);
  EXPECT_TRUE(sidecars.ok()) << sidecars.status().message();
  for (const Sidecar& sidecar : sidecars->before_manifest) published->out[sidecar.object] = sidecar.bytes;
  EXPECT_TRUE(sidecars->after_manifest.empty());
  const auto info = ParsePackedInfo(published->out["packed.json"]);
  EXPECT_TRUE(info.ok()) << info.status().message();
  published->plan = std::move(*plan);
  published->outputs = std::move(*shards);
  if (info.ok()) published->info = *info;
  return published;
}

struct PackedRow {
  std::vector<std::uint32_t> ids;
  PackedRowFacts facts;
  PackedSegments segments = {};
  std::vector<std::uint32_t> weights = {};
};

/// The records of a shard, whatever its encoding.
inline std::vector<std::string> RecordsOf(Published& published, const PackedShard& shard) {
  std::vector<std::string> records;
  const std::string& bytes = published.out[shard.object];
  const StringFile file(bytes);
  if (const std::uint32_t id_bytes =
          PackedIdBytes(published.info.encoding, published.info.tokenizer.vocab_size)) {
    const std::size_t row = id_bytes * (published.info.seq_len + std::size_t{1});
    EXPECT_EQ(bytes.size() % row, 0u);
    for (std::size_t at = 0; at < bytes.size(); at += row) records.push_back(bytes.substr(at, row));
  } else if (published.info.encoding == PackedEncoding::kArrayRecord) {
    const auto reader = ArrayRecordReader::Open(file, {});
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    for (auto next = (*reader)->Next(); next.ok() && *next; next = (*reader)->Next())
      records.emplace_back(**next);
  } else {
    const auto input = file.Open(0, {});
    TfRecordReader reader(**input, 1 << 20);
    for (auto next = reader.Next(); next.ok() && *next; next = reader.Next()) records.emplace_back(**next);
  }
  return records;
}

/// The rows of a shard, held against its index.
inline std::vector<PackedRow> RowsOf(Published& published, const PackedShard& shard) {
  const PackedInfo& info = published.info;
  const std::vector<std::string> records = RecordsOf(published, shard);
  std::vector<PackedIndexEntry> entries(records.size());
  if (info.encoding == PackedEncoding::kMmap) {
    const auto index = MegatronSequencesIn(published.out[shard.index]);
    EXPECT_TRUE(index.ok()) << index.status().message();
    const std::vector<std::uint32_t> lengths(records.size(), info.seq_len + 1);
    EXPECT_EQ(*index, (MegatronSequences{MegatronType::kUint16, lengths}));
  } else {
    const auto index = ParsePackedIndex(published.out[shard.index]);
    EXPECT_TRUE(index.ok()) << index.status().message();
    EXPECT_EQ(index->size(), records.size());
    entries = *index;
  }
  std::vector<PackedRow> rows;
  std::uint64_t offset = 0;
  for (std::size_t at = 0; at < records.size() && at < entries.size(); ++at) {
    PackedRow& row = rows.emplace_back();
    const std::uint32_t id_bytes = PackedIdBytes(info.encoding, info.tokenizer.vocab_size);
    const Status parsed = id_bytes > 0
                              ? ParseRawIds(records[at], id_bytes, row.ids)
                              : ParsePackedRow(records[at], row.ids, info.segments ? &row.segments : nullptr,
                                               info.weights ? &row.weights : nullptr);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    row.facts = entries[at].facts;
    if (info.encoding == PackedEncoding::kMmap) continue;
    EXPECT_EQ(entries[at].offset, offset);
    offset += records[at].size() + (info.encoding == PackedEncoding::kExample ? kTfRecordOverhead : 0);
  }
  return rows;
}

inline Json With(Json config, std::string_view key, Json value) {
  config[key] = std::move(value);
  return config;
}

/// The digest of everything that was published.
inline std::string DigestOfAll(const Published& published) {
  Hasher hasher;
  for (const auto& [name, bytes] : published.out.objects()) hasher.UpdateField(name).UpdateField(bytes);
  return hasher.Finish().ToHex();
}

}  // namespace pipeline
