// From sentences to examples of BERT in memory, on one thread: words and pieces, pairs and masks, both
// passes.
//
//   bert_writer VOCABULARY TEXT
//
// TEXT has a sentence per line and a blank line behind each document. One line: examples, bytes of all
// shards, seconds of the processor with and without tokenising.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/str.h"
#include "stages/tokenizer_facts.h"
#include "stages/write_bert.h"
#include "storage/memory_store.h"
#include "text/wordpiece.h"

namespace pipeline {

namespace {

constexpr std::size_t kBatchBytes = 512 << 10;
constexpr std::uint64_t kMemory = 1 << 30;
constexpr std::string_view kFile = "vocab.txt";

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

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

struct Written {
  std::uint64_t examples = 0, bytes = 0;
};

Result<Written> Write(const SinkStage& stage, const std::vector<Batch>& batches) {
  MemoryStore artifact, out;
  ASSIGN_OR_RETURN(const std::unique_ptr<Sink> sink, stage.OpenPartition(artifact, {0, 0}));
  for (const Batch& batch : batches) RETURN_IF_ERROR(sink->Write(batch));
  ASSIGN_OR_RETURN(PartitionOutput output, sink->Commit({}));
  Written written;
  ASSIGN_OR_RETURN(const std::unique_ptr<Publication> plan,
                   stage.Plan(artifact, {{{0, 0}, std::move(output), {}}}));
  for (const std::vector<std::size_t>& group : plan->Groups(kMemory))
    RETURN_IF_ERROR(plan->Run(
        group, [](std::size_t) { return true; }, [](const std::string&) { return Condition::ReplaceAny(); },
        out,
        [&written](std::size_t, const ShardOutput& shard) {
          written.bytes += shard.object.bytes;
          written.examples += shard.records;
          return Status();
        },
        kMemory, {}));
  return written;
}

Status Measure(const char* vocabulary_path, const char* text_path) {
  const std::string file = ReadAll(vocabulary_path), text = ReadAll(text_path);
  auto store = std::make_shared<MemoryStore>();
  ASSIGN_OR_RETURN(const auto writer, store->Create(std::string(kFile), Condition::ReplaceAny()));
  RETURN_IF_ERROR(writer->Append(file));
  RETURN_IF_ERROR(writer->Commit({}).status());
  const double began = Seconds();
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
  ASSIGN_OR_RETURN(const std::unique_ptr<SinkStage> stage,
                   std::get<SinkFactory>(WriteBertType().make)(context));
  const double tokenising = Seconds() - began;
  double writing = 1e9;
  Written written;
  for (int round = 0; round < 3; ++round) {
    const double start = Seconds();
    ASSIGN_OR_RETURN(written, Write(*stage, batches));
    writing = std::min(writing, Seconds() - start);
  }
  std::printf("%llu %llu %.4f %.4f\n", static_cast<unsigned long long>(written.examples),
              static_cast<unsigned long long>(written.bytes), tokenising + writing, writing);
  return {};
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const pipeline::Status status = pipeline::Measure(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "bert_writer: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
