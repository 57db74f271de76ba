// Rows of a vocab.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/stages/export/packed/label_model.h"
#include "tests/stages/export/packed/packer_rows.h"
#include "tests/stages/export/packed/published_rows.h"
#include "tests/stages/export/packed/word_model.h"

namespace pipeline {
namespace {

using Ids = PackerIds;

std::unique_ptr<Published> WriteWords(const Json& config, const PackedCorpus& corpus,
                                      std::size_t batch_lines = 16, std::uint64_t memory = kMemory) {
  const std::string model = WordModel();
  return Publish(config, WordTokenizer(model), corpus, batch_lines, memory, {}, model);
}

/// Each document of a split between [CLS] and [SEP], one behind the other.
Ids Targets(const PackedCorpus& corpus, std::uint8_t split) {
  Ids targets;
  for (const auto& [id, lines] : corpus)
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (lines[at].split != split) continue;
      if (at == 0 || lines[at - 1].document != lines[at].document) targets.push_back(kCls);
      targets.insert(targets.end(), lines[at].ids.begin(), lines[at].ids.end());
      if (at + 1 == lines.size() || lines[at + 1].document != lines[at].document) targets.push_back(kSep);
    }
  return targets;
}

TEST(WriteWordsTest, ADocumentStandsBetweenClsAndSep) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  for (const std::string encoding : {"example", "raw16"}) {
    const auto published = WriteWords(With(Unshuffled(13), "encoding", encoding), corpus);
    for (const PackedSplit& split : published->info.splits) {
      const std::uint8_t number = split.name == "train" ? 0 : 1;
      Ids targets;
      std::uint64_t bytes = 0, wanted = 0;
      for (const PackedShard& shard : split.shards)
        for (const PackedRow& row : RowsOf(*published, shard)) {
          targets.insert(targets.end(), row.ids.begin() + 1, row.ids.begin() + row.facts.length);
          bytes += row.facts.bytes;
        }
      EXPECT_EQ(targets, Targets(corpus, number));
      for (const auto& [id, lines] : corpus)
        for (const PackedLine& line : lines) wanted += line.split == number ? line.text.size() + 1 : 0;
      EXPECT_EQ(bytes, wanted);
    }
  }
}

TEST(WriteWordsTest, SameBytesForAnyBatchAndMemoryWithTheVocabularyBesideThem) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const auto wanted = WriteWords(Config(13), corpus, 1);
  for (const std::size_t batch_lines : {7u, 1000u})
    EXPECT_EQ(WriteWords(Config(13), corpus, batch_lines, 1000)->out.objects(), wanted->out.objects());
  EXPECT_EQ(wanted->out["vocab.txt"], WordModel());
  EXPECT_FALSE(wanted->out.objects().contains("tokenizer.model"));
  const Json info = *Json::Parse(wanted->out["packed.json"]);
  EXPECT_EQ(info["pipe_packed"].AsInt(), 5);
  EXPECT_EQ(info["fill_id"].AsInt(), 0);
  EXPECT_EQ(info["tokenizer"]["model"].AsString(), "vocab.txt");
  EXPECT_EQ(info["tokenizer"]["cls_id"].AsInt(), kCls);
  EXPECT_EQ(info["tokenizer"]["eos_id"].AsInt(), kSep);
  EXPECT_EQ(DigestOfAll(*wanted), "04d31438ebbc803716351e6544050069")
      << "other bytes: raise the version of write_packed";
}

TEST(WriteWordsTest, BestFitCutsOnlyDocumentsThatNoRowHolds) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const auto published = WriteWords(With(Config(60), "packing", "best_fit"), corpus);
  std::multiset<Ids> found, wanted;  // documents that a row holds
  for (const PackedSplit& split : published->info.splits)
    for (const PackedShard& shard : split.shards)
      for (const PackedRow& row : RowsOf(*published, shard)) {
        const auto end = row.ids.begin() + row.facts.length;
        for (auto at = std::find(row.ids.begin(), end, kCls); at != end; at = std::find(at, end, kCls)) {
          const auto sep = std::find(at, end, kSep);
          if (sep != end) found.emplace(at, sep + 1);
          at = sep;
        }
      }
  for (const std::uint8_t split : std::vector<std::uint8_t>{0, 1}) {
    const Ids targets = Targets(corpus, split);
    for (auto at = targets.begin(); at != targets.end();) {
      const auto behind = std::find(at, targets.end(), kSep) + 1;
      if (behind - at <= 60) wanted.emplace(at, behind);
      at = behind;
    }
  }
  EXPECT_LT(wanted.size(), 60u) << "some are longer";
  EXPECT_EQ(found, wanted);
}

