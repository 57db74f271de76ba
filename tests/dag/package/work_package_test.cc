#include "dag/package/work_package.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/str.h"
#include "dag/package/unit_queue.h"
#include "dag/package/work_results.h"
#include "storage/memory_store.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

WorkPackage ExamplePackage() {
  WorkPackage plan;
  plan.pipeline = "pipe: 1\n";
  plan.file = "tiny.yaml";
  plan.set = {{"out", "/data"}};
  plan.directory = "/srv";
  plan.work = ".pipe/tiny";
  plan.log = "log/00112233445566778899aabbccddeeff";
  plan.group_memory = 1 << 20;
  plan.files = {{"ja.txt", "ja.txt", 64, "64 7 9", *Digest::FromHex("0123456789abcdef0123456789abcdef")}};
  plan.units = {{"text/0000-*", *Digest::FromHex("ffeeddccbbaa99887766554433221100")}};
  return plan;
}

UnitRecord Record(UnitState state, std::string unit, std::string_view bytes) {
  UnitRecord record = RecordOf({}, "[]");
  record.line.state = state;
  record.line.unit = std::move(unit);
  record.line.segment = 7;
  record.line.recipe = DigestOf("recipe");
  record.line.digest = DigestOf(bytes);
  return record;
}

TEST(WorkPackageTest, IsWrittenAsTheDocumentSays) {
  const std::string page =
      ReadFile(std::filesystem::path(SourceDir()) / "dag" / "package" / "work_package.md");
  EXPECT_NE(page.find("```json\n" + EncodeWorkPackage(ExamplePackage()) + "\n```"), std::string::npos);
  const Result<WorkPackage> back = ParseWorkPackage(EncodeWorkPackage(ExamplePackage()));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, ExamplePackage());
  WorkPackage trial = ExamplePackage();
  trial.subset = "1%";
  trial.until = "text";
  trial.holder = "0a1b";
  trial.nonce = "5b5b";
  trial.machine = {{"text", DigestOf("machine")}};
  trial.units.front().scanned = true;
  trial.files.front().ranges = {DigestOf("1"), DigestOf("2")};
  const Result<WorkPackage> trial_back = ParseWorkPackage(EncodeWorkPackage(trial));
  ASSERT_TRUE(trial_back.ok());
  EXPECT_EQ(*trial_back, trial);
}

TEST(WorkPackageTest, TheNextPlanHearsOfASourceThatChangedInSilence) {
  MemoryStore store;
  ASSERT_TRUE(WriteChangedSource(store, "/d/ja.txt").ok());
  ASSERT_TRUE(WriteChangedSource(store, "/d/ja.txt").ok()) << "by two workers";
  TakenResults taken;
  Lines paths;
  const auto take = [&](const std::string& path) { paths.push_back(path); };
  ASSERT_TRUE(TakeChangedSources(store, taken, take).ok());
  EXPECT_EQ(paths, Lines{"/d/ja.txt"});
  ASSERT_TRUE(RemoveResults(store, taken).ok());
  ASSERT_TRUE(TakeChangedSources(store, taken, take).ok());
  EXPECT_EQ(paths, Lines{"/d/ja.txt"}) << "once";
}

TEST(WorkPackageTest, NeedsThatAreUnknownAreAbsent) {
  WorkPackage plan = ExamplePackage();
  plan.units = {{"text/0000-*", DigestOf("1")}, {"text/-", DigestOf("2"), false, {5, 1, {}, 0, {}, 7}}};
  const std::string text = EncodeWorkPackage(plan);
  const Result<WorkPackage> back = ParseWorkPackage(text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, plan);
  EXPECT_EQ((*Json::Parse(text))["units"].AsArray()[0].AsObject().size(), 2u);
  Json json = *Json::Parse(text);
  json["units"].Append(Json::Object{{"unit", "a/-"}, {"recipe", DigestOf("1").ToHex()}, {"memory", "much"}});
  EXPECT_EQ(ParseWorkPackage(json.Dump()).status().message().substr(0, 15), "units[2].memory");
}

