#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "base/str.h"
#include "formats/tfrecord.h"
#include "stages/export/bert/bert.h"
#include "stages/export/bert/bert_documents.h"
#include "stages/export/bert/bert_export.h"
#include "stages/export/bert/bert_instances.h"
#include "tests/stages/shards/shuffle_fixture.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

using Numbers = std::vector<std::uint32_t>;

// ---------------------------------------------------------------------------------------- documents

std::vector<Numbers> SentencesOf(const BertDocuments& documents, std::size_t document) {
  std::vector<Numbers> sentences;
  for (std::size_t at = 0; at < documents.sentences(document); ++at)
    documents.Append(documents.sentence(document, at), sentences.emplace_back());
  return sentences;
}

constexpr std::uint32_t kJoins = BertDocuments::kJoins;
const std::vector<bool> kContinues = {false, false, true};

TEST(BertDocumentsTest, SentencesEndWithIds) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  // 猫。犬。 with an id that reaches over the end of the first sentence.
  ASSERT_TRUE(documents.Add("猫。犬。鳥", Numbers{5, 6, 7}, Numbers{3, 9, 15}, {}, 4).ok());
  ASSERT_TRUE(documents.Add("", {}, {}, {}, 4).ok());
  ASSERT_TRUE(documents.Add("a", Numbers{8}, Numbers{1}, {}, 4).ok());
  ASSERT_TRUE(documents.Add("b", Numbers{9}, Numbers{1}, {}, 5).ok());
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents.number(1), 5u);
  EXPECT_EQ(SentencesOf(documents, 0), (std::vector<Numbers>{{5, 6}, {7}, {8}}));
  EXPECT_EQ(SentencesOf(documents, 1), (std::vector<Numbers>{{9}}));
}

TEST(BertDocumentsTest, IdsOfOneWordAreJoined) {
  BertDocuments outputs(WholeWords::kPieces, kContinues);
  ASSERT_TRUE(outputs.Add("ab。c", Numbers{1, 2, 2, 1}, Numbers{1, 2, 5, 6}, {}, 0).ok());
  EXPECT_EQ(SentencesOf(outputs, 0), (std::vector<Numbers>{{1, 2 | kJoins, 2 | kJoins}, {1}}));

  BertDocuments morphemes(WholeWords::kMorphemes, kContinues);
  // Morphemes ab|c。d|e: a sentence does not end inside of one, and an id that reaches over two joins them.
  ASSERT_TRUE(
      morphemes.Add("abc。de", Numbers{1, 1, 1, 1, 1, 1}, Numbers{1, 2, 3, 6, 7, 8}, Numbers{2, 7, 8}, 0)
          .ok());
  EXPECT_EQ(SentencesOf(morphemes, 0),
            (std::vector<Numbers>{{1, 1 | kJoins, 1, 1 | kJoins, 1 | kJoins}, {1}}));
  BertDocuments over(WholeWords::kMorphemes, kContinues);
  ASSERT_TRUE(over.Add("abc", Numbers{1, 1}, Numbers{1, 3}, Numbers{2, 3}, 0).ok());
  EXPECT_EQ(SentencesOf(over, 0), (std::vector<Numbers>{{1, 1 | kJoins}}));
}

TEST(BertDocumentsTest, ManyIdsStayInTheirOrder) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  const std::string text(100'001, 'x');
  Numbers ids(text.size()), ends(text.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::iota(ends.begin(), ends.end(), 1U);
  ASSERT_TRUE(documents.Add("a", Numbers{7}, Numbers{1}, {}, 3).ok());
  ASSERT_TRUE(documents.Add(text, ids, ends, {}, 9).ok());
  EXPECT_EQ(SentencesOf(documents, 0), (std::vector<Numbers>{{7}}));
  EXPECT_EQ(SentencesOf(documents, 1), (std::vector<Numbers>{ids}));
  EXPECT_EQ(documents.number(1), 9u);
}

TEST(BertDocumentsTest, EndsThatDoNotFitAreABug) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  EXPECT_EQ(documents.Add("ab", Numbers{1}, Numbers{3}, {}, 0).code(), Code::kInternal);
  EXPECT_EQ(documents.Add("ab", Numbers{1, 1}, Numbers{2}, {}, 0).code(), Code::kInternal);
}

