#include "stages/lines/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/str.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/partition_file.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

const Schema kMixSchema = {
    {{"text", ColumnType::kUtf8}, {"ids", ColumnType::kU32List}, {"split", ColumnType::kU8}},
    {"validation", "train"}};
constexpr std::uint8_t kValidation = 0, kTrain = 1;

/// Documents of two lines, "NAME DOCUMENT a" and "… b", of `tokens` ids each; every tenth is for validation.
Corpus Make(const std::string& name, std::uint64_t documents, std::size_t tokens = 1) {
  const PartitionFileFormat format;
  auto store = std::make_shared<MapStore>();
  Corpus corpus{name, store, {}};
  constexpr std::uint64_t kPerPartition = 50;
  for (std::uint64_t first = 0; first < documents; first += kPerPartition) {
    const PartitionId id = {static_cast<std::uint32_t>(first / 100),
                            static_cast<std::uint32_t>(first / 50 % 2)};
    auto stage = format.NewSink(kMixSchema);
    auto worker = (*stage)->encoder()->NewWorker();
    auto sink = (*stage)->OpenPartition(*store, id);
    Batch batch;
    batch.Clear(2);
    PartitionOutput output{id, {}, {}};
    for (std::uint64_t i = first; i < std::min(documents, first + kPerPartition); ++i) {
      const std::uint8_t split = i % 10 == 0 ? kValidation : kTrain;
      for (const char* line : {"a", "b"}) {
        batch.heads.push_back({batch.size(), 0, i % 100, i});
        batch.text.Append(StrCat(name, " ", i, " ", line));
        batch.ids.Append(std::vector<std::uint32_t>(tokens, 7));
        batch.split.push_back(split);
        output.splits[kMixSchema.splits[split]].bytes += batch.text[batch.size() - 1].size();
        output.splits[kMixSchema.splits[split]].records += 1;
      }
      output.splits[kMixSchema.splits[split]].documents += 1;
    }
    EXPECT_TRUE((*worker)->Apply(batch, 1, batch.counts[1]).ok());
    EXPECT_TRUE((*sink)->Write(batch).ok());
    auto committed = (*sink)->Commit({});
    EXPECT_TRUE(committed.ok());
    output.committed = *committed;
    corpus.outputs.push_back(std::move(output));
  }
  return corpus;
}

struct Mixture {
  std::vector<std::string> lines;  // "PARTITION.INDEX DOCUMENT: TEXT"
  std::map<std::string, int> often;
  std::optional<InputEnd> end;
};

Result<Mixture> Mix(
    const MixRules& rules, const std::vector<Corpus>& corpora,
    const std::function<bool(std::uint32_t)>& wanted = [](std::uint32_t) { return true; },
    std::size_t batch_bytes = 1 << 10) {
  const PartitionFileFormat format;
  BarrierRequest request;
  request.wanted = wanted;
  request.batch_bytes = batch_bytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   OpenMix(rules, corpora, format, kMixSchema, std::move(request)));
  Mixture mixture;
  Batch batch;
  while (true) {
    batch.Clear(1);
    ASSIGN_OR_RETURN(const bool more, source->Next(batch));
    if (!more) break;
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const RecordHead& head = batch.heads[row];
      mixture.lines.push_back(
          StrCat(batch.partition.partition, ".", head.index, " ", head.document, ": ", batch.text[row]));
      ++mixture.often[std::string(batch.text[row])];
    }
  }
  mixture.end = source->End();
  return mixture;
}

MixRules Rules(std::vector<double> weights, std::vector<double> epochs) {
  MixRules rules;
  rules.weights = std::move(weights);
  rules.epochs = std::move(epochs);
  rules.partition_bytes = 500;
  return rules;
}

