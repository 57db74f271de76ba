// The stage `encode` with each of its engines, and a bare loop around libsentencepiece, in turns, on one
// thread.
//
//   encode_pair RULE TEXT TURNS     prints for each turn the CPU seconds of the loop, of the stage with the
//                                   library and of the stage with our encoder; RULE: of the normaliser
//   encode_pair worst TEXT ROUNDS   prints for each worst case its name and nanoseconds a byte, the best
//                                   of the rounds, for short lines and for one long line
//
// The tokenizer is trained on the first MiB of TEXT. With the rule `identity` it keeps text, as those of
// layout `pipe`; with others it has a prefix and removes white space, as the library does unless told
// otherwise.

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_seconds.h"
#include "bench/ending.h"
#include "bench/text_lines.h"
#include "dag/records/transform.h"
#include "stages/tokenizer/tokenizer_stages.h"
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

Result<std::string> Train(const std::vector<std::string>& lines, const std::string& rule) {
  std::map<std::string, std::string> options{{"normalization_rule_name", rule}};
  if (rule == "identity") options["add_dummy_prefix"] = options["remove_extra_whitespaces"] = "false";
  return TrainOn(lines, options);
}

Result<std::unique_ptr<Transform>> StageWith(const std::string& model, std::string_view engine) {
  const auto store = std::make_shared<MemoryStore>();
  RETURN_IF_ERROR(WriteObject(*store, "m.model", model, {}).status());
  StageContext context{"tokens", Json::Object{}, {}};
  context.config["engine"] = engine;
  context.artifacts.emplace("tokenizer", ArtifactInput{store, "m.model", {}});
  return EncodeType().transform()->make(context);
}

/// True if both made the same ids with the same ends.
bool AreEqual(const std::vector<Batch>& left, const std::vector<Batch>& right) {
  return std::ranges::equal(left, right, [](const Batch& one, const Batch& other) {
    return std::ranges::equal(one.ids.joined(), other.ids.joined()) &&
           std::ranges::equal(one.id_ends.joined(), other.id_ends.joined());
  });
}

Status Turns(const std::string& rule, const char* path, int turns) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(path));
  ASSIGN_OR_RETURN(const std::string model, Train(lines, rule));
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.LoadFromSerializedProto(model).ok()) return Failed("the loop has no model");
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> library, StageWith(model, "sentencepiece"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> own, StageWith(model, "own"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Worker> by_library, library->NewWorker());
  ASSIGN_OR_RETURN(const std::unique_ptr<Worker> by_own, own->NewWorker());
  std::vector<Batch> left = BatchesOf(lines), right = BatchesOf(lines);

  for (int turn = -1; turn < turns; ++turn) {  // the first warms up
    const double start = CpuSeconds();
    ASSIGN_OR_RETURN(const std::size_t loop_ids, BareLoop(processor, lines));
    const double after_loop = CpuSeconds();
    ASSIGN_OR_RETURN(const std::size_t library_ids, ByStage(*by_library, left));
    const double after_library = CpuSeconds();
    RETURN_IF_ERROR(ByStage(*by_own, right).status());
    const double end = CpuSeconds();
    if (loop_ids != library_ids || !AreEqual(left, right)) return Failed("the ids differ");
    if (turn >= 0)
      std::printf("%.4f %.4f %.4f\n", after_loop - start, after_library - after_loop, end - after_library);
  }
  return {};
}

/// At most so many bytes from the front of `text`, of whole characters.
std::string_view Beginning(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text;
  while ((text[bytes] & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

/// The part again and again, as one line of a MiB and as lines of a KiB.
Status WorstCases(const char* path, int rounds) {
  constexpr std::size_t kLong = 1 << 20, kShort = 1 << 10;
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(path));
  std::string unbroken;
  for (const std::string& line : lines)
    if (unbroken.size() < kLong) unbroken += line;
  const std::pair<const char*, std::string> parts[] = {{"one character repeated", "の"},
                                                       {"a text without a break", unbroken},
                                                       {"all by bytes", "𒀀𒁹"},
                                                       {"text that the normaliser replaces", "㍿ﷺ"}};
  for (const char* rule : {"identity", "nmt_nfkc"}) {
    ASSIGN_OR_RETURN(const std::string model, Train(lines, rule));
    ASSIGN_OR_RETURN(const std::unique_ptr<Transform> stage, StageWith(model, "own"));
    ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker, stage->NewWorker());
    for (const auto& [name, part] : parts) {
      double best[2] = {1e9, 1e9};
      std::vector<Batch> batches[2];
      std::string repeated;
      while (repeated.size() < kLong) repeated += part;
      const std::string_view whole = Beginning(repeated, kLong);
      std::vector<std::string> shorter;
      for (std::size_t at = 0; at < whole.size(); at += shorter.back().size())
        shorter.emplace_back(Beginning(whole.substr(at), kShort));
      batches[0] = BatchesOf(shorter);
      batches[1] = BatchesOf({std::string(whole)});
      for (int round = 0; round < rounds; ++round)
        for (int length = 0; length < 2; ++length) {
          const double start = CpuSeconds();
          RETURN_IF_ERROR(ByStage(*worker, batches[length]).status());
          best[length] = std::min(best[length], CpuSeconds() - start);
        }
      std::printf("%s, %s\t%.3f\t%.3f\n", name, rule, best[0] / kLong * 1e9, best[1] / kLong * 1e9);
    }
  }
  return {};
}

Status Run(const std::string& asked, const char* path, int times) {
  return asked == "worst" ? WorstCases(path, times) : Turns(asked, path, times);
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return pipeline::ExitCode("encode_pair", pipeline::Run(argv[1], argv[2], std::atoi(argv[3])));
}