// ---------------------------------------------------------------------------------------- instances

constexpr std::uint32_t kVocabulary = 1000;

BertRules Rules() {
  BertRules rules;
  rules.lengths = {64, 10};
  rules.seed = 12345;
  rules.vocab_size = kVocabulary;
  rules.cls_id = 2, rules.sep_id = 3, rules.mask_id = 4;
  return rules;
}

/// Every id tells its document, of 30, and its place there modulo 30; `words` joins ids by threes.
void Fill(BertDocuments& documents, std::size_t count, bool words) {
  std::mt19937 random(3);
  for (std::uint32_t document = 0; document < count; ++document) {
    const auto lines = 1 + random() % 12;
    std::uint32_t place = 0;
    for (std::uint32_t line = 0; line < lines; ++line) {
      std::string text;
      Numbers ids, ends, cuts;
      const auto sentences = 1 + random() % 3;
      for (std::uint32_t sentence = 0; sentence < sentences; ++sentence) {
        for (auto left = 3 * (1 + random() % 4); left > 0; --left) {
          ids.push_back(100 + 30 * (document % 30) + place++ % 30);
          text += left == 1 ? "。" : "x";
          ends.push_back(static_cast<std::uint32_t>(text.size()));
          if (left % 3 == 1) cuts.push_back(ends.back());
        }
      }
      if (!words) cuts.clear();
      ASSERT_TRUE(documents.Add(text, ids, ends, cuts, 7 * document).ok());
    }
  }
}

struct Shares {
  std::uint64_t masks = 0, masked = 0, kept = 0;
};

void ExpectShare(std::uint64_t found, std::uint64_t of, double share, std::string_view what) {
  const double expected = static_cast<double>(of) * share;
  const double sigma = std::sqrt(static_cast<double>(of) * share * (1 - share));
  EXPECT_LE(std::abs(static_cast<double>(found) - expected), 3 * sigma)
      << what << ": " << found << " of " << of << ", expected " << expected;
}

TEST(BertInstancesTest, SharesAreWhatIsAskedFor) {
  const std::size_t count = 300;
  BertDocuments documents(WholeWords::kNone, kContinues);
  Fill(documents, count, false);
  const BertRules rules = Rules();
  BertInstances instances(rules, documents, {0, 1}, 0);
  Shares shares;
  std::uint64_t wrong = 0;
  std::uint32_t passes = 0;
  const auto take = [&](const BertInstance& instance) -> Status {
    const std::size_t size = instance.ids.size();
    const auto rounded = static_cast<std::size_t>(std::nearbyint(static_cast<double>(size) * 0.15));
    const std::size_t wanted = std::min<std::size_t>(10, std::max<std::size_t>(1, rounded));
    if (size > 64 || instance.positions.size() != wanted || instance.ids[0] != 2 ||
        instance.ids[size - 1] != 3)
      ++wrong;
    for (std::size_t at = 0; at < instance.positions.size(); ++at) {
      const std::uint32_t position = instance.positions[at];
      if (position == 0 || position + 1 == size || position + 1 == instance.first_segment) ++wrong;
      if (at > 0 && position <= instance.positions[at - 1]) ++wrong;
      ++shares.masks;
      if (instance.ids[position] == 4)
        ++shares.masked;
      else if (instance.ids[position] == instance.labels[at])
        ++shares.kept;
    }
    return {};
  };
  while (instances.counts().instances < 100'000) ASSERT_TRUE(instances.MakePass(passes++, take).ok());
  EXPECT_EQ(wrong, 0u);
  const BertInstances::Counts& counts = instances.counts();
  EXPECT_EQ(counts.masks, shares.masks);
  // One in kVocabulary of the random ids is [MASK], and one is what stood there.
  ExpectShare(shares.masked, shares.masks, 0.8 + 0.1 / kVocabulary, "masked");
  ExpectShare(shares.kept, shares.masks, 0.1 + 0.1 / kVocabulary, "kept");
  ExpectShare(counts.random_next - counts.only_sentence, counts.instances - counts.only_sentence, 0.5,
              "random next");
  ExpectShare(counts.short_targets, count * passes, 0.1, "short");
}

TEST(BertInstancesTest, PairsFollowEachOtherOrAreOfTwoDocuments) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  Fill(documents, 30, false);
  BertInstances instances(Rules(), documents, {0, 1}, 0);
  std::uint64_t wrong = 0;
  ASSERT_TRUE(instances
                  .MakePass(0,
                            [&](const BertInstance& instance) -> Status {
                              Numbers ids(instance.ids.begin(), instance.ids.end());
                              for (std::size_t at = 0; at < instance.positions.size(); ++at)
                                ids[instance.positions[at]] = instance.labels[at];
                              const auto document = [&](std::size_t at) { return (ids[at] - 100) / 30; };
                              const std::size_t b = instance.first_segment;
                              for (std::size_t at = 1; at + 1 < ids.size(); ++at) {
                                if (at == b - 1 || at == b || at == 1) continue;
                                if ((ids[at] - 100) % 30 != (ids[at - 1] - 100 + 1) % 30) ++wrong;
                              }
                              if ((document(1) != document(b)) != instance.random_next) ++wrong;
                              return {};
                            })
                  .ok());
  EXPECT_GT(instances.counts().instances, 50u);
  EXPECT_EQ(wrong, 0u);
}