TEST(WriteWordsTest, ALabelStandsBehindTheTextAndItsSep) {
  const std::vector<std::string> names = {"no", "yes"};
  Json config = With(With(Config(60), "packing", "best_fit"), "labels", Json(Json::Array{"no", "yes"}));
  const auto published = WriteWords(config, Labelled(RandomPackedCorpus(3, 20), names));
  EXPECT_EQ(published->info.labels,
            (std::vector<PackedLabel>{{"no", {BeginOf('n'), InsideOf('o')}},
                                      {"yes", {BeginOf('y'), InsideOf('e'), InsideOf('s')}}}));
  std::uint64_t documents = 0;
  for (const PackedSplit& split : published->info.splits)
    for (const PackedShard& shard : split.shards)
      for (const PackedRow& row : RowsOf(*published, shard))
        for (std::uint32_t at = 1; at < row.facts.length;) {
          EXPECT_EQ(row.ids[at], kCls);
          while (row.weights[at] == 0) ++at;
          EXPECT_EQ(row.ids[at - 1], kSep) << "the end of the text";
          Ids label;
          for (; row.ids[at] != kSep; ++at) label.push_back(row.ids[at]);
          EXPECT_EQ(row.weights[at++], 1u);
          EXPECT_TRUE(label == published->info.labels[0].ids || label == published->info.labels[1].ids);
          ++documents;
        }
  EXPECT_EQ(documents, 60u);
}

TEST(WriteWordsTest, DocumentsOfMegatronHaveNoCls) {
  Json config = With(With(Config(13), "packing", "documents"), "encoding", "mmap");
  config.Remove("seq_len"), config.Remove("equal");
  const auto published = WriteWords(config, RandomPackedCorpus(3, 20));
  EXPECT_EQ((*Json::Parse(published->out["packed.json"]))["pipe_packed"].AsInt(), 4);
  for (const PackedShard& shard : published->info.splits[0].shards) {
    Ids ids;
    ASSERT_TRUE(ParseRawIds(published->out[shard.object], 2, ids).ok());
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kCls), 0);
    EXPECT_EQ(ids.back(), kSep);
  }
}

std::string Refused(Json config, const std::string& model) {
  return std::string(
      MakeWritePacked(std::move(config), ToJson(WordTokenizer(model)), model, {"train"}).status().message());
}

TEST(WriteWordsTest, RefusesAVocabularyThatLacksWhatRowsNeed) {
  EXPECT_EQ(Refused(Config(13), WordModel()), "");
  EXPECT_EQ(Refused(Config(13), WordModel("[CLS]")),
            "vocab.txt has no piece [CLS], which begins and ends a document; add both to it, or take another "
            "vocab.txt");
  EXPECT_EQ(
      Refused(With(Config(13), "answers_after", "[MASK]"), WordModel()),
      "answers_after: a vocab.txt has no user-defined symbols, which text gives as one id; write labels, "
      "or take a SentencePiece model that has some");
  const Json numbers =
      With(With(Config(60), "packing", "best_fit"), "labels", Json(Json::Array{Json("numbers")}));
  EXPECT_EQ(Refused(numbers, WordModel()), "");
  EXPECT_EQ(Refused(numbers, WordModel("##7")),
            "labels: the tokenizer has no piece for '##7', which numbers have; take a vocab.txt that has it");
  EXPECT_EQ(Refused(numbers, WordModel(".")),
            "labels: the tokenizer has no piece for '.', which numbers have; take a vocab.txt that has it");
  Json names = With(With(Config(60), "packing", "best_fit"), "labels", Json(Json::Array{"no", "猫"}));
  EXPECT_EQ(
      Refused(names, WordModel()),
      "labels: '猫' has text for which the tokenizer has no piece, so that its ids do not give the name; "
      "choose another name");
}

}  // namespace
}  // namespace pipeline