TEST(MixTest, TheScarcestCorpusDecidesHowMuchThereIs) {
  const std::vector<Corpus> corpora = {{"web", nullptr, {}}, {"wiki", nullptr, {}}};
  const auto rates = [&](const MixRules& rules) { return MixRates(rules, corpora, {900, 100}); };
  // Four epochs of wiki are a quarter of 1600.
  Result<std::vector<double>> found = rates(Rules({3, 1}, {2, 4}));
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ((*found)[0], 1200.0 / 900);
  EXPECT_EQ((*found)[1], 4);
  // One epoch of web is nine tenths of 1000.
  found = rates(Rules({9, 1}, {1, 10}));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0], 1);
  EXPECT_EQ((*found)[1], 1);

  MixRules sized = Rules({1, 1}, {1, 1});
  sized.size = 100;
  found = rates(sized);
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ((*found)[0], 50.0 / 900);
  EXPECT_DOUBLE_EQ((*found)[1], 0.5);
}

TEST(MixTest, WhatCannotBeHadIsNamed) {
  const std::vector<Corpus> corpora = {{"web", nullptr, {}}, {"wiki", nullptr, {}}};
  MixRules rules = Rules({1, 1}, {1, 1});
  rules.size = 201;
  const Status few = MixRates(rules, corpora, {900, 100}).status();
  EXPECT_EQ(few.code(), Code::kFailedPrecondition);
  EXPECT_NE(few.message().find("'wiki', of 100"), std::string::npos) << few.message();
  EXPECT_NE(few.message().find("200 can be had"), std::string::npos) << few.message();
  EXPECT_NE(MixRates(rules, corpora, {0, 100}).status().message().find("'web' has no documents"),
            std::string::npos);
}

TEST(MixTest, DocumentsComeAsOftenAsTheRateSaysAndWhole) {
  const std::vector<Corpus> corpora = {Make("web", 1000), Make("wiki", 200)};
  const Result<Mixture> mixed = Mix(Rules({1, 1}, {1, 2.5}), corpora);  // 450 of each: rates 0.5 and 2.5
  ASSERT_TRUE(mixed.ok()) << mixed.status().message();
  std::map<std::string, int> sums;
  for (const Corpus& corpus : corpora) {
    const std::uint64_t documents = corpus.stage == "web" ? 1000 : 200;
    for (std::uint64_t i = 0; i < documents; ++i) {
      const auto often = [&](const char* line) {
        const auto found = mixed->often.find(StrCat(corpus.stage, " ", i, " ", line));
        return found == mixed->often.end() ? 0 : found->second;
      };
      ASSERT_EQ(often("a"), often("b"));
      if (i % 10 == 0) {
        ASSERT_EQ(often("a"), 1);
        continue;
      }
      const int least = corpus.stage == "web" ? 0 : 2;
      ASSERT_GE(often("a"), least);
      ASSERT_LE(often("a"), least + 1);
      sums[corpus.stage] += often("a");
    }
  }
  EXPECT_NEAR(sums["web"], 450, 3 * std::sqrt(900 * 0.25));
  EXPECT_NEAR(sums["wiki"], 450, 3 * std::sqrt(180 * 0.25));
  ASSERT_TRUE(mixed->end);
  EXPECT_EQ(mixed->end->documents, static_cast<std::uint64_t>(sums["web"] + sums["wiki"] + 120));
  EXPECT_EQ(mixed->end->outside.reasons.at("left_out"), 2u * (900 - static_cast<unsigned>(sums["web"])));
  EXPECT_EQ(mixed->end->outside.reasons.at("copies"), 2u * (static_cast<unsigned>(sums["wiki"]) - 180));
}

TEST(MixTest, AHigherRateHasWhatALowerOneHas) {
  const std::vector<Corpus> corpora = {Make("web", 1000), Make("wiki", 200)};
  MixRules rules = Rules({1, 1}, {1, 2});
  rules.size = 100;
  const Result<Mixture> small = Mix(rules, corpora);
  rules.size = 300;
  const Result<Mixture> large = Mix(rules, corpora);
  rules.seed = 1;
  const Result<Mixture> other = Mix(rules, corpora);
  ASSERT_TRUE(small.ok() && large.ok() && other.ok());
  for (const auto& [line, often] : small->often) {
    const auto found = large->often.find(line);
    ASSERT_TRUE(found != large->often.end() && found->second >= often) << line;
  }
  EXPECT_NE(large->often, other->often);
}

