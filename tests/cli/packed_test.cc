// `pipe verify` and `pipe cat` of what write_packed left.
#include "formats/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/array_record.h"
#include "formats/coding.h"
#include "formats/megatron_index.h"
#include "stages/packed_info.h"
#include "tests/cli/found_in.h"
#include "tests/cli/packed_artifact.h"
#include "tests/cli/run_pipe.h"
#include "tests/support/memory_file.h"
#include "verify/verify_packed.h"

namespace pipeline {
namespace {

constexpr std::string_view kAgain = "; `pipe run FILE --force packed` makes the artifact again";
const std::string kShard = PackedShardName("train", 0, 2);
const std::string kIndex = PackedIndexName("train", 0, 2);

bool Finds(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line + std::string(kAgain)) != lines.end();
}

/// Replaces an object and lets the manifest name what is there now.
void Forge(const std::string& place, Manifest manifest, const std::string& object, const std::string& bytes) {
  WriteFile(place + "/" + object, bytes);
  for (StoredObject& sidecar : manifest.sidecars)
    if (sidecar.name == object) sidecar = Stored(object, bytes);
  for (ManifestShard& shard : manifest.shards)
    if (shard.object.name == object) shard.object = Stored(object, bytes);
  WriteFile(place + "/" + std::string(kManifestName), EncodeManifest(manifest));
}

TEST(PackedArtifactTest, AGoodOneIsGood) {
  const TempDir dir;
  const Manifest manifest = PublishPacked(dir / "out");
  EXPECT_EQ(FoundIn(dir / "out"), std::vector<std::string>());
  std::uint64_t rows = 0;
  for (const ManifestShard& shard : manifest.shards) rows += shard.records;
  const Ran ran = RunPipe({"verify", dir / "out"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.out.find("good: read 10 objects, " + std::to_string(rows) + " records (train "),
            std::string::npos)
      << ran.out;
}

TEST(PackedArtifactTest, EveryFlippedByteIsFoundInItsObject) {
  const TempDir dir;
  const std::string place = dir / "out";
  PublishPacked(place);
  for (const std::string& object :
       {kShard, kIndex, std::string(kPackedInfoFile), std::string(kPackedModelFile)}) {
    const std::string good = ReadFile(place + "/" + object);
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 150) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      WriteFile(place + "/" + object, bad);
      const std::vector<std::string> lines = FoundIn(place);
      EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& line) { return line.starts_with(object + ": "); }))
          << object << ", byte " << at;
    }
    WriteFile(place + "/" + object, good);
  }
  EXPECT_EQ(FoundIn(place), std::vector<std::string>());
}

TEST(PackedArtifactTest, RowsAreHeldAgainstTheIndexAndTheTokenizer) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place);
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  const auto with_first = [&](const std::vector<std::uint32_t>& ids) {
    std::string shard;
    AppendPackedRow(shard, ids);
    Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
    return FoundIn(place);
  };
  EXPECT_TRUE(Finds(with_first({2, 5, 5, 5, 512}),
                    kShard + ": record 0 at byte 0: id 4 is 512 where the tokenizer has 512 pieces"));
  EXPECT_TRUE(
      Finds(with_first({2, 5, 5, 5}), kShard + ": record 0 at byte 0: has 4 ids where each row has 5"));
  Forge(place, manifest, kShard, good);

  std::string entries = ReadFile(place + "/" + kIndex);
  entries[8] = 2;  // the length of row 0
  Forge(place, manifest, kIndex, entries);
  const std::vector<std::string> lines = FoundIn(place);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("where the index says that the row is filled from id 2") != std::string::npos;
  }));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find(": its index counts ") != std::string::npos &&
           line.find(" tokens where packed.json says ") != std::string::npos;
  }));
  Forge(place, manifest, kIndex, ReadFile(place + "/" + kIndex).substr(0, 20));
  EXPECT_TRUE(Finds(FoundIn(place), kShard + ": record 1 at byte " + std::to_string((*index)[1].offset) +
                                        ": is not in the index"));
}