TEST(BertInstancesTest, WholeWordsAreMaskedOrNot) {
  BertDocuments documents(WholeWords::kMorphemes, kContinues);
  Fill(documents, 100, true);
  BertRules rules = Rules();
  for (const bool pairs : {true, false}) {
    rules.next_sentence = pairs;
    BertInstances instances(rules, documents, {0, 1}, 0);
    std::uint64_t wrong = 0, several = 0;
    for (std::uint32_t pass = 0; pass < 5; ++pass)
      ASSERT_TRUE(instances
                      .MakePass(pass,
                                [&](const BertInstance& instance) -> Status {
                                  Numbers ids(instance.ids.begin(), instance.ids.end());
                                  std::vector<bool> masked(ids.size());
                                  for (std::size_t at = 0; at < instance.positions.size(); ++at) {
                                    ids[instance.positions[at]] = instance.labels[at];
                                    masked[instance.positions[at]] = true;
                                  }
                                  if (instance.positions.size() > 10) ++wrong;
                                  for (std::size_t at = 2; at + 1 < ids.size(); ++at) {
                                    // Words begin at places that threes divide.
                                    if (ids[at] < 100 || ids[at - 1] < 100 || (ids[at] - 100) % 3 == 0)
                                      continue;
                                    if (masked[at] != masked[at - 1]) ++wrong;
                                    if (masked[at]) ++several;
                                  }
                                  return {};
                                })
                      .ok());
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(several, 1000u);
  }
}

TEST(BertInstancesTest, FullSentencesLoseNothing) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  Fill(documents, 30, false);
  std::uint64_t all = 0;
  for (std::size_t document = 0; document < documents.size(); ++document)
    for (const Numbers& sentence : SentencesOf(documents, document)) all += sentence.size();
  BertRules rules = Rules();
  rules.next_sentence = false;
  BertInstances instances(rules, documents, {0, 1}, 0);
  std::uint64_t seen = 0, borders = 0;
  ASSERT_TRUE(instances
                  .MakePass(0,
                            [&](const BertInstance& instance) -> Status {
                              EXPECT_LE(instance.ids.size(), 64u);
                              EXPECT_EQ(instance.first_segment, instance.ids.size());
                              EXPECT_FALSE(instance.random_next);
                              for (const std::uint32_t id : instance.ids) borders += id == 3;
                              seen += instance.ids.size() - 1;
                              return {};
                            })
                  .ok());
  EXPECT_EQ(seen - borders, all);
  EXPECT_GT(borders, instances.counts().instances);
}

TEST(BertInstancesTest, APartitionOfOneDocumentTakesBFromIt) {
  BertDocuments documents(WholeWords::kNone, kContinues);
  Fill(documents, 1, false);
  BertInstances instances(Rules(), documents, {0, 1}, 0);
  for (std::uint32_t pass = 0; pass < 20; ++pass)
    ASSERT_TRUE(instances.MakePass(pass, [](const BertInstance&) { return Status(); }).ok());
  EXPECT_GT(instances.counts().random_next, 0u);
}

// -------------------------------------------------------------------------------------------- stage

constexpr std::string_view kVocabularyText =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n。\nあ\n##い\nう\n##え\nお\nか\n";

