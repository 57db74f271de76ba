// What the objects beside the shards of tfdata, bert and jsonl say of them and of each other.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stages/export/bert/bert.h"
#include "stages/export/tfdata/tfdata.h"
#include "tests/stages/verify/found.h"
#include "tests/stages/verify/published_kinds.h"

namespace pipeline {
namespace {

/// What is found once `change` has rewritten an object whose sums are made anew.
std::vector<std::string> FoundWith(const std::string& kind, const std::string& object,
                                   const std::function<std::string(std::string)>& change) {
  const TempDir dir;
  const std::string place = dir / "out";
  const Manifest manifest = PublishKind(KindNamed(kind), place);
  const std::string name = object.empty() ? manifest.shards.front().object.name : object;
  Forge(place, manifest, name, change(ReadFile(place + "/" + name)));
  return FoundIn(place);
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::function<std::string(std::string)> Replacing(std::string_view from, std::string_view to) {
  return [from, to](std::string text) { return Replaced(std::move(text), from, to); };
}

// ------------------------------------------------------------------------------------------- tfdata

TEST(VerifyTfdataTest, ElementsAreIdsOfTheTokenizer) {
  const auto elements = [](const std::vector<std::uint32_t>& ids) {
    std::string packed, out;
    PackIds(packed, ids, 4);
    AppendTfdataElements(out, packed, 4);
    return out;
  };
  EXPECT_TRUE(Finds(
      FoundWith("tfdata", "",
                [&](std::string shard) { return shard.replace(0, kTfdataElementBytes, elements({512})); }),
      "record 0 at byte 0: id 512 where the tokenizer has 512 pieces"));
  EXPECT_TRUE(Finds(FoundWith("tfdata", "", [&](std::string shard) { return shard + elements({5}); }),
                    "bytes, not 26 for each"));
}

TEST(VerifyTfdataTest, DescriptionsAreHeldAgainstEachOther) {
  const auto always = [](std::string bytes) { return [bytes](const std::string&) { return bytes; }; };
  EXPECT_TRUE(Finds(FoundWith("tfdata", "ptb/snapshot.metadata", always(TfdataMetadataBytes({"7", 3}))),
                    "ptb/snapshot.metadata: names the run 7 where tfdata.json names "));
  EXPECT_TRUE(
      Finds(FoundWith("tfdata", "ptb/dataset_spec.pb", always("x")), "ptb/dataset_spec.pb: does not say"));
  EXPECT_TRUE(Finds(FoundWith("tfdata", "tokenizer.model", always("another")),
                    "tfdata.json: the ids were made by a tokenizer with the digest"));
  EXPECT_TRUE(Finds(FoundWith("tfdata", "tfdata.json", always("{}")),
                    "tfdata.json: cannot be read, so that no record was checked: "));
  const auto fewer_ids = [](std::string text) {
    TfdataInfo info = *ParseTfdataInfo(text);
    info.splits.back().directories.front().ids = 511;
    return TfdataInfoJson(info);
  };
  EXPECT_TRUE(Finds(FoundWith("tfdata", "tfdata.json", fewer_ids),
                    "has 511 ids, and the trainer cuts windows of 512"));
}

// --------------------------------------------------------------------------------------------- bert

TEST(VerifyBertTest, DescriptionsAreHeldAgainstEachOther) {
  EXPECT_TRUE(
      Finds(FoundWith("bert", "bert_config.json", Replacing("\"vocab_size\": 512", "\"vocab_size\": 511")),
            "bert_config.json: vocab_size is 511 where there are ids below 512: a TPU would read"));
  EXPECT_TRUE(Finds(FoundWith("bert", "bert_config.json",
                              Replacing("max_position_embeddings\": 512", "max_position_embeddings\": 31")),
                    "max_position_embeddings is 31 where examples have 32 ids"));
  const std::vector<std::string> other =
      FoundWith("bert", "vocab.txt", [](std::string text) { return text + "more\n"; });
  EXPECT_TRUE(Finds(other, "vocab.txt: has 513 pieces where bert.json says 512"));
  EXPECT_TRUE(Finds(other, "bert.json: the ids were made by a tokenizer with the digest"));
  EXPECT_TRUE(Finds(FoundWith("bert", "vocab.txt", Replacing("p7\n", "p6\n")), "vocab.txt: line 8: "));
  const auto longer = [](std::string text) {
    BertInfo info = *ParseBertInfo(text);
    info.lengths = {64, 7};
    info.tokenizer.mask_id = -1;
    return BertInfoJson(info, Json(Json::Object{}));
  };
  const std::vector<std::string> lines = FoundWith("bert", "bert.json", longer);
  EXPECT_TRUE(Finds(lines, "bert.json: seq_len is 64 where the manifest says 32"));
  EXPECT_TRUE(Finds(lines, "bert.json: max_predictions is 7 where the manifest says 5"));
  EXPECT_TRUE(Finds(FoundWith("bert", "bert.json", [](std::string) { return std::string("{}"); }),
                    "bert.json: cannot be read, so that no record was checked: "));
}

TEST(VerifyBertTest, ExamplesAreThoseThatATrainerCanTake) {
  // [CLS] a b [SEP] c d [SEP], b to be predicted.
  struct Example {
    std::vector<std::uint32_t> ids = {2, 100, 4, 3, 102, 103, 3};
    std::vector<std::uint32_t> positions = {2};
    std::vector<std::uint32_t> labels = {101};
    std::uint32_t first_segment = 4;
    bool random_next = false;
  };
  const auto found = [](const Example& example) {
    return FoundWith("bert", "", [&](const std::string& shard) {
      const ShardLayout layout = TfRecordLayout();
      std::vector<std::string> records = layout.records(shard);
      std::string framed;
      AppendBertExample(
          framed,
          {example.ids, example.first_segment, example.positions, example.labels, example.random_next},
          {32, 5});
      records[0] = layout.records(framed).front();
      return layout.shard(records);
    });
  };
  EXPECT_EQ(found({}), std::vector<std::string>());
  Example example;
  example.ids[1] = 512;
  EXPECT_TRUE(
      Finds(found(example), "record 0 at byte 0: has the id 512 where the vocabulary has 512 pieces"));
  example = {};
  example.labels[0] = 600;
  EXPECT_TRUE(Finds(found(example), "has the label 600 where the vocabulary has 512 pieces"));
  example = {};
  example.ids.back() = 9;
  EXPECT_TRUE(Finds(found(example), "does not begin with [CLS] or end with [SEP]"));
  example = {};
  example.first_segment = 3;
  EXPECT_TRUE(Finds(found(example), "its first segment does not end with [SEP]"));
  example = {};
  example.positions[0] = 3;
  EXPECT_TRUE(Finds(found(example), "position 3 is to be predicted, but it is that of [CLS] or [SEP]"));
  example = {};
  example.first_segment = 7;
  example.random_next = true;
  EXPECT_TRUE(Finds(found(example), "next_sentence_labels is 1, and there is no second segment"));
}

// -------------------------------------------------------------------------------------------- jsonl

TEST(VerifyJsonlTest, LinesAreRowsOfCleanText) {
  const auto first_line = [](const std::string& kind, const std::string& line) {
    return FoundWith(kind, "", [&](const std::string& file) { return line + file.substr(file.find('\n')); });
  };
  EXPECT_TRUE(Finds(first_line("jsonl", "{\"text\":\"\xff\"}"), "line 1: is not UTF-8, or holds NUL"));
  EXPECT_TRUE(Finds(first_line("jsonl", "{\"text\":"), "line 1: "));
  EXPECT_TRUE(Finds(first_line("jsonl", "{\"text\":1}"), "line 1: "));
  EXPECT_TRUE(Finds(first_line("jsonl", "{\"text\":\"a\",\"more\":\"b\"}"), "line 1: "));
  EXPECT_EQ(first_line("jsonl", "{\"text\":\"a\"}"), std::vector<std::string>());
  EXPECT_EQ(first_line("jsonl_pairs", "{\"source\":\"a <extra_id_0> c\",\"target\":\"<extra_id_0> b\"}"),
            std::vector<std::string>());
  EXPECT_TRUE(
      Finds(first_line("jsonl_pairs", "{\"source\":\"a <extra_id_0> c\",\"target\":\"<extra_id_1> b\"}"),
            "line 1: the sentinels of source and target do not belong together"));
  EXPECT_TRUE(Finds(FoundWith("jsonl", "", [](std::string file) { return file.substr(0, file.size() - 1); }),
                    ": does not end"));
}

}  // namespace
}  // namespace pipeline
