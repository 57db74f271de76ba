// The speed of a stage that writes ids, alone: ids in memory to shards in memory, both passes, on one thread.
//
//   id_writers packed|tfdata
//
// One line for each form of the stage: its name, bytes of all shards, seconds of the processor, bytes of
// text, seconds of a bare loop over the rows.

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/str.h"
#include "bench/ending.h"
#include "bench/sink_timing.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/tfdata/tfdata_export.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kModel = "a model";
constexpr std::uint32_t kVocabulary = 32'000;
constexpr std::uint32_t kPartitions = 4;
constexpr std::size_t kPartitionBytes = 8 << 20;  // of text
constexpr std::size_t kBatchBytes = 512 << 10;
constexpr std::size_t kIdBytes = 4;  // of text that an id stands for

std::shared_ptr<MemoryStore> Tokenizer() {
  auto store = std::make_shared<MemoryStore>();
  return WriteObject(*store, "spm.model", kModel, {}).ok() ? store : nullptr;
}

/// Documents of one to sixty lines of up to a hundred ids: most fit into a row, some take several.
std::vector<Batch> Partition(std::uint32_t number) {
  std::mt19937 random(number);
  std::vector<Batch> batches;
  std::uint64_t index = 0, document = 0, left = 0;
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
      batch.heads.push_back({index++, 0, document, 0});
      batch.text.Append(std::string(ids.size() * kIdBytes, 'x'));
      batch.ids.Append(ids);
      batch.id_ends.Append(ends);
    }
    made += batch.text.bytes();
  }
  return batches;
}

struct Made {
  std::vector<std::vector<Batch>> partitions;
  std::uint64_t text = 0;  // bytes
};

Made MakePartitions() {
  Made made;
  for (std::uint32_t number = 0; number < kPartitions; ++number) {
    made.partitions.push_back(Partition(number));
    for (const Batch& batch : made.partitions.back()) made.text += batch.text.bytes();
  }
  return made;
}

Status Measure(const std::string& form, const StageType& type, const StageContext& context,
               const Made& made) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SinkStage> stage, type.sink()->make(context));
  ASSIGN_OR_RETURN(const WrittenShards written, TimeSink(*stage, made.partitions));
  std::printf("%s %llu %.4f %llu %.4f\n", form.c_str(), static_cast<unsigned long long>(written.bytes),
              written.seconds, static_cast<unsigned long long>(made.text), written.bare_seconds);
  return {};
}

Status MeasurePacked(StageContext context, const Made& made) {
  context.config["seq_len"] = 1024;
  for (const char* packing : {"stream", "best_fit"})
    for (const char* encoding : {"example", "raw16", "raw32", "mmap", "array_record"}) {
      context.config["packing"] = packing;
      context.config["encoding"] = encoding;
      RETURN_IF_ERROR(Measure(StrCat(packing, "_", encoding), WritePackedType(), context, made));
    }
  return {};
}

Status MeasureTfdata(StageContext context, const Made& made) {
  context.config["name"] = "ids";
  for (const char* eos : {"document", "line", "none"}) {
    context.config["eos"] = eos;
    RETURN_IF_ERROR(Measure(StrCat("eos_", eos), WriteTfdataType(), context, made));
  }
  return {};
}

Status MeasureWriter(std::string_view writer) {
  StageContext context;
  context.name = writer;
  context.schema.splits = {"train"};
  const TokenizerFacts facts = {"pipe", kVocabulary, 0, 1, 2, 3, 4, "spm.model", DigestOf(kModel)};
  context.artifacts["tokenizer"] = {Tokenizer(), "", ToJson(facts)};
  context.config["shuffle"]["seed"] = 0;
  context.config["shards"] = 8;
  if (writer == "packed") return MeasurePacked(context, MakePartitions());
  if (writer == "tfdata") return MeasureTfdata(context, MakePartitions());
  return Status(Code::kInvalidArgument, "usage: id_writers packed|tfdata");
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  return pipeline::ExitCode("id_writers", pipeline::MeasureWriter(argc == 2 ? argv[1] : ""));
}
