// Strings of the records of runs, which later versions show.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/str.h"
#include "cli/live/run_now.h"
#include "cli/report/run_record.h"
#include "cli/report/run_recorder.h"
#include "cli/report/training_record.h"
#include "cli/terminal/event_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

// Every struct below has a value in each member. A struct with a further member stops the build at the
// binding of its members; set the member then, and bind it.

std::string FullStage() {
  RecordedStage stage{"<name>",  "<type>", {"<input>"}, "<state>", "<segment>",  "<pieces>", "<quarantine>",
                      "<place>", "<link>", 1,           2,         "<vanished>", "<longest>"};
  stage.version = 3;
  stage.config["<key>"] = 1;
  stage.recipe = "<recipe>";
  stage.libraries = {{"<library>", "1"}};
  stage.sources = {{"<source>", "2"}};
  stage.reasons = {{"<reason>", "stays"}};
  [[maybe_unused]] const auto& [name, type, inputs, state, segment, outputs, quarantine, location, link,
                                files, file_bytes, vanished, longest_line, version, config, recipe, libraries,
                                sources, reasons] = stage;
  return EncodeEvent(stage);
}

std::string FullUnit() {
  const RecordedUnit unit{"<unit>", 1, 2, 3, 4,  5,  {{"<stage>", 6}}, "<why>",
                          true,     7, 8, 9, 10, 11, "<host>"};
  [[maybe_unused]] const auto& [name, begin, end, records, read, text, busy, failed, stopped, cpu, child_cpu,
                                child_rss, child_read, child_written, host] = unit;
  return EncodeEvent(unit);
}

std::string FullBegin() {
  const RecordedBegin begin{
      "<id>", "<pipeline>", "<command>", "<version>", "<system>", 1, {{"<library>", "1"}}, 2, 3, 4, 5};
  [[maybe_unused]] const auto& [id, pipeline, command, version, system, started, libraries, cores, memory,
                                threads, memory_limit] = begin;
  return EncodeEvent(begin);
}

std::string FullCounts() {
  const RecordedCounts counts{{1, 2, 3, 4, {{"<reason>", 5}}}, 6, 7, 8, {{"<split>", {9, 10, 11}}}};
  [[maybe_unused]] const auto& [of_stage, partitions, shards, shard_bytes, splits] = counts;
  return EncodeEvent("<stage>", counts);
}

std::string FullText() {
  StageText text;
  text.profile.Add("あア漢한a1 ,\u0e01", 64);
  text.changed = text.dropped = 64;
  text.pairs = {{0, {"<before>", {1}, true, true}, Sample{"<after>", {1}, true, true}}};
  [[maybe_unused]] const auto& [profile, changed, dropped, pairs] = text;
  [[maybe_unused]] const auto& [sample_text, marks, front, back] = pairs.front().before;
  return EncodeEvent("<stage>", text);
}

std::string OtherEvents() {
  const RecordedLogging logged{"<unit>", 1, 2, 3};
  const RecordedMoment moment{1, 2, 3, 4, 5, 6, 7, 8, 4, 5};
  const RecordedNote note{1, "<text>"};
  const RecordedExample example{"<stage>", "<reason>", "<text>", true};
  const HostWork host{"<host>", 1, 2, 3, 4, 5, 6, 7, 8};
  const RecordedEnd end{1, "done", 2, {{"<unit>", "<why>"}}};
  [[maybe_unused]] const auto& [unit, logged_at, records, bytes] = logged;
  [[maybe_unused]] const auto& [at, read, text, written, cpu, rss, to_disk, units, child_cpu, child_rss] =
      moment;
  [[maybe_unused]] const auto& [note_at, note_text] = note;
  [[maybe_unused]] const auto& [stage, reason, example_text, cut] = example;
  [[maybe_unused]] const auto& [name, workers, at_once, host_units, inside, span, written_bytes, twice, lost,
                                per_minute, stage_per_minute] = host;
  [[maybe_unused]] const auto& [end_at, outcome, peak_rss, failures] = end;
  return StrCat(EncodeEvent(logged), EncodeEvent(moment), EncodeEvent(note), EncodeEvent(example),
                EncodeEvent(host), EncodeEvent(end), EncodeReached("<stage>", 1),
                EncodeComplete("<stage>", 2));
}

/// Events of a trainer of an earlier version. The table pins their digest.
constexpr std::string_view kEarlierTraining =
    R"({"time":"t","stage":"<stage>","event":{"kind":"restore","step":1,"worker":0}}
{"time":"t","stage":"<stage>","event":{"kind":"step","step":2,"loss":1.5,"tokens_per_s":3}}
{"time":"t","stage":"<stage>","event":{"kind":"eval","step":2,"split":"s","loss":1,"bits_per_byte":2,"bits_per_char":3}}
{"time":"t","stage":"<stage>","event":{"kind":"baseline","name":"n","nats_per_token":1,"bits_per_byte":2}}
{"time":"t","stage":"<stage>","event":{"kind":"sample","step":2,"prompt":"p","text":"t"}}
{"time":"t","stage":"<stage>","event":{"kind":"extend","from":9,"to":3}}
{"time":"t","stage":"<stage>","event":{"kind":"bye","summary":{"goodput":{"seconds":{"step":4}}}}}
)";

