// What write_tfds makes of text, on one thread: bytes of text a second of CPU, as framed Examples, and split
// to 128 tokens.
//
//   tfds_speed TEXT     prints MB/s without a limit, with one, and of a bare SentencePiece loop over the same
//   lines
//
// The tokenizer is trained on the first MiB of TEXT.

#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "stages/tfds_encoder.h"
#include "text/sentencepiece_handle.h"

namespace pipeline {

namespace {

constexpr std::size_t kTextBytes = 8 << 20, kBatchBytes = 512 << 10, kTrainBytes = 1 << 20;
constexpr double kLeastSeconds = 1;

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void Fail(std::string_view why) {
  std::fprintf(stderr, "tfds_speed: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}

std::vector<std::string> ReadLines(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (std::string line; bytes < kTextBytes && std::getline(file, line); bytes += line.size())
    if (!line.empty()) lines.push_back(line);
  if (lines.empty()) Fail("no text");
  return lines;
}

std::string TrainOn(const std::vector<std::string>& lines) {
  std::size_t next = 0, bytes = 0;
  Result<std::string> model =
      TrainSentencePiece({{"vocab_size", "8000"}, {"byte_fallback", "true"}, {"minloglevel", "2"}},
                         [&](std::string& sentence) -> Result<bool> {
                           if (next == lines.size() || bytes > kTrainBytes) return false;
                           sentence = lines[next++];
                           bytes += sentence.size();
                           return true;
                         });
  if (!model.ok()) Fail(model.status().message());
  return std::move(model).value();
}

/// Text as batches, filled anew for each round: a worker may split them.
void FillBatch(const std::vector<std::string>& lines, std::size_t& next, Batch& batch) {
  batch.Clear(1);
  for (; next < lines.size() && batch.text.bytes() < kBatchBytes; ++next) {
    batch.heads.push_back({next, 0, 0, 0});
    batch.text.Append(lines[next]);
  }
}

double Measure(const std::vector<std::string>& lines, const TfdsRecords& records) {
  const std::unique_ptr<Transform> encoder = NewTfdsEncoder(records);
  auto worker = encoder->NewWorker();
  if (!worker.ok()) Fail(worker.status().message());
  double seconds = 0, bytes = 0;
  Batch batch;
  while (seconds < kLeastSeconds)
    for (std::size_t next = 0; next < lines.size();) {
      FillBatch(lines, next, batch);
      bytes += static_cast<double>(batch.text.bytes());
      StageCounts counts;
      const double began = CpuSeconds();
      if (!(*worker)->Apply(batch, 0, counts).ok()) Fail("cannot encode");
      seconds += CpuSeconds() - began;
    }
  return bytes / seconds / 1e6;
}

double MeasureLoop(const std::vector<std::string>& lines, const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok()) Fail("the loop cannot load the model");
  std::vector<int> ids;
  double bytes = 0;
  const double began = CpuSeconds();
  for (const std::string& line : lines) {
    if (!processor.Encode(line, &ids).ok()) Fail("the loop cannot encode");
    bytes += static_cast<double>(line.size());
  }
  return bytes / (CpuSeconds() - began) / 1e6;
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  using namespace pipeline;
  if (argc != 2) Fail("tfds_speed TEXT");
  const std::vector<std::string> lines = ReadLines(argv[1]);
  const std::string model = TrainOn(lines);
  TfdsRecords records;
  records.features = {"text"};
  const double plain = Measure(lines, records);
  auto tokenizer = SentencePieceEncoder::Load(model);
  if (!tokenizer.ok()) Fail(tokenizer.status().message());
  records.tokenizer = std::move(tokenizer).value();
  records.max_tokens = 128;
  std::printf("%.1f %.2f %.2f\n", plain, Measure(lines, records), MeasureLoop(lines, model));
}
