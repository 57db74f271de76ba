// What packed rows, their index and packed.json say of each other.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "stages/export/packed/megatron_shard.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/packed/packed_info.h"
#include "tests/formats/megatron_file.h"
#include "tests/stages/export/packed/after_first.h"
#include "tests/stages/export/packed/packed_artifact.h"
#include "tests/stages/verify/found.h"

namespace pipeline {
namespace {

const std::string kShard = PackedShardName("train", 0, 2);
const std::string kIndex = PackedIndexName("train", 0, 2);

TEST(VerifyPackedTest, RowsAreHeldAgainstTheIndexAndTheTokenizer) {
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
  EXPECT_TRUE(Finds(lines, "where the index says that the row is filled from id 2"));
  EXPECT_TRUE(Finds(lines, ": its index counts ")) << "and not those that packed.json does";
  Forge(place, manifest, kIndex, ReadFile(place + "/" + kIndex).substr(0, 20));
  EXPECT_TRUE(Finds(FoundIn(place), kShard + ": record 1 at byte " + std::to_string((*index)[1].offset) +
                                        ": is not in the index"));
}

TEST(VerifyPackedTest, TotalsAndTheTokenizersDigestAreChecked) {
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
  EXPECT_TRUE(
      Finds(FoundIn(place), name + ": cannot be read, so that no record was checked: pipe_packed: missing"));
}

TEST(VerifyPackedTest, SegmentsAreChecked) {
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

TEST(VerifyPackedTest, WeightsAreChecked) {
  for (const std::string encoding : {"example", "array_record"}) {
    const TempDir dir;
    PublishPacked(dir / "out", Json(Json::Object{{"encoding", Json(encoding)}}), ChooseAfterFirst(250));
    EXPECT_EQ(FoundIn(dir / "out"), std::vector<std::string>()) << encoding;
  }
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place, Json::Object{}, ChooseAfterFirst(250));
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  const auto with = [&](const std::vector<std::uint32_t>& weights) {
    std::string shard;
    AppendPackedRow(shard, std::vector<std::uint32_t>{2, 5, 5, 5, 5}, nullptr, weights);
    Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
    return FoundIn(place);
  };
  const std::string at = kShard + ": record 0 at byte 0: ";
  EXPECT_TRUE(Finds(with({0, 1, 1}), at + "has 3 weights for 5 ids"));
  EXPECT_TRUE(Finds(with({0, 0, 2, 0, 0}), at + "weight 2 is 2, neither 0 nor 1"));
  EXPECT_TRUE(Finds(with({1, 0, 0, 0, 0}), at + "weight 0 is 1, and the first id is context only"));
  EXPECT_TRUE(Finds(with({}), at + "not a packed row: its features are {tokens}, not {tokens, weights}"));
  Forge(place, manifest, kShard, good);

  const std::string name(kPackedInfoFile);
  PackedInfo info = *ParsePackedInfo(ReadFile(place + "/" + name));
  const std::uint64_t scored = info.splits[0].shards[0].totals.scored--;
  Forge(place, manifest, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place), kShard + ": its rows have " + std::to_string(scored) +
                                        " scored targets where packed.json says " +
                                        std::to_string(scored - 1)));
}

TEST(VerifyPackedTest, RowsWithoutTheWeightsOfTheirKeyAreFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  Manifest manifest = PublishPacked(place);
  manifest.lineage.back().config["answers_after"] = "<answer>";
  PutManifest(place, manifest);
  EXPECT_TRUE(Finds(FoundIn(place), std::string(kPackedInfoFile) +
                                        ": rows have no weights where the manifest says answers_after: "
                                        "\"<answer>\""));
}

