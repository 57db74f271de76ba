#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/local_store.h"
#include "tests/cli/run_pipe.h"
#include "tests/cli/small_artifact.h"
#include "verify/verify_artifact.h"
#include "verify/verify_object.h"
#include "verify/verify_tfds.h"

namespace pipeline {
namespace {

constexpr std::string_view kAgain = "; `pipe run FILE --force text` makes the artifact again";

VerifyReport Verify(const std::string& place, int threads = 2) {
  LocalStore store(place);
  const Result<Manifest> manifest = ReadManifest(store, place);
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  if (!manifest.ok()) return {};
  Result<VerifyReport> report = VerifyArtifact(store, *manifest, threads, {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? std::move(report).value() : VerifyReport();
}

/// "OBJECT: line" of everything found.
std::vector<std::string> FoundIn(const std::string& place, int threads = 2) {
  std::vector<std::string> lines;
  for (const Findings& findings : Verify(place, threads).findings)
    for (const std::string& line : findings.lines()) lines.push_back(findings.object() + ": " + line);
  return lines;
}

bool Finds(const std::vector<std::string>& lines, std::string_view words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

std::string Line(std::string_view object, std::string_view what) {
  return std::string(object).append(": ").append(what).append(kAgain);
}

void ExpectEveryFlipFound(const std::string& place, const std::string& object) {
  const std::string path = place + "/" + object;
  const std::string good = ReadFile(path);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    WriteFile(path, bad);
    const VerifyReport report = Verify(place, 1);
    ASSERT_EQ(report.findings.size(), 1u) << object << ", byte " << at;
    EXPECT_EQ(report.findings.front().object(), object) << "byte " << at;
  }
  WriteFile(path, good);
  EXPECT_TRUE(Verify(place).findings.empty());
}

TEST(VerifyTest, GoodArtifactEndsWithASummary) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(set.place()))
    if (entry.is_regular_file() && entry.path().filename() != kManifestName) bytes += entry.file_size();
  const Ran ran = RunPipe({"verify", set.place() + "/"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, set.place() + ": good: read 5 objects, 4 records (train 3, validation 1), " +
                         HumanBytes(bytes) + "\n");
}

TEST(VerifyTest, EveryFlippedByteOfADataSetIsFoundInItsObject) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  for (const std::string_view object : {kFirstShard, kTfdsInfoFile, kTfdsFeaturesFile})
    ExpectEveryFlipFound(set.place(), std::string(object));
}

TEST(VerifyTest, EveryFlippedByteOfAPartitionIsFoundInItsObject) {
  const TempDir dir;
  GoodIntermediate(dir / "docs");
  EXPECT_TRUE(FoundIn(dir / "docs").empty());
  ExpectEveryFlipFound(dir / "docs", "0000-00000.part");
  std::filesystem::remove(dir / "docs/0000-00000.part");
  EXPECT_EQ(FoundIn(dir / "docs"),
            std::vector<std::string>{"0000-00000.part: missing; a run that needs it makes it again"});
}

TEST(VerifyTest, ReadsOnAfterADamagedRecord) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  std::vector<std::string> examples;
  for (int i = 0; i < 10; ++i) examples.push_back(TextExample("0123456789"));
  set.AddSplit("train", {examples});
  set.Finish();
  const std::string name = TfdsShardName("tiny", "train", 0, 1);
  std::string shard = ReadFile(set.Path(name));
  const std::size_t frame = shard.size() / examples.size();
  shard[frame * 2 + 30] ^= 1;
  shard[frame * 7 + 30] ^= 1;
  WriteFile(set.Path(name), shard);

  const VerifyReport report = Verify(set.place());
  ASSERT_EQ(report.findings.size(), 1u);
  const std::vector<std::string>& lines = report.findings.front().lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(" is stored")),
            "record 2 at byte " + std::to_string(frame * 2) + ": damaged: the CRC of the data");
  EXPECT_EQ(lines[1].substr(0, 9), "record 7 ");
  EXPECT_EQ(lines[2].substr(0, 45), "its bytes are not those that were written: th");
  EXPECT_EQ(report.records.at("train"), 8u) << "those that can still be read";
}

