// Strings of manifests, run logs and work directories that other versions and programs read.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/str.h"
#include "dag/books/location_log.h"
#include "dag/books/manifest.h"
#include "dag/books/quarantine.h"
#include "dag/books/run_log.h"
#include "dag/books/run_log_line.h"
#include "dag/books/unit_id.h"
#include "dag/books/work_dir.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

// Every function below gives a value in which each member is set. A struct with a further member stops the
// build at the binding of its members; set the member then, and bind it.

Lineage FullLineage() {
  LineageStage stage{"<stage>", "<type>", 2, {}, {{"<library>", "1"}}, {{"<source>", "1111"}}, {}, {}};
  stage.config["<key>"] = 1;
  stage.named_inputs = {{"<port>", DigestOf("1"), {stage}, "<file>"}};
  [[maybe_unused]] const auto& [name, type, version, config, libraries, sources, inputs, recipe] = stage;
  [[maybe_unused]] const auto& [port, digest, lineage, file] = stage.named_inputs.front();
  stage.recipe = RecipeOf(stage, DigestOf("2"));
  return {stage};
}

StoredObject FullObject() {
  const StoredObject object{"<object>", 1, 2, DigestOf("3")};
  [[maybe_unused]] const auto& [name, bytes, crc32c, digest] = object;
  return object;
}

StageCounts FullCounts() {
  const StageCounts counts{1, 2, 3, 4, {{"<reason>", 5}}, {{"<reason>", {6, 7}}}};
  [[maybe_unused]] const auto& [records_in, records_out, bytes_in, bytes_out, reasons, sizes] = counts;
  return counts;
}

Manifest FullManifest() {
  Manifest manifest;
  manifest.lineage = FullLineage();
  manifest.schema = {
      {{"<text>", ColumnType::kUtf8}, {"<list>", ColumnType::kU32List}, {"<byte>", ColumnType::kU8}},
      {"train"},
      {"<field>"}};
  manifest.splits = {{"<split>", {1, 2, 3}}};
  manifest.counts = {{"<stage>", FullCounts()}};
  manifest.sidecars = {FullObject()};
  manifest.followers = {FullObject()};
  manifest.shards = {{"<split>", 1, 2, 3, FullObject()}};
  manifest.partitions = {{{1, 2}, {DigestOf("4"), {FullObject()}, {}}, {{"<split>", {1, 2, 3}}}}};
  manifest.facts["<fact>"] = 1;
  manifest.continues["<key>"] = 1;
  [[maybe_unused]] const auto& [lineage, schema, splits, counts, sidecars, followers, shards, partitions,
                                facts, continues, sealed] = manifest;
  [[maybe_unused]] const auto& [columns, split_names, field_names] = schema;
  [[maybe_unused]] const auto& [split, number, count, records, object] = shards.front();
  return manifest;
}

UnitLine FullLine(UnitState state) {
  UnitLine line;
  line.state = state;
  line.unit = "<unit>";
  line.segment = 1;
  line.recipe = line.content = line.digest = DigestOf("5");
  line.objects = {FullObject()};
  line.location = "<place>";
  line.records = 2;
  line.sums = {3};
  line.splits = {{"<split>", {1, 2, 3}}};
  line.end = {4, 5};
  line.partitions = 6;
  line.raw_bytes = 7;
  line.documents = 8;
  line.counts = {{"<stage>", FullCounts()}};
  line.cuts = {{1, 2}, {4, 6}};
  line.note = line.whole_from = line.continues = line.facts = line.reason = line.origin = "<text>";
  [[maybe_unused]] const auto& [its_state, unit, segment, recipe, content, digest, objects, location, records,
                                sums, splits, end, partitions, raw_bytes, documents, counts, cuts, note,
                                whole_from, continues, facts, reason, origin] = line;
  [[maybe_unused]] const auto& [raw_end, document_end] = end;
  return line;
}

/// Kind and keys of one line, with the words of their values.
void AddLine(OutsideStrings& strings, std::string_view line) {
  line = line.substr(0, line.rfind('\t'));  // without the checksum, which has a digest of everything
  const std::string_view kind = line.substr(0, line.find('\t'));
  strings.Add("kind of a line", kind);
  for (std::size_t at = kind.size(); at < line.size();) {
    const std::string_view field = line.substr(at + 1, line.find('\t', at + 1) - at - 1);
    strings.Add(StrCat("field of ", kind), field);
    at += field.size() + 1;
  }
}

TEST(OutsideStringsOfBooksTest, Manifest) {
  const Manifest manifest = FullManifest();
  const std::string text = EncodeManifest(manifest);
  const Result<Manifest> read = ParseManifest(text, "<file>");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EncodeManifest(*read), text);
  const Result<Json> json = Json::Parse(text);
  ASSERT_TRUE(json.ok());

  OutsideStrings strings;
  strings.Add("object", kManifestName).AddMembers("member", *json);
  strings.Add("version", (*json)["pipe_manifest"].Dump());
  for (const auto& [column, type] : (*json)["schema"]["columns"].AsObject())
    strings.Add("type of a column", type.AsString());
  strings.Add("name of a partition", (*json)["partitions"].AsArray()[0]["partition"].AsString());
  strings.Add("recipe", manifest.recipe().ToHex());
  strings.Add("content root", manifest.ContentRoot().ToHex());
  strings.Add("seal", (*json)["seal"].AsString());
  EXPECT_TRUE(ArePinned(strings, "manifest"));
}

