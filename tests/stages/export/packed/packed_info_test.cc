#include "stages/export/packed/packed_info.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/json.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

PackedInfo Example() {
  PackedInfo info;
  info.seq_len = 4;
  info.fill_id = 0;
  info.tokenizer = {
      "pipe", 302, 0, 1, 2, 3, 4, "tokenizer.model", *Digest::FromHex("0123456789abcdef0123456789abcdef")};
  info.splits = {
      {"train", 0, {{"train-00000-of-00001.tfrecord", "train-00000-of-00001.idx", {2, 7, 17, 7}}}}};
  return info;
}

std::string WhyNoInfo(const Json& json) {
  return std::string(ParsePackedInfo(json.Dump()).status().message());
}

TEST(PackedInfoTest, WritesTheExampleOfItsDocument) {
  std::ifstream file(SourceDir() + "/stages/export/packed/packed.md");
  const std::string document((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(document.find("```json\n" + PackedInfoJson(Example()) + "```"), std::string::npos)
      << PackedInfoJson(Example());
}

TEST(PackedInfoTest, ReadsWhatItWrote) {
  const auto info = ParsePackedInfo(PackedInfoJson(Example()));
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(*info, Example());
}

TEST(PackedInfoTest, SaysHowRowsLieAndHowMuchFillsThem) {
  const auto written = [](PackedEncoding encoding, std::uint32_t vocab_size) {
    PackedInfo info = Example();
    info.encoding = encoding;
    info.packing = Packing::kBestFit;
    info.segments = HasExamples(encoding);
    info.tokenizer.vocab_size = vocab_size;
    const std::string text = PackedInfoJson(info);
    const auto read = ParsePackedInfo(text);
    EXPECT_TRUE(read.ok() && *read == info) << read.status().message();
    return *Json::Parse(text);
  };
  const Json example = written(PackedEncoding::kExample, 302);
  EXPECT_EQ(example["pipe_packed"].AsInt(), 2);
  EXPECT_EQ(example["packing"].AsString(), "best_fit");
  EXPECT_TRUE(example["segments"].AsBool());
  EXPECT_EQ(example["splits"]["train"]["padding"].AsDouble(), 0.3) << "3 of 10 ids";
  EXPECT_EQ(written(PackedEncoding::kRaw16, 302)["dtype"].AsString(), "uint16");
  EXPECT_EQ(written(PackedEncoding::kRaw32, 302)["dtype"].AsString(), "uint32");
  EXPECT_EQ(written(PackedEncoding::kMmap, 302)["dtype"].AsString(), "uint16");
  EXPECT_EQ(written(PackedEncoding::kMmap, 65500)["dtype"].AsString(), "int32");
  EXPECT_EQ(written(PackedEncoding::kArrayRecord, 302)["encoding"].AsString(), "array_record");
  PackedInfo best = Example();
  best.packing = Packing::kBestFit;
  EXPECT_EQ((*Json::Parse(PackedInfoJson(best)))["pipe_packed"].AsInt(), 1)
      << "who reads 1 reads this as well";
}

TEST(PackedInfoTest, CountsTheScoredTargetsOfWeightedRows) {
  EXPECT_EQ(PackedInfoJson(Example()).find("scored"), std::string::npos);
  EXPECT_EQ(PackedInfoJson(Example()).find("weights"), std::string::npos);
  PackedInfo info = Example();
  info.weights = true;
  info.splits[0].shards[0].totals.scored = 3;
  const auto read = ParsePackedInfo(PackedInfoJson(info));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, info);
  const Json good = *Json::Parse(PackedInfoJson(info));
  EXPECT_EQ(good["pipe_packed"].AsInt(), 3);
  EXPECT_TRUE(good["weights"].AsBool());
  EXPECT_EQ(good["splits"]["train"]["scored"].AsInt(), 3);
  Json json = good;
  json["pipe_packed"] = 2;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 2 does not fit rows in example");
  json = good;
  json["splits"]["train"]["scored"] = 2;
  EXPECT_EQ(WhyNoInfo(json), "splits.train: its totals are not the sums over its shards");
  json["splits"]["train"]["scored"] = 6;
  EXPECT_EQ(WhyNoInfo(json), "splits.train.scored: 6, where there are 5 targets");
  json["splits"]["train"].Remove("scored");
  EXPECT_EQ(WhyNoInfo(json), "splits.train.scored: missing");
  json = good;
  json["encoding"] = "raw16";
  json["dtype"] = "uint16";
  EXPECT_EQ(WhyNoInfo(json), "weights: there is no room for them in raw16");
}

TEST(PackedInfoTest, HasTheLabelsOfLabelledRows) {
  PackedInfo info = Example();
  info.weights = true;
  info.packing = Packing::kBestFit;
  EXPECT_EQ(PackedInfoJson(info).find("labels"), std::string::npos);
  info.labels = {{"no", {100, 101}}, {"yes", {102}}};
  const auto read = ParsePackedInfo(PackedInfoJson(info));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, info);
  const Json good = *Json::Parse(PackedInfoJson(info));
  EXPECT_EQ(good["pipe_packed"].AsInt(), 3) << "who reads 3 reads these rows as well";
  EXPECT_EQ(good["labels"].Dump(), R"([{"ids":[100,101],"name":"no"},{"ids":[102],"name":"yes"}])");
  Json json = good;
  json["labels"] = 1;
  EXPECT_EQ(WhyNoInfo(json), "labels: not a list");
  json["labels"] = Json::Array{};
  EXPECT_EQ(WhyNoInfo(json),
            "labels: 0 names, and there is nothing to choose among fewer than two; name all labels");
  json = good;
  json.Remove("packing");
  EXPECT_EQ(WhyNoInfo(json), "labels: rows with them have weights and the packing best_fit");
  json = good;
  json["tokenizer"]["eos_id"] = -1;
  EXPECT_EQ(WhyNoInfo(json), "labels: the tokenizer has no eos, which stands behind each");

  info.labels.clear();
  info.number_labels = true;
  const auto numbers = ParsePackedInfo(PackedInfoJson(info));
  ASSERT_TRUE(numbers.ok()) << numbers.status().message();
  EXPECT_EQ(*numbers, info);
  EXPECT_EQ((*Json::Parse(PackedInfoJson(info)))["labels"].Dump(), R"("numbers")");
}