TEST(UnitFitTest, EachNeedIsCompared) {
  const WorkerRoom room{1024, 2, 4096, "the cgroup /a", "/scratch"};
  EXPECT_EQ(WhyUnfit({1024, 2, 900, 1 << 20, 1 << 20, 4096}, room), "");
  EXPECT_EQ(WhyUnfit({1536}, room), "needs 1.50 KiB of memory, and this worker has 1.00 KiB (the cgroup /a)");
  EXPECT_EQ(WhyUnfit({{}, 3}, room), "needs 3 cores, and this worker has 2");
  EXPECT_EQ(WhyUnfit({.scratch = 5120}, room),
            "needs 5.00 KiB of scratch, and this worker has 4.00 KiB (/scratch)");
  EXPECT_EQ(WhyUnfit({1536, 3, {}, {}, {}, 5120}, WorkerRoom()), "") << "nothing is known of the worker";
}

TEST(WorkPackageTest, WhatIsWrongIsNamed) {
  Json json = *Json::Parse(EncodeWorkPackage(ExamplePackage()));
  json["units"] = Json::Array{Json(Json::Object{{"unit", "a/-"}})};
  EXPECT_EQ(ParseWorkPackage(json.Dump()).status().message(), "units[0].recipe: missing");
  json["pipe_plan"] = 2;
  EXPECT_EQ(ParseWorkPackage(json.Dump()).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(ParseWorkPackage("{").status().code(), Code::kDataLoss);
}

TEST(WorkPackageTest, AnotherMachineIsRefusedWithTheStageAndTheFile) {
  WorkPackage plan = ExamplePackage();
  EXPECT_TRUE(CheckMachine(plan, {}, {}).ok()) << "an earlier program planned";
  plan.machine = {{"text", DigestOf("a")}, {"words", DigestOf("b")}};
  EXPECT_TRUE(CheckMachine(plan, {{"text", DigestOf("a")}, {"words", DigestOf("b")}}, {}).ok());
  const MachineFacts other = {{"text", DigestOf("a")}, {"words", DigestOf("c")}};
  const Status version = CheckMachine(plan, other, plan.files);
  EXPECT_EQ(version.code(), Code::kInvalidArgument);
  EXPECT_TRUE(version.message().starts_with("stage 'words': this program, its libraries or its environment"))
      << version.message();
  std::vector<WorkPackage::File> hashed = plan.files;
  hashed.front().digest = DigestOf("other bytes");
  EXPECT_NE(CheckMachine(plan, other, hashed).message().find("ja.txt has other bytes here"),
            std::string_view::npos);
  EXPECT_NE(CheckMachine(plan, {{"text", DigestOf("a")}}, {}).message().find("is not on this machine"),
            std::string_view::npos);
}

TEST(WorkPackageTest, AFileWithOtherBytesIsFoundAndANewOneIsNot) {
  const WorkPackage plan = ExamplePackage();
  std::vector<WorkPackage::File> hashed = plan.files;
  hashed.insert(hashed.begin(), {"new.txt", "new.txt", 1, "1", DigestOf("new")});
  EXPECT_EQ(ChangedFile(plan, hashed), "");
  hashed.back().digest = DigestOf("other");
  EXPECT_EQ(ChangedFile(plan, hashed), "ja.txt");
}

TEST(WorkPackageTest, AnEditedFileIsAnotherState) {
  const WorkPackage plan = ExamplePackage();
  WorkPackage later = plan;
  later.units.clear();
  later.file = "./tiny.yaml";
  EXPECT_TRUE(OfSameState(plan, later));
  for (const auto& edit : std::vector<void (*)(WorkPackage&)>{
           [](WorkPackage& one) { one.pipeline += " "; },
           [](WorkPackage& one) { one.set.front().second = "/"; },
           [](WorkPackage& one) { one.subset = "1%"; }, [](WorkPackage& one) { one.directory = "/"; }}) {
    later = plan;
    edit(later);
    EXPECT_FALSE(OfSameState(plan, later));
  }
}

TEST(WorkPackageTest, ARecordIsOfItsUnitAlone) {
  const std::string text = EncodeUnitRecord(Record(UnitState::kDone, "text/0000-00001", "a"));
  EXPECT_TRUE(ParseUnitRecord(text, "text/0000-00001").ok());
  EXPECT_EQ(ParseUnitRecord(text, "text/0000-00002").status().message(), "line: it is about text/0000-00001");
  std::string damaged = text;
  damaged[damaged.find("0000-00001")] = '1';
  EXPECT_EQ(ParseUnitRecord(damaged, "text/0000-00001").status().message(), "line: damaged");
}

TEST(WorkResultTest, TheSameWorkTwiceIsOneRecordAndOtherBytesAreABug) {
  MemoryStore place;
  EXPECT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "a")).ok());
  UnitRecord twin = Record(UnitState::kDone, "text/0000-00001", "a");
  twin.line.segment = 3;  // numbers of lineages are each worker's own
  EXPECT_TRUE(ResultWriter(place).Write(twin).ok());
  const Status other = ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "b"));
  EXPECT_EQ(other.code(), Code::kInternal);
  UnitRecord later = Record(UnitState::kDone, "text/0000-00001", "b");
  later.line.recipe = DigestOf("another");
  EXPECT_TRUE(ResultWriter(place).Write(later).ok()) << "what is left of an older pipeline gives way";
}

