#include <gtest/gtest.h>

#include <string>

#include "base/str.h"
#include "cli/report/report_page.h"
#include "cli/report/run_facts.h"
#include "cli/report/run_record.h"
#include "cli/report/write_report.h"

namespace pipeline {
namespace {

RecordedStage StageOf(std::string name, std::string segment, std::string state = "run") {
  RecordedStage stage;
  stage.name = std::move(name);
  stage.type = "normalize";
  stage.state = std::move(state);
  stage.segment = std::move(segment);
  return stage;
}

/// lines, clean and text in one pass; then packed, then train.
RunRecord EndedRun(const std::string& outcome) {
  RunRecord record;
  record.stages = {StageOf("lines", "text"),  StageOf("clean", "text"),
                   StageOf("text", "text"),   StageOf("packed", "packed"),
                   StageOf("train", "train"), StageOf("old", "old", "up to date")};
  record.reached = {{"text", 0.1}};
  record.end = RecordedEnd{1, outcome, 1, {}};
  return record;
}

std::string States(const RunRecord& record) {
  std::string states;
  for (const RecordedStage& stage : record.stages)
    states += StrCat(states.empty() ? "" : ", ", StateOf(record, stage));
  return states;
}

TEST(StageStateTest, WhatWasStoppedDidNotFailAndWhatWasNotReachedDidNotRun) {
  EXPECT_EQ(States(EndedRun("cancelled")), "stopped, stopped, stopped, not reached, not reached, up to date");
  RunRecord done = EndedRun("done");
  done.reached = {{"text", 0.1}, {"packed", 0.2}, {"train", 0.3}};
  EXPECT_EQ(States(done), "done, done, done, done, done, up to date");
}

TEST(StageStateTest, AFailureIsOfTheStageThatItNames) {
  RunRecord record = EndedRun("failed");
  record.completed = {{"text", 0.5}};
  record.reached = {{"text", 0.1}, {"packed", 0.5}};
  record.end->failures = {{"packed/-", "the disk is full"}};
  EXPECT_EQ(States(record), "done, done, done, failed, not reached, up to date");
  record.completed.clear();
  record.end->failures = {{"text/0000-00001", "stage 'clean', partition 0000-00001: broken"}};
  EXPECT_EQ(States(record), "stopped, failed, stopped, stopped, not reached, up to date");
}

TEST(StageStateTest, WithoutAnEndItRunsOrWasKilled) {
  RunRecord record = EndedRun("");
  record.end.reset();
  EXPECT_EQ(States(record), "killed, killed, killed, not reached, not reached, up to date");
  record.alive = true;
  EXPECT_EQ(States(record), "running, running, running, not reached, not reached, up to date");
}

TEST(StageStateTest, OldRecordsTellByTheirNotesAndUnits) {
  RunRecord record = EndedRun("cancelled");
  record.reached.clear();
  record.notes = {{0.5, "stage 'text' published out/text"}};
  RecordedUnit unit;
  unit.unit = "packed/0000-*";
  record.units.push_back(unit);
  EXPECT_EQ(States(record), "done, done, done, stopped, not reached, up to date");
}

TEST(HiddenTest, NoSecretIsLeftInAConfiguration) {
  const std::vector<std::string> secrets = SecretsIn({{"env:TOKEN", "s3cr3t-value"},
                                                      {"api_key", "abcd-1234"},
                                                      {"corpus", "file.txt"},
                                                      {"env:ONE", "1"},
                                                      {"empty_key", ""}});
  ASSERT_EQ(secrets.size(), 3u);
  const Result<Json> config = Json::Parse(
      "{\"url\":\"https://me:pw@host/a?sig=zz\",\"command\":[\"curl\",\"-H\",\"Authorization: Bearer "
      "zz\",\"--x=s3cr3t-value\"],"
      "\"path\":\"/a/abcd-1234/"
      "b\",\"token\":\"plain\",\"seed\":1,\"n\":\"1\",\"deep\":{\"password\":\"zz\",\"list\":[\"api_token="
      "zz\"]}}");
  ASSERT_TRUE(config.ok());
  const std::string shown = Hidden(*config, secrets).Dump();
  for (const std::string_view secret : {"s3cr3t", "abcd-1234", "zz", "plain", "me:pw"})
    EXPECT_EQ(shown.find(secret), std::string::npos) << secret << " in " << shown;
  EXPECT_NE(shown.find("\"seed\":1"), std::string::npos)
      << "a secret of one digit hides no number: " << shown;
  EXPECT_NE(shown.find("/a/***/b"), std::string::npos) << shown;
}

TEST(RunBeforeTest, DifferencesNameTheStageAndTheKey) {
  RunRecord before = EndedRun("done"), now = EndedRun("done");
  before.stages[1].config = *Json::Parse("{\"form\":\"nfkc\",\"same\":1}");
  now.stages[1].config = *Json::Parse("{\"form\":\"nfc\",\"same\":1,\"more\":true}");
  before.stages[1].libraries = {{"icu", "72.1"}};
  now.stages[1].libraries = {{"icu", "74.2"}};
  before.stages[1].sources = {{"a.txt", "11"}};
  now.stages[1].sources = {{"a.txt", "22"}};
  now.stages.pop_back();
  now.stages.push_back(StageOf("new", "new"));
  EXPECT_EQ(DifferencesOf(before, now),
            (std::vector<std::string>{"clean: form: nfkc -> nfc", "clean: more: (none) -> true",
                                      "clean: library icu: 72.1 -> 74.2", "clean: source a.txt: 11 -> 22",
                                      "new: stage added", "old: stage removed"}));
  EXPECT_TRUE(DifferencesOf(now, now).empty());
}

TEST(RunRecordTest, HowAStageIsMadeComesBack) {
  RecordedStage stage = StageOf("clean", "text");
  stage.version = 3;
  stage.config = *Json::Parse("{\"form\":\"nfc\",\"shuffle\":{\"seed\":7}}");
  stage.recipe = "00ff";
  stage.libraries = {{"icu", "72.1"}};
  stage.sources = {{"a.txt", "11"}};
  stage.reasons = {{"altered", "stays"}, {"split_*", "tally"}, {"dropped_empty", "dropped"}};
  RecordedUnit unit;
  unit.unit = "text/-";
  unit.stopped = true;
  unit.cpu = 1, unit.child_cpu = 2, unit.child_rss = 3, unit.child_read = 4, unit.child_written = 5;
  RecordedMoment moment{0.5, 1, 2, 3, 4, 50, 6, 7, 2, 20};
  const std::string lines = EncodeEvent(RecordedBegin{}) + EncodeEvent(stage) + EncodeEvent(unit) +
                            EncodeEvent(moment) + EncodeReached("text", 0.5) + EncodeComplete("text", 0.75);
  const Result<RunRecord> record = ParseRunRecord(lines);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(EncodeEvent(record->begin) + EncodeEvent(record->stages.at(0)) +
                EncodeEvent(record->units.at(0)) + EncodeEvent(record->moments.at(0)) +
                EncodeReached("text", record->reached.at("text")) +
                EncodeComplete("text", record->completed.at("text")),
            lines);
  EXPECT_EQ(FateOf(stage, "split_train"), "tally");
  EXPECT_EQ(FateOf(stage, "dropped_empty"), "dropped");
  EXPECT_EQ(FateOf(RecordedStage{}, "dropped_x"), "dropped") << "of an old record";
  const std::string html = RecipeSection(*record);
  for (const std::string_view piece : {"seed 7", "00ff", "icu 72.1", "a.txt", "form: nfc"})
    EXPECT_NE(html.find(piece), std::string::npos) << piece;
}

TEST(RunRecordTest, OldRecordOfAStopIsNoFailure) {
  const Result<RunRecord> record = ParseRunRecord(
      EncodeEvent(RecordedBegin{}) +
      "{\"event\":\"unit\",\"unit\":\"a/-\",\"end\":1,\"failed\":\"stopped\"}\n"
      "{\"event\":\"sample\",\"at\":1,\"cpu\":2,\"rss\":3,\"disk_free\":1099511627776,\"units\":1}\n");
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(record->units.at(0).stopped);
  EXPECT_EQ(record->units.at(0).failed, "");
  EXPECT_EQ(record->moments.at(0).to_disk, 0u) << "what a disk has left is not what a run wrote";
}

TEST(ReportPageTest, DroppedHoldsWhatWasDroppedAndNoShareIsAboveOne) {
  RunRecord record = EndedRun("done");
  for (RecordedStage& stage : record.stages)
    stage.reasons = {{"altered", "stays"}, {"ids", "tally"}, {"dropped_empty", "dropped"}};
  record.counts["clean"].counts = {100, 250, 1, 1, {{"altered", 40}, {"dropped_empty", 10}, {"ids", 7000}}};
  const std::string page = ReportPage(record);
  const std::size_t dropped = page.find("id=\"dropped\""), others = page.find("id=\"set-aside\"");
  ASSERT_NE(dropped, std::string::npos);
  ASSERT_NE(others, std::string::npos);
  const std::string first = page.substr(dropped, others - dropped), second = page.substr(others, 2000);
  EXPECT_NE(first.find("dropped_empty"), std::string::npos);
  EXPECT_EQ(first.find("<code>altered"), std::string::npos);
  EXPECT_EQ(first.find("<code>ids"), std::string::npos);
  EXPECT_NE(second.find("40.0 %"), std::string::npos);
  EXPECT_EQ(page.find("7000 %"), std::string::npos);
  EXPECT_EQ(page.find("250 %"), std::string::npos);
  EXPECT_NE(page.find("&times; 2.50"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
