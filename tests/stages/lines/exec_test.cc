#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "stages/lines/exec_source.h"
#include "stages/lines/line_stages.h"
#include "tests/stages/batches.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// The partition 0000-00003 of the records given, in batches of two.
class GivenRecords final : public Source {
 public:
  explicit GivenRecords(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  Result<bool> Next(Batch& batch) override {
    if (closed_) return false;
    if (at_ == fails_at) return Status(Code::kDataLoss, "0000-00003.part: damaged");
    batch.partition = {0, 3};
    for (int i = 0; i < 2 && at_ < lines_.size(); ++i, ++at_) {
      batch.heads.push_back({at_, 0, 100 + at_, 7 * at_});
      batch.text.Append(lines_[at_]);
      batch.split.push_back(static_cast<std::uint8_t>(at_ % 3));
      batch.label.Append(StrCat("l", at_));
    }
    batch.counts[0].records_in = batch.counts[0].records_out = batch.size();
    if (at_ == lines_.size()) closed_ = batch.closes = true, batch.end = {1234, 567};
    return true;
  }
  std::optional<InputEnd> End() const override { return std::nullopt; }

  std::size_t fails_at = static_cast<std::size_t>(-1);

 private:
  const std::vector<std::string> lines_;
  std::size_t at_ = 0;
  bool closed_ = false;
};

ExecRule CommandRule(std::vector<std::string> command) {
  ExecRule rule;
  rule.stage = "upper";
  rule.command = std::move(command);
  return rule;
}
ExecRule Shell(const char* script) { return CommandRule({"sh", "-c", script}); }

struct Ran {
  Status status;
  Batch all;  // the records of all batches
  std::size_t batches = 0;
};

Ran Drive(const ExecRule& rule, std::unique_ptr<Source> records, std::stop_token stop = {},
          std::size_t batch_bytes = 64) {
  ReaderRequest request;
  request.records = std::move(records);
  request.partition = {0, 3};
  request.batch_bytes = batch_bytes;
  request.stop = std::move(stop);
  const std::unique_ptr<Source> source = OpenExecSource(rule, std::move(request));
  Ran ran;
  ran.all.Clear(2);
  while (true) {
    Batch batch;
    batch.Clear(2);
    const Result<bool> more = source->Next(batch);
    if (!more.ok()) ran.status = more.status();
    if (!more.ok() || !*more) break;
    ++ran.batches;
    EXPECT_EQ(batch.partition, (PartitionId{0, 3}));
    for (std::size_t row = 0; row < batch.size(); ++row) ran.all.AppendRow(batch, row);
    for (std::size_t stage = 0; stage < 2; ++stage) ran.all.counts[stage] += batch.counts[stage];
    for (Quarantined& kept : batch.quarantine) ran.all.quarantine.push_back(std::move(kept));
    EXPECT_FALSE(ran.all.closes) << "a batch after the last one";
    ran.all.closes = batch.closes, ran.all.end = batch.end;
  }
  return ran;
}

Ran Drive(const ExecRule& rule, std::vector<std::string> lines) {
  return Drive(rule, std::make_unique<GivenRecords>(std::move(lines)));
}

void ExpectFailure(const Ran& ran, Code code, std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(CodeName(ran.status.code()), CodeName(code));
  for (const std::string_view part : parts)
    EXPECT_NE(ran.status.message().find(part), std::string_view::npos) << ran.status.message();
}

std::vector<std::string> Many(std::size_t count) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) lines.push_back(StrCat("line number ", i, " of many"));
  return lines;
}

TEST(ExecTest, EachLineAnswersItsRecord) {
  const Ran ran = Drive(CommandRule({"tr", "a-z", "A-Z"}), {"one", "two", "", "four", "five"});
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(LinesOf(ran.all), (std::vector<std::string>{"ONE", "TWO", "", "FOUR", "FIVE"}));
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(ran.all.heads[row].index, row);
    EXPECT_EQ(ran.all.heads[row].document, 100 + row);
    EXPECT_EQ(ran.all.heads[row].key, 7 * row);
    EXPECT_EQ(ran.all.split[row], row % 3);
    EXPECT_EQ(ran.all.label[row], StrCat("l", row));
  }
  EXPECT_TRUE(ran.all.closes);
  EXPECT_EQ(ran.all.end.raw_end, 1234u);
  EXPECT_EQ(ran.all.end.document_end, 567u);
  EXPECT_EQ(ran.all.counts[0].records_out, 5u);
  EXPECT_EQ(ran.all.counts[1].records_in, 5u);
  EXPECT_EQ(ran.all.counts[1].records_out, 5u);
  EXPECT_EQ(ran.all.counts[1].bytes_in, 14u);
  EXPECT_EQ(ran.all.counts[1].bytes_out, 14u);
}