TEST(WorkResultTest, ThePlanTakesBackLinesUnderItsOwnNumbersAndRemovesThem) {
  MemoryStore place;
  TempDir dir;
  const auto log = RunLog::Open(dir / "run.log");
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->AppendSegment("[1]").ok());
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "a")).ok());
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "docs/0000-00001", "a")).ok());
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kVoid, "docs/0000-00001", "")).ok());
  ASSERT_TRUE(WriteObject(place, "done/text/0000-00009.json", "{}", Condition::CreateOnly()).ok());
  Lines unreadable;
  Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok()) << records.status().message();
  const Result<TakenResults> taken = AddResults(std::move(*records), unreadable, **log);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->unreadable, Lines{"done/text/0000-00009.json"});
  EXPECT_EQ(place.List("")->size(), 5u) << "until there is another plan";
  ASSERT_TRUE(RemoveResults(place, *taken).ok());
  EXPECT_EQ((*log)->Find("text/0000-00001")->segment, 2u);
  EXPECT_EQ((*log)->FindSegment(2)->lineage, "[]");
  EXPECT_EQ((*log)->Find("docs/0000-00001"), nullptr) << "it was done before it was found damaged";
  EXPECT_EQ(place.List("")->size(), 1u) << "the lineage serves later records";
}

TEST(WorkResultTest, ARecordThatWasReplacedSinceItWasReadStaysForTheNextPlan) {
  MemoryStore place;
  TempDir dir;
  const auto log = RunLog::Open(dir / "run.log");
  ASSERT_TRUE(log.ok());
  for (const char* unit : {"text/0000-00001", "text/0000-00002"})
    ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, unit, "a")).ok());
  Lines unreadable;
  Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok()) << records.status().message();
  UnitRecord other = Record(UnitState::kDone, "text/0000-00002", "a");
  other.line.recipe = DigestOf("another recipe");
  ASSERT_TRUE(ResultWriter(place).Write(other).ok());
  const Result<TakenResults> taken = AddResults(std::move(*records), unreadable, **log);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  ASSERT_TRUE(RemoveResults(place, *taken).ok());
  const std::vector<ObjectInfo> left = place.List("done/").value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().name, "done/text/0000-00002.json");
}

/// The record of a scan after so many partitions of two bytes.
UnitRecord Cuts(std::uint32_t known, bool whole = false) {
  UnitRecord record = Record(UnitState::kCuts, "text/0000-*", "");
  record.line.digest = {};
  for (std::uint32_t partition = 1; partition <= known; ++partition)
    record.line.cuts.push_back({2 * partition, partition});
  if (whole) record.line.partitions = known;
  record.took = std::chrono::seconds(1);
  return record;
}

