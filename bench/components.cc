// Speed of single parts beside the library that they wrap or the loop that they stand for. No floors:
// these numbers say where to look when a ratio of run.py falls.
//
//   components [--benchmark_filter=REGEX]      PIPE_BENCH_TEXT names the text, as plain UTF-8

#include <benchmark/benchmark.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/digest.h"
#include "dag/books/run_log.h"
#include "dag/books/run_log_line.h"
#include "dag/records/transform.h"
#include "formats/line_cutter.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "stages/lines/line_stages.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kTextBytes = 8 << 20;
constexpr std::size_t kBatchBytes = 512 << 10;

const std::string& Text() {
  static const std::string text = [] {
    const char* path = std::getenv("PIPE_BENCH_TEXT");
    std::ifstream file(path ? path : "");
    std::string read(kTextBytes, '\0');
    file.read(read.data(), static_cast<std::streamsize>(read.size()));
    read.resize(static_cast<std::size_t>(file.gcount()));
    read.resize(read.rfind('\n') + 1);
    return read;
  }();
  return text;
}

const std::vector<std::string_view>& Lines() {
  static const std::vector<std::string_view> lines = [] {
    std::vector<std::string_view> cut;
    for (std::string_view rest = Text(); !rest.empty();) {
      const std::size_t end = rest.find('\n');
      if (end > 0) cut.push_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    return cut;
  }();
  return lines;
}

void CountText(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(Text().size()));
  if (Text().empty()) state.SkipWithError("PIPE_BENCH_TEXT names no text");
}

void CutLines(benchmark::State& state) {
  for (auto _ : state) {
    LineCutter cutter({});
    std::size_t at = 0;
    bool more = true;
    while (more) {
      const auto event = cutter.Next();
      if (!event.ok()) return state.SkipWithError("not cut");
      if (*event == LineCutter::Event::kInputEnd) more = false;
      if (*event != LineCutter::Event::kNeedInput) continue;
      const std::string_view fed = std::string_view(Text()).substr(at, 1 << 20);
      if (fed.empty())
        cutter.FinishInput();
      else
        cutter.Feed(fed);
      at += fed.size();
    }
  }
  CountText(state);
}

void ValidateUtf8(benchmark::State& state) {
  constexpr std::size_t kBatch = 256 << 10;
  for (auto _ : state)
    for (std::string_view left = Text(); !left.empty(); left.remove_prefix(std::min(left.size(), kBatch)))
      benchmark::DoNotOptimize(IsCleanUtf8(left.substr(0, kBatch)));
  CountText(state);
}

/// All the text through a new worker of the stage, in batches.
void ApplyStage(benchmark::State& state, const StageType& type, const Json& config) {
  const auto transform = type.transform()->make({"stage", config, {}});
  const auto worker = (*transform)->NewWorker();
  Batch batch;
  std::uint64_t kept = 0;
  for (auto _ : state) {
    kept = 0;
    for (auto line = Lines().begin(); line != Lines().end();) {
      batch.Clear(1);
      for (; line != Lines().end() && batch.text.bytes() < kBatchBytes; ++line) {
        batch.heads.emplace_back();
        batch.text.Append(*line);
      }
      StageCounts counts;
      if (!(*worker)->Apply(batch, 0, counts).ok()) return state.SkipWithError("the stage failed");
      kept += batch.size();
    }
  }
  state.counters["kept"] = static_cast<double>(kept) / static_cast<double>(Lines().size());
  CountText(state);
}

void NormalizeByStage(benchmark::State& state) {
  Json config;
  config["form"] = "nfkc";
  config["whitespace"] = "collapse";
  config["drop_empty"] = true;
  ApplyStage(state, NormalizeType(), config);
}

Json Range(double low, double high) { return Json(Json::Array{Json(low), Json(high)}); }

/// Rules that most lines keep, so that each line goes through all of them.
void FilterByCharacters(benchmark::State& state) {
  Json config;
  config["min_chars"] = 2;
  config["kana"] = Range(0.05, 1);
  config["symbols"] = Range(0, 0.3);
  config["max_run"] = 50;
  config["repeat_length"] = 10;
  if (state.range(0) > 0) {
    config["urls"] = Range(0, 0.3);
    config["patterns"] = Json(Json::Array{"続きを読む", "Copyright*reserved", "javascriptを有効に"});
  }
  if (state.range(0) > 1) config["repeats"] = Range(0, 0.5);
  ApplyStage(state, FilterType(), config);
}

void NormalizeByIcu(benchmark::State& state) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfkc = icu::Normalizer2::getNFKCInstance(error);
  std::string out;
  for (auto _ : state)
    for (const std::string_view line : Lines()) {
      out.clear();
      icu::StringByteSink<std::string> sink(&out);
      nfkc->normalizeUTF8(0, icu::StringPiece(line.data(), static_cast<std::int32_t>(line.size())), sink,
                          nullptr, error);
    }
  CountText(state);
}

void EncodeExamples(benchmark::State& state) {
  std::string out;
  for (auto _ : state) {
    for (const std::string_view line : Lines()) {
      if (out.size() > kBatchBytes) out.clear();
      AppendTfRecordHeader(out, TextExampleSize(kTfdsTextFeature, line));
      const std::size_t begin = out.size();
      AppendTextExample(out, kTfdsTextFeature, line);
      AppendTfRecordFooter(out, begin);
    }
  }
  CountText(state);
}

void Crc(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void HashText(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(DigestOf(Text()));
  CountText(state);
}

void LoadLog(benchmark::State& state) {
  char path[] = "/tmp/pipe-bench-log-XXXXXX";
  close(mkstemp(path));
  {
    std::ofstream log(path);
    log << "# pipe run log v1\n";
    UnitLine line;
    line.segment = 1;
    line.records = 300'000;
    line.splits["train"] = {300'000, 1'600, 64 << 20};
    line.counts["lines"].records_in = 300'000;
    line.counts["clean"].records_in = 300'000;
    for (int i = 0; i < state.range(0); ++i) {
      std::string name = std::to_string(100'000 + i);
      line.unit = "text/0000-" + name;
      line.recipe = line.content = line.digest = DigestOf(name);
      line.objects = {{"0000-" + name + ".spill", 64 << 20, 1, line.digest}};
      log << EncodeLine(line);
    }
  }
  for (auto _ : state) {
    const auto opened = RunLog::OpenReadOnly(path);
    if (!opened.ok() || (*opened)->damaged_lines() > 0) state.SkipWithError("not loaded");
  }
  unlink(path);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(CutLines)->Unit(benchmark::kMillisecond);
BENCHMARK(ValidateUtf8)->Unit(benchmark::kMillisecond);
BENCHMARK(NormalizeByStage)->Unit(benchmark::kMillisecond);
BENCHMARK(NormalizeByIcu)->Unit(benchmark::kMillisecond);
// 1: by patterns and URLs, too; 2: by repetition, too.
BENCHMARK(FilterByCharacters)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(EncodeExamples)->Unit(benchmark::kMillisecond);
BENCHMARK(HashText)->Unit(benchmark::kMillisecond);
BENCHMARK(Crc)->Arg(8)->Arg(216)->Arg(1024)->Arg(64 << 10);
BENCHMARK(LoadLog)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace pipeline

BENCHMARK_MAIN();