TEST(ExecTest, MoreThanThePipesHoldComesThrough) {
  const std::vector<std::string> lines = Many(40'000);  // about 1 MB, through pipes of 64 KiB
  const Ran ran = Drive(CommandRule({"cat"}), std::make_unique<GivenRecords>(lines), {}, 16 << 10);
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(LinesOf(ran.all), lines);
  EXPECT_GT(ran.batches, 50u);
}

TEST(ExecTest, CommandThatAnswersAtItsEndOnlyIsFine) {
  const std::vector<std::string> lines = Many(20'000);
  const Ran ran = Drive(CommandRule({"tac"}), lines);
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(ran.all.text[0], lines.back());
}

TEST(ExecTest, EmptyPartitionStillCloses) {
  const Ran ran = Drive(CommandRule({"cat"}), std::vector<std::string>{});
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_TRUE(ran.all.closes);
  EXPECT_EQ(ran.batches, 1u);
}

TEST(ExecTest, AnyLinesAreDocumentsOfTheirOwn) {
  ExecRule rule = Shell("cat >/dev/null; printf 'a\\nb\\nc'");
  rule.same_lines = false;
  const Ran ran = Drive(rule, {"only one"});
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(LinesOf(ran.all), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(ran.all.heads[2].index, 2u);
  EXPECT_EQ(ran.all.heads[2].document, 2u);
  EXPECT_EQ(ran.all.heads[2].key, Hash64("c"));
  EXPECT_TRUE(ran.all.split.empty());
}

TEST(ExecTest, RecordWithALineEndIsRefusedUnlessItIsJson) {
  ExecRule rule = CommandRule({"cat"});
  ExpectFailure(Drive(rule, {"a", "b\nc"}), Code::kInvalidArgument,
                {"stage 'upper', command `cat`: record 1: holds a line end", "framing: json"});
  rule.framing = ExecFraming::kJson;
  const Ran ran = Drive(rule, {"a", "b\nc", "\"日本\"\\"});
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(LinesOf(ran.all), (std::vector<std::string>{"a", "b\nc", "\"日本\"\\"}));
}

TEST(ExecTest, JsonLineIsAsThePageSays) {
  std::string line;
  ASSERT_TRUE(AppendExecLine(ExecFraming::kJson, "日\n", line).ok());
  EXPECT_EQ(line,
            "\x7b\x22\x74\x65\x78\x74\x22\x3a\x22\xe6\x97\xa5\x5c\x6e\x22\x7d\x0a");  // {"text":"日\n"}
  std::string text = "before";
  EXPECT_TRUE(ReadExecLine(ExecFraming::kJson, R"({"id":1,"text":"x"})", text).ok());
  EXPECT_EQ(text, "x");
  for (const std::string_view bad : {"", "x", "{}", R"({"text":1})", R"("x")", R"({"text":"x")"})
    EXPECT_EQ(ReadExecLine(ExecFraming::kJson, bad, text).code(), Code::kInvalidArgument) << bad;
}

TEST(ExecTest, LineThatIsNoJsonIsNamed) {
  ExecRule rule = Shell("cat >/dev/null; echo '{\"text\":\"x\"}'; echo oops");
  rule.framing = ExecFraming::kJson;
  ExpectFailure(Drive(rule, {"a", "b"}), Code::kInvalidArgument, {"its line 2 is not JSON", "sh -c"});
}

TEST(ExecTest, BytesThatAreNoTextAreReplacedCountedAndKept) {
  const Ran ran = Drive(Shell("sed 's/b/\\xff/'"), {"abc", "xyz"});
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(LinesOf(ran.all), (std::vector<std::string>{"a\xEF\xBF\xBD"
                                                        "c",
                                                        "xyz"}));
  EXPECT_EQ(ran.all.counts[1].reasons.at("invalid_utf8"), 1u);
  ASSERT_EQ(ran.all.quarantine.size(), 1u);
  EXPECT_EQ(ran.all.quarantine[0].bytes,
            "a\xff"
            "c");
  EXPECT_EQ(ran.all.quarantine[0].stage, 1u);
}

TEST(ExecTest, MissingProgramIsNamed) {
  ExpectFailure(Drive(CommandRule({"no-such-program-here"}), {"a"}), Code::kNotFound,
                {"stage 'upper', command ", "no-such-program-here"});
}

TEST(ExecTest, AnAbsentScriptIsToldBeforeAnythingRuns) {
  const TempDir dir;
  const std::string script = dir / "drop.py";
  const auto told = [](const std::vector<std::string>& command) {
    Json config;
    for (const std::string& word : command) config["command"].Append(Json(word));
    return std::string(ExecType().prepare(config).message());
  };
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"python3", script}, {"/usr/bin/python3", "-u", script, "-x"}, {"sh", script}, {script}})
    EXPECT_TRUE(told(command).starts_with(StrCat("command: ", script, " is not there; ")))
        << command.front() << ": " << told(command);
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"python3", "-m", "drop"}, {"sh", "-c", "python3 drop.py"}, {"ssh", "host", "drop.py"}, {"cat"}})
    EXPECT_EQ(told(command), "") << command.front();
  WriteFile(script, "");
  EXPECT_EQ(told({"python3", script}), "");
  EXPECT_EQ(told({script}), StrCat("command: ", script, " may not be run: chmod +x ", script));
}