TEST(OutsideStringsOfRunsTest, EventsOfATraining) {
  std::istringstream lines{std::string(kEarlierTraining)};
  const std::vector<RecordedTraining> trainings = ReadTrainings(lines);
  ASSERT_EQ(trainings.size(), 1u);
  const RecordedTraining& training = trainings.front();
  EXPECT_EQ(training.restored, 1);
  ASSERT_EQ(training.steps.size(), 1u);
  EXPECT_EQ(training.steps.front().loss, 1.5);
  EXPECT_EQ(training.steps.front().tokens_per_s, 3);
  ASSERT_EQ(training.evaluations.size(), 1u);
  EXPECT_EQ(training.evaluations.front().bits_per_char, 3);
  ASSERT_EQ(training.baselines.size(), 1u);
  EXPECT_EQ(training.baselines.front().loss, 1);
  ASSERT_EQ(training.samples.size(), 1u);
  EXPECT_EQ(training.samples.front().prompt, "p");
  EXPECT_EQ(training.goodput.at("step"), 4);
  OutsideStrings strings;
  strings.Add("digest of earlier events", DigestOf(kEarlierTraining).ToHex());
  EXPECT_TRUE(ArePinned(strings, "training_events"));
}

TEST(OutsideStringsOfRunsTest, RecordOfARun) {
  const std::string lines =
      StrCat(FullBegin(), FullStage(), FullUnit(), FullCounts(), FullText(), OtherEvents());
  OutsideStrings strings;
  strings.Add("file", kRecordName);
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
    const Result<Json> event = Json::Parse(lines.substr(at, lines.find('\n', at) - at));
    ASSERT_TRUE(event.ok());
    const std::string kind((*event)["event"].AsString());
    strings.Add("event", kind).AddMembers(StrCat("member of ", kind), *event);
    if (event->Has("record")) strings.Add("version", (*event)["record"].Dump());
  }
  // Everything comes back: the reader has the same names as the writer.
  const Result<RunRecord> record = ParseRunRecord(lines);
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(EncodeEvent(record->begin), FullBegin());
  EXPECT_EQ(EncodeEvent(record->stages.at(0)), FullStage());
  EXPECT_EQ(EncodeEvent(record->units.at(0)), FullUnit());
  EXPECT_EQ(EncodeEvent("<stage>", record->counts.at("<stage>")), FullCounts());
  EXPECT_EQ(EncodeEvent("<stage>", record->texts.at("<stage>")), FullText());
  EXPECT_EQ(StrCat(EncodeEvent(record->logged.at(0)), EncodeEvent(record->moments.at(0)),
                   EncodeEvent(record->notes.at(0)), EncodeEvent(record->examples.at(0)),
                   EncodeEvent(record->hosts.at(0)), EncodeEvent(*record->end),
                   EncodeReached("<stage>", record->reached.at("<stage>")),
                   EncodeComplete("<stage>", record->completed.at("<stage>"))),
            OtherEvents());

  for (const std::string_view old : {"dropped_empty", "other"})
    strings.Add(StrCat("fate of an undeclared reason ", old), FateOf(record->stages.at(0), old));

  RunNow now{1, 2, 3, 4, 5, {{"<unit>", 1, 2, 3, 4, 5, "<said>", 6, 7}}, {{"<stage>", {1, 2}}}};
  [[maybe_unused]] const auto& [at, cpu, rss, to_disk, written, units, shards] = now;
  [[maybe_unused]] const auto& [unit, since, records, text, done, of, said, child_cpu, child_rss] =
      units.front();
  strings.AddMembers("member of the present state", *Json::Parse(EncodeNow(now)));
  const auto back = ParseNow(EncodeNow(now));
  ASSERT_TRUE(back);
  EXPECT_EQ(EncodeNow(*back), EncodeNow(now));
  const TempDir dir;
  WriteNow(dir.path().string(), now);
  EventFile events(dir / kPluginEventsName, SystemClock());
  events.Write("<stage>", Json(Json::Object{}));
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    strings.Add("file", entry.path().filename().string());
  strings.AddMembers("member of a plugin's event", *Json::Parse(ReadFile(dir / kPluginEventsName)));
  EXPECT_TRUE(ArePinned(strings, "run_record"));
}

}  // namespace
}  // namespace pipeline