TEST(VerifyTest, WithoutALengthTheRestIsLost) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::string shard = ReadFile(set.Path(kFirstShard));
  shard[0] ^= 1;
  WriteFile(set.Path(kFirstShard), shard);
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Finds(lines, "record 0 at byte 0: damaged: the CRC of the length"));
  EXPECT_EQ(lines[1], Line(kFirstShard, "what follows byte 0 cannot be told apart into records"));
}

TEST(VerifyTest, LostLengthenedAndMissingObjectsAreNamed) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const std::string shard = ReadFile(set.Path(kFirstShard));

  WriteFile(set.Path(kFirstShard), shard.substr(0, shard.size() - 1));
  EXPECT_TRUE(Finds(FoundIn(set.place()), "record 1 at byte "));
  EXPECT_TRUE(Finds(FoundIn(set.place()),
                    "has " + std::to_string(shard.size() - 1) + " bytes where the manifest says"));

  std::string longer = shard;
  AppendTfRecord(longer, TextExample("one more"));
  WriteFile(set.Path(kFirstShard), longer);
  EXPECT_TRUE(Finds(FoundIn(set.place()), "has 3 records where the manifest says 2"));

  std::filesystem::remove(set.Path(kFirstShard));
  EXPECT_EQ(FoundIn(set.place()), std::vector<std::string>{Line(kFirstShard, "missing")});

  WriteFile(set.Path(kFirstShard), shard);
  std::filesystem::remove(set.Path(kTfdsFeaturesFile));
  EXPECT_EQ(FoundIn(set.place()), std::vector<std::string>{Line(kTfdsFeaturesFile, "missing")});
}

TEST(VerifyTest, StraysAreNamed) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  WriteFile(set.Path("notes.txt"), "mine");
  EXPECT_EQ(FoundIn(set.place()),
            std::vector<std::string>{"notes.txt: is in no manifest, so not a part of the "
                                     "artifact; remove it, or move it elsewhere"});
}

TEST(VerifyTest, RecordsMustBeOneCleanText) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  std::string two_features, number;
  AppendTfExample(two_features, {{"text", TfBytesList{"a"}}, {"url", TfBytesList{"b"}}});
  AppendTfExample(number, {{"text", TfInt64List{1}}});
  set.AddSplit("train",
               {{TextExample("a\xff"), TextExample(std::string("ab\0", 3)), two_features, number, "\xff"}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_TRUE(Finds(lines, "record 0 at byte 0: its text is not UTF-8 at byte 1;"));
  EXPECT_TRUE(Finds(lines, ": its text holds NUL at byte 2;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text, url}, not {text};"));
  EXPECT_TRUE(Finds(lines, ": its feature text is not one text;"));
  EXPECT_TRUE(Finds(lines, "record 4 at byte ")) << "and that it is no Example";
}

std::string LabelledExample(std::string_view text, TfInt64List label) {
  std::string example;
  AppendTfExample(example, {{"label", std::move(label)}, {"text", TfBytesList{text}}});
  return example;
}

TEST(VerifyTest, LabelsAreNumbersOfTheDataSet) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.SetLabels({"no", "yes"});
  set.AddSplit("train", {{LabelledExample("a", {0}), LabelledExample("b", {1})}});
  set.Finish();
  EXPECT_TRUE(FoundIn(set.place()).empty());
  for (const std::string_view object : {kTfdsLabelsFile, kTfdsFeaturesFile})
    ExpectEveryFlipFound(set.place(), std::string(object));

  SmallDataSet bad(dir / "bad");
  bad.SetLabels({"no", "yes"});
  bad.AddSplit("train", {{LabelledExample("a", {2}), LabelledExample("b", {0, 1}), TextExample("c")}});
  bad.Finish();
  WriteFile(bad.Path(kTfdsLabelsFile), "yes\nno\n");
  const std::vector<std::string> lines = FoundIn(bad.place());
  EXPECT_TRUE(Finds(lines, ": its label is 2 of 2;"));
  EXPECT_TRUE(Finds(lines, ": its feature label is not one number;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text}, not {label, text};"));
  EXPECT_TRUE(
      Finds(lines, "label.labels.txt: does not name the labels that the manifest has, in their order"));
}