TEST(ExecTest, FailureCarriesExitCodeAndLastWords) {
  ExpectFailure(Drive(Shell("read x; echo \"$x\"; echo 'model.bin: no such file' >&2; exit 3"), Many(1000)),
                Code::kInvalidArgument,
                {"stage 'upper', command ", "exit code 3", "model.bin: no such file"});
  ExpectFailure(Drive(Shell("cat >/dev/null; kill -11 $$"), {"a"}), Code::kInvalidArgument, {"signal 11"});
}

TEST(ExecTest, OnlyTheEndOfAFloodOnStderrIsKept) {
  const Ran ran = Drive(Shell("cat >/dev/null; seq 1 300000 >&2; exit 1"), {"a"});
  ExpectFailure(ran, Code::kInvalidArgument, {"300000"});
  EXPECT_LT(ran.status.message().size(), 4000u);
}

TEST(ExecTest, FewerOrMoreLinesThanRecordsFail) {
  ExpectFailure(Drive(Shell("cat >/dev/null; echo one"), {"a", "b", "c"}), Code::kInvalidArgument,
                {"1 lines for 3 records", "lines: any"});
  ExpectFailure(Drive(Shell("cat; echo more"), {"a", "b"}), Code::kInvalidArgument,
                {"wrote line 3 when it had been given 2 records"});
}

