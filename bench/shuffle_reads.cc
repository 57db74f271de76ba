// How many bytes the second pass of a global shuffle reads for each byte that it writes: a number that
// the publication keeps and no command prints.
//
//   shuffle_reads CORPUS WORK PARTITION_BYTES MEMORY_BYTES SHARDS...
//
// One line for each number of shards: shards, bytes written, bytes read, most that was held at once.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "bench/ending.h"
#include "bench/sink_timing.h"
#include "formats/compression.h"
#include "formats/line_cutter.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/sharded_stage.h"
#include "stages/shards/shuffle.h"
#include "storage/local_file.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::size_t kBatchBytes = 512 << 10;

ShardRules Rules(std::uint32_t shards) {
  ShardRules rules;
  rules.splits = {"train"};
  rules.shuffle_seed = 0;
  rules.shards = shards;
  rules.auto_shards = AutoShardCount;
  rules.object_name = [](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return TfdsShardName("reads", split, number, count);
  };
  return rules;
}

/// The first pass without its pipeline: examples of a corpus' lines to spills.
class Spiller {
 public:
  Spiller(const ShardedStage& sharded, Store& artifact) : sharded_(sharded), artifact_(artifact) {}

  Status Add(const CutRecord& record) {
    if (!sink_) {
      output_.id = {0, record.partition};
      ASSIGN_OR_RETURN(sink_, sharded_.OpenPartition(artifact_, output_.id));
    }
    batch_.heads.push_back({record.index, 0, record.document, record.key});
    std::string& row = batch_.payload.open_row();
    AppendTfRecordHeader(row, TextExampleSize(kTfdsTextFeature, record.bytes));
    const std::size_t begin = row.size();
    AppendTextExample(row, kTfdsTextFeature, record.bytes);
    AppendTfRecordFooter(row, begin);
    batch_.payload.CloseRow();
    return batch_.payload.bytes() < kBatchBytes ? Status() : Flush();
  }

  Status EndPartition(const CutEnd& end) {
    RETURN_IF_ERROR(Flush());
    ASSIGN_OR_RETURN(output_.committed, sink_->Commit({end.raw_end, end.document_end}));
    sink_.reset();
    outputs_.push_back(std::move(output_));
    output_ = {};
    return {};
  }

  const std::vector<PartitionOutput>& outputs() const { return outputs_; }

 private:
  Status Flush() {
    ArtifactTotals::Split& totals = output_.splits["train"];
    totals.records += batch_.size();
    totals.bytes += batch_.payload.bytes();
    const Status written = sink_->Write(batch_);
    batch_.Clear(1);
    return written;
  }

  const ShardedStage& sharded_;
  Store& artifact_;
  Batch batch_;
  PartitionOutput output_;
  std::unique_ptr<Sink> sink_;
  std::vector<PartitionOutput> outputs_;
};

Status Spill(const std::string& corpus, std::uint64_t partition_bytes, Spiller& spiller) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(corpus));
  const ByteFile& bytes = *file;
  std::string buffer(1 << 20, '\0');
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> front, bytes.Open(0, {}));
  ASSIGN_OR_RETURN(const std::size_t seen, front->Read(std::span(buffer).first(kMagicBytes)));
  ASSIGN_OR_RETURN(const Compression format,
                   DetectCompression(std::string_view(buffer).substr(0, seen), corpus));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> stored, bytes.Open(0, {}));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> text, format.Decode(std::move(stored)));
  LineRules rules;
  rules.partition_bytes = partition_bytes;
  LineCutter cutter(rules);
  while (true) {
    ASSIGN_OR_RETURN(const LineCutter::Event event, cutter.Next());
    switch (event) {
      case LineCutter::Event::kNeedInput: {
        ASSIGN_OR_RETURN(const std::size_t got, text->Read(buffer));
        if (got == 0)
          cutter.FinishInput();
        else
          cutter.Feed(std::string_view(buffer).substr(0, got));
        break;
      }
      case LineCutter::Event::kRecord: RETURN_IF_ERROR(spiller.Add(cutter.record())); break;
      case LineCutter::Event::kHeader:
      case LineCutter::Event::kSetAside:
      case LineCutter::Event::kSectionEnd: break;
      case LineCutter::Event::kPartitionEnd:
        RETURN_IF_ERROR(spiller.EndPartition(cutter.partition_end()));
        break;
      case LineCutter::Event::kInputEnd: return {};
    }
  }
}

Status Measure(std::uint32_t shards, const std::vector<PartitionOutput>& outputs, Store& artifact,
               const std::string& out, std::uint64_t memory_bytes) {
  LocalStore store(out);
  ASSIGN_OR_RETURN(const std::unique_ptr<ShufflePublication> publication,
                   ShufflePublication::Plan(Rules(shards), artifact, outputs));
  ASSIGN_OR_RETURN(const WrittenShards written, WriteShards(*publication, store, memory_bytes));
  const MergeCounters& counters = publication->counters();
  std::printf("%u %llu %llu %llu\n", shards, static_cast<unsigned long long>(written.bytes),
              static_cast<unsigned long long>(counters.bytes_read.load()),
              static_cast<unsigned long long>(counters.peak_bytes.load()));
  return {};
}

Status Run(const std::vector<std::string>& args) {
  const std::string& work = args[1];
  LocalStore artifact(StrCat(work, "/spills"));
  const ShardedStage output(Rules(1));
  Spiller spiller(output, artifact);
  RETURN_IF_ERROR(Spill(args[0], std::strtoull(args[2].c_str(), nullptr, 10), spiller));
  for (std::size_t at = 4; at < args.size(); ++at)
    RETURN_IF_ERROR(Measure(static_cast<std::uint32_t>(std::strtoul(args[at].c_str(), nullptr, 10)),
                            spiller.outputs(), artifact, StrCat(work, "/", args[at]),
                            std::strtoull(args[3].c_str(), nullptr, 10)));
  return {};
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: shuffle_reads CORPUS WORK PARTITION_BYTES MEMORY_BYTES SHARDS...\n");
    return 2;
  }
  return pipeline::ExitCode("shuffle_reads", pipeline::Run({argv + 1, argv + argc}));
}