TEST(MixTest, SharesAreOfTokensOrBytesWhereTheseAreTheUnit) {
  const std::vector<Corpus> corpora = {Make("web", 500, 1), Make("wiki", 500, 4)};
  MixRules rules = Rules({1, 1}, {1, 1});
  rules.unit = MixUnit::kTokens;
  const Result<Mixture> mixed = Mix(rules, corpora);
  ASSERT_TRUE(mixed.ok());
  int web = 0, wiki = 0;
  for (const auto& [line, often] : mixed->often) (line.starts_with("web") ? web : wiki) += often;
  EXPECT_EQ(web, 1000);  // all of it has as many tokens as a quarter of the other
  EXPECT_NEAR(wiki - 100, 225, 2 * 3 * std::sqrt(450 * 0.1875));
}

TEST(MixTest, PartitionsAreTheSameInAnyBatchesAndWhateverIsWanted) {
  const std::vector<Corpus> corpora = {Make("web", 300), Make("wiki", 60)};
  const MixRules rules = Rules({2, 1}, {1, 3});
  const Result<Mixture> all = Mix(rules, corpora);
  const Result<Mixture> small = Mix(
      rules, corpora, [](std::uint32_t) { return true; }, 10);
  ASSERT_TRUE(all.ok() && small.ok());
  EXPECT_EQ(all->lines, small->lines);
  ASSERT_GT(all->end->partitions, 4u);
  const Result<Mixture> odd = Mix(rules, corpora, [](std::uint32_t partition) { return partition % 2 == 1; });
  ASSERT_TRUE(odd.ok());
  std::vector<std::string> wanted;
  for (const std::string& line : all->lines)
    if (std::stoi(line) % 2 == 1) wanted.push_back(line);
  EXPECT_EQ(odd->lines, wanted);
  EXPECT_EQ(odd->end->partitions, all->end->partitions);
}

TEST(MixTest, ADamagedPartitionNamesItsCorpus) {
  const std::vector<Corpus> corpora = {Make("web", 100), Make("wiki", 100)};
  ASSERT_TRUE(corpora[1].directory->Remove("0000-00001.part").ok());
  const Status status = Mix(Rules({1, 1}, {1, 1}), corpora).status();
  const std::optional<OutputOf> output = DamagedOutputOf(status);
  ASSERT_TRUE(output) << status.message();
  EXPECT_EQ(output->stage, "wiki");
  EXPECT_EQ(output->id, (PartitionId{0, 1}));
}

TEST(MixTest, TheTypeRefusesWhatDoesNotFit) {
  const StageType type = MixType();
  Json config;
  config["weights"] = Json::Array{"3", "0.5"};
  config["unit"] = "documents";
  config["seed"] = 0;
  config["partition"] = 64;
  const auto refused = [&](const Json& changed, Schema schema = kMixSchema) {
    return std::string(type.check(changed, schema).message());
  };
  EXPECT_EQ(refused(config), "");
  EXPECT_TRUE(type.check_named_inputs(config, {"corpora", "corpora"}).ok());
  EXPECT_NE(type.check_named_inputs(config, {"corpora", "corpora", "corpora"})
                .message()
                .find("2 numbers for 3 corpora"),
            std::string::npos);
  const auto with = [&config](std::string_view key, Json value) {
    Json changed = config;
    changed[key] = std::move(value);
    return changed;
  };
  for (const char* weight : {"0", "-1", "x", "", "nan", "1 "})
    EXPECT_NE(refused(with("weights", Json::Array{weight})).find("no number above 0"), std::string::npos)
        << weight;
  EXPECT_NE(refused(with("epochs", Json::Array{"1"})).find("1 numbers for 2 weights"), std::string::npos);
  EXPECT_NE(refused(with("size", Json(0))).find("size"), std::string::npos);
  EXPECT_NE(
      refused(with("unit", Json("tokens")), {{{"text", ColumnType::kUtf8}}, {"train"}}).find("`encode`"),
      std::string::npos);
  EXPECT_NE(refused(config, {{{"text", ColumnType::kUtf8}, {"split", ColumnType::kU8}}, {"a", "b"}})
                .find("'train'"),
            std::string::npos);
}

}  // namespace
}  // namespace pipeline