TokenizerFacts Facts(std::string_view vocabulary = kVocabularyText) {
  return FactsOfVocabulary(WordPieceVocabulary::Parse(vocabulary).value(), "pieces.txt", vocabulary);
}

Json Config() {
  Json config;
  config["seq_len"] = 16;
  config["max_predictions"] = 3;
  config["masked_share"] = 0.15;
  config["dupe_factor"] = 2;
  config["short_share"] = 0.1;
  config["next_sentence"] = true;
  config["whole_words"] = "none";
  config["seed"] = 12345;
  config["model_size"] = "tiny";
  config["shuffle"]["seed"] = 0;
  config["shards"] = "auto";
  config["hosts"] = 1;
  config["equal"] = false;
  return config;
}

Result<std::unique_ptr<SinkStage>> MakeStage(const Json& config, const TokenizerFacts& facts,
                                             std::string_view vocabulary = kVocabularyText) {
  auto directory = std::make_shared<MapStore>();
  (*directory)["pieces.txt"] = vocabulary;
  StageContext context;
  context.name = "bert";
  context.config = config;
  context.schema.splits = {"train", "validation"};
  context.artifacts["tokenizer"] = {directory, "", ToJson(facts)};
  return WriteBertType().sink()->make(context);
}

struct Made {
  MapStore out;
  std::map<std::string, std::uint64_t, std::less<>> reasons;
};

std::unique_ptr<Made> Publish(const Json& config, std::size_t batch_lines) {
  auto made = std::make_unique<Made>();
  const auto stage = MakeStage(config, Facts());
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  MapStore artifact;
  std::vector<PartitionOutput> outputs;
  std::mt19937 random(9);
  for (std::uint32_t partition = 0; partition < 3; ++partition) {
    auto sink = (*stage)->OpenPartition(artifact, {0, partition});
    EXPECT_TRUE(sink.ok());
    Batch batch;
    batch.Clear(1);
    for (std::uint64_t line = 0; line < 200; ++line) {
      std::string text;
      Numbers ids, ends;
      for (auto left = 2 + random() % 9; left > 0; --left) {
        const bool end = left == 1 || random() % 5 == 0;
        ids.push_back(end ? 5 : 6 + static_cast<std::uint32_t>(random() % 6));
        text += end ? "。" : "あ";
        ends.push_back(static_cast<std::uint32_t>(text.size()));
      }
      batch.heads.push_back({line, 0, line / 5, 0});
      batch.text.Append(text);
      batch.ids.Append(ids);
      batch.id_ends.Append(ends);
      batch.split.push_back(line / 5 % 7 == 0 ? 1 : 0);
      if (batch.size() < batch_lines && line < 199) continue;
      EXPECT_TRUE((*sink)->Write(batch).ok());
      batch.Clear(1);
    }
    auto output = (*sink)->Commit({});
    EXPECT_TRUE(output.ok()) << output.status().message();
    for (const auto& [reason, by] : output->reasons) made->reasons[reason] += by;
    outputs.push_back({{0, partition}, *output, {}});
  }
  auto plan = (*stage)->Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto shards = WriteAll(**plan, made->out, 1 << 20);
  EXPECT_TRUE(shards.ok()) << shards.status().message();
  const auto sidecars = (*plan)->Describe(*shards);
  EXPECT_TRUE(sidecars.ok());
  for (const Sidecar& sidecar : sidecars->before_manifest) made->out[sidecar.object] = sidecar.bytes;
  return made;
}

std::string AllBytes(MapStore& store) {
  std::string all;
  for (const ObjectInfo& object : store.List("").value())
    all += StrCat(object.name, "\n", store[object.name], "\n");
  return all;
}

