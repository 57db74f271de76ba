// A small corpus of morphemes, and tokenizers trained on it by the stage.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dag/records/job_stage.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "storage/memory_store.h"
#include "tests/stages/batches.h"
#include "tests/support/built_tree.h"

namespace pipeline {

struct Line {
  std::string text;
  std::vector<std::uint32_t> cuts;
  std::uint8_t split = 0;
};

inline Line LineOf(const std::vector<std::string>& morphemes) {
  Line line;
  for (const std::string& morpheme : morphemes) {
    line.text += morpheme;
    line.cuts.push_back(static_cast<std::uint32_t>(line.text.size()));
  }
  return line;
}

/// `count` lines of words that come in all orders, but `猫` is always followed by `が`.
inline std::vector<Line> SmallCorpus(std::size_t count = 600) {
  const std::vector<std::string> words = {
      "犬",  "を",   "見る",   "彼", "は",     "学校", "へ",   "行っ", "た",     "東京都", "に", "住ん",
      "で",  "いる", "大きな", "声", "楽しい", "時間", "と",   "本",   "読む",   "。",     "、", "Linux",
      "the", " ",    "2026",   "年", "思っ",   "て",   "ます", "です", "新しい", "言葉",   "も", "から"};
  std::mt19937 random(7);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> morphemes;
    for (auto left = 4 + random() % 12; left > 0; --left) {
      if (random() % 8 == 0) {
        morphemes.insert(morphemes.end(), {"猫", "が"});
      } else {
        morphemes.push_back(words[random() % words.size()]);
      }
    }
    lines.push_back(LineOf(morphemes));
  }
  return lines;
}

/// Lines as one input of several batches; each line is a document.
class LinesSource final : public Source {
 public:
  LinesSource(const std::vector<Line>& lines, std::size_t rows, bool cuts)
      : lines_(lines), rows_(rows), cuts_(cuts) {}
  Result<bool> Next(Batch& batch) override {
    if (next_ == lines_.size()) return false;
    for (std::size_t row = 0; row < rows_ && next_ < lines_.size(); ++row, ++next_) {
      RecordHead head;
      head.index = head.document = head.key = next_;
      batch.heads.push_back(head);
      batch.text.Append(lines_[next_].text);
      if (cuts_) batch.cuts.Append(lines_[next_].cuts);
      batch.split.push_back(lines_[next_].split);
    }
    return true;
  }
  std::optional<InputEnd> End() const override { return InputEnd(); }

 private:
  const std::vector<Line>& lines_;
  std::size_t rows_;
  bool cuts_;
  std::size_t next_ = 0;
};

inline Json TokenizerConfig(std::string_view layout = "pipe", std::string_view boundaries = "auto") {
  Json config;
  config["model"] = "unigram";
  config["vocab_size"] = 336;
  config["layout"] = layout;
  config["boundaries"] = boundaries;
  config["byte_fallback"] = true;
  config["character_coverage"] = 0.9995;
  config["max_piece_length"] = 16;
  config["compare_boundaries"] = false;
  return config;
}

struct Trained {
  Status status;
  JobOutput output;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();

  std::string Object(std::string_view name) const {
    Result<std::string> bytes = ReadObject(*store, name, 1 << 24);
    EXPECT_TRUE(bytes.ok()) << name << ": " << bytes.status().message();
    return bytes.ok() ? std::move(bytes).value() : "";
  }
};

struct TrainingRun {
  Json config = TokenizerConfig();
  bool cuts = true;
  bool splits = false;
  std::size_t rows = 100;  // of a batch
  int threads = 1;
  std::uint64_t memory = std::uint64_t{1} << 30;
  std::string scratch = {};
  std::function<void(std::uint64_t done, std::uint64_t of)> progress = {};
  std::stop_token stop = {};
};

inline Schema TokenizerSchema(const TrainingRun& run) {
  Schema schema = TextSchema();
  if (run.cuts) schema.columns["cuts"] = ColumnType::kU32List;
  if (run.splits) schema.columns["split"] = ColumnType::kU8, schema.splits = {"validation", "train"};
  return schema;
}

inline Trained Train(const std::vector<Line>& lines, const TrainingRun& run = {}) {
  Trained trained;
  const StageType type = TrainTokenizerType(BuiltProgram());
  auto stage = type.job()->make({"tokenizer", run.config, TokenizerSchema(run)});
  if (!stage.ok()) {
    trained.status = stage.status();
    return trained;
  }
  JobRequest request;
  request.open_records = [&]() -> Result<std::unique_ptr<Source>> {
    return std::unique_ptr<Source>(std::make_unique<LinesSource>(lines, run.rows, run.cuts));
  };
  for (const Line& line : lines) {
    ArtifactTotals::Split& split =
        request.input.splits[run.splits && line.split == 0 ? "validation" : "train"];
    ++split.records, split.bytes += line.text.size();
  }
  request.out = trained.store.get();
  request.condition = [](const std::string&) { return Condition::CreateOnly(); };
  request.memory_bytes = run.memory;
  request.scratch = run.scratch;
  request.threads = run.threads;
  request.progress = run.progress;
  request.stop = run.stop;
  Result<JobOutput> output = (*stage)->Run(request);
  trained.status = output.status();
  if (output.ok()) trained.output = std::move(output).value();
  return trained;
}

}  // namespace pipeline
