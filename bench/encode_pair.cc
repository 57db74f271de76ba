// The stage `encode` beside a bare loop around libsentencepiece, in turns, on one thread.
//
//   encode_pair TEXT PAIRS     prints, for each pair, CPU seconds of the loop and of the stage
//
// The tokenizer keeps text, as those of layout `pipe`, and is trained on the first MiB of TEXT.

#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu_seconds.h"
#include "bench/ending.h"
#include "bench/text_lines.h"
#include "dag/records/transform.h"
#include "stages/tokenizer/encode.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

Status Failed(const char* why) { return Status(Code::kInternal, why); }

Result<std::size_t> BareLoop(const sentencepiece::SentencePieceProcessor& processor,
                             const std::vector<std::string>& lines) {
  std::vector<int> ids;
  std::size_t made = 0;
  for (const std::string& line : lines) {
    if (!processor.Encode(line, &ids).ok()) return Failed("the loop cannot encode");
    made += ids.size();
  }
  return made;
}

Result<std::size_t> ByStage(Worker& worker, std::vector<Batch>& batches) {
  std::size_t made = 0;
  for (Batch& batch : batches) {
    batch.ids.Clear(), batch.id_ends.Clear();
    StageCounts counts;
    RETURN_IF_ERROR(worker.Apply(batch, 0, counts));
    made += batch.ids.joined().size();
  }
  return made;
}

Status Run(const char* path, int pairs) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(path));
  ASSIGN_OR_RETURN(const std::string model, TrainOn(lines, {{"normalization_rule_name", "identity"},
                                                            {"add_dummy_prefix", "false"},
                                                            {"remove_extra_whitespaces", "false"}}));
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok()) return Failed("the loop has no model");

  const auto store = std::make_shared<MemoryStore>();
  RETURN_IF_ERROR(WriteObject(*store, "m.model", model, {}).status());
  StageContext context{"tokens", Json::Object{}, {}};
  context.artifacts.emplace("tokenizer", ArtifactInput{store, "m.model", {}});
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> stage, EncodeType().transform()->make(context));
  ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker, stage->NewWorker());
  std::vector<Batch> batches = BatchesOf(lines);

  for (int pair = -1; pair < pairs; ++pair) {  // the first warms up
    const double start = CpuSeconds();
    ASSIGN_OR_RETURN(const std::size_t by_loop, BareLoop(processor, lines));
    const double middle = CpuSeconds();
    ASSIGN_OR_RETURN(const std::size_t by_stage, ByStage(*worker, batches));
    const double end = CpuSeconds();
    if (by_loop != by_stage) return Failed("the loop and the stage made different ids");
    if (pair >= 0) std::printf("%.4f %.4f\n", middle - start, end - middle);
  }
  return {};
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return pipeline::ExitCode("encode_pair", pipeline::Run(argv[1], std::atoi(argv[2])));
}