TEST(WriteBertTest, PublishesShardsVocabularyAndConfig) {
  const auto made = Publish(Config(), 16);
  std::uint64_t shards = 0, records = 0;
  for (const ObjectInfo& object : made->out.List("").value()) {
    const std::string& name = object.name;
    const std::string& bytes = made->out[name];
    if (!name.ends_with("tfrecord")) continue;
    ++shards;
    for (std::size_t at = 0; at < bytes.size(); ++records) {
      const auto size =
          static_cast<unsigned char>(bytes[at]) + 256u * static_cast<unsigned char>(bytes[at + 1]);
      const auto row = ParseBertExample(std::string_view(bytes).substr(at + 12, size), {16, 3});
      ASSERT_TRUE(row.ok()) << row.status().message();
      at += size + kTfRecordOverhead;
    }
  }
  EXPECT_EQ(shards, 16u);
  EXPECT_EQ(records, made->reasons["instances"]);
  EXPECT_GT(made->reasons["masked_ids"], records);
  EXPECT_EQ(made->out["vocab.txt"], kVocabularyText);
  EXPECT_EQ(Json::Parse(made->out["bert_config.json"]).value()["vocab_size"].AsInt(), 12);
  const auto info = ParseBertInfo(made->out["bert.json"]);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->lengths.seq_len, 16u);
  EXPECT_EQ(info->tokenizer.model, "vocab.txt");
  EXPECT_EQ(info->tokenizer.model_digest, DigestOf(kVocabularyText));
}

// Who reads these has trained on them: another digest is another version of the stage.
TEST(WriteBertTest, BytesAreThoseOfThisVersion) {
  const std::string bytes = AllBytes(Publish(Config(), 16)->out);
  EXPECT_EQ(DigestOf(bytes).ToHex(), "117acf5d4c4d7eb9d6206b6bf7f759e1");
  EXPECT_EQ(AllBytes(Publish(Config(), 1)->out), bytes);
  Json config = Config();
  config["seed"] = 1;
  EXPECT_NE(AllBytes(Publish(config, 16)->out), bytes);
}

std::string Refusal(const TokenizerFacts& facts, std::string_view vocabulary = kVocabularyText) {
  return std::string(MakeStage(Config(), facts, vocabulary).status().message());
}

TEST(WriteBertTest, RefusesTokenizersThatBertCannotUse) {
  TokenizerFacts facts = Facts();
  facts.layout = "pipe";
  EXPECT_EQ(Refusal(facts),
            "write_bert: a tokenizer of layout 'pipe' has no vocab.txt with [CLS], [SEP] and [MASK]; train "
            "one with "
            "`model: wordpiece` and `layout: bert`, or name a vocab.txt");
  const std::string no_mask = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  EXPECT_EQ(Refusal(Facts(no_mask), no_mask),
            "write_bert: pieces.txt has no piece [MASK], which examples of BERT need");
  const std::string late = "[UNK]\n[PAD]\n[CLS]\n[SEP]\n[MASK]\n";
  EXPECT_EQ(Refusal(Facts(late), late),
            "write_bert: pieces.txt has [PAD] further down; BERT pads with id 0, so [PAD] must be the first "
            "line");
  facts = Facts();
  facts.model_digest = DigestOf("another");
  EXPECT_TRUE(Refusal(facts).find("it was changed or damaged") != std::string::npos);
}

TEST(WriteBertTest, RefusesFactsThatAreNotThoseOfTheFile) {
  TokenizerFacts facts = Facts();
  facts.vocab_size = 13;
  EXPECT_EQ(Refusal(facts),
            "pieces.txt: its tokenizer says vocab_size 13, and it is 12: they are not of one training; train "
            "again");
  facts = Facts();
  facts.mask_id = 5;
  EXPECT_EQ(
      Refusal(facts),
      "pieces.txt: its tokenizer says mask_id 5, and it is 4: they are not of one training; train again");
}

TEST(WriteBertTest, RefusesKeysThatCannotBe) {
  const auto refusal = [](std::string_view key, Json value) {
    Json config = Config();
    config[key] = std::move(value);
    Schema schema;
    return std::string(WriteBertType().check(config, schema).message());
  };
  EXPECT_EQ(refusal("seq_len", 7), "seq_len: 7: must be from 8 to 65536");
  EXPECT_EQ(refusal("max_predictions", 17), "max_predictions: 17: must be from 1 to 16");
  EXPECT_EQ(refusal("dupe_factor", 0), "dupe_factor: 0: must be from 1 to 1000");
  EXPECT_EQ(refusal("short_share", 1.5), "short_share: not between 0 and 1");
  EXPECT_EQ(refusal("masked_share", 0.0), "masked_share: must be above 0, or nothing would be learnt");
  EXPECT_TRUE(
      refusal("whole_words", "morphemes").starts_with("whole_words: morphemes needs the column 'cuts'"));
  EXPECT_EQ(refusal("shards", 8), "");
}