TEST(PackedInfoTest, DocumentsHaveNoMemberAboutRows) {
  PackedInfo info = Example();
  info.seq_len = 0;
  info.encoding = PackedEncoding::kMmap;
  info.packing = Packing::kDocuments;
  const auto read = ParsePackedInfo(PackedInfoJson(info));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, info);
  const Json good = *Json::Parse(PackedInfoJson(info));
  EXPECT_EQ(good["pipe_packed"].AsInt(), 4) << "who reads rows alone refuses it";
  EXPECT_EQ(good["packing"].AsString(), "documents");
  for (const char* member : {"seq_len", "fill_id", "feature"}) EXPECT_FALSE(good.Has(member)) << member;
  EXPECT_EQ(good["splits"]["train"]["shards"].AsArray()[0].Dump(),
            R"({"bytes":17,"chars":7,"documents":2,"index":"train-00000-of-00001.idx",)"
            R"("object":"train-00000-of-00001.tfrecord","tokens":7})");
  Json json = good;
  json["pipe_packed"] = 2;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 2 does not fit documents in mmap");
  json = good;
  json["splits"]["train"]["tokens"] = 3;
  EXPECT_EQ(WhyNoInfo(json), "splits.train.tokens: 3 in 2 documents");
  json = good;
  json["splits"]["train"]["documents"] = 1;
  EXPECT_EQ(WhyNoInfo(json), "splits.train: its totals are not the sums over its shards");
  json = good;
  json["encoding"] = "raw16";
  EXPECT_EQ(WhyNoInfo(json), "packing: documents do not lie in raw16");
  json = good;
  json["tokenizer"]["eos_id"] = -1;
  EXPECT_EQ(WhyNoInfo(json), "packing: documents end with eos, which the tokenizer lacks");
}

TEST(PackedInfoTest, RowsOfAVocabularyHaveAVersionOfTheirOwn) {
  PackedInfo info = Example();
  info.tokenizer.layout = "bert";
  info.tokenizer.model = "vocab.txt";
  info.tokenizer.cls_id = 7, info.tokenizer.sep_id = info.tokenizer.eos_id;
  const Json good = *Json::Parse(PackedInfoJson(info));
  EXPECT_EQ(good["pipe_packed"].AsInt(), 5);
  EXPECT_EQ(WhyNoInfo(good), "");
  Json json = good;
  json["pipe_packed"] = 1;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 1 does not fit rows in example of a vocab.txt");
  json = good;
  json["tokenizer"].Remove("cls_id");
  EXPECT_EQ(WhyNoInfo(json), "tokenizer: rows of a vocab.txt have [CLS] and [SEP], which it lacks");
}

TEST(PackedInfoTest, NamesWhatIsWrong) {
  const Json good = *Json::Parse(PackedInfoJson(Example()));
  ASSERT_EQ(WhyNoInfo(good), "");
  Json json = good;
  json["pipe_packed"] = 6;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 6 where this program reads 5; use the program that wrote it");
  json["pipe_packed"] = 5;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 5 does not fit rows in example");
  json["pipe_packed"] = 4;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 4 does not fit rows in example");
  json["pipe_packed"] = 3;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 3 does not fit rows in example");
  json["pipe_packed"] = 2;
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 2 does not fit rows in example");
  json = good;
  json["encoding"] = "raw8";
  EXPECT_EQ(WhyNoInfo(json), "encoding: 'raw8' is unknown");
  json["encoding"] = "raw16";
  EXPECT_EQ(WhyNoInfo(json), "pipe_packed: 1 does not fit rows in raw16");
  json = good;
  json["packing"] = "tight";
  EXPECT_EQ(WhyNoInfo(json), "packing: 'tight' is unknown");
  json = good;
  json["feature"] = "text";
  EXPECT_EQ(WhyNoInfo(json), "rows have the feature text of int64, not tokens of int64");
  json = good;
  json.Remove("seq_len");
  EXPECT_EQ(WhyNoInfo(json), "seq_len: missing");
  json["seq_len"] = (1 << 20) + 1;
  EXPECT_EQ(WhyNoInfo(json), "seq_len: 1048577: must be from 1 to 1048576");
  json = good;
  json["fill_id"] = 302;
  EXPECT_EQ(WhyNoInfo(json), "fill_id: 302, where the vocabulary has 302 pieces");
  json = good;
  json["splits"]["train"]["bytes"] = 18;
  EXPECT_EQ(WhyNoInfo(json), "splits.train: its totals are not the sums over its shards");
  json = good;
  json["splits"]["train"]["targets"] = 6;
  EXPECT_EQ(WhyNoInfo(json), "splits.train.targets: 6 with 7 tokens in 2 rows");
  json = good;
  json["tokenizer"]["vocab_size"] = 0;
  EXPECT_EQ(WhyNoInfo(json), "tokenizer.vocab_size: 0, where ids are below 2^31");
  json = good;
  json["tokenizer"].Remove("newline_id");
  EXPECT_EQ(WhyNoInfo(json), "tokenizer.newline_id: missing");
  EXPECT_EQ(ParsePackedInfo("{").status().code(), Code::kDataLoss);
  EXPECT_EQ(ParsePackedInfo("[]").status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace pipeline