TEST(VerifyPackedTest, LabelsAreChecked) {
  for (const std::string encoding : {"example", "array_record"}) {
    const TempDir dir;
    PublishLabelled(dir / "out", Json(Json::Object{{"encoding", Json(encoding)}}));
    EXPECT_EQ(FoundIn(dir / "out"), std::vector<std::string>()) << encoding;
  }
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishLabelled(place);
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  const std::uint32_t n = IdOfCharacter('n'), o = IdOfCharacter('o');
  const auto with = [&](std::vector<std::uint32_t> ids, std::vector<std::uint32_t> weights) {
    ids.resize(13), weights.resize(13);
    std::string shard;
    AppendPackedRow(shard, ids, nullptr, weights);
    Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
    return FoundIn(place);
  };
  const std::string at = kShard + ": record 0 at byte 0: ";
  EXPECT_TRUE(Finds(with({2, 5, 5, 4, n, o, 2, 5, 4, n, o, 2}, {0, 0, 0, 0, 1, 1, 1}),
                    at + "the document with id 7 has no scored label"));
  EXPECT_TRUE(Finds(with({2, 5, 4, n, o, 2, 5, 5}, {0, 0, 0, 1, 1, 1}),
                    at + "the document with id 6 has no end in the row"));
  EXPECT_TRUE(
      Finds(with({2, 5, 4, n, o, 2}, {0, 0, 0, 1, 0, 1}), at + "id 4 is not scored, and id 3 before it is"));
  EXPECT_TRUE(Finds(with({2, 5, 4, n, n, 2}, {0, 0, 0, 1, 1, 1}),
                    at + "the scored ids 3 to 5 are not those of a label of packed.json"));
  EXPECT_TRUE(
      Finds(with({2, 5, 5, n, o, 2}, {0, 0, 0, 1, 1, 1}), at + "the label at id 3 is not a line of its own"));
  EXPECT_TRUE(Finds(with({2}, {0}), at + "has no document"));
  EXPECT_TRUE(Finds(with({2, 5, 4, n, o, 2}, {0, 0, 0, 1, 1, 1}),
                    at + "the index says " + std::to_string((*index)[0].facts.length) + " ids, "));
  Forge(place, manifest, kShard, good);
  EXPECT_EQ(FoundIn(place), std::vector<std::string>());
}

TEST(VerifyPackedTest, RowsWhoseLabelsAreNoNumbersAreFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishNumbered(place);
  EXPECT_EQ(FoundIn(place), std::vector<std::string>());
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  std::string shard;
  std::vector<std::uint32_t> ids = {2, 5, 4, IdOfCharacter('4'), IdOfCharacter('.'), IdOfCharacter('0'), 2};
  std::vector<std::uint32_t> weights = {0, 0, 0, 1, 1, 1, 1};
  ids.resize(41), weights.resize(41);
  AppendPackedRow(shard, ids, nullptr, weights);
  Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
  EXPECT_TRUE(Finds(FoundIn(place), kShard + ": record 0 at byte 0: the scored ids 3 to 6 are not those of a "
                                             "number as rows have it"));
}

TEST(VerifyPackedTest, ALabelledDocumentOfWordsHasBothItsEnds) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishNumbered(place, true);
  EXPECT_EQ(FoundIn(place), std::vector<std::string>());
  const std::string good = ReadFile(place + "/" + kShard);
  const auto index = ParsePackedIndex(ReadFile(place + "/" + kIndex));
  const std::uint32_t four = BeginOf('4'), point = BeginOf('.'), five = BeginOf('5');
  const auto with = [&](std::vector<std::uint32_t> ids, std::size_t label) {
    std::vector<std::uint32_t> weights(label);
    weights.resize(ids.size(), 1);
    ids.resize(41), weights.resize(41);
    std::string shard;
    AppendPackedRow(shard, ids, nullptr, weights);
    Forge(place, manifest, kShard, shard + good.substr((*index)[1].offset));
    return FoundIn(place);
  };
  const std::string at = kShard + ": record 0 at byte 0: ";
  EXPECT_TRUE(Finds(with({3, 2, 5, 3, four, point, five, 3}, 4), at + "the index says "));
  EXPECT_TRUE(Finds(with({3, 5, 5, 3, four, point, five, 3}, 4),
                    at + "the document with id 1 does not begin with id 2"));
  EXPECT_TRUE(Finds(with({3, 2, 5, 5, four, point, five, 3}, 4),
                    at + "the document with id 1 has no end in the row"));
  EXPECT_TRUE(
      Finds(with({3, 2, 3, 5, four, point, five, 3}, 4), at + "the label at id 4 is not a line of its own"));
  EXPECT_TRUE(Finds(with({3, 2, 5, 3, four, five, 3}, 4),
                    at + "the scored ids 4 to 6 are not those of a number as rows have it"))
      << "two words";
  EXPECT_TRUE(Finds(with({3, 2, 5, 3, four, point, 3}, 4),
                    at + "the scored ids 4 to 6 are not those of a number as rows have it"));
  EXPECT_TRUE(Finds(with({3, 2, 5, 3, four, five, point, 3}, 4),
                    at + "the scored ids 4 to 7 are not those of a number as rows have it"));
}

