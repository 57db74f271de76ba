// The speed of a stage that writes text, alone: lines in memory to shards in memory, both passes, on one
// thread.
//
//   text_writers tfds|jsonl TEXT
//
// One line for each form of the stage: its name, bytes of all shards, seconds of the processor, bytes of
// text, seconds of a bare loop over the rows. Span corruption counts in units of two characters, about the
// length of a piece of a tokenizer.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/str.h"
#include "bench/ending.h"
#include "bench/sink_timing.h"
#include "bench/text_lines.h"
#include "stages/export/jsonl/jsonl_export.h"
#include "stages/export/tfds/tfds_export.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kUnitCharacters = 2;

void AddUnits(Batch& batch) {
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const std::string_view text = batch.text[row];
    std::vector<std::uint32_t>& ends = batch.id_ends.open_row();
    std::size_t characters = 0;
    for (std::size_t at = 1; at <= text.size(); ++at)
      if (at == text.size() || (!IsUtf8Tail(text[at]) && ++characters % kUnitCharacters == 0))
        ends.push_back(static_cast<std::uint32_t>(at));
    batch.id_ends.CloseRow();
  }
}

Status Measure(const std::string& form, const StageType& type, const StageContext& context,
               const std::vector<Batch>& batches) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SinkStage> stage, type.sink()->make(context));
  ASSIGN_OR_RETURN(const WrittenShards written, TimeSink(*stage, {batches}));
  std::size_t text = 0;
  for (const Batch& batch : batches) text += batch.text.bytes();
  std::printf("%s %llu %.4f %zu %.4f\n", form.c_str(), static_cast<unsigned long long>(written.bytes),
              written.seconds, text, written.bare_seconds);
  return {};
}

Status MeasureTfds(StageContext context, const std::vector<Batch>& batches) {
  context.config["name"] = "text", context.config["version"] = "1.0.0";
  return Measure("lines", WriteTfdsType(), context, batches);
}

Status MeasureJsonl(StageContext context, std::vector<Batch> batches) {
  for (const char* unit : {"record", "document"}) {
    context.config["unit"] = unit, context.config["task"] = "text";
    RETURN_IF_ERROR(Measure(unit, WriteJsonlType(), context, batches));
  }
  for (Batch& batch : batches) AddUnits(batch);
  context.config["unit"] = "record", context.config["task"] = "span_corruption";
  return Measure("pairs", WriteJsonlType(), context, batches);
}

Status MeasureWriter(std::string_view writer, const char* path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(path));
  StageContext context;
  context.name = writer;
  context.schema.columns = {{"text", ColumnType::kUtf8}};
  context.schema.splits = {"train"};
  context.config["shuffle"]["seed"] = 0;
  context.config["shards"] = 8;
  if (writer == "tfds") return MeasureTfds(context, BatchesOf(lines));
  return MeasureJsonl(context, BatchesOf(lines));
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  const std::string_view writer = argc == 3 ? argv[1] : "";
  if (writer != "tfds" && writer != "jsonl") {
    std::fprintf(stderr, "usage: text_writers tfds|jsonl TEXT\n");
    return 2;
  }
  return pipeline::ExitCode("text_writers", pipeline::MeasureWriter(writer, argv[2]));
}