TEST(VerifyTest, LabelsOfAFileAndSeveralTexts) {
  const auto example = [](TfInt64List label, std::string_view hypothesis) {
    std::string bytes;
    AppendTfExample(bytes, {{"label", std::move(label)},
                            {"hypothesis", TfBytesList{hypothesis}},
                            {"premise", TfBytesList{"a"}}});
    return bytes;
  };
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.SetFeatures({"premise", "hypothesis"});
  set.SetLabels({"no", "yes"}, true);
  set.AddSplit("train", {{example({0}, "b"), example({2}, "b"), example({1}, "\xff"), TextExample("a")}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Finds(lines, ": its label is 2 of 2;"));
  EXPECT_TRUE(Finds(lines, ": its text is not UTF-8 at byte 0;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text}, not {hypothesis, label, premise};"));

  SmallDataSet other(dir / "other");
  other.SetLabels({"no", "yes"}, true);
  other.AddSplit("train", {{LabelledExample("a", {0})}});
  other.Finish();
  EXPECT_TRUE(FoundIn(other.place()).empty());
  WriteFile(other.Path(kTfdsLabelsFile), "no\nyes\nmaybe\n");
  EXPECT_TRUE(Finds(FoundIn(other.place()), "label.labels.txt: names 3 labels where features.json has 2"));
}

TEST(VerifyTest, DamagedFeaturesAreSaidOnce) {
  Manifest manifest;
  manifest.lineage.resize(1);
  manifest.schema.field_names = {"premise", "hypothesis"};
  const TfdsFeatures features = FeaturesOf(std::string("{}"), std::string("no\nyes\n"), manifest);
  EXPECT_EQ(features.texts, (std::vector<std::string>{"premise", "hypothesis"}));
  EXPECT_EQ(features.labels, 2u);
  manifest.schema.field_names.clear();
  const TfdsFeatures plain = FeaturesOf(std::string("{}"), Status(Code::kNotFound, ""), manifest);
  EXPECT_EQ(plain.texts, std::vector<std::string>{"text"});
  EXPECT_EQ(plain.labels, 0u);

  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.SetLabels({"no", "yes"}, true);
  set.AddSplit("train", {{LabelledExample("a", {0}), LabelledExample("b", {1})}});
  set.Finish();
  WriteFile(set.Path(kTfdsFeaturesFile), "{}");
  for (const std::string& line : FoundIn(set.place()))
    EXPECT_TRUE(line.starts_with(kTfdsFeaturesFile)) << line;
}

TEST(VerifyTest, SplitsFeedTheirTrainer) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.manifest().lineage.back().config["hosts"] = 2;
  set.manifest().lineage.back().config["eval_batch"] = 3;
  set.AddSplit("train", {{TextExample("a")}, {TextExample("b")}, {TextExample("c")}});
  set.AddSplit("test", {{}});
  set.AddSplit("validation", {{TextExample("a"), TextExample("b")}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Finds(lines, "split test: has no records;"));
  EXPECT_TRUE(Finds(lines, "split train: has 3 shards for 2 hosts, some of which would run out of data"));
  EXPECT_TRUE(Finds(lines, "split validation: has 2 records, less than one batch of 3 for evaluation;"));
}

TEST(VerifyTest, LinesAreMeasuredByTheTokenizerThatLiesBesideThem) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.manifest().lineage.back().config["max_tokens"] = 8;
  set.AddSplit("train", {{TextExample("a")}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_TRUE(Finds(lines, "MANIFEST.json: names no tokenizer.model;"));
  EXPECT_TRUE(Finds(lines, "MANIFEST.json: tokenizer.model: cannot be read, so no line was measured: "));
}

TEST(VerifyTest, PrintsTwentyFindingsOfAnObjectAndCountsTheRest) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {std::vector<std::string>(53, TextExample("\xff"))});
  set.Finish();
  const Ran ran = RunPipe({"verify", set.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 22);
  EXPECT_NE(ran.out.find("/tiny-train.tfrecord-00000-of-00001: record 19 at byte "), std::string::npos);
  EXPECT_NE(ran.out.find("/tiny-train.tfrecord-00000-of-00001: and 33 more findings\n"), std::string::npos);
  EXPECT_NE(ran.out.find(": 53 findings in 1 object: read "), std::string::npos);
}

TEST(VerifyTest, DescriptionIsHeldAgainstTheShards) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {{TextExample("a")}, {TextExample("b")}});
  set.AddSplit("validation", {{TextExample("c")}});
  set.info().name = "huge";
  set.info().splits[0].shard_lengths = {1, 2};
  set.info().splits[0].bytes += 1;
  set.info().splits[1].name = "test";
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_TRUE(Finds(lines, "dataset_info.json: name is huge where the manifest says tiny"));
  EXPECT_TRUE(Finds(lines, "split train: shardLengths[1] is 2 where the manifest says 1"));
  EXPECT_TRUE(Finds(lines, "split train: numBytes is "));
  EXPECT_TRUE(Finds(lines, "split test: has no shards in the manifest"));
  EXPECT_TRUE(Finds(lines, "split validation: missing"));
}