/// Two documents of two sentences each.
Status WriteTwoDocuments(Sink& sink) {
  Batch batch;
  batch.Clear(1);
  for (std::uint64_t line = 0; line < 2; ++line) {
    batch.heads.push_back({line, 0, line, 0});
    batch.text.Append("あ。お。");
    batch.ids.Append(Numbers{6, 5, 10, 5});
    batch.id_ends.Append(Numbers{3, 6, 9, 12});
    batch.split.push_back(0);
  }
  return sink.Write(batch);
}

TEST(WriteBertTest, AStopEndsItsPasses) {
  const auto stage = MakeStage(Config(), Facts());
  ASSERT_TRUE(stage.ok());
  for (const bool stopped : {true, false}) {
    MapStore artifact;
    const auto sink = (*stage)->OpenPartition(artifact, {0, 0});
    ASSERT_TRUE(WriteTwoDocuments(**sink).ok());
    std::stop_source stop;
    if (stopped) stop.request_stop();
    EXPECT_EQ((*sink)->Commit({}, stop.get_token()).status().code(), stopped ? Code::kCancelled : Code::kOk);
    EXPECT_EQ(artifact.List("").value().empty(), stopped);
  }
}

TEST(WriteBertTest, ASplitWithoutAnExampleIsRefused) {
  const auto stage = MakeStage(Config(), Facts());
  ASSERT_TRUE(stage.ok());
  ArtifactTotals totals;
  totals.splits["train"] = {.records = 2, .documents = 2, .bytes = 24};
  EXPECT_TRUE((*stage)->CheckCounts(totals).message().starts_with("split 'train' has no records") ||
              (*stage)->CheckCounts(totals).message().starts_with("split 'validation' has no records"));
  totals.splits["validation"] = {.records = 3, .documents = 1, .bytes = 3};
  MapStore artifact;
  const auto sink = (*stage)->OpenPartition(artifact, {0, 0});
  ASSERT_TRUE(WriteTwoDocuments(**sink).ok());
  const auto output = (*sink)->Commit({});
  ASSERT_TRUE(output.ok());
  for (const auto& [reason, by] : output->reasons) totals.counts.Add(reason, by);
  EXPECT_EQ(totals.counts.reasons["instances_of_train"], totals.counts.reasons["instances"]);
  const Status refused = (*stage)->CheckCounts(totals);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(
      refused.message(),
      "split 'validation' has 3 records and no id in any of them, so that there is no example: they have "
      "only white space and characters that BERT removes; give it other text, or leave it out");
  totals.counts.Add("instances_of_validation");
  EXPECT_TRUE((*stage)->CheckCounts(totals).ok());
}

// The densest text there is: an id for each byte, or a document for each two bytes.
TEST(WriteBertTest, CountsTheMemoryOfDenseText) {
  const auto stage = MakeStage(Config(), Facts());
  ASSERT_TRUE(stage.ok());
  const std::uint64_t none = (*stage)->partition_memory(0), text = std::uint64_t{64} << 20;
  EXPECT_GE((*stage)->partition_memory(text) - none, 8 * text);
  // Asked for before its tokenizer is there, so that too small a limit is refused before hours of work.
  EXPECT_GE(WriteBertType().sink()->partition_memory(Config(), text), (*stage)->partition_memory(text));
  EXPECT_GE(none, (std::uint64_t{32} << 20) + 2 * BertDocuments::kMemoryOfAny) << "a spill file, two splits";
}

TEST(WriteBertTest, IdsOfAnotherTokenizerAreRefused) {
  const auto stage = MakeStage(Config(), Facts());
  ASSERT_TRUE(stage.ok());
  MapStore artifact;
  const auto sink = (*stage)->OpenPartition(artifact, {0, 0});
  Batch batch;
  batch.Clear(1);
  batch.heads.push_back({0, 0, 0, 0});
  batch.text.Append("x");
  batch.ids.Append(Numbers{12});
  batch.id_ends.Append(Numbers{1});
  EXPECT_EQ((*sink)->Write(batch).message(),
            "examples of BERT: an id is 12 and the vocabulary has 12 pieces: the ids were made by another "
            "tokenizer");
}

}  // namespace
}  // namespace pipeline
