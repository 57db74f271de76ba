// `pipe cat` of the output of write_packed.
#include "stages/export/packed/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/cli/run_pipe.h"
#include "tests/stages/export/packed/after_first.h"
#include "tests/stages/export/packed/packed_artifact.h"

namespace pipeline {
namespace {

TEST(PackedArtifactTest, CatPrintsIdsAndWithJsonWhatTheIndexKeeps) {
  const TempDir dir;
  const std::string place = dir / "out";
  PublishPacked(place);
  const Ran plain = RunPipe({"cat", place, "-l", "1"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  const Ran row = RunPipe({"cat", place, "--json", "-l", "1"});
  const Json json = *Json::Parse(row.out);
  EXPECT_EQ(json["split"].AsString(), "train");
  EXPECT_EQ(json["index"].AsInt(), 0);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + PackedIndexName("train", 0, 2)));
  EXPECT_EQ(json["length"].AsInt(), (*index)[0].facts.length);
  EXPECT_EQ(json["bytes"].AsInt(), (*index)[0].facts.bytes);
  EXPECT_EQ(json["chars"].AsInt(), (*index)[0].facts.chars);
  std::string ids;
  for (std::int64_t at = 0; at < json["length"].AsInt(); ++at)
    ids += (at == 0 ? "" : " ") + json["features"]["tokens"].AsArray()[static_cast<std::size_t>(at)].Dump();
  EXPECT_EQ(plain.out, ids + "\n");
  EXPECT_EQ(RunPipe({"cat", place + "/" + PackedShardName("train", 0, 2), "--json", "-l", "1"}).out, row.out);

  std::filesystem::remove(place + "/" + PackedIndexName("train", 0, 2));
  const Ran alone = RunPipe({"cat", place + "/" + PackedShardName("train", 0, 2), "--json", "-l", "1"});
  EXPECT_FALSE(Json::Parse(alone.out)->Has("length"));
}

TEST(PackedArtifactTest, CatPrintsWeightsWithJsonAlone) {
  const TempDir dir;
  PublishPacked(dir / "plain");
  PublishPacked(dir / "weighted", Json::Object{}, ChooseAfterFirst(250));
  EXPECT_EQ(RunPipe({"cat", dir / "weighted"}).out, RunPipe({"cat", dir / "plain"}).out);
  const Json row = *Json::Parse(RunPipe({"cat", dir / "weighted", "--json", "-l", "1"}).out);
  EXPECT_EQ(row["features"]["weights"].AsArray().size(), 5u);
  EXPECT_EQ(RunPipe({"verify", dir / "weighted"}).exit_code, 0);
}

TEST(PackedArtifactTest, CatPrintsWholeDocumentsAndStatsCountThem) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest =
      PublishPacked(place, Json(Json::Object{{"encoding", "mmap"}, {"packing", "documents"}}));
  std::int64_t documents = 0;
  for (const ManifestShard& shard : manifest.shards) documents += static_cast<std::int64_t>(shard.records);
  const Ran all = RunPipe({"cat", place});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), documents);
  std::size_t ends = 0;
  for (std::size_t at = all.out.find(" 2\n"); at != std::string::npos; at = all.out.find(" 2\n", at + 1))
    ++ends;
  EXPECT_EQ(ends, static_cast<std::size_t>(documents)) << "each ends with eos";
  EXPECT_EQ(all.out.find(" 2 "), std::string::npos);
  const std::string shard = place + "/" + PackedShardName("train", 0, 2, PackedEncoding::kMmap);
  const Ran row = RunPipe({"cat", place, "--json", "-l", "1"});
  EXPECT_EQ(RunPipe({"cat", shard, "--json", "-l", "1"}).out, row.out);
  EXPECT_EQ(Json::Parse(RunPipe({"stats", place, "--json"}).out)->operator[]("records").AsInt(), documents);

  const std::string index = place + "/" + PackedIndexName("train", 0, 2, PackedEncoding::kMmap);
  const std::string good = ReadFile(index);
  WriteFile(index, good.substr(0, good.size() - 1));
  EXPECT_NE(RunPipe({"cat", shard}).err.find("not a Megatron index: "), std::string::npos);
  WriteFile(index, good.substr(0, 34) + "\xff\xff\xff\x7f" + good.substr(38));
  EXPECT_NE(RunPipe({"cat", shard}).err.find("begins at byte "), std::string::npos);
  std::filesystem::remove(index);
  EXPECT_NE(RunPipe({"cat", shard}).err.find("is not there, which divides it into documents"),
            std::string::npos);
}

Json InEncoding(const std::string& encoding) {
  Json more;
  more["encoding"] = encoding;
  if (encoding == "array_record") {
    more["packing"] = "best_fit";
    more["segments"] = true;
  }
  return more;
}

class PackedEncodingTest : public testing::TestWithParam<std::string> {
 protected:
  PackedEncodingTest() : place_(dir_ / "out"), manifest_(PublishPacked(place_, InEncoding(GetParam()))) {}

  std::string Name(bool index) const {
    const PackedEncoding encoding = *PackedEncodingOf(GetParam());
    return index ? PackedIndexName("train", 0, 2, encoding) : PackedShardName("train", 0, 2, encoding);
  }

  const TempDir dir_;
  const std::string place_;
  const Manifest manifest_;
};

TEST_P(PackedEncodingTest, CatPrintsEachRow) {
  std::uint64_t rows = 0;
  for (const ManifestShard& shard : manifest_.shards) rows += shard.records;
  const Ran plain = RunPipe({"cat", place_});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(plain.out.begin(), plain.out.end(), '\n')), rows);
  const Ran row = RunPipe({"cat", place_, "--json", "-l", "1"});
  const Json json = *Json::Parse(row.out);
  EXPECT_EQ(json["features"]["tokens"].AsArray().size(), 5u);
  EXPECT_EQ(json.Has("length"), GetParam() != "mmap");
  EXPECT_EQ(json["features"].Has("segment_ids"), GetParam() == "array_record");
  EXPECT_EQ(RunPipe({"cat", place_ + "/" + Name(false), "--json", "-l", "1"}).out, row.out);
}

INSTANTIATE_TEST_SUITE_P(All, PackedEncodingTest, testing::Values("raw16", "raw32", "mmap", "array_record"),
                         [](const auto& encoding) { return encoding.param; });

}  // namespace
}  // namespace pipeline
