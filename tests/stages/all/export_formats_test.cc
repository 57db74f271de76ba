// The table of export formats: each row has all that commands ask for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stages/all/builtin.h"
#include "tests/stages/verify/published_kinds.h"

namespace pipeline {
namespace {

/// Nothing is beside it.
Result<std::unique_ptr<ByteFile>> Alone(std::string_view) { return std::unique_ptr<ByteFile>(); }

/// Takes what a reader prints and counts.
struct Taken final : RecordOutput, RecordStatistics {
  explicit Taken(bool objects) : wants_json(objects) {}
  bool json() const override { return wants_json; }
  bool done() const override { return false; }
  void Line(std::string_view text) override { lines.emplace_back(text); }
  void Object(const Json& record) override { lines.push_back(record.Dump()); }
  void AddText(std::string_view text) override { lines.push_back(StrCat("text ", text)); }
  void AddIds(std::uint64_t ids) override { lines.push_back(StrCat("ids ", ids)); }
  void AddCounted(std::uint64_t characters, std::uint64_t) override { counted += characters; }
  void AddDocuments(std::uint64_t documents) override { lines.push_back(StrCat("documents ", documents)); }

  const bool wants_json;
  std::vector<std::string> lines;
  std::uint64_t counted = 0;
};

/// The row that claims a file; empty: none does.
std::string ClaimOf(const std::string& bytes, std::string_view name) {
  const StringFile file(bytes);
  const OpenBeside beside = Alone;
  NamedFile named = {file, name, std::string_view(bytes).substr(0, 4096), beside};
  std::optional<TfExample> first;
  const Result<NextExample> next = OpenExamples(file);
  if (next.ok())
    if (Result<std::optional<TfExample>> record = (*next)(); record.ok()) first = *record;
  if (first) named.first = &*first;
  std::string rows;
  for (const ExportFormat& format : ExportFormats())
    if (format.claims != nullptr && format.claims(named)) rows += format.stage.name;
  return rows;
}

TEST(ExportFormatsTest, StagesOfTheTableAreTheLastOfTheRegistryInItsOrder) {
  const Registry registry = BuiltinStages();
  const auto& types = registry.types();
  std::size_t at = types.size() - ExportFormats().size();
  for (const ExportFormat& format : ExportFormats()) EXPECT_EQ(types[at++].name, format.stage.name);
}

TEST(ExportFormatsTest, EachKindOfExportHasARow) {
  for (const PublishedKind& kind : PublishedKinds())
    EXPECT_NE(FindExportFormat(ExportFormats(), kind.type.name), nullptr) << kind.name;
  EXPECT_EQ(FindExportFormat(ExportFormats(), "train_tokenizer"), nullptr);
  for (const ExportFormat& format : ExportFormats()) {
    EXPECT_NE(format.verify, nullptr) << format.stage.name;
    ASSERT_NE(format.read, nullptr) << format.stage.name;
    EXPECT_NE(format.read(Alone), nullptr) << format.stage.name;
  }
}

TEST(ExportFormatsTest, AFileIsClaimedByOneRowAtMost) {
  for (const PublishedKind& kind : PublishedKinds()) {
    const TempDir dir;
    const ManifestShard shard = PublishKind(kind, dir / "out").shards.front();
    const std::string bytes = ReadFile(dir / "out/" + shard.object.name);
    const std::string name = std::filesystem::path(shard.object.name).filename();
    // A data set of TFDS has examples as any program may have them; plain ids need packed.json.
    const bool raw = name.ends_with(".bin");
    const bool claimed = kind.type.name != "write_tfds" && !raw;
    EXPECT_EQ(ClaimOf(bytes, name), claimed ? kind.type.name : "") << kind.name;
  }
}

TEST(ExportFormatsTest, AFileOfNoRowIsReadByItsExamples) {
  std::string example;
  AppendTfExample(example, {{"a", TfInt64List{1, 2}}, {"b", TfInt64List{7}}});
  const std::string bytes = Framed({example});
  const StringFile file(bytes);
  const OpenBeside beside = Alone;
  const std::string_view name = "x-test.tfrecord-00004-of-00010";
  const auto reader = MakeFileReader(ExportFormats(), {file, name, bytes, beside});
  ASSERT_NE(reader, nullptr);
  Taken lines(false), objects(true), counts(false);
  EXPECT_TRUE(reader->Print({file, name}, lines).ok());
  EXPECT_EQ(lines.lines, std::vector<std::string>{R"({"a":[1,2],"b":[7]})"});
  EXPECT_TRUE(reader->Print({file, name}, objects).ok());
  EXPECT_EQ(objects.lines, std::vector<std::string>{
                               R"({"features":{"a":[1,2],"b":[7]},"index":0,"shard":4,"split":"test"})"});
  EXPECT_TRUE(reader->Count({file, name}, counts).ok());
  EXPECT_EQ(counts.lines, std::vector<std::string>{"ids 2"}) << "the longest list";
  const StringFile other("neither");
  EXPECT_EQ(MakeFileReader(ExportFormats(), {other, "x", "neither", beside}), nullptr);
}

TEST(ExportFormatsTest, PackedRowsCountAsTheirIndexSays) {
  const PublishedKind kind = KindNamed("packed_example");
  const TempDir dir;
  const ManifestShard shard = PublishKind(kind, dir / "out").shards.front();
  const StringFile file(ReadFile(dir / "out/" + shard.object.name));
  const auto beside = [&dir](std::string_view name) -> Result<std::unique_ptr<ByteFile>> {
    return std::unique_ptr<ByteFile>(
        std::make_unique<StringFile>(ReadFile(dir / "out/" + std::string(name))));
  };
  const auto reader = FindExportFormat(ExportFormats(), kind.type.name)->read(beside);
  Taken counts(false);
  ASSERT_TRUE(reader->Count({file, shard.object.name}, counts).ok());
  EXPECT_EQ(counts.lines.size(), shard.records);
  EXPECT_GT(counts.counted, 0u) << "only the index knows the characters of ids";
  Taken without(false);
  ASSERT_TRUE(FindExportFormat(ExportFormats(), kind.type.name)
                  ->read(Alone)
                  ->Count({file, shard.object.name}, without)
                  .ok());
  EXPECT_EQ(without.lines.size(), shard.records);
  EXPECT_EQ(without.counted, 0u);
}

TEST(ExportFormatsTest, OnlyDataSetsOfLinesHaveALongestLine) {
  const ExportFormat& tfds = *FindExportFormat(ExportFormats(), "write_tfds");
  Json config;
  Schema schema;
  EXPECT_EQ(tfds.longest_line(config, schema), 0);
  config["max_tokens"] = 128;
  EXPECT_EQ(tfds.longest_line(config, schema), 128);
  schema.columns["label"] = ColumnType::kUtf8;
  EXPECT_FALSE(tfds.longest_line(config, schema));
}

}  // namespace
}  // namespace pipeline
