// A corpus of ids for the tests of write_packed and of what reads its artifacts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dag/pipeline_file/stage_type.h"
#include "dag/records/sink.h"
#include "stages/export/packed/packed_export.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "tests/support/map_store.h"

namespace pipeline {

struct PackedLine {
  std::string text;
  std::vector<std::uint32_t> ids, ends;
  std::uint64_t document = 0;
  std::uint8_t split = 0;
  std::string label = {};
};
using PackedCorpus = std::map<PartitionId, std::vector<PackedLine>>;

inline TokenizerFacts PipeTokenizer(std::string_view model) {
  return {"pipe", 512, 0, 1, 2, 3, 4, "spm.model", DigestOf(model)};
}

/// Documents of one to four lines of kanji, each an id or, now and then, three ids of its bytes; about one
/// document in five is in split 1.
inline PackedCorpus RandomPackedCorpus(std::uint32_t partitions, std::uint64_t documents) {
  std::mt19937 random(11);
  PackedCorpus corpus;
  std::uint64_t document = 0;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    std::vector<PackedLine>& lines = corpus[{0, partition}];
    for (std::uint64_t i = 0; i < documents; ++i, ++document) {
      const std::uint8_t split = random() % 5 == 0 ? 1 : 0;
      for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
        PackedLine line;
        line.document = document;
        line.split = split;
        for (std::uint64_t letters = random() % 30; letters > 0; --letters) {
          const auto letter = static_cast<std::uint32_t>(random() % 200);
          const auto begin = static_cast<std::uint32_t>(line.text.size());
          line.text += "\xe7\x8c";  // U+7300 and following
          line.text.push_back(static_cast<char>(0x80 + letter % 64));
          const bool bytes = letter % 20 == 0;
          for (std::uint32_t at = bytes ? 1 : 3; at <= 3; ++at) {
            line.ids.push_back(bytes ? 5 + at : 100 + letter);
            line.ends.push_back(begin + at);
          }
        }
        lines.push_back(std::move(line));
      }
    }
  }
  return corpus;
}

/// `count` lines from `first` on; with the column `label` if one of all lines has a label.
inline Batch PackedBatch(PartitionId id, const std::vector<PackedLine>& lines, std::size_t first,
                         std::size_t count) {
  Batch batch;
  batch.Clear(1);
  batch.partition = id;
  const bool labelled =
      std::any_of(lines.begin(), lines.end(), [](const PackedLine& line) { return !line.label.empty(); });
  for (std::size_t at = first; at < std::min(first + count, lines.size()); ++at) {
    const PackedLine& line = lines[at];
    batch.heads.push_back({at, 0, line.document, 0});
    batch.text.Append(line.text);
    batch.ids.Append(line.ids);
    batch.id_ends.Append(line.ends);
    batch.split.push_back(line.split);
    if (labelled) batch.label.Append(line.label);
  }
  return batch;
}

/// write_packed with a tokenizer of the facts `facts` whose model is `model`.
inline Result<std::unique_ptr<SinkStage>> MakeWritePacked(Json config, Json facts, std::string_view model,
                                                          std::vector<std::string> splits,
                                                          const ChooseWeights& weights = {}) {
  auto directory = std::make_shared<MapStore>();
  (*directory)[std::string(std::as_const(facts)["model"].AsString("spm.model"))] = model;
  StageContext context;
  context.name = "packed";
  context.config = std::move(config);
  context.schema.splits = std::move(splits);
  context.artifacts["tokenizer"] = {directory, "", std::move(facts)};
  return WritePackedType(weights).sink()->make(context);
}

/// Pass 1 over all partitions, in batches of so many lines.
inline std::vector<PartitionOutput> WritePackedPieces(const SinkStage& stage, Store& artifact,
                                                      const PackedCorpus& corpus, std::size_t batch_lines) {
  std::vector<PartitionOutput> outputs;
  for (const auto& [id, lines] : corpus) {
    Result<std::unique_ptr<Sink>> sink = stage.OpenPartition(artifact, id);
    EXPECT_TRUE(sink.ok()) << sink.status().message();
    for (std::size_t first = 0; first < lines.size(); first += batch_lines) {
      const Status written = (*sink)->Write(PackedBatch(id, lines, first, batch_lines));
      EXPECT_TRUE(written.ok()) << written.message();
    }
    Result<CommittedPartition> output = (*sink)->Commit({});
    EXPECT_TRUE(output.ok()) << output.status().message();
    outputs.push_back({id, *output, {}});
  }
  return outputs;
}

}  // namespace pipeline