TEST(OutsideStringsOfBooksTest, RunLog) {
  OutsideStrings strings;
  for (const UnitState state :
       {UnitState::kDone, UnitState::kFailed, UnitState::kVoid, UnitState::kEnd, UnitState::kCuts})
    AddLine(strings, EncodeLine(FullLine(state)));
  const SegmentLine segment{1, "<lineage>", 2};
  const RunLine run{"<id>", 1, "<command>", 2, 3, "<outcome>"};
  [[maybe_unused]] const auto& [number, lineage, began] = segment;
  [[maybe_unused]] const auto& [id, pid, command, started, ended, outcome] = run;
  AddLine(strings, EncodeLine(segment));
  AddLine(strings, EncodeLine(run));
  UnitLine escaped;
  escaped.unit = "a\t\n\r%";
  AddLine(strings, EncodeLine(escaped));

  const TempDir dir;
  ASSERT_TRUE((*RunLog::Open(dir / "run.log"))->Append(FullLine(UnitState::kVoid)).ok());
  const std::string log = ReadFile(dir / "run.log");
  strings.Add("first line", log.substr(0, log.find('\n') + 1));

  for (const UnitId& unit : {UnitId{"<stage>", PartitionId{1, 2}}, UnitId{"<stage>", StreamId{3}},
                             UnitId{"<stage>", JobId{}}, UnitId{"<stage>", ShardId{"<split>", 4, 5}}})
    strings.Add("name of a unit", ToString(unit));
  EXPECT_TRUE(ArePinned(strings, "run_log"));
}

TEST(OutsideStringsOfBooksTest, WorkDirectory) {
  const TempDir dir;
  const WorkDir work(dir / "work");
  ASSERT_TRUE(work.Create().ok());
  OutsideStrings strings;
  for (const auto& entry : std::filesystem::directory_iterator(work.path()))
    strings.Add("directory", entry.path().filename().string());
  for (const std::string& path :
       {work.log(), work.lock(), work.artifacts(), work.spool(), work.sources(), work.kept(), work.cache(),
        work.runs(), work.run("<id>"), work.artifact("<stage>", DigestOf("1"))})
    strings.Add("path", path.substr(work.path().size()));

  {
    const auto held = WorkLock::Take(work.path(), SystemClock());
    ASSERT_TRUE(held.ok()) << held.status().message();
    const std::string lock = ReadFile(work.lock());
    for (std::size_t at = 0; at < lock.size(); at = lock.find_first_of(" \n", at) + 1)
      strings.Add("word of the lock", lock.substr(at, lock.find('=', at) + 1 - at));
    strings.Add("state of the lock", lock.substr(lock.find("state=")));
  }
  strings.Add("state of the lock", ReadFile(work.lock()).substr(ReadFile(work.lock()).find("state=")));

  LocalStore store(work.path());
  QuarantineWriter writer(store, {{"<stage>", DigestOf("1"), false}}, {1, 2});
  const Quarantined record{0, 7, 1, "<reason>", "text"}, broken{0, 8, 1, "<reason>", "\xff"};
  [[maybe_unused]] const auto& [stage, index, sub, reason, bytes] = record;
  ASSERT_TRUE(writer.Add({record, broken}).ok());
  ASSERT_TRUE(writer.Commit().ok());
  const std::string name = QuarantineName({"<stage>", DigestOf("1"), false}, {1, 2});
  strings.Add("quarantine", name);
  std::string lines = ReadFile(dir / StrCat("work/", name));
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
    strings.AddMembers("member of a quarantined record", *Json::Parse(lines.substr(0, end)));
    lines.erase(0, end + 1);
  }
  EXPECT_TRUE(ArePinned(strings, "work_directory"));
}

TEST(OutsideStringsOfBooksTest, LogOfALocation) {
  MemoryStore out;
  LocationLog log(out, "<lineage>");
  ASSERT_TRUE(log.Add(FullLine(UnitState::kDone), {}).ok());
  ASSERT_TRUE(log.Flush({}).ok());
  const auto objects = out.List("");
  ASSERT_TRUE(objects.ok() && objects->size() == 1);
  const std::string name = objects->front().name;
  const auto text = ReadObject(out, name, 10'000);
  ASSERT_TRUE(text.ok());
  OutsideStrings strings;
  strings.Add("prefix of our objects", kOwnPrefix);
  std::string shown = name;
  for (std::size_t at = name.rfind('/') + 1; shown[at] != '-'; ++at) shown[at] = 'x';  // the id of a run
  strings.Add("object of the log", shown);
  strings.Add("first line of the log", text->substr(0, text->find('\n') + 1));
  EXPECT_TRUE(ArePinned(strings, "location_log"));
}

}  // namespace
}  // namespace pipeline
