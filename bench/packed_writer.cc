// The speed of write_packed alone: ids in memory to shards in memory, both passes, on one thread.
//
//   packed_writer
//
// One line for each packing and encoding: packing, encoding, bytes of all shards, seconds of the processor,
// bytes of text.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/str.h"
#include "stages/tokenizer_facts.h"
#include "stages/write_packed.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kModel = "a model";
constexpr std::uint32_t kVocabulary = 32'000;
constexpr std::uint32_t kPartitions = 4;
constexpr std::size_t kPartitionBytes = 8 << 20;  // of text
constexpr std::size_t kBatchBytes = 512 << 10;
constexpr std::size_t kIdBytes = 4;  // of text that an id stands for
constexpr std::uint64_t kMemory = 256 << 20;

std::shared_ptr<MemoryStore> Tokenizer() {
  auto store = std::make_shared<MemoryStore>();
  auto writer = store->Create("spm.model", Condition::ReplaceAny());
  if (!writer.ok() || !(*writer)->Append(kModel).ok() || !(*writer)->Commit({}).ok()) return nullptr;
  return store;
}

/// Documents of one to sixty lines of up to a hundred ids: most fit into a row, some take several.
std::vector<Batch> Partition(std::uint32_t number) {
  std::mt19937 random(number);
  std::vector<Batch> batches;
  std::uint64_t document = 0, left = 0;
  for (std::size_t made = 0; made < kPartitionBytes;) {
    Batch& batch = batches.emplace_back();
    batch.Clear(1);
    batch.partition = {0, number};
    while (batch.text.bytes() < kBatchBytes) {
      if (left == 0) ++document, left = 1 + random() % (random() % 10 == 0 ? 60 : 8);
      --left;
      std::vector<std::uint32_t> ids(1 + random() % 100), ends;
      // Small ids are common, as in a tokenizer's.
      for (std::uint32_t& id : ids)
        id = 5 + static_cast<std::uint32_t>(random() % (random() % 2 == 0 ? 300 : kVocabulary - 5));
      for (std::size_t at = 1; at <= ids.size(); ++at)
        ends.push_back(static_cast<std::uint32_t>(at * kIdBytes));
      batch.heads.push_back({batch.heads.size(), 0, document, 0});
      batch.text.Append(std::string(ids.size() * kIdBytes, 'x'));
      batch.ids.Append(ids);
      batch.id_ends.Append(ends);
    }
    made += batch.text.bytes();
  }
  return batches;
}

/// What a run does: both passes.
Result<std::uint64_t> Write(const SinkStage& stage, const std::vector<std::vector<Batch>>& partitions) {
  MemoryStore artifact, out;
  std::vector<Piece> pieces;
  for (const std::vector<Batch>& batches : partitions) {
    const PartitionId id = batches.front().partition;
    ASSIGN_OR_RETURN(const std::unique_ptr<Sink> sink, stage.OpenPartition(artifact, id));
    for (const Batch& batch : batches) RETURN_IF_ERROR(sink->Write(batch));
    ASSIGN_OR_RETURN(PartitionOutput output, sink->Commit({}));
    pieces.push_back({id, std::move(output), {}});
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Publication> plan, stage.Plan(artifact, pieces));
  std::uint64_t bytes = 0;
  for (const std::vector<std::size_t>& group : plan->Groups(kMemory))
    RETURN_IF_ERROR(plan->Run(
        group, [](std::size_t) { return true; }, [](const std::string&) { return Condition::ReplaceAny(); },
        out,
        [&bytes](std::size_t, const ShardOutput& output) {
          bytes += output.object.bytes;
          return Status();
        },
        kMemory, {}));
  return bytes;
}

Status Measure() {
  std::vector<std::vector<Batch>> partitions;
  std::uint64_t text = 0;
  for (std::uint32_t number = 0; number < kPartitions; ++number) {
    partitions.push_back(Partition(number));
    for (const Batch& batch : partitions.back()) text += batch.text.bytes();
  }
  StageContext context;
  context.name = "packed";
  context.schema.splits = {"train"};
  const TokenizerFacts facts = {"pipe", kVocabulary, 0, 1, 2, 3, 4, "spm.model", DigestOf(kModel)};
  context.artifacts["tokenizer"] = {Tokenizer(), "", ToJson(facts)};
  context.config["seq_len"] = 1024;
  context.config["shuffle"]["seed"] = 0;
  context.config["shards"] = 8;
  for (const char* packing : {"stream", "best_fit"})
    for (const char* encoding : {"example", "raw16", "raw32", "mmap", "array_record"}) {
      context.config["packing"] = packing;
      context.config["encoding"] = encoding;
      ASSIGN_OR_RETURN(const std::unique_ptr<SinkStage> stage,
                       std::get<SinkFactory>(WritePackedType().make)(context));
      double best = 1e9;
      std::uint64_t bytes = 0;
      for (int round = 0; round < 3; ++round) {
        const std::clock_t began = std::clock();
        ASSIGN_OR_RETURN(bytes, Write(*stage, partitions));
        best = std::min(best, static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
      }
      std::printf("%s %s %llu %.4f %llu\n", packing, encoding, static_cast<unsigned long long>(bytes), best,
                  static_cast<unsigned long long>(text));
    }
  return {};
}

}  // namespace

}  // namespace pipeline

int main() {
  const pipeline::Status status = pipeline::Measure();
  if (!status.ok()) std::fprintf(stderr, "packed_writer: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
