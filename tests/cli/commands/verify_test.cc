#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/cli/run_pipe.h"
#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "tests/stages/verify/small_artifact.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

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

TEST(VerifyTest, SaysWhatATrainerDropsThatFiltersByLength) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {{TextExample("猫が猫が"), TextExample("猫が猫が猫が"), TextExample("猫が")}});
  set.Finish();
  const Trained trained = Train(SmallCorpus());
  const std::string model = dir / "tokenizer/tokenizer.model";
  std::filesystem::create_directories(dir / "tokenizer");
  WriteFile(model, trained.Object("tokenizer.model"));

  const Ran ran = RunPipe({"verify", set.place(), "--tokenizer", model, "--max-tokens", "5"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(
      ran.out.find("out: a trainer that drops lines of more than 5 tokens drops 1 of 3 lines (33.3 %) and "
                   "7 of 15 tokens (46.7 %)\n"),
      std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("out: good: "), std::string::npos) << ran.out;
  const Ran none = RunPipe({"verify", set.place(), "--tokenizer", dir / "tokenizer", "--max-tokens", "1000"});
  EXPECT_NE(none.out.find("of more than 1000 tokens drops none of 3 lines\n"), std::string::npos) << none.out;
  EXPECT_EQ(RunPipe({"verify", set.place()}).out.find("a trainer"), std::string::npos);

  const auto refused = [&](std::vector<std::string> words, std::string_view why) {
    words.insert(words.begin(), "verify");
    const Ran said = RunPipe(words);
    EXPECT_EQ(said.exit_code, 2) << why;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
  };
  refused({set.place(), "--max-tokens", "5"}, "name the trainer's by --tokenizer");
  refused({set.place(), "--tokenizer", model}, "--max-tokens 128");
  GoodIntermediate(dir / "docs");
  refused({dir / "docs", "--tokenizer", model, "--max-tokens", "5"}, "which this is not");
  refused({set.place(), "--tokenizer", dir / "missing.model", "--max-tokens", "5"}, "--tokenizer ");
  refused({set.place(), "--tokenizer", set.Path(kTfdsInfoFile), "--max-tokens", "5"}, "--tokenizer ");
  EXPECT_EQ(RunPipe({"verify", set.place(), "--max-tokens", "0"}).exit_code, 2);
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

TEST(VerifyTest, WritesDownWhatIsGoodAndReadsAllOfItAgain) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const std::string record = set.Path(".pipe/verified.json");
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(RunPipe({"verify", set.place()}).out.find("good: read 5 objects, 4 records"),
              std::string::npos);
    EXPECT_NE(ReadFile(record).find(kFirstShard), std::string::npos);
  }
  std::string bad = ReadFile(set.Path(kFirstShard));
  bad[40] = static_cast<char>(bad[40] ^ 1);
  const auto written = std::filesystem::last_write_time(set.Path(kFirstShard));
  WriteFile(set.Path(kFirstShard), bad);
  std::filesystem::last_write_time(set.Path(kFirstShard), written);  // as nobody but a disk does it
  EXPECT_EQ(RunPipe({"verify", set.place()}).exit_code, 1);
  EXPECT_EQ(ReadFile(record).find(kFirstShard), std::string::npos);
  EXPECT_NE(ReadFile(record).find(kTfdsInfoFile), std::string::npos);

  std::filesystem::remove(record);
  std::filesystem::create_directories(record + "/in the way");
  const SmallDataSet again = GoodDataSet(dir / "out");
  const Ran ran = RunPipe({"verify", set.place()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.err.find("the verified objects cannot be written down"), std::string::npos) << ran.err;
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

TEST(VerifyTest, SaysWhatLiesBesideAndThatAManifestIsUnsealed) {
  const TempDir dir;
  std::filesystem::copy(SourceDir() + "/tests/golden/unsealed", dir / "old");
  WriteFile(dir / "old/NOTES.md", "mine");
  const Ran ran = RunPipe({"verify", dir / "old"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("old: beside the artifact: NOTES.md: no run wrote it, and it was not read\n"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("old: MANIFEST.json is unsealed: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("old: good: "), std::string::npos) << ran.out;

  std::string text = ReadFile(dir / "old/MANIFEST.json");
  const std::string version = "\"type\":\"split\",\"version\":1";
  text.replace(text.find(version) + version.size() - 1, 1, "2");
  WriteFile(dir / "old/MANIFEST.json", text);
  const Ran edited = RunPipe({"verify", dir / "old"});
  EXPECT_EQ(edited.exit_code, 1);
  EXPECT_NE(edited.out.find("lineage: stage docs: its recipe is not that of the entries beside it"),
            std::string::npos)
      << edited.out;
}

TEST(VerifyTest, SaysWhatAPlaceWithoutManifestIs) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::filesystem::remove(set.Path(kManifestName));
  WriteFile(set.Path(kMarkerName), R"({"stage": "text"})");
  const Ran unfinished = RunPipe({"verify", set.place()});
  EXPECT_EQ(unfinished.exit_code, 1);
  EXPECT_NE(unfinished.err.find("out: unfinished: stage 'text' began to write here"), std::string::npos)
      << unfinished.err;

  GoodIntermediate(dir / "docs");
  std::filesystem::remove(dir / "docs/MANIFEST.json");
  EXPECT_NE(RunPipe({"verify", dir / "docs"}).err.find("holds partitions and no MANIFEST.json"),
            std::string::npos);

  const Ran nothing = RunPipe({"verify", dir.path().string()});
  EXPECT_EQ(nothing.exit_code, 2);
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
  const std::string stray = "tiny-train.tfrecord-stray";
  WriteFile(bad.Path(stray), "");
  const Ran ran = RunPipe({"verify", bad.place(), good.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find(bad.place() + "/" + stray + ": "), std::string::npos);
  EXPECT_NE(ran.out.find(good.place() + ": good: "), std::string::npos);
}

}  // namespace
}  // namespace pipeline
