// Strings that enter the keys of units, and those of work packages.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <string>

#include "base/str.h"
#include "dag/books/lineage.h"
#include "dag/books/manifest.h"
#include "dag/books/run_log.h"
#include "dag/keys.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "dag/package/unit_lease.h"
#include "dag/package/unit_queue.h"
#include "dag/package/work_package.h"
#include "dag/package/work_results.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/plan/lineages.h"
#include "storage/memory_store.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

TEST(OutsideStringsOfUnitsTest, Keys) {
  LineageStage stage{"<stage>", "<type>", 1, {}, {}, {}, {}, {}};
  stage.config["<key>"] = 1;
  const Digest digest = DigestOf("1");
  Shard shard;
  shard.split = "<split>";
  shard.number = 1;
  shard.count = 2;
  shard.outputs = digest;
  OutsideStrings strings;
  const auto add = [&strings](std::string_view kind, const Digest& key) { strings.Add(kind, key.ToHex()); };
  add("recipe of a stage", RecipeOf(stage, digest));
  add("recipe of a partition", PartitionRecipe(digest, {1, 2}));
  add("recipe of an end", EndRecipe(digest, 1));
  add("recipe of a shard", ShardRecipe(digest, shard));
  add("content of records", RecordsContent(digest, {{}, {"<split>"}, {"<field>"}}));
  add("content of a partition", PartitionContent({stage}, digest, {1, 2}));
  add("content of a shard", ShardContent(stage, shard));

  // What the plan makes of a file: the types of partition outputs, and names of units and places.
  ToyPlace place;
  place.rules = "1";  // they add nothing to a recipe
  place.Ok(
      "  some: { type: pick, input: docs, count: 10 }\n"
      "  model: { type: learn, input: docs, salt: a }\n"
      "  text: { type: write_tfds, input: some, name: toy, out: \"${out}\" }\n");
  const auto log = RunLog::OpenReadOnly(place.path("work/run.log"));
  ASSERT_TRUE(log.ok());
  for (const UnitLine* line : (*log)->List(""))
    if (line->unit.find("/0001") == std::string::npos && line->unit.find("/0002") == std::string::npos) {
      strings.Add(StrCat("recipe of ", line->unit), line->recipe.ToHex());
      if (!line->location.empty() && line->location.front() != '/') strings.Add("place", line->location);
    }
  strings.Add("end of a stage's type", kFirstPassSuffix).Add("front of a source's name", kTakenFromName);
  strings.Add("end of a stage's name", kTakesInSuffix).Add("place", kWorkLocation).Add("place", kRunLocation);
  EXPECT_TRUE(ArePinned(strings, "keys"));
}

