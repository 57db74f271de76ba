// Strings of published artifacts: names of objects, members of the files that describe them, features of
// examples, facts of tokenizers, and the list of verified objects.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/str.h"
#include "stages/export/bert/bert.h"
#include "stages/export/jsonl/jsonl.h"
#include "stages/export/packed/packed_info.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfds/tfds.h"
#include "stages/shards/spill_sink.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "stages/tokenizer/wordpiece_training.h"
#include "stages/verify/verified.h"
#include "storage/memory_store.h"

namespace pipeline {
namespace {

// A struct with a further member stops the build at the binding of its members; set the member then, and
// bind it.

TokenizerFacts FullFacts() {
  const TokenizerFacts facts{"<layout>", 512, 0, 1, 2, 3, 4, "<model>", DigestOf("1"), 5, 6, 7, true};
  [[maybe_unused]] const auto& [layout, vocab_size, pad, bos, eos, unk, newline, model, digest, cls, sep,
                                mask, morphemes] = facts;
  return facts;
}

Json Parsed(std::string_view text) {
  const Result<Json> json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json();
}

TEST(OutsideStringsOfExportsTest, Packed) {
  OutsideStrings strings;
  strings.Add("object", kPackedInfoFile).Add("object", kPackedModelFile).Add("object", kBertVocabularyFile);
  for (const PackedEncoding encoding :
       {PackedEncoding::kExample, PackedEncoding::kRaw16, PackedEncoding::kRaw32, PackedEncoding::kMmap,
        PackedEncoding::kArrayRecord}) {
    strings.Add("encoding", PackedEncodingName(encoding));
    strings.Add("object", PackedShardName("<split>", 1, 2, encoding));
    strings.Add("object", PackedIndexName("<split>", 1, 2, encoding));
    PackedInfo info{
        128, 0, FullFacts(), {}, encoding, Packing::kBestFit, HasExamples(encoding), HasExamples(encoding)};
    if (info.weights) info.labels = {{"no", {100}}, {"yes", {101}}};
    info.splits = {{"<split>", 1, {{"<object>", "<index>", {1, 2, 3, 4, 1}}}}};
    [[maybe_unused]] const auto& [seq_len, fill_id, tokenizer, splits, its_encoding, packing, segments,
                                  weights, labels, number_labels] = info;
    [[maybe_unused]] const auto& [name, label_ids] = PackedLabel();
    const Json json = Parsed(PackedInfoJson(info));
    strings.AddMembers(StrCat("member of ", kPackedInfoFile), json);
    for (const std::string_view member : {"pipe_packed", "dtype", "encoding", "packing", "feature"})
      if (json.Has(member))
        strings.Add(StrCat("value of ", member),
                    json[member].is_string() ? std::string(json[member].AsString()) : json[member].Dump());
  }
  PackedInfo documents{0, 0, FullFacts(), {}, PackedEncoding::kMmap, Packing::kDocuments};
  documents.splits = {{"<split>", 0, {{"<object>", "<index>", {1, 2, 3, 4, 0}}}}};
  const Json of_documents = Parsed(PackedInfoJson(documents));
  strings.AddMembers(StrCat("member of ", kPackedInfoFile), of_documents);
  strings.Add("value of packing", of_documents["packing"].AsString());
  strings.Add("value of pipe_packed", of_documents["pipe_packed"].Dump());
  PackedInfo words{128, 0, FullFacts(), {}};
  words.tokenizer.model = kBertVocabularyFile;
  strings.Add("value of pipe_packed", Parsed(PackedInfoJson(words))["pipe_packed"].Dump());
  PackedInfo numbers{128,   0,    FullFacts(), {},  PackedEncoding::kExample, Packing::kBestFit,
                     false, true, {},          true};
  strings.Add("value of labels", Parsed(PackedInfoJson(numbers))["labels"].AsString());
  for (const Packing packing : {Packing::kStream, Packing::kBestFit, Packing::kDocuments})
    strings.Add("packing", PackingName(packing));
  for (const std::string_view feature : {kPackedFeature, kPackedSegmentIds, kPackedPositions, kPackedWeights})
    strings.Add("feature", feature);
  std::string example;
  const std::vector<std::uint32_t> ids = {1, 2, 3};
  const PackedSegments segments{{1, 1, 2}, {0, 1, 0}};
  AppendPackedExample(example, ids, &segments);
  strings.Add("digest of an example", DigestOf(example).ToHex());
  const std::vector<std::uint32_t> weights = {0, 0, 1};
  example.clear();
  AppendPackedExample(example, ids, nullptr, weights);
  strings.Add("digest of an example", DigestOf(example).ToHex());
  EXPECT_TRUE(ArePinned(strings, "packed"));
}

TEST(OutsideStringsOfExportsTest, Bert) {
  OutsideStrings strings;
  for (const std::string_view name : {kBertVocabularyFile, kBertConfigFile, kBertInfoFile})
    strings.Add("object", name);
  strings.Add("object", BertShardName("<split>", 1, 2)).Add("front of a reason", kBertInstancesOf);
  const BertInfo info{{128, 20}, FullFacts()};
  [[maybe_unused]] const auto& [lengths, tokenizer] = info;
  Json made;
  made["<key>"] = 1;
  strings.AddMembers(StrCat("member of ", kBertInfoFile), Parsed(BertInfoJson(info, made)));
  for (const std::string_view size : BertModelSizes()) {
    strings.Add("size", size);
    strings.AddMembers(StrCat("member of ", kBertConfigFile), Parsed(BertConfigJson(size, 512, 128)));
  }
  std::string example;
  const std::vector<std::uint32_t> ids = {1, 2, 3, 4}, positions = {1}, labels = {5};
  AppendBertExample(example, {ids, 2, positions, labels, true}, {8, 2});
  strings.Add("digest of an example", DigestOf(example).ToHex());
  EXPECT_TRUE(ArePinned(strings, "bert"));
}

TEST(OutsideStringsOfExportsTest, TensorFlow) {
  OutsideStrings strings;
  for (const std::string_view name : {kTfdsInfoFile, kTfdsFeaturesFile, kTfdsTokenizerFile, kTfdsLabelsFile})
    strings.Add("object of TFDS", name);
  strings.Add("object of TFDS", TfdsShardName("<name>", "<split>", 1, 2));
  const TfdsInfo info{"<name>", "1.0.0", "<description>", {{"<split>", {1, 2}, 3}}};
  [[maybe_unused]] const auto& [name, version, description, splits] = info;
  [[maybe_unused]] const auto& [split, lengths, bytes] = splits.front();
  strings.AddMembers(StrCat("member of ", kTfdsInfoFile), Parsed(TfdsInfoJson(info)));
  strings.Add("digest of features", DigestOf(TfdsFeaturesJson({{"<text>"}, 2})).ToHex());

  for (const std::string_view object :
       {kTfdataSpecFile, kTfdataMetadataFile, kTfdataInfoFile, kTfdataModelFile})
    strings.Add("object of tf.data", object);
  const std::string directory = TfdataDirectoryName("<name>", 1, 2);
  const std::string run_id = TfdataRunId(directory, DigestOf("1"));
  strings.Add("object of tf.data", TfdataSnapshotName(directory, run_id));
  const TfdataInfo data{"<eos>", FullFacts(), {{"<split>", {{"<name>", "<id>", 1, 2}}}}};
  [[maybe_unused]] const auto& [eos, tokenizer, directories] = data;
  const Json json = Parsed(TfdataInfoJson(data));
  strings.AddMembers(StrCat("member of ", kTfdataInfoFile), json);
  strings.Add("version of tf.data", json["pipe_tfdata"].Dump());
  EXPECT_TRUE(ArePinned(strings, "tensorflow"));
}

TEST(OutsideStringsOfExportsTest, JsonLinesTokenizersAndVerifiedObjects) {
  OutsideStrings strings;
  strings.Add("object of JSON Lines", JsonlShardName("<file>", 1, 2));
  strings.Add("member of JSON Lines", kJsonlSource).Add("member of JSON Lines", kJsonlTarget);

  strings.AddMembers("fact of a tokenizer", ToJson(FullFacts()));
  for (const std::string_view name : TokenizerLayoutNames()) {
    const TokenizerLayout* const layout = FindTokenizerLayout(name);
    strings.Add("layout", name);
    for (const auto& pieces : {layout->controls, layout->symbols})
      for (const std::string_view piece : pieces) strings.Add(StrCat("piece of ", name), piece);
  }
  strings.Add("layout", kBertLayout)
      .Add("layout", kLayoutOfFiles)
      .Add("object of a tokenizer", kBertVocabularyFile);
  strings.Add("model", kWordPieceModel).Add("end of a partition output", kSpillSuffix);

  MemoryStore store;
  Manifest manifest;
  manifest.lineage.push_back({"<stage>", "<type>", 1, Json(Json::Object{}), {}, {}, {}, {}});
  const VerifiedObject object{"<version>", 1, 2, 3};
  [[maybe_unused]] const auto& [version, bytes, crc32c, ctime] = object;
  ASSERT_TRUE(WriteVerified(store, manifest, {{"<object>", object}}, {}).ok());
  const auto text = ReadObject(store, kVerifiedName, 10'000);
  ASSERT_TRUE(text.ok());
  const Json json = Parsed(*text);
  strings.Add("list of verified objects", kVerifiedName).AddMembers("member of that list", json);
  strings.Add("version of that list", json["pipe_verified"].Dump());
  EXPECT_TRUE(ArePinned(strings, "beside_artifacts"));
}

}  // namespace
}  // namespace pipeline