TEST(WorkResultTest, APlanTakesTheLongestOfTheFirstCutsAndKeepsTheWholeOnes) {
  MemoryStore place;
  TempDir dir;
  const auto log = RunLog::Open(dir / "run.log");
  ASSERT_TRUE(log.ok());
  const auto plan = [&]() -> std::size_t {
    Lines unreadable;
    Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "text/0000-", unreadable);
    EXPECT_TRUE(records.ok() && unreadable.empty());
    const Result<TakenResults> taken = AddResults(std::move(*records), unreadable, **log);
    EXPECT_TRUE(taken.ok() && taken->times.empty());
    EXPECT_TRUE(RemoveResults(place, *taken).ok());
    EXPECT_EQ(place.List("done/")->size(), 0u);
    return taken->added;
  };
  ResultWriter scan(place);
  for (const std::uint32_t known : {1, 2, 11, 100}) ASSERT_TRUE(scan.Write(Cuts(known)).ok());
  EXPECT_EQ(place.List("done/")->front().name, "done/text/0000-*.00000001.json");
  ASSERT_TRUE(scan.Write(Cuts(11)).ok()) << "another scan tells the same";
  UnitRecord other = Cuts(11);
  other.line.cuts.back().raw_end += 1;
  EXPECT_EQ(scan.Write(other).code(), Code::kInternal);
  plan();
  ASSERT_EQ((*log)->FindCuts("text/0000-*")->cuts.size(), 100u);
  EXPECT_TRUE((*log)->FindCuts("text/0000-*")->HasFirstCuts());
  const std::string text = ReadFile(dir / "run.log");
  EXPECT_EQ(text.find("cuts\tunit"), text.rfind("cuts\tunit")) << "one line is enough";

  ASSERT_TRUE(scan.Write(Cuts(50)).ok());
  EXPECT_EQ(plan(), 0u) << "a worker that was frozen tells it";
  ASSERT_TRUE(scan.Write(Cuts(110)).ok());
  ASSERT_TRUE(scan.Write(Cuts(120, true)).ok());
  plan();
  ASSERT_TRUE(scan.Write(Cuts(120)).ok());
  EXPECT_EQ(plan(), 0u);
  EXPECT_EQ((*log)->FindCuts("text/0000-*")->partitions, 120u);
  UnitRecord end = Cuts(0);
  end.line.state = UnitState::kEnd;
  end.line.partitions = 120;
  ASSERT_TRUE((*log)->Append(end.line).ok());
  ASSERT_TRUE(scan.Write(Cuts(130)).ok());
  EXPECT_EQ(plan(), 0u);
}

TEST(WorkResultTest, ARecordOfTheFirstVersionHasItsLineage) {
  MemoryStore place;
  Json json = *Json::Parse(EncodeUnitRecord(Record(UnitState::kDone, "text/0000-00001", "a")));
  json["pipe_done"] = 1;
  json["lineage"] = "[1]";
  ASSERT_TRUE(WriteObject(place, "done/text/0000-00001.json", json.Dump(), Condition::CreateOnly()).ok());
  Lines unreadable;
  const Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok() && records->size() == 1u);
  EXPECT_EQ(*records->front().lineage_text, "[1]");
}

/// The record of an input with one partition.
UnitRecord WholeInput(std::string_view bytes) {
  UnitRecord record = Record(UnitState::kEnd, "text/0000-*", "");
  record.line.digest = {};
  record.line.partitions = 1;
  record.partition = Record(UnitState::kDone, "text/0000-00000", bytes).line;
  return record;
}

TEST(WorkResultTest, OneRecordTellsThePartitionAndTheEndOfAnInput) {
  MemoryStore place;
  TempDir dir;
  const auto log = RunLog::Open(dir / "run.log");
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->AppendSegment("[1]").ok());
  ASSERT_TRUE(ResultWriter(place).Write(WholeInput("a")).ok());
  Lines unreadable;
  Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok() && records->size() == 1u);
  EXPECT_EQ(EncodeUnitRecord(records->front()), EncodeUnitRecord(WholeInput("a")));
  const Result<TakenResults> taken = AddResults(std::move(*records), unreadable, **log);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->objects, *place.List("done/"));
  ASSERT_NE((*log)->FindDone("text/0000-00000"), nullptr);
  EXPECT_EQ((*log)->FindDone("text/0000-00000")->segment, 2u);
  ASSERT_NE((*log)->FindDone("text/0000-*"), nullptr);
  EXPECT_EQ((*log)->FindDone("text/0000-*")->segment, 2u);
  const std::string text = ReadFile(dir / "run.log");
  EXPECT_LT(text.find("text/0000-00000"), text.find("text/0000-*")) << "the end comes last";
}

TEST(WorkResultTest, APartitionThatWasFoundDamagedIsVoidInEachRecord) {
  MemoryStore place;
  TempDir dir;
  const auto log = RunLog::Open(dir / "run.log");
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(ResultWriter(place).Write(WholeInput("a")).ok());
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kVoid, "text/0000-00000", "")).ok());
  Lines unreadable;
  Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok());
  ASSERT_TRUE(AddResults(std::move(*records), unreadable, **log).ok());
  EXPECT_EQ((*log)->FindDone("text/0000-00000"), nullptr);
  EXPECT_NE((*log)->FindDone("text/0000-*"), nullptr);
}