TEST(VerifyPackedTest, LabelsThatContradictTheManifestAreFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const std::string name(kPackedInfoFile);
  Manifest manifest = PublishLabelled(place);
  PackedInfo info = *ParsePackedInfo(ReadFile(place + "/" + name));
  std::swap(info.labels[0].name, info.labels[1].name);
  Forge(place, manifest, name, PackedInfoJson(info));
  EXPECT_TRUE(
      Finds(FoundIn(place), name + R"(: labels are ["yes","no"] where the manifest says ["no","yes"])"));
  EXPECT_TRUE(Finds(FoundIn(place), "bytes and ")) << "names of other lengths";
  info.labels.clear();
  Forge(place, manifest, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place), name + ": has no labels where the manifest has some"));

  manifest = PublishLabelled(place);
  manifest.lineage.back().config.Remove("labels");
  PutManifest(place, manifest);
  EXPECT_TRUE(Finds(FoundIn(place), name + ": has labels where the manifest has none"));
  manifest.lineage.back().sources.emplace_back("labels", DigestOf("no\nyes\n").ToHex());
  PutManifest(place, manifest);
  EXPECT_EQ(FoundIn(place), std::vector<std::string>()) << "labels of a file";
}

TEST(VerifyPackedTest, PaddingWithAWeightIsFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place, Json::Object{}, ChooseAfterFirst(250));
  std::string entries = ReadFile(place + "/" + kIndex);
  entries[8] = 3;  // the length of row 0
  Put(place, kIndex, entries);
  std::string shard;
  AppendPackedRow(shard, std::vector<std::uint32_t>{2, 5, 5, 0, 0}, nullptr,
                  std::vector<std::uint32_t>{0, 0, 1, 0, 1});
  Forge(place, manifest, kShard, shard);
  EXPECT_TRUE(Finds(FoundIn(place),
                    "record 0 at byte 0: weight 4 is 1 where the index says that the row is "
                    "filled from id 3"));
}

TEST(VerifyPackedTest, AMegatronIndexOfOtherRowsIsFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place, Json(Json::Object{{"encoding", "mmap"}}));
  const std::string shard = PackedShardName("train", 0, 2, PackedEncoding::kMmap);
  const std::string name = PackedIndexName("train", 0, 2, PackedEncoding::kMmap);
  const auto finds = [&](const MegatronSequences& sequences, const std::string& what) {
    Forge(place, manifest, name, MegatronIndexOf(sequences));
    return Finds(FoundIn(place), shard + ": its index " + name + " " + what);
  };
  const std::uint64_t records = manifest.shards[0].records;
  EXPECT_TRUE(finds({MegatronType::kUint16, {5}},
                    "has 1 sequences where the manifest says " + std::to_string(records)));
  std::vector<std::uint32_t> lengths(records, 5);
  EXPECT_TRUE(finds({MegatronType::kInt32, lengths}, "says that an id has 4 bytes, and each has 2"));
  lengths[1] = 4;
  EXPECT_TRUE(finds({MegatronType::kUint16, lengths}, "says that sequence 1 has 4 ids where each row has 5"));

  // What a manifest says of rows takes no memory before the index has them.
  LocalStore store(place);
  ManifestShard many = manifest.shards[0];
  many.records = std::uint64_t{1} << 44;
  Findings findings(shard, "-");
  ReadCounts counts;
  const auto check = MakePackedCheck({store, manifest, {}});
  ASSERT_TRUE(check->VerifyShard(StringFile(ReadFile(place + "/" + shard)), many, findings, counts).ok());
  EXPECT_TRUE(Finds(findings.lines(), "sequences where the manifest says 17592186044416"));
}

/// A document is eos-terminated ids in train-00000-of-00002.bin, as uint16.
class VerifyDocumentsTest : public testing::Test {
 protected:
  VerifyDocumentsTest()
      : manifest_(PublishPacked(place_, Json(Json::Object{{"encoding", "mmap"}, {"packing", "documents"}}))) {
  }