TEST(OutsideStringsOfUnitsTest, WorkPackage) {
  // A struct with a further member stops the build here; set the member then, and bind it.
  const WorkPackage::File file{"<path>", "<name>", 1, "<identity>", DigestOf("1"), {DigestOf("2")}};
  const OfferedUnit unit{"<unit>", DigestOf("2"), true, {1, 2, 3, 4, 5, 6}};
  const WorkPackage package{"<text>",
                            "<file>",
                            {{"<name>", "<value>"}},
                            "<subset>",
                            "<until>",
                            "<directory>",
                            "<work>",
                            "<holder>",
                            "<log>",
                            "1-2",
                            "<nonce>",
                            1,
                            {file},
                            {unit},
                            true,
                            true,
                            {{"<stage>", DigestOf("3")}},
                            {{"<stage>", std::chrono::milliseconds(1)}},
                            {{{"<stage>", "<rules>"}}}};
  [[maybe_unused]] const auto& [path, name, size, identity, digest, ranges] = file;
  [[maybe_unused]] const auto& [unit_name, unit_recipe, scanned, unit_needs] = unit;
  [[maybe_unused]] const auto& [memory, cores, seconds, bytes_in, bytes_out, scratch] = unit_needs;
  [[maybe_unused]] const auto& [pipeline, file_name, set, subset, until, directory, work, holder, log, run,
                                nonce, group_memory, files, units, from_log, cuts, machine, pace, rules] =
      package;
  const Result<WorkPackage> read = ParseWorkPackage(EncodeWorkPackage(package));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, package);

  OutsideStrings strings;
  const Result<Json> json = Json::Parse(EncodeWorkPackage(package));
  ASSERT_TRUE(json.ok());
  strings.Add("object", kWorkPackageName).AddMembers("member of the plan", *json);
  strings.Add("version of the plan", (*json)["pipe_plan"].Dump());
  WorkPackage of_home = package;
  of_home.work = "gs://bucket/run";
  const Result<WorkPackage> home_read = ParseWorkPackage(EncodeWorkPackage(of_home));
  ASSERT_TRUE(home_read.ok()) << home_read.status().message();
  EXPECT_EQ(*home_read, of_home);
  const Result<Json> of_home_json = Json::Parse(EncodeWorkPackage(of_home));
  ASSERT_TRUE(of_home_json.ok() && !of_home_json->Has("work"));
  strings.AddMembers("member of the plan", *of_home_json);
  MemoryStore store;
  for (const UnitState state : {UnitState::kDone, UnitState::kVoid}) {
    UnitLine made;
    made.state = state;
    made.unit = "stage/0000-00001";
    UnitRecord record = RecordOf(made, "[]");
    record.who = "<who>";
    record.took = std::chrono::milliseconds(1);
    record.began = 2;
    // `object` is where a record was read, and is not in it.
    [[maybe_unused]] const auto& [line, partition, lineage, lineage_text, who, took, began, object] = record;
    ASSERT_TRUE(ResultWriter(store).Write(record).ok());
    const Result<Json> result = Json::Parse(EncodeUnitRecord(record));
    ASSERT_TRUE(result.ok());
    strings.AddMembers("member of a result", *result);
    strings.Add("version of a result", (*result)["pipe_done"].Dump());
  }
  UnitLine first_cuts;
  first_cuts.state = UnitState::kCuts;
  first_cuts.unit = "stage/0000-*";
  first_cuts.cuts = {{1, 2}};
  ASSERT_TRUE(ResultWriter(store).Write(RecordOf(first_cuts, "[]")).ok());
  UnitRecord both = RecordOf({}, "[]");
  both.line.state = UnitState::kEnd;
  both.line.unit = "stage/0000-*";
  both.partition.emplace().unit = "stage/0000-00000";
  const Result<Json> of_both = Json::Parse(EncodeUnitRecord(both));
  ASSERT_TRUE(of_both.ok());
  strings.AddMembers("member of a result", *of_both);
  strings.Add("version of a result", (*of_both)["pipe_done"].Dump());
  const RunEnd end{{{"<unit>", "<why>"}}, "<nonce>"};
  strings.AddMembers("member of the end", *Json::Parse(EncodeVersioned(end)));
  ASSERT_TRUE(WriteObject(store, kRunEndName, EncodeVersioned(end), Condition::CreateOnly()).ok());
  ASSERT_TRUE(AddAttempt(store, "stage/0000-00001", {"<who>", 65, "<why>"}, true, {}).ok());
  const UnitAttempts attempts{{{"<who>", 65, "<why>"}}, true};
  strings.AddMembers("member of the attempts", *Json::Parse(EncodeVersioned(attempts)));
  UnitLeaseTerms terms{"<nonce>", "<who>"};
  terms.memory = 1;
  ASSERT_TRUE(UnitLease::Take(store, terms, "stage/0000-00001", {}).ok());
  const Result<std::string> lease = ReadObject(store, ObjectOfLease("stage/0000-00001"), 1000);
  ASSERT_TRUE(lease.ok());
  strings.AddMembers("member of a lease", *Json::Parse(*lease));
  strings.Add("name of a lease", kPlanningLease);
  const Submission submission{"<engine>", "<job>", "<directory>", "<host>", 1, 2};
  strings.AddMembers("member of a submission", *Json::Parse(EncodeVersioned(submission)));
  strings.Add("object", kSubmissionName);
  const WorkHistory history{{{"<unit>", "<who>", 1, 2, 3, 4}}, {{"<unit>", "<who>", "<by>", 5}}};
  [[maybe_unused]] const auto& [results, lost] = history;
  [[maybe_unused]] const auto& [done, by_whom, since, lasted, bytes, records] = results.front();
  [[maybe_unused]] const auto& [lost_unit, loser, taker, lease_began] = lost.front();
  strings.AddMembers("member of the history", *Json::Parse(EncodeWorkHistory(history)));
  ASSERT_TRUE(WriteHistory(store, "1-2", history).ok());
  ASSERT_TRUE(WriteChangedSource(store, "/<path>").ok());
  const auto objects = store.List("");
  ASSERT_TRUE(objects.ok());
  for (const ObjectInfo& object : *objects) strings.Add("object", object.name);
  EXPECT_TRUE(ArePinned(strings, "work_package"));
}

}  // namespace
}  // namespace pipeline
