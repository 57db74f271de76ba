#include "stages/verify/verify_artifact.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stages/verify/verify_object.h"
#include "tests/stages/verify/found.h"
#include "tests/stages/verify/small_artifact.h"

namespace pipeline {
namespace {

TEST(VerifyArtifactTest, EveryFlippedByteOfAPartitionIsFoundInItsObject) {
  const TempDir dir;
  GoodIntermediate(dir / "docs");
  EXPECT_TRUE(FoundIn(dir / "docs").empty());
  const std::string path = dir / "docs/0000-00000.part", good = ReadFile(path);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    WriteFile(path, bad);
    const VerifyReport report = Verify(dir / "docs", 1);
    ASSERT_EQ(report.findings.size(), 1u) << "byte " << at;
    EXPECT_EQ(report.findings.front().object(), "0000-00000.part") << "byte " << at;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(FoundIn(dir / "docs"),
            std::vector<std::string>{"0000-00000.part: missing; a run that needs it makes it again"});
}

TEST(VerifyArtifactTest, ReadsOnAfterADamagedRecord) {
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

TEST(VerifyArtifactTest, WithoutALengthTheRestIsLost) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::string shard = ReadFile(set.Path(kFirstShard));
  shard[0] ^= 1;
  WriteFile(set.Path(kFirstShard), shard);
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Finds(lines, "record 0 at byte 0: damaged: the CRC of the length"));
  EXPECT_EQ(lines[1], std::string(kFirstShard) +
                          ": the bytes after byte 0 cannot be divided into records; `pipe run FILE --force "
                          "text` makes the artifact again");
}

TEST(VerifyArtifactTest, StraysAreNamed) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const std::string left = "tiny-train.tfrecord-00006-of-00007", like = "tiny-train.tfrecord-mine";
  for (const std::string& name : {left, like}) WriteFile(set.Path(name), "mine");
  EXPECT_EQ(
      FoundIn(set.place()),
      (std::vector<std::string>{
          left + ": an earlier run left it, and it is in no manifest, so not a part of the artifact; remove "
                 "it; a run that publishes there does",
          like + ": is in no manifest, and readers of the artifact would take it for a part of it; move it "
                 "elsewhere"}));
}

TEST(VerifyArtifactTest, FilesOfAPersonAreNoFindings) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::filesystem::create_directories(set.Path("my_model"));
  for (const char* name : {"NOTES.md", "my_model/config.json"}) WriteFile(set.Path(name), "mine");
  const VerifyReport report = Verify(set.place());
  EXPECT_TRUE(report.findings.empty() && report.strays.empty());
  EXPECT_EQ(report.beside, (std::vector<std::string>{"NOTES.md", "my_model/config.json"}));
}

TEST(VerifyArtifactTest, RecipesAreHeldAgainstTheirLineage) {
  const TempDir dir;
  SmallDataSet set = GoodDataSet(dir / "out");
  Manifest manifest = set.manifest();
  LineageInput named_input = {"tokenizer", {}, manifest.lineage};
  named_input.digest = named_input.lineage.back().recipe;
  manifest.lineage.back().named_inputs = {named_input};
  SetRecipes(manifest.lineage);
  const auto found = [&](const Manifest& wrong) {
    WriteFile(set.Path(kManifestName), EncodeManifest(wrong));
    return FoundIn(set.place());
  };
  EXPECT_EQ(found(manifest), std::vector<std::string>());
  Manifest wrong = manifest;
  wrong.lineage.back().config["version"] = "1.0.1";
  EXPECT_TRUE(Finds(found(wrong), "lineage: stage text: its recipe is not that of the entries beside it"));
  wrong = manifest;
  wrong.lineage.back().named_inputs[0].digest = DigestOf("another");
  SetRecipes(wrong.lineage);
  EXPECT_TRUE(Finds(found(wrong), "lineage: stage text: its tokenizer has another recipe than its lineage"));
  wrong = manifest;
  wrong.lineage.back().named_inputs[0].lineage.back().version = 7;
  EXPECT_TRUE(Finds(found(wrong), "lineage: stage text: tokenizer: stage text: its recipe is not that"));
}

TEST(VerifyArtifactTest, TotalsOfPartitionsAreTheirSums) {
  const TempDir dir;
  Manifest manifest = GoodIntermediate(dir / "docs");
  manifest.splits["train"].documents += 1;
  manifest.splits["gone"].records = 2;
  WriteFile(dir / "docs/MANIFEST.json", EncodeManifest(manifest));
  const std::vector<std::string> lines = FoundIn(dir / "docs");
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_TRUE(Finds(lines, "split gone: has 2 records, and its partitions 0"));
  EXPECT_TRUE(Finds(lines, "split train: has "));
}

TEST(VerifyArtifactTest, SplitsFeedTheirTrainer) {
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

TEST(VerifyArtifactTest, PartitionsAreHeldAgainstTheirPromises) {
  const TempDir dir;
  Manifest manifest = GoodIntermediate(dir / "docs");
  manifest.partitions[1].splits = {{"validation", {1, 1, 5}}};
  manifest.splits = {{"train", {1, 0, 0}}, {"validation", {2, 1, 5}}};
  WriteFile(dir / "docs/MANIFEST.json", EncodeManifest(manifest));
  const std::vector<std::string> lines = FoundIn(dir / "docs");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "0000-00001.part: has 1 records of split train where the manifest says 0; "
            "delete it, and a run that needs it makes it again");

  Digest digest;
  const std::string bytes = PartitionFileOf({0, 1}, {"a\xff", "b"}, {0, 7}, digest);
  WriteFile(dir / "docs/0000-00001.part", bytes);
  manifest.partitions[1].committed = {digest, {Stored("0000-00001.part", bytes)}};
  manifest.partitions[1].splits = {{"train", {1, 1, 1}}};
  manifest.splits = {{"train", {2, 1, 1}}, {"validation", {1, 0, 0}}};
  WriteFile(dir / "docs/MANIFEST.json", EncodeManifest(manifest));
  EXPECT_TRUE(Finds(FoundIn(dir / "docs"), "record 0 (index 0): its text is not UTF-8 at byte 1"));
  EXPECT_TRUE(Finds(FoundIn(dir / "docs"), "record 1 (index 1): belongs to split 7 of 2"));
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

TEST(VerifyArtifactTest, ALineWithoutEndIsSaidOnce) {
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

}  // namespace
}  // namespace pipeline