TEST(WorkResultTest, OtherBytesOfAnOnlyPartitionAreABug) {
  MemoryStore place;
  ASSERT_TRUE(ResultWriter(place).Write(WholeInput("a")).ok());
  EXPECT_TRUE(ResultWriter(place).Write(WholeInput("a")).ok());
  EXPECT_EQ(ResultWriter(place).Write(WholeInput("b")).code(), Code::kInternal);
  UnitRecord alone = WholeInput("a");
  alone.partition.reset();  // an earlier worker stored the partition
  EXPECT_TRUE(ResultWriter(place).Write(alone).ok());
}

TEST(WorkResultTest, ThePartitionOfARecordIsOfItsInput) {
  UnitRecord record = WholeInput("a");
  record.partition->unit = "text/0001-00000";
  EXPECT_EQ(ParseUnitRecord(EncodeUnitRecord(record), "text/0000-*").status().message(),
            "partition: it is about text/0001-00000");
  Json json = *Json::Parse(EncodeUnitRecord(WholeInput("a")));
  json["partition"] = "done";
  EXPECT_EQ(ParseUnitRecord(json.Dump(), "text/0000-*").status().message(), "partition: damaged");
}

TEST(WorkResultTest, ARecordWithoutItsLineageIsUnreadable) {
  MemoryStore place;
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "a")).ok());
  const std::string lineage = place.List("lineage/")->front().name;
  ASSERT_TRUE(WriteObject(place, lineage, "[2]", Condition::ReplaceAny()).ok());
  Lines unreadable;
  const Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
  ASSERT_TRUE(records.ok());
  EXPECT_TRUE(records->empty());
  EXPECT_EQ(unreadable, (Lines{"done/text/0000-00001.json", lineage}));
}

TEST(WorkResultTest, ADamagedLineageIsReplacedByTheNextRecord) {
  MemoryStore place;
  for (const std::string damaged : {"", "[2]"}) {
    ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "a")).ok());
    const std::string lineage = place.List("lineage/")->front().name;
    ASSERT_TRUE(WriteObject(place, lineage, damaged, Condition::ReplaceAny()).ok());
    TempDir dir;
    const auto log = RunLog::Open(dir / "run.log");
    ASSERT_TRUE(log.ok());
    Lines unreadable;
    Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
    ASSERT_TRUE(records.ok() && records->empty());
    const Result<TakenResults> taken = AddResults(std::move(*records), unreadable, **log);
    ASSERT_TRUE(taken.ok());
    ASSERT_TRUE(RemoveResults(place, *taken).ok());
    EXPECT_EQ(place.List("")->size(), 0u) << "otherwise each later record is unreadable, too";
  }
  ASSERT_TRUE(ResultWriter(place).Write(Record(UnitState::kDone, "text/0000-00001", "a")).ok());
  Lines unreadable;
  EXPECT_EQ(ReadWorkResults(place, "", unreadable)->size(), 1u);
}

