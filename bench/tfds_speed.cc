// The speed of write_tfds on text whose lines are split to 128 tokens, on one thread.
//
//   tfds_speed TEXT     prints MB of text a second of CPU, and of a bare SentencePiece loop over its lines
//
// The tokenizer is trained on the first MiB of TEXT.

#include <sentencepiece_processor.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu_seconds.h"
#include "bench/ending.h"
#include "bench/text_lines.h"
#include "stages/export/tfds/tfds_encoder.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

namespace {

constexpr double kLeastSeconds = 1;

Result<double> Measure(const std::vector<Batch>& batches, const TfdsRecords& records) {
  const std::unique_ptr<Transform> encoder = NewTfdsEncoder(records);
  ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker, encoder->NewWorker());
  double seconds = 0, bytes = 0;
  while (seconds < kLeastSeconds)
    for (const Batch& lines : batches) {
      Batch batch = lines;  // a worker may split them
      bytes += static_cast<double>(batch.text.bytes());
      StageCounts counts;
      const double began = CpuSeconds();
      RETURN_IF_ERROR(worker->Apply(batch, 0, counts));
      seconds += CpuSeconds() - began;
    }
  return bytes / seconds / 1e6;
}

Result<double> MeasureLoop(const std::vector<std::string>& lines, const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok())
    return Status(Code::kInternal, "the loop cannot load the model");
  std::vector<int> ids;
  double bytes = 0;
  const double began = CpuSeconds();
  for (const std::string& line : lines) {
    if (!processor.Encode(line, &ids).ok()) return Status(Code::kInternal, "the loop cannot encode");
    bytes += static_cast<double>(line.size());
  }
  return bytes / (CpuSeconds() - began) / 1e6;
}

Status Run(const char* path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(path));
  ASSIGN_OR_RETURN(const std::string model, TrainOn(lines));
  const std::vector<Batch> batches = BatchesOf(lines);
  TfdsRecords records;
  records.features = {"text"};
  ASSIGN_OR_RETURN(records.tokenizer, SentencePieceEncoder::Load(model));
  records.max_tokens = 128;
  ASSIGN_OR_RETURN(const double split, Measure(batches, records));
  ASSIGN_OR_RETURN(const double loop, MeasureLoop(lines, model));
  std::printf("%.2f %.2f\n", split, loop);
  return {};
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return pipeline::ExitCode("tfds_speed", pipeline::Run(argv[1]));
}