TEST(PackedArtifactTest, TotalsAndTheTokenizersDigestAreChecked) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place);
  const std::string name(kPackedInfoFile);
  const PackedInfo good = *ParsePackedInfo(ReadFile(place + "/" + name));

  PackedInfo info = good;
  ++info.splits[0].shards[0].totals.chars;
  Forge(place, manifest, name, PackedInfoJson(info));
  const std::uint64_t chars = good.splits[0].shards[0].totals.chars;
  EXPECT_TRUE(Finds(FoundIn(place), kShard + ": its index counts " + std::to_string(chars) +
                                        " characters where packed.json says " + std::to_string(chars + 1)));
  Forge(place, manifest, std::string(kPackedModelFile), "another model");
  Forge(place, *ReadManifest(*std::make_unique<LocalStore>(place), place), name, PackedInfoJson(good));
  EXPECT_TRUE(Finds(FoundIn(place), name + ": the ids were made by a tokenizer with the digest " +
                                        DigestOf("a model").ToHex() + ", and that of tokenizer.model is " +
                                        DigestOf("another model").ToHex()));
  Forge(place, manifest, name, "{}");
  EXPECT_TRUE(Finds(FoundIn(place), name + ": pipe_packed: missing: the rows cannot be checked without it"));
}

TEST(PackedArtifactTest, AMissingIndexIsNamed) {
  const TempDir dir;
  const std::string place = dir / "out";
  Manifest manifest = PublishPacked(place);
  std::filesystem::remove(place + "/" + kIndex);
  const std::vector<std::string> lines = FoundIn(place);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.starts_with(kIndex + ": missing"); }));
  std::erase_if(manifest.sidecars, [](const StoredObject& object) { return object.name == kIndex; });
  WriteFile(place + "/" + std::string(kManifestName), EncodeManifest(manifest));
  EXPECT_TRUE(Finds(FoundIn(place), "MANIFEST.json: shard " + kShard + ": names no index of it"));
}

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
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  EXPECT_EQ(json["length"].AsInt(), (*index)[0].facts.length);
  EXPECT_EQ(json["bytes"].AsInt(), (*index)[0].facts.bytes);
  EXPECT_EQ(json["chars"].AsInt(), (*index)[0].facts.chars);
  std::string ids;
  for (std::int64_t at = 0; at < json["length"].AsInt(); ++at)
    ids += (at == 0 ? "" : " ") + json["features"]["tokens"].AsArray()[static_cast<std::size_t>(at)].Dump();
  EXPECT_EQ(plain.out, ids + "\n");
  EXPECT_EQ(RunPipe({"cat", place + "/" + kShard, "--json", "-l", "1"}).out, row.out);

  std::filesystem::remove(place + "/" + kIndex);
  const Ran alone = RunPipe({"cat", place + "/" + kShard, "--json", "-l", "1"});
  EXPECT_FALSE(Json::Parse(alone.out)->Has("length"));
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

TEST_P(PackedEncodingTest, AGoodOneIsGoodAndEveryFlippedByteIsFound) {
  EXPECT_EQ(FoundIn(place_), std::vector<std::string>());
  for (const std::string& object : {Name(false), Name(true), std::string(kPackedInfoFile)}) {
    const std::string good = ReadFile(place_ + "/" + object);
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      WriteFile(place_ + "/" + object, bad);
      const std::vector<std::string> lines = FoundIn(place_);
      EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& line) { return line.starts_with(object + ": "); }))
          << object << ", byte " << at;
    }
    WriteFile(place_ + "/" + object, good);
  }
}

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