TEST(VerifyTest, ManifestIsHeldAgainstItself) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {{TextExample("a")}, {TextExample("b")}});
  set.manifest().splits["train"].records = 3;
  set.Finish();
  EXPECT_EQ(FoundIn(set.place()),
            std::vector<std::string>{Line("MANIFEST.json", "split train: its shards have 2 records of 3")});

  set.manifest().lineage.back().config["equal"] = true;  // left one out
  set.Finish();
  EXPECT_TRUE(FoundIn(set.place()).empty());

  set.manifest().shards.pop_back();
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_TRUE(Finds(lines, "MANIFEST.json: split train: has 1 shards of 2"));
  EXPECT_TRUE(Finds(lines, "tiny-train.tfrecord-00001-of-00002: is in no manifest"));
}

TEST(VerifyTest, EditedManifestIsRefused) {
  const TempDir dir;
  SmallDataSet set = GoodDataSet(dir / "out");
  std::string text = ReadFile(set.Path(kManifestName));
  const std::string digest = set.manifest().shards.front().object.digest.ToHex();
  text.replace(text.find(digest), digest.size(), DigestOf("another").ToHex());
  WriteFile(set.Path(kManifestName), text);
  const Ran ran = RunPipe({"verify", set.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("the manifest was edited or damaged"), std::string::npos) << ran.err;
}

TEST(VerifyTest, PartitionsAreHeldAgainstTheirPromises) {
  const TempDir dir;
  Manifest manifest = GoodIntermediate(dir / "docs");
  manifest.partitions[1].splits = {{"validation", {1, 1, 5}}};
  WriteFile(dir / "docs/MANIFEST.json", EncodeManifest(manifest));
  const std::vector<std::string> lines = FoundIn(dir / "docs");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "0000-00001.part: has 1 records of split train where the manifest says 0; "
            "delete it, and a run that needs it makes it again");

  Digest digest;
  const std::string bytes = PartitionFileOf({0, 1}, {"a\xff", "b"}, {0, 7}, digest);
  WriteFile(dir / "docs/0000-00001.part", bytes);
  manifest.partitions[1].output = {digest, {Stored("0000-00001.part", bytes)}};
  manifest.partitions[1].splits = {{"train", {1, 1, 1}}};
  WriteFile(dir / "docs/MANIFEST.json", EncodeManifest(manifest));
  EXPECT_TRUE(Finds(FoundIn(dir / "docs"), "record 0 (index 0): its text is not UTF-8 at byte 1"));
  EXPECT_TRUE(Finds(FoundIn(dir / "docs"), "record 1 (index 1): belongs to split 7 of 2"));
}

