// Runs a Source stage over an input in memory and writes down what came out.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dag/pipeline_file/stage_type.h"
#include "dag/records/source.h"
#include "tests/stages/batches.h"
#include "tests/support/memory_file.h"

namespace pipeline {

struct SourceOutcome {
  struct Partition {
    std::vector<std::string> records;     // INDEX.SUB DOCUMENT KEY: LABEL|TEXT
    std::vector<std::string> quarantine;  // INDEX:REASON:BYTES
    std::uint64_t raw_end = 0, document_end = 0;
    StageCounts counts;
    bool operator==(const Partition&) const = default;
  };
  std::map<std::uint32_t, Partition> partitions;  // that were closed
  std::optional<InputEnd> end;
  Status status;

  /// Texts of all records, with "LABEL|" before each where there is one.
  std::vector<std::string> texts;
};

inline SourceRequest RequestFor(std::string bytes, std::string name, std::size_t chunk = 1 << 20) {
  SourceRequest request;
  request.input = {std::move(name), std::make_shared<MemoryFile>(std::move(bytes), chunk)};
  request.wanted = [](std::uint32_t) { return true; };
  return request;
}

/// The repair of the stage included, counted as the Segment counts it.
inline SourceOutcome RunSource(const StageType& type, const Json& config, SourceRequest request) {
  SourceOutcome outcome;
  const auto stage = type.source()->make({"rows", config, {}});
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  auto source = (*stage)->Open(std::move(request));
  if (!source.ok()) {
    outcome.status = source.status();
    return outcome;
  }
  const auto worker = (*stage)->repair()->NewWorker();
  std::map<std::uint32_t, SourceOutcome::Partition> open;
  Batch batch;
  while (true) {
    batch.Clear(1);
    const auto more = (*source)->Next(batch);
    if (!more.ok()) {
      outcome.status = more.status();
      return outcome;
    }
    if (!*more) break;
    const std::uint64_t records = batch.size(), bytes = batch.text.bytes();
    if (outcome.status = (*worker)->Apply(batch, 0, batch.counts[0]); !outcome.status.ok()) return outcome;
    batch.counts[0].records_out -= records - batch.size();
    batch.counts[0].bytes_out += batch.text.bytes() - bytes;
    EXPECT_TRUE(batch.label.empty() || batch.label.size() == batch.size());
    EXPECT_EQ(batch.text.size(), batch.size());
    SourceOutcome::Partition& partition = open[batch.partition.partition];
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const RecordHead& head = batch.heads[row];
      std::string text = batch.label.empty() ? std::string() : std::string(batch.label[row]) + "|";
      if (batch.fields.empty())
        text.append(batch.text[row]);
      else
        text += FieldsOf(batch, row);
      partition.records.push_back(std::to_string(head.index) + "." + std::to_string(head.sub) + " " +
                                  std::to_string(head.document) + " " + std::to_string(head.key) + ": " +
                                  text);
      outcome.texts.push_back(text);
    }
    for (const Quarantined& bad : batch.quarantine)
      partition.quarantine.push_back(std::to_string(bad.index) + ":" + bad.reason + ":" + bad.bytes);
    partition.counts += batch.counts[0];
    if (batch.closes) {
      partition.raw_end = batch.end.raw_end;
      partition.document_end = batch.end.document_end;
      outcome.partitions.insert(open.extract(batch.partition.partition));
    }
  }
  outcome.end = (*source)->End();
  EXPECT_TRUE(open.empty());
  return outcome;
}

inline void ExpectSame(const SourceOutcome& a, const SourceOutcome& b, const std::string& what) {
  EXPECT_TRUE(a.status.ok() && b.status.ok()) << what << ' ' << a.status.message() << b.status.message();
  EXPECT_TRUE(a.partitions == b.partitions) << what;
  ASSERT_EQ(a.end.has_value(), b.end.has_value()) << what;
  if (!a.end) return;
  EXPECT_EQ(a.end->partitions, b.end->partitions) << what;
  EXPECT_EQ(a.end->raw_bytes, b.end->raw_bytes) << what;
  EXPECT_EQ(a.end->documents, b.end->documents) << what;
  EXPECT_EQ(a.end->outside, b.end->outside) << what;
}

}  // namespace pipeline