TEST_P(PackedEncodingTest, IdsAreHeldAgainstTheTokenizer) {
  const PackedEncoding encoding = *PackedEncodingOf(GetParam());
  const std::vector<std::uint32_t> ids = {2, 5, 5, 5, 512};
  std::string shard;
  if (encoding == PackedEncoding::kArrayRecord) {
    std::string example;
    const PackedSegments segments = SegmentsOf({}, 5, 5);
    AppendPackedExample(example, ids, &segments);
    ArrayRecordWriter writer;
    writer.Append(example, shard);
    writer.Finish(shard);
  } else {
    AppendRawIds(shard, ids, PackedIdBytes(encoding, 512));
  }
  Forge(place_, manifest_, Name(false), shard);
  const std::vector<std::string> lines = FoundIn(place_);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.starts_with(Name(false) + ": record 0 at byte ") &&
           line.find(": id 4 is 512 where the tokenizer has 512 pieces") != std::string::npos;
  }));
  EXPECT_GT(lines.size(), 1u) << "the shard has too few rows, too";
}

INSTANTIATE_TEST_SUITE_P(All, PackedEncodingTest, testing::Values("raw16", "raw32", "mmap", "array_record"),
                         [](const auto& encoding) { return encoding.param; });

TEST(PackedArtifactTest, SegmentsAreChecked) {
  const TempDir dir;
  const std::string place = dir / "out";
  Json more;
  more["segments"] = true;
  const Manifest manifest = PublishPacked(place, more);
  EXPECT_EQ(FoundIn(place), std::vector<std::string>());
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  const auto with = [&](const PackedSegments& segments) {
    std::string shard;
    AppendPackedRow(shard, std::vector<std::uint32_t>{2, 5, 5, 5, 5}, &segments);
    Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
    return FoundIn(place);
  };
  const std::string at = kShard + ": record 0 at byte 0: ";
  EXPECT_TRUE(Finds(with({{1, 2, 2}, {0, 0, 1}}), at + "has 3 segment ids and 3 positions for 5 ids"));
  EXPECT_TRUE(Finds(with({{1, 3, 3, 3, 3}, {0, 0, 1, 2, 3}}), at + "segment id 1 is 3 behind 1"));
  EXPECT_TRUE(Finds(with({{1, 2, 2, 2, 2}, {0, 0, 1, 1, 2}}), at + "position 3 is 1 where it must be 2"));
}

TEST(PackedArtifactTest, AMegatronIndexOfOtherRowsIsFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place, InEncoding("mmap"));
  const std::string shard = PackedShardName("train", 0, 2, PackedEncoding::kMmap);
  const std::string name = PackedIndexName("train", 0, 2, PackedEncoding::kMmap);
  Forge(place, manifest, name, EncodeMegatronIndex(MegatronRows(MegatronType::kUint16, 1, 5)));
  EXPECT_TRUE(Finds(FoundIn(place), shard + ": its index " + name + " is not that of " +
                                        std::to_string(manifest.shards[0].records) + " rows of 5 ids"));

  // What a manifest says of rows takes no memory before the index has them.
  LocalStore store(place);
  ManifestShard many = manifest.shards[0];
  many.records = std::uint64_t{1} << 44;
  Findings findings(shard, "-");
  ReadCounts counts;
  const PackedInfo info = *ParsePackedInfo(ReadFile(place + "/" + std::string(kPackedInfoFile)));
  ASSERT_TRUE(
      VerifyPackedShard(store, MemoryFile(ReadFile(place + "/" + shard)), many, info, {}, findings, counts)
          .ok());
  EXPECT_TRUE(std::any_of(findings.lines().begin(), findings.lines().end(), [](const std::string& line) {
    return line.find("is not that of 17592186044416 rows") != std::string::npos;
  }));
}

TEST(PackedArtifactTest, KeysThatContradictTheManifestAreFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place);
  const std::string name(kPackedInfoFile);
  PackedInfo info = *ParsePackedInfo(ReadFile(place + "/" + name));
  info.best_fit = true;
  Forge(place, manifest, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place), name + ": packing is \"best_fit\" where the manifest says \"stream\""));
}

}  // namespace
}  // namespace pipeline
