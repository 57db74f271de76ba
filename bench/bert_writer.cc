// From sentences to examples of BERT in memory, on one thread: words and pieces, pairs and masks, both
// passes.
//
//   bert_writer VOCABULARY TEXT
//
// TEXT has a sentence per line and a blank line behind each document. One line: examples, bytes of all
// shards, seconds of the processor with and without tokenising, and those of a bare loop over the rows.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/str.h"
#include "bench/cpu_seconds.h"
#include "bench/ending.h"
#include "bench/sink_timing.h"
#include "stages/export/bert/bert_export.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "storage/memory_store.h"
#include "text/wordpiece.h"

namespace pipeline {

namespace {

constexpr std::size_t kBatchBytes = 512 << 10;
constexpr std::string_view kFile = "vocab.txt";

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Batch> Tokenised(std::string_view text, const WordPieceVocabulary& vocabulary) {
  const WordPieceEncoder encoder(vocabulary, BertWordKind::kText);
  BertWords words;
  std::vector<Batch> batches;
  std::uint64_t document = 0, index = 0;
  while (!text.empty()) {
    if (batches.empty() || batches.back().text.bytes() >= kBatchBytes) batches.emplace_back().Clear(1);
    Batch& batch = batches.back();
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) {
      ++document;
      continue;
    }
    batch.heads.push_back({index++, 0, document, 0});
    batch.text.Append(line);
    encoder.Encode(line, {}, words, batch.ids.open_row(), batch.id_ends.open_row());
    batch.ids.CloseRow(), batch.id_ends.CloseRow();
  }
  return batches;
}

Status Measure(const char* vocabulary_path, const char* text_path) {
  const std::string file = ReadAll(vocabulary_path), text = ReadAll(text_path);
  auto store = std::make_shared<MemoryStore>();
  RETURN_IF_ERROR(WriteObject(*store, std::string(kFile), file, {}).status());
  const double began = CpuSeconds();
  ASSIGN_OR_RETURN(const WordPieceVocabulary vocabulary, WordPieceVocabulary::Parse(file));
  const std::vector<Batch> batches = Tokenised(text, vocabulary);
  StageContext context;
  context.name = "bert";
  context.schema.splits = {"train"};
  context.artifacts["tokenizer"] = {store, "", ToJson(FactsOfVocabulary(vocabulary, kFile, file))};
  Json& config = context.config;
  config["seq_len"] = 128, config["max_predictions"] = 20, config["masked_share"] = 0.15;
  config["dupe_factor"] = 1, config["short_share"] = 0.1, config["next_sentence"] = true;
  config["whole_words"] = "none", config["seed"] = 12345, config["model_size"] = "base";
  config["shuffle"]["seed"] = 0, config["shards"] = 8;
  ASSIGN_OR_RETURN(const std::unique_ptr<SinkStage> stage, WriteBertType().sink()->make(context));
  const double tokenising = CpuSeconds() - began;
  ASSIGN_OR_RETURN(const WrittenShards written, TimeSink(*stage, {batches}));
  std::printf("%llu %llu %.4f %.4f %.4f\n", static_cast<unsigned long long>(written.records),
              static_cast<unsigned long long>(written.bytes), tokenising + written.seconds, written.seconds,
              written.bare_seconds);
  return {};
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return pipeline::ExitCode("bert_writer", pipeline::Measure(argv[1], argv[2]));
}