TEST(ExecTest, EndingBeforeAllIsReadFails) {
  ExecRule rule = Shell("head -n 1 >/dev/null");
  rule.same_lines = false;
  ExpectFailure(Drive(rule, Many(20'000)), Code::kInvalidArgument, {"before it had read all records"});
}

TEST(ExecTest, FloodOfLinesEndsAtOnce) {
  ExpectFailure(Drive(CommandRule({"yes"}), {"a", "b"}), Code::kInvalidArgument,
                {"command `yes`: it wrote line"});
  ExecRule rule = CommandRule({"yes"});
  rule.same_lines = false;
  rule.max_output = 1 << 20;
  const Ran ran = Drive(rule, {"a", "b"});
  ExpectFailure(ran, Code::kResourceExhausted, {"more than 1.00 MiB for one partition", "max_output"});
  EXPECT_LE(ran.all.text.bytes(), std::size_t{1} << 20);
}

TEST(ExecTest, LineWithoutEndIsBounded) {
  ExecRule rule = Shell("cat >/dev/null; tr '\\0' x </dev/zero");
  rule.max_line = 1 << 20;
  ExpectFailure(Drive(rule, {"a"}), Code::kResourceExhausted, {"line 1 is longer than 1.00 MiB"});
}

TEST(ExecTest, RecordsHeldBackAreBounded) {
  ExecRule rule = CommandRule({"tac"});
  rule.max_unanswered = 100'000;
  ExpectFailure(Drive(rule, Many(20'000)), Code::kResourceExhausted, {"holds back the answers"});
}

TEST(ExecTest, CommandThatHangsIsEndedWithItsChildren) {
  ExecRule rule = Shell("echo 'waiting for a lock' >&2; sleep 1000 & sleep 1000");
  rule.timeout = std::chrono::milliseconds(300);
  ExpectFailure(Drive(rule, {"a"}), Code::kUnavailable,
                {"neither read nor wrote for 300 ms", "waiting for a lock"});
}

TEST(ExecTest, CommandThatTakesLongAndGoesOnIsNotTakenForHanging) {
  ExecRule rule =
      Shell("cat >/dev/null; end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do echo x; done");
  rule.timeout = std::chrono::milliseconds(1500);
  rule.same_lines = false;
  const Ran ran = Drive(rule, {"a"});
  EXPECT_TRUE(ran.status.ok()) << ran.status.message();
}

TEST(ExecTest, DamagedOriginComesThroughAsItIs) {
  auto records = std::make_unique<GivenRecords>(Many(10));
  records->fails_at = 4;
  const Ran ran = Drive(CommandRule({"cat"}), std::move(records));
  EXPECT_EQ(ran.status.code(), Code::kDataLoss);
  EXPECT_EQ(ran.status.message(), "0000-00003.part: damaged");
}

TEST(ExecTest, StopEndsACommandThatWouldRunForEver) {
  std::stop_source stop;
  stop.request_stop();
  const Ran ran =
      Drive(Shell("cat >/dev/null; sleep 1000"), std::make_unique<GivenRecords>(Many(2)), stop.get_token());
  EXPECT_EQ(ran.status.code(), Code::kCancelled);
}

TEST(ExecTest, SourceDroppedHalfWayEndsTheCommand) {
  const ExecRule rule = CommandRule({"cat"});
  ReaderRequest request;
  request.records = std::make_unique<GivenRecords>(Many(50'000));
  const std::unique_ptr<Source> source = OpenExecSource(rule, std::move(request));
  Batch batch;
  batch.Clear(2);
  EXPECT_TRUE(source->Next(batch).ok());
}  // returns

Status Check(Json config, Schema schema) {
  if (!config.Has("command")) config["command"] = Json(Json::Array{Json("cat")});
  if (!config.Has("timeout")) config["timeout"] = 600.0;
  if (!config.Has("max_output")) config["max_output"] = 1000;
  return ExecType().check(config, schema);
}

TEST(ExecTest, ConfigurationsThatCannotWorkAreRefused) {
  Json config{Json::Object{}};
  EXPECT_TRUE(Check(config, TextSchema()).ok());
  Schema with_cuts = TextSchema();
  with_cuts.columns["cuts"] = ColumnType::kU32List;
  EXPECT_EQ(Check(config, with_cuts).code(), Code::kInvalidArgument);
  Schema with_split = TextSchema();
  with_split.columns["split"] = ColumnType::kU8;
  EXPECT_TRUE(Check(config, with_split).ok());
  config["lines"] = "any";
  EXPECT_EQ(Check(config, with_split).code(), Code::kInvalidArgument);
  Json without_time{Json::Object{}};
  without_time["timeout"] = 0.0;
  EXPECT_EQ(Check(without_time, TextSchema()).code(), Code::kInvalidArgument);
  Json without_command{Json::Object{}};
  without_command["command"] = Json(Json::Array{});
  EXPECT_EQ(Check(without_command, TextSchema()).code(), Code::kInvalidArgument);
}

TEST(ExecTest, FilesAreNamedByPositionSoThatAPathIsInNoKey) {
  Json config{Json::Object{}};
  config["files"] = Json(Json::Array{Json("tools/a.py"), Json("b.bin")});
  const Result<std::vector<StageFile>> files = ExecType().files(config);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[1].name, "file 1");
  EXPECT_EQ((*files)[1].path, "b.bin");
}

}  // namespace
}  // namespace pipeline
