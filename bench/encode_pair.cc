// The stage `encode` beside a bare loop around libsentencepiece, in turns, on one thread.
//
//   encode_pair TEXT PAIRS     prints, for each pair, CPU seconds of the loop and of the stage
//
// The tokenizer keeps text, as those of layout `pipe`, and is trained on the first MiB of TEXT.

#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "stages/encode.h"
#include "storage/memory_store.h"
#include "text/sentencepiece_handle.h"

namespace pipeline {

namespace {

constexpr std::size_t kTextBytes = 8 << 20;
constexpr std::size_t kBatchBytes = 512 << 10;
constexpr std::size_t kTrainBytes = 1 << 20;

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void Fail(std::string_view why) {
  std::fprintf(stderr, "encode_pair: %.*s\n", static_cast<int>(why.size()), why.data());
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
  Result<std::string> model = TrainSentencePiece({{"vocab_size", "8000"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"add_dummy_prefix", "false"},
                                                  {"remove_extra_whitespaces", "false"},
                                                  {"byte_fallback", "true"},
                                                  {"minloglevel", "2"}},
                                                 [&](std::string& sentence) -> Result<bool> {
                                                   if (next == lines.size() || bytes > kTrainBytes)
                                                     return false;
                                                   sentence = lines[next++];
                                                   bytes += sentence.size();
                                                   return true;
                                                 });
  if (!model.ok()) Fail(model.status().message());
  return std::move(model).value();
}

std::size_t BareLoop(const sentencepiece::SentencePieceProcessor& processor,
                     const std::vector<std::string>& lines) {
  std::vector<int> ids;
  std::size_t made = 0;
  for (const std::string& line : lines) {
    if (!processor.Encode(line, &ids).ok()) Fail("the loop cannot encode");
    made += ids.size();
  }
  return made;
}

std::size_t ByStage(Worker& worker, std::vector<Batch>& batches) {
  std::size_t made = 0;
  for (Batch& batch : batches) {
    batch.ids.Clear(), batch.id_ends.Clear();
    StageCounts counts;
    if (!worker.Apply(batch, 0, counts).ok()) Fail("the stage cannot encode");
    made += batch.ids.joined().size();
  }
  return made;
}

void Run(const char* path, int pairs) {
  const std::vector<std::string> lines = ReadLines(path);
  const std::string model = TrainOn(lines);
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok()) Fail("the loop has no model");

  const auto store = std::make_shared<MemoryStore>();
  if (!WriteObject(*store, "m.model", model, {}).ok()) Fail("no store");
  StageContext context{"tokens", Json::Object{}, {}};
  context.artifacts.emplace("tokenizer", ArtifactInput{store, "m.model", {}});
  const auto transform = std::get<TransformFactory>(EncodeType().make)(context);
  if (!transform.ok()) Fail(transform.status().message());
  const auto worker = (*transform)->NewWorker();
  std::vector<Batch> batches(1);
  for (const std::string& line : lines) {
    if (batches.back().text.bytes() > kBatchBytes) batches.emplace_back();
    batches.back().heads.emplace_back();
    batches.back().text.Append(line);
  }

  for (int pair = -1; pair < pairs; ++pair) {  // the first warms up
    const double start = CpuSeconds();
    const std::size_t by_loop = BareLoop(processor, lines);
    const double middle = CpuSeconds();
    const std::size_t by_stage = ByStage(**worker, batches);
    const double end = CpuSeconds();
    if (by_loop != by_stage) Fail("the loop and the stage made different ids");
    if (pair >= 0) std::printf("%.4f %.4f\n", middle - start, end - middle);
  }
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 3) pipeline::Fail("usage: encode_pair TEXT PAIRS");
  pipeline::Run(argv[1], std::atoi(argv[2]));
}
