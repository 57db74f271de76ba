// Batches of lines for the tests of stages.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dag/pipeline_file/stage_type.h"
#include "dag/records/transform.h"

namespace pipeline {

inline Batch BatchOf(const std::vector<std::string>& lines) {
  Batch batch;
  batch.Clear(2);
  for (const std::string& line : lines) {
    RecordHead head;
    head.index = batch.heads.size();
    batch.heads.push_back(head);
    batch.text.Append(line);
  }
  return batch;
}

inline std::vector<std::string> LinesOf(const Batch& batch) {
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < batch.text.size(); ++row) lines.emplace_back(batch.text[row]);
  return lines;
}

/// The fields of a record, each in brackets; they must make up the whole text.
inline std::string FieldsOf(const Batch& batch, std::size_t row) {
  std::string fields;
  std::size_t begin = 0;
  for (const std::uint32_t end : batch.fields[row]) {
    EXPECT_TRUE(begin == 0 || batch.text[row][begin - 1] == ' ');
    fields += "[" + std::string(batch.text[row].substr(begin, end - begin)) + "]";
    begin = end + 1;
  }
  EXPECT_EQ(begin, batch.text[row].size() + 1);
  return fields;
}

inline Schema TextSchema() { return {{{"text", ColumnType::kUtf8}}, {"train"}}; }

inline std::unique_ptr<Transform> MakeTransform(const StageType& type, Json config) {
  auto made = type.transform()->make({"stage", std::move(config), TextSchema()});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made).value() : nullptr;
}

/// Applies a new worker of `transform` as stage 1.
inline StageCounts ApplyTo(Batch& batch, const Transform& transform) {
  auto worker = transform.NewWorker();
  EXPECT_TRUE(worker.ok()) << worker.status().message();
  StageCounts counts;
  const Status status = (*worker)->Apply(batch, 1, counts);
  EXPECT_TRUE(status.ok()) << status.message();
  return counts;
}

}  // namespace pipeline