TEST(VerifyTest, ReportDoesNotDependOnThreads) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  std::vector<std::vector<std::string>> shards;
  for (int shard = 0; shard < 12; ++shard) shards.push_back({TextExample(shard % 3 == 0 ? "\xff" : "good")});
  set.AddSplit("train", shards);
  set.Finish();
  const std::vector<std::string> alone = FoundIn(set.place(), 1);
  EXPECT_EQ(alone.size(), 4u);
  EXPECT_EQ(FoundIn(set.place(), 5), alone);
}

/// So many bytes without an end of line.
class EndlessLine final : public ByteFile {
 public:
  explicit EndlessLine(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t, std::stop_token) const override {
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(size_));
  }

 private:
  class Reader final : public ByteReader {
   public:
    explicit Reader(std::uint64_t left) : left_(left) {}
    Result<std::size_t> Read(std::span<char> out) override {
      const std::size_t got = static_cast<std::size_t>(std::min<std::uint64_t>(left_, out.size()));
      std::fill_n(out.data(), got, 'x');
      left_ -= got;
      return got;
    }

   private:
    std::uint64_t left_;
  };
  const std::uint64_t size_;
};

TEST(VerifyTest, ALineWithoutEndIsSaidOnce) {
  ManifestShard shard;
  shard.split = "train";
  shard.object.bytes = std::uint64_t{300} << 20;
  shard.records = 7;
  Findings findings("train.json", "-");
  ReadCounts counts;
  ASSERT_TRUE(VerifyLines(
                  EndlessLine(shard.object.bytes), shard, [](std::string_view) { return std::string(); }, {},
                  findings, counts)
                  .ok());
  EXPECT_EQ(counts.bytes, shard.object.bytes);
  ASSERT_EQ(findings.count(), 2u);
  EXPECT_TRUE(Finds(findings.lines(), "line 1: longer than 256.0 MiB"));
  EXPECT_TRUE(Finds(findings.lines(), "its bytes are not those that were written"));
}

TEST(VerifyTest, StopsWhenAsked) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  LocalStore store(set.place());
  const Result<Manifest> manifest = ReadManifest(store, set.place());
  ASSERT_TRUE(manifest.ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(VerifyArtifact(store, *manifest, 2, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(VerifyTest, SaysWhatAPlaceWithoutManifestIs) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::filesystem::remove(set.Path(kManifestName));
  WriteFile(set.Path(kClaimName), R"({"stage": "text"})");
  const Ran unfinished = RunPipe({"verify", set.place()});
  EXPECT_EQ(unfinished.exit_code, 1);
  EXPECT_NE(unfinished.err.find("out: unfinished: stage 'text' began to write here"), std::string::npos)
      << unfinished.err;

  GoodIntermediate(dir / "docs");
  std::filesystem::remove(dir / "docs/MANIFEST.json");
  EXPECT_NE(RunPipe({"verify", dir / "docs"}).err.find("holds partitions and no MANIFEST.json"),
            std::string::npos);

  const Ran nothing = RunPipe({"verify", dir.path().string()});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_NE(nothing.err.find("no artifact: there is no MANIFEST.json in it"), std::string::npos)
      << nothing.err;
}

TEST(VerifyTest, MissingPlaceIsRefusedBeforeAnythingIsRead) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const Ran ran = RunPipe({"verify", set.place(), dir / "nowhere"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("nowhere: there is no such file or directory"), std::string::npos) << ran.err;
  EXPECT_EQ(RunPipe({"verify", set.Path(kFirstShard)}).exit_code, 2);
}

TEST(VerifyTest, TakesSeveralPlaces) {
  const TempDir dir;
  const SmallDataSet good = GoodDataSet(dir / "good");
  const SmallDataSet bad = GoodDataSet(dir / "bad");
  WriteFile(bad.Path("stray"), "");
  const Ran ran = RunPipe({"verify", bad.place(), good.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find(bad.place() + "/stray: "), std::string::npos);
  EXPECT_NE(ran.out.find(good.place() + ": good: "), std::string::npos);
}

}  // namespace
}  // namespace pipeline