  /// Shows the check these documents, with a fitting index unless `lengths` has another.
  std::vector<std::string> With(const std::vector<std::vector<std::uint32_t>>& documents,
                                std::vector<std::uint32_t> lengths = {}) {
    std::string ids;
    for (const std::vector<std::uint32_t>& document : documents) AppendRawIds(ids, document, 2);
    if (lengths.empty())
      for (const auto& document : documents) lengths.push_back(static_cast<std::uint32_t>(document.size()));
    const std::string index = MegatronIndexOf({MegatronType::kUint16, lengths});
    const StringFile shard_file(ids), index_file(index);
    PackedInfo info = *ParsePackedInfo(ReadFile(place_ + "/packed.json"));
    const PackedTotals said = {documents.size(), ids.size() / 2, 0, 0, 0};
    Findings findings("shard", "-");
    std::uint64_t read = 0;
    const Status checked = CheckMegatronDocuments({shard_file, index_file, "index", documents.size(), {}},
                                                  info, &said, findings, read);
    EXPECT_TRUE(checked.ok()) << checked.message();
    return findings.lines();
  }

  const TempDir dir_;
  const std::string place_ = dir_ / "out";
  const Manifest manifest_;
};

TEST_F(VerifyDocumentsTest, EachFaultOfADocumentIsFound) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(With({{5, 2}, {5, 4, 5, 2}}), Lines());
  EXPECT_EQ(With({{5, 2}, {5, 512, 2}}),
            Lines{"record 1 at byte 4: id 1 is 512 where the tokenizer has 512 pieces; -"});
  EXPECT_EQ(With({{5, 2, 5, 2}, {5, 2}}),
            Lines{"record 0 at byte 0: id 1 is eos, and the document goes on; -"});
  EXPECT_EQ(With({{5, 2}, {5, 5}}), Lines{"record 1 at byte 4: its last id is 5, not eos; -"});
  EXPECT_EQ(With({{5, 2}, {2}}), Lines{"record 1 at byte 4: has no id of text; -"});
  EXPECT_EQ(With({{5, 2}, {}}), Lines{"record 1 at byte 4: has no id of text; -"});
}

TEST_F(VerifyDocumentsTest, AnIndexOfOtherDocumentsIsFound) {
  const auto few = With({{5, 2}, {5, 6, 2}}, {2, 2});
  EXPECT_TRUE(Finds(few, "record 1 at byte 4: its last id is 6, not eos"));
  EXPECT_TRUE(Finds(few, "has 10 bytes where its index has ids of 8 bytes"));
  EXPECT_TRUE(Finds(few, "its index counts 4 tokens where packed.json says 5"));
  EXPECT_TRUE(Finds(With({{5, 2}, {5, 6, 2}}, {2, 2'000'000'000}),
                    "has 10 bytes where its index has ids of 4000000004"))
      << "no memory is taken for ids that are not there";
  EXPECT_TRUE(
      Finds(With({{5, 2}, {5, 6, 2}}, {5}), "its index index has 1 sequences where the manifest says 2"));
}

TEST_F(VerifyDocumentsTest, ADocumentOfManyIdsIsReadInParts) {
  std::vector<std::uint32_t> longest(200'000, 5);
  longest.push_back(2);
  EXPECT_EQ(With({longest, {5, 2}, longest}), std::vector<std::string>());
  longest[140'000] = longest[140'001] = longest[10] = 2;
  EXPECT_EQ(With({{5, 2}, longest, {7, 7}}),
            (std::vector<std::string>{"record 1 at byte 4: id 10 is eos, and the document goes on; -",
                                      "record 2 at byte 400006: its last id is 7, not eos; -"}))
      << "one finding for each document";
}

TEST_F(VerifyDocumentsTest, KeysAndTotalsThatContradictTheManifestAreFound) {
  const std::string name(kPackedInfoFile);
  PackedInfo info = *ParsePackedInfo(ReadFile(place_ + "/" + name));
  ++info.splits[0].shards[0].totals.rows;
  Forge(place_, manifest_, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place_), " documents where the manifest says "));
  info.packing = Packing::kStream;
  info.seq_len = 4;
  Forge(place_, manifest_, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place_), name + ": packing is \"stream\" where the manifest says \"documents\""));
}

TEST(VerifyPackedTest, KeysThatContradictTheManifestAreFound) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishPacked(place);
  const std::string name(kPackedInfoFile);
  PackedInfo info = *ParsePackedInfo(ReadFile(place + "/" + name));
  info.packing = Packing::kBestFit;
  Forge(place, manifest, name, PackedInfoJson(info));
  EXPECT_TRUE(Finds(FoundIn(place), name + ": packing is \"best_fit\" where the manifest says \"stream\""));
}

}  // namespace
}  // namespace pipeline