/// Hands out and works off until nothing is left, one unit at a time; every unit, sorted.
Lines WorkOff(ToyPlace& place, const std::string& stages) {
  Lines all;
  for (int round = 0; round < 20; ++round) {
    const ToyOutcome planned = place.Run(stages, {}, 1, ExecutionMode::kPlanning);
    EXPECT_EQ(planned.failures, Lines{});
    if (planned.offered.empty()) break;
    for (auto unit = planned.offered.rbegin(); unit != planned.offered.rend(); ++unit) {
      const ToyOutcome done = place.Run(stages, {}, 1, ExecutionMode::kOneUnit, *unit);
      EXPECT_EQ(done.failures, Lines{});
      EXPECT_FALSE(done.units.empty()) << *unit;
      EXPECT_EQ(place.Run(stages, {}, 1, ExecutionMode::kOneUnit, *unit).units, Lines{}) << *unit << " twice";
      all.push_back(*unit);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(NeedsTest, APlanTellsTheNeedsOfItsUnits) {
  ToyPlace place;
  const std::string stages =
      "  model: { type: learn, input: docs }\n"
      "  marked: { type: mark, input: docs, model: model }\n"
      "  text: { type: write_tfds, input: marked, name: toy, out: \"${out}\", shards: 2 }\n";
  std::uint64_t least = 0;
  std::map<std::string, std::uint64_t> read;  // by stage
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 10);
    const ToyOutcome plan = place.Run(stages, {}, 1, ExecutionMode::kPlanning);
    if (plan.offers.empty()) break;
    EXPECT_EQ(plan.needs.jobs, round < 2) << round;
    EXPECT_FALSE(plan.needs.programs);
    for (const OfferedUnit& unit : plan.offers) {
      const std::string stage = unit.unit.substr(0, unit.unit.find('/'));
      ASSERT_TRUE(unit.needs.memory && unit.needs.bytes_in) << unit.unit;
      EXPECT_EQ(unit.needs.cores.has_value(), stage != "model") << unit.unit;
      EXPECT_FALSE(unit.needs.scratch) << unit.unit;
      EXPECT_GT(*unit.needs.bytes_in, 0u);
      read[stage] += *unit.needs.bytes_in;
      least = std::max(least, *unit.needs.memory);
      const bool shard = unit.unit.find(".s0") != std::string::npos;
      EXPECT_TRUE(!shard || unit.needs.bytes_out) << unit.unit;
      EXPECT_EQ(place.Run(stages, {}, 1, ExecutionMode::kOneUnit, unit.unit).failures, Lines{});
    }
  }
  std::uint64_t files = 0;
  for (int file = 0; file < 3; ++file) files += ReadFile(place.path(StrCat("corpus-", file, ".txt"))).size();
  EXPECT_EQ(read["docs"], files);
  EXPECT_GT(least, std::uint64_t{48} << 20) << "the program itself";
}

TEST(NeedsTest, AUnitRunsWithItsMemoryOnAnyNumberOfCoresAndNotWithLess) {
  ToyPlace place;
  const std::string stages = "  text: { type: write_tfds, input: docs, name: toy, out: \"${out}\" }\n";
  const ToyOutcome plan = place.Run(stages, {}, 1, ExecutionMode::kPlanning);
  ASSERT_FALSE(plan.offers.empty());
  const OfferedUnit& unit = plan.offers.front();
  place.threads = 64;
  place.memory = *unit.needs.memory - 1;
  EXPECT_EQ(place.Run(stages, {}, 1, ExecutionMode::kOneUnit, unit.unit).code, Code::kInvalidArgument);
  place.memory = *unit.needs.memory;
  EXPECT_EQ(place.Run(stages, {}, 1, ExecutionMode::kOneUnit, unit.unit).failures, Lines{});
}

TEST(NeedsTest, AUnitLargerThanTheLimitIsNotOffered) {
  ToyPlace place;
  const std::string stages = "  model: { type: learn, input: docs, needs: 8589934592 }\n";
  place.Run(stages, {}, 1, ExecutionMode::kPlanning);
  for (int file = 0; file < 3; ++file)
    place.Run(stages, {}, 1, ExecutionMode::kOneUnit, StrCat("docs/000", file, "-*"));
  const ToyOutcome plan = place.Run(stages, {}, 1, ExecutionMode::kPlanning);
  EXPECT_EQ(plan.offered, Lines{});
  ASSERT_EQ(plan.failures.size(), 1u);
  EXPECT_EQ(plan.failures.front().substr(0, 32), "model/-: needs 8.00 GiB of memor");
}

TEST(ShareTest, JobsAndBarrierStagesAreUnitsLikeOthers) {
  const std::string stages =
      "  some: { type: pick, input: docs, count: 10 }\n  model: { type: learn, input: some }\n"
      "  marked: { type: mark, input: docs, model: model }\n"
      "  text: { type: shelve, input: marked, name: toy, out: \"${out}\", shards: 2 }\n";
  ToyPlace one;
  one.Ok(stages);
  ToyPlace many;
  const Lines units = WorkOff(many, stages);
  EXPECT_EQ(many.hand.learnt, 1);
  EXPECT_EQ(many.Files("out"), one.Files("out"));
  for (const std::string unit :
       {"docs/0002-*", "some.in/0001-00001", "some/0000-*", "model/-", "text/0000-00000"})
    EXPECT_TRUE(std::binary_search(units.begin(), units.end(), unit)) << unit;
  EXPECT_EQ(many.Ok(stages).units, Lines{});
}

}  // namespace
}  // namespace pipeline
