#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "dag/records/job_stage.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/wordpiece.h"

namespace pipeline {
namespace {

SentencePieceModel ModelOf(const Trained& trained, std::string_view file = "tokenizer.model") {
  EXPECT_TRUE(trained.status.ok()) << trained.status.message();
  Result<SentencePieceModel> model = SentencePieceModel::Parse(trained.Object(file));
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? std::move(model).value() : SentencePieceModel();
}

std::set<std::string> TextsOf(const SentencePieceModel& model, PieceType type = PieceType::kNormal) {
  std::set<std::string> texts;
  for (const SentencePiece& piece : model.pieces())
    if (piece.type == type) texts.insert(piece.text);
  return texts;
}

std::string DecodedAgain(const SentencePieceEncoder& encoder, std::string_view line) {
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  EXPECT_TRUE(encoder.Encode(line, scratch, ids, ends).ok());
  Result<std::string> text = encoder.Decode(ids);
  EXPECT_TRUE(text.ok());
  return text.ok() ? *text : "";
}

/// The two numbers of "N to M would do".
std::pair<std::int64_t, std::int64_t> SizesIn(std::string_view message) {
  const std::size_t end = message.find(" would do");
  const std::size_t to = message.rfind(" to ", end);
  const std::size_t begin = message.rfind(' ', to - 1);
  if (end == std::string_view::npos || to == std::string_view::npos) {
    ADD_FAILURE() << message;
    return {};
  }
  return {std::stoll(std::string(message.substr(begin + 1))),
          std::stoll(std::string(message.substr(to + 4)))};
}

TEST(TrainTokenizerTest, PublishesModelVocabularyReportAndFacts) {
  const std::vector<Line> lines = SmallCorpus();
  const Trained trained = Train(lines);
  const SentencePieceModel model = ModelOf(trained);

  std::vector<std::string> names;
  for (const StoredObject& object : trained.output.objects) {
    names.push_back(object.name);
    EXPECT_EQ(object.digest, DigestOf(trained.Object(object.name)));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"tokenizer.model", "tokenizer.vocab", "report.json"}));
  EXPECT_EQ(trained.Object("tokenizer.vocab"), model.Vocabulary());

  const Json& facts = trained.output.facts;
  EXPECT_EQ(facts["layout"].AsString(), "pipe");
  EXPECT_EQ(facts["vocab_size"].AsInt(), 336);
  EXPECT_EQ(facts["pad_id"].AsInt(), 0);
  EXPECT_EQ(facts["bos_id"].AsInt(), 1);
  EXPECT_EQ(facts["eos_id"].AsInt(), 2);
  EXPECT_EQ(facts["unk_id"].AsInt(), 3);
  EXPECT_EQ(facts["newline_id"].AsInt(), 4);
  EXPECT_EQ(facts["model"].AsString(), "tokenizer.model");
  EXPECT_EQ(facts["model_digest"].AsString(), DigestOf(trained.Object("tokenizer.model")).ToHex());
  EXPECT_EQ(model.pieces().size(), 336u);
  ASSERT_EQ(model.pieces().size(), 336u);
  EXPECT_EQ(model.pieces()[4], (SentencePiece{"\n", 0, PieceType::kUserDefined}));
  EXPECT_TRUE(model.keeps_text());
}

TEST(TrainTokenizerTest, NoPieceCrossesAMorphemeOrBeginsAWord) {
  const std::vector<Line> lines = SmallCorpus();
  const std::set<std::string> pieces = TextsOf(ModelOf(Train(lines)));
  for (const char* morpheme : {"猫", "が", "行っ", "東京都", "Linux"})
    EXPECT_TRUE(pieces.count(morpheme)) << morpheme;
  EXPECT_FALSE(pieces.count("猫が"));
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(piece == "\u2581" || !piece.starts_with("\u2581")) << piece;
  }
  EXPECT_TRUE(pieces.count("\u2581")) << "a space must have a piece though no morpheme holds one";

  TrainingRun none;
  none.config = TokenizerConfig("pipe", "none");
  EXPECT_TRUE(TextsOf(ModelOf(Train(lines, none))).count("猫が"));
  TrainingRun spaces;
  spaces.config = TokenizerConfig("pipe", "spaces");
  const std::set<std::string> words = TextsOf(ModelOf(Train(lines, spaces)));
  EXPECT_TRUE(words.count("\u2581が"));
  EXPECT_FALSE(words.count("猫が"));
}

TEST(TrainTokenizerTest, TheFirstMorphemeOfAWordHoldsItsSpaceWithCutsInWords) {
  std::vector<Line> lines;
  for (const Line& line : SmallCorpus()) {  // every other morpheme begins a word
    std::vector<std::string> morphemes;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : line.cuts) {
      const std::string morpheme = line.text.substr(begin, end - begin);
      begin = end;
      if (morpheme == " ") continue;
      morphemes.push_back(morphemes.size() % 2 == 0 && !morphemes.empty() ? " " + morpheme : morpheme);
    }
    lines.push_back(LineOf(morphemes));
  }
  const auto bare = [&](std::string_view boundaries, std::string_view layout) {
    TrainingRun run;
    run.config = TokenizerConfig(layout, boundaries);
    run.config["vocab_size"] = boundaries == "cuts" ? 336 : 370;
    const Trained trained = Train(lines, run);
    const SentencePieceModel model = ModelOf(trained);
    const std::set<std::string> pieces = TextsOf(model);
    EXPECT_FALSE(pieces.count("猫が")) << boundaries;
    EXPECT_EQ(pieces.count("\u2581猫"), boundaries == "cuts_in_words" ? 1u : 0u);
    EXPECT_TRUE(pieces.count("\u2581"));
    for (const std::string& piece : pieces)
      EXPECT_EQ(piece.find("\u2581", 1), std::string::npos) << "a space inside of " << piece;
    const auto encoder = SentencePieceEncoder::Load(trained.Object("tokenizer.model"));
    SentencePieceEncoder::Scratch scratch;
    std::vector<std::uint32_t> ids, ends;
    for (const Line& line : lines) {
      EXPECT_TRUE((*encoder)->Encode(line.text, scratch, ids, ends).ok());
      if (layout == "pipe") {
        EXPECT_EQ(DecodedAgain(**encoder, line.text), line.text);
      }
    }
    const auto count =
        std::count_if(ids.begin(), ids.end(), [&](auto id) { return model.pieces()[id].text == "\u2581"; });
    return static_cast<double>(count) / static_cast<double>(ids.size());
  };
  for (const std::string_view layout : {"pipe", "t5"}) {
    EXPECT_GT(bare("cuts", layout), 0.2);
    EXPECT_LT(bare("cuts_in_words", layout), 0.05) << "so few pieces are too few for all morphemes twice";
  }
}

TEST(TrainTokenizerTest, TheLibraryTrainsAUnigramModelOnRequest) {
  const std::vector<Line> lines = SmallCorpus();
  for (const std::string boundaries : {"cuts", "cuts_in_words", "spaces", "none"}) {
    TrainingRun run;
    run.config = TokenizerConfig("pipe", boundaries);
    const std::string own = Train(lines, run).Object("tokenizer.model");
    run.config["engine"] = "own";
    EXPECT_EQ(Train(lines, run).Object("tokenizer.model"), own);
    run.config["engine"] = "sentencepiece";
    const Trained library = Train(lines, run);
    const SentencePieceModel model = ModelOf(library);
    EXPECT_NE(library.Object("tokenizer.model"), own);
    EXPECT_EQ(model.pieces().size(), 336u);
    EXPECT_EQ(model.model_type(), "unigram");
    EXPECT_EQ(Train(lines, run).Object("tokenizer.model"), library.Object("tokenizer.model"));
  }
}

TEST(TrainTokenizerTest, WordsEndWhereTheScriptChangesOnRequest) {
  std::vector<Line> lines;
  for (int i = 0; i < 200; ++i) lines.push_back(LineOf({"東京へ行く", i % 2 == 0 ? "カメラ" : "2026年"}));
  TrainingRun run;
  run.cuts = false;
  run.config = TokenizerConfig("pipe", "scripts");
  run.config["vocab_size"] = 277;  // 261, 13 characters, and three words
  const std::set<std::string> pieces = TextsOf(ModelOf(Train(lines, run)));
  EXPECT_TRUE(pieces.contains("東京"));
  EXPECT_TRUE(pieces.contains("カメラ"));
  for (const char* mixed : {"東京へ", "行く", "行くカメラ", "2026年"})
    EXPECT_FALSE(pieces.contains(mixed)) << mixed;
  run.config["boundaries"] = "none";
  EXPECT_TRUE(TextsOf(ModelOf(Train(lines, run))).contains("東京へ行く"));
}

TEST(TrainTokenizerTest, NoPieceCrossesAMatchOfThePattern) {
  std::vector<Line> lines = SmallCorpus();
  for (std::size_t i = 0; i < lines.size(); i += 2) lines[i] = LineOf({"猫2026", "年", "12", "月"});
  const auto digits = [](const std::string& piece) {
    return std::count_if(piece.begin(), piece.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  for (const char* boundaries : {"cuts", "none"}) {
    TrainingRun run;
    run.config = TokenizerConfig("pipe", boundaries);
    bool has_long = false;
    for (const std::string& piece : TextsOf(ModelOf(Train(lines, run)))) has_long |= digits(piece) > 1;
    EXPECT_TRUE(has_long) << boundaries;
    run.config["pattern"] = "\\p{Nd}";
    const Trained trained = Train(lines, run);
    for (const std::string& piece : TextsOf(ModelOf(trained)))
      EXPECT_TRUE(digits(piece) == 0 || piece.size() == 1) << piece;
    run.threads = 5;
    EXPECT_EQ(Train(lines, run).Object("tokenizer.model"), trained.Object("tokenizer.model"));
    run.config["pattern"] = "(.+)+x";
    EXPECT_EQ(Train(lines, run).status.code(), Code::kInvalidArgument) << "too many ways";
  }
}

TEST(TrainTokenizerTest, RareWordsAreIgnoredAndTheirCountsNeedNoMemory) {
  std::vector<Line> lines = SmallCorpus();
  std::mt19937 random(5);
  for (int at = 0; at < 20'000; ++at) {  // twelve words that occur once in all, in front of a common one
    std::vector<std::string> morphemes;
    for (int word = 0; word < 12; ++word)
      morphemes.push_back(StrCat("q", at, "z", word, std::string(1 + random() % 9, 'w')));
    morphemes.push_back("猫");
    lines.push_back(LineOf(morphemes));
  }
  TrainingRun run;
  run.memory = std::uint64_t{64} << 20;
  const Trained refused = Train(lines, run);
  EXPECT_EQ(refused.status.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.status.message().find("write `min_count: 2`"), std::string::npos)
      << refused.status.message();

  run.config["min_count"] = 2;
  std::string model;
  for (const int threads : {1, 4}) {
    const TempDir scratch;
    run.threads = threads, run.scratch = scratch.path();
    const Trained small = Train(lines, run);
    EXPECT_FALSE(std::filesystem::is_empty(scratch.path())) << "nothing was spilled";
    for (const std::string& piece : TextsOf(ModelOf(small))) {
      EXPECT_EQ(piece.find('q'), std::string::npos) << piece;
    }
    if (threads == 1) model = small.Object("tokenizer.model");
    EXPECT_EQ(small.Object("tokenizer.model"), model) << threads << " threads";
  }
  run.memory = std::uint64_t{4} << 30, run.scratch.clear();
  EXPECT_EQ(Train(lines, run).Object("tokenizer.model"), model) << "all in memory";
  run.config["min_count"] = 1'000'000;
  const Trained none = Train(lines, run);
  EXPECT_EQ(none.status.code(), Code::kFailedPrecondition);
  EXPECT_NE(none.status.message().find("min_count: no word"), std::string::npos) << none.status.message();
}

/// A tokenizer that the library made before is reused, because only the trainer's version makes the
/// difference.
TEST(TrainTokenizerTest, OurTrainerCountsAsALibraryOfItsOwn) {
  const StageType type = TrainTokenizerType();
  Json config = TokenizerConfig();
  const auto own = type.LibrariesOf(config);
  EXPECT_TRUE(own.contains("unigram_trainer"));
  EXPECT_EQ(CanonicalConfig(type.keys, config).Has("engine"), false)
      << "the recipe is that of older versions";
  EXPECT_FALSE(own.contains("icu"));
  config["pattern"] = "a";
  EXPECT_TRUE(type.LibrariesOf(config).contains("icu")) << "which knows the properties of characters";
  config["engine"] = "sentencepiece";
  EXPECT_FALSE(type.LibrariesOf(config).contains("unigram_trainer"));
  config["engine"] = "own", config["model"] = "bpe";
  EXPECT_FALSE(type.LibrariesOf(config).contains("unigram_trainer"));
}

TEST(TrainTokenizerTest, TellsTheProgressOfOurTrainer) {
  TrainingRun run;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  run.progress = [&told](std::uint64_t done, std::uint64_t of) { told.emplace_back(done, of); };
  run.config["vocab_size"] = 320;
  ModelOf(Train(SmallCorpus(), run));
  ASSERT_GE(told.size(), 3u);
  EXPECT_GT(told.back().first, 0u) << "pieces that were removed";
  EXPECT_EQ(told.back().first, told.back().second) << "all that had to be";
}

TEST(TrainTokenizerTest, SameModelWhateverTheThreadsTheBatchesAndThePlace) {
  const std::vector<Line> lines = SmallCorpus();
  for (const std::string boundaries : {"cuts", "cuts_in_words", "none"}) {
    TrainingRun run;
    run.config = TokenizerConfig("pipe", boundaries);
    run.config["compare_boundaries"] = true;
    const Trained first = Train(lines, run);
    const TempDir elsewhere;
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(elsewhere.path());
    run.threads = 7;
    run.rows = 1;
    const Trained second = Train(lines, run);
    std::filesystem::current_path(here);
    for (const char* name : {"tokenizer.model", "tokenizer.vocab", "report.json"})
      EXPECT_EQ(first.Object(name), second.Object(name)) << boundaries;
  }
}

TEST(TrainTokenizerTest, EveryLineComesBackFromItsIds) {
  std::vector<Line> lines = SmallCorpus();
  for (const char* text :
       {" 前の空白", "後ろの空白 ", "二つ  の空白", "鱻という珍しい字", "絵文字👩\u200d👧", "行\nの中",
        "タブ\tも", "<s>ではない", "<0xE3>も字", "ｱ１㍿", "e\u0301", "\u2585", " ", ""})
    lines.push_back(LineOf({text}));
  for (const std::string boundaries : {"cuts", "cuts_in_words", "spaces", "none"}) {
    TrainingRun run;
    run.config = TokenizerConfig("pipe", boundaries);
    run.config["vocab_size"] = 355;
    const Trained trained = Train(lines, run);
    ASSERT_TRUE(trained.status.ok()) << trained.status.message();
    const auto encoder = SentencePieceEncoder::Load(trained.Object("tokenizer.model"));
    ASSERT_TRUE(encoder.ok());
    for (const Line& line : lines) EXPECT_EQ(DecodedAgain(**encoder, line.text), line.text) << boundaries;
    EXPECT_EQ(DecodedAgain(**encoder, "a\u2581b"), "a b") << "the one character that does not";
  }
}

TEST(TrainTokenizerTest, LearnsFromTheSplitTrainAlone) {
  std::vector<Line> lines = SmallCorpus();
  for (Line& line : lines) line.split = 1;  // of {"validation", "train"}
  TrainingRun run;
  run.splits = true;
  const Trained train_only = Train(lines, run);
  for (int i = 0; i < 50; ++i) lines.push_back(LineOf({"秘密", "の", "単語"}));  // validation
  const Trained both = Train(lines, run);
  EXPECT_EQ(both.Object("tokenizer.model"), train_only.Object("tokenizer.model"));
  const Json report = Json::Parse(both.Object("report.json")).value();
  EXPECT_EQ(report["training"]["lines_of_other_splits"].AsInt(), 50);
}

TEST(TrainTokenizerTest, LayoutsGiveTheIdsThatTheirTrainersWant) {
  const std::vector<Line> lines = SmallCorpus();
  TrainingRun run;
  run.config = TokenizerConfig("flax_lm1b");
  const SentencePieceModel flax = ModelOf(Train(lines, run));
  EXPECT_EQ(flax.special_ids().unk, 0);
  EXPECT_EQ(flax.special_ids().bos, 1);
  EXPECT_EQ(flax.special_ids().eos, 2);
  EXPECT_EQ(flax.special_ids().pad, -1);
  EXPECT_EQ(flax.normalizer(), "nmt_nfkc");
  EXPECT_TRUE(flax.adds_dummy_prefix()) << "as the library's defaults are, though the morphemes had none";
  for (const std::string& piece : TextsOf(flax)) {
    EXPECT_TRUE(piece == "\u2581" || !piece.starts_with("\u2581")) << piece;
  }

  run.config = TokenizerConfig("t5");
  const Trained trained = Train(lines, run);
  const SentencePieceModel t5 = ModelOf(trained);
  EXPECT_EQ(t5.special_ids().pad, 0);
  EXPECT_EQ(t5.special_ids().eos, 1);
  EXPECT_EQ(t5.special_ids().unk, 2);
  EXPECT_EQ(t5.special_ids().bos, -1);
  ASSERT_EQ(t5.pieces().size(), 436u);
  EXPECT_EQ(t5.pieces()[336], (SentencePiece{"\u2581<extra_id_99>", 0, PieceType::kUserDefined}));
  EXPECT_EQ(t5.pieces()[435], (SentencePiece{"\u2581<extra_id_0>", 0, PieceType::kUserDefined}));
  EXPECT_EQ(ModelOf(trained, "tokenizer.base.model").pieces().size(), 336u);
  EXPECT_EQ(trained.output.facts["vocab_size"].AsInt(), 436);

  run.config = TokenizerConfig("jestimator");
  const SentencePieceModel jestimator = ModelOf(Train(lines, run));
  EXPECT_EQ(jestimator.pieces()[0].text, "<pad>");
  EXPECT_EQ(jestimator.pieces()[2].text, "<cls>");
  EXPECT_EQ(jestimator.pieces()[3].text, "<sep>");
  EXPECT_EQ(jestimator.pieces()[4].text, "<mask>");
  EXPECT_EQ(jestimator.pieces()[5].text, "</s>");
}

TEST(TrainTokenizerTest, ASymbolIsOneIdInAnyTextAndInNoOtherPiece) {
  std::vector<Line> lines = SmallCorpus();
  for (std::size_t i = 0; i < lines.size(); i += 2)
    lines[i] = LineOf({"猫", "が", "<", "answer", ">", "いる"});
  for (const char* layout : {"pipe", "t5"})
    for (const char* boundaries : {"cuts", "none"}) {
      TrainingRun run;
      run.config = TokenizerConfig(layout, boundaries);
      run.config["symbols"] = Json::Array{"<answer>", "<問>"};
      const Trained trained = Train(lines, run);
      const SentencePieceModel model = ModelOf(trained);
      const auto id = [&model](std::string_view text) {
        for (std::size_t at = 0; at < model.pieces().size(); ++at)
          if (model.pieces()[at].text == text && model.pieces()[at].type == PieceType::kUserDefined)
            return at;
        return std::size_t{0};
      };
      const std::size_t first = std::string_view(layout) == "pipe" ? 5 : 3;
      EXPECT_EQ(id("<answer>"), first);
      EXPECT_EQ(id("<問>"), first + 1);
      EXPECT_EQ(trained.output.facts["newline_id"].AsInt(), first == 5 ? 4 : -1);
      for (const std::string& piece : TextsOf(model)) EXPECT_EQ(piece.find("<answer>"), std::string::npos);
      const auto encoder = SentencePieceEncoder::Load(trained.Object("tokenizer.model"));
      ASSERT_TRUE(encoder.ok());
      SentencePieceEncoder::Scratch scratch;
      std::vector<std::uint32_t> ids, ends;
      ASSERT_TRUE((*encoder)->Encode("犬<answer><answer>見る<問>", scratch, ids, ends).ok());
      EXPECT_EQ(std::count(ids.begin(), ids.end(), first), 2);
      EXPECT_EQ(ids.back(), first + 1);
    }
}

/// A reader is checked by what is promised long before it could be checked by what was trained.
TEST(TrainTokenizerTest, WhatIsPromisedBeforeIsSaidAfterwards) {
  const StageType type = TrainTokenizerType(BuiltProgram());
  for (const std::string_view layout : {"pipe", "flax_lm1b", "t5", "jestimator", "bert"}) {
    TrainingRun run;
    run.config = TokenizerConfig(layout);
    if (layout == "bert") run.config["model"] = "wordpiece", run.config["vocab_size"] = 80;
    Json promised = type.promises(run.config, TokenizerSchema(run));
    const Trained trained = Train(SmallCorpus(), run);
    ASSERT_TRUE(trained.status.ok()) << trained.status.message();
    if (layout == "bert") {
      EXPECT_LE(promised["vocab_size"].AsInt(), trained.output.facts["vocab_size"].AsInt());
      promised["vocab_size"] = trained.output.facts["vocab_size"];
    }
    promised["model_digest"] = trained.output.facts["model_digest"];
    EXPECT_EQ(promised.Dump(), trained.output.facts.Dump()) << layout;
  }
}

TEST(TrainTokenizerTest, AllMethodsTrain) {
  const std::vector<Line> lines = SmallCorpus();
  for (const std::string method : {"bpe", "char", "word"}) {  // by the library, whatever `engine` is
    TrainingRun run;
    run.config["model"] = method;
    run.config["vocab_size"] = method == "bpe" ? 336 : 310;
    const Trained trained = Train(lines, run);
    ASSERT_TRUE(trained.status.ok()) << method << ": " << trained.status.message();
    EXPECT_EQ(ModelOf(trained).model_type(), method);
  }
}

TEST(TrainTokenizerTest, NothingOfTheMachineStaysInTheModel) {
  for (const char* engine : {"own", "sentencepiece"}) {
    TrainingRun run;
    run.config["engine"] = engine;
    const Trained trained = Train(SmallCorpus(), run);
    const ProtoMessage model = ProtoMessage::Parse(trained.Object("tokenizer.model")).value();
    const ProtoMessage spec = ProtoMessage::Parse(*model.Bytes(2)).value();
    for (const ProtoMessage::Field& field : spec.fields())
      for (const std::uint32_t machine : {1u, 2u, 16u, 18u, 49u}) EXPECT_NE(field.number, machine);
  }
}

class TrainingEngineTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engines, TrainingEngineTest, testing::Values("own", "sentencepiece"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(TrainingEngineTest, VocabularyThatTheTextCannotFillSaysWhatWouldDo) {
  TrainingRun run;
  run.config["engine"] = GetParam();
  run.config["vocab_size"] = 30000;
  const Trained trained = Train(SmallCorpus(), run);
  EXPECT_EQ(trained.status.code(), Code::kFailedPrecondition);
  const std::string message(trained.status.message());
  EXPECT_TRUE(message.starts_with("tokenizer: vocab_size: 30000")) << message;
  const auto sizes = SizesIn(message);
  for (const std::int64_t size : {sizes.first, (sizes.first + sizes.second) / 2, sizes.second}) {
    run.config["vocab_size"] = size;
    EXPECT_EQ(Train(SmallCorpus(), run).output.facts["vocab_size"].AsInt(), size) << "what it said does";
  }
  run.config["vocab_size"] = sizes.second + 1;
  EXPECT_EQ(Train(SmallCorpus(), run).status.code(), Code::kFailedPrecondition);

  run.config["vocab_size"] = 290;
  const Trained few = Train(SmallCorpus(), run);
  EXPECT_EQ(few.status.code(), Code::kFailedPrecondition);
  EXPECT_NE(few.status.message().find("290 is too few"), std::string::npos) << few.status.message();
  EXPECT_EQ(SizesIn(few.status.message()), sizes) << few.status.message();
}

TEST_P(TrainingEngineTest, AutoTakesAsManyPiecesAsTheTextHas) {
  TrainingRun run;
  run.config["engine"] = GetParam();
  run.config["vocab_size"] = 30000;
  const std::int64_t most = SizesIn(Train(SmallCorpus(), run).status.message()).second;
  run.config["vocab_size"] = "auto";
  const Trained chosen = Train(SmallCorpus(), run);
  ASSERT_TRUE(chosen.status.ok()) << chosen.status.message();
  EXPECT_EQ(chosen.output.facts["vocab_size"].AsInt(), most);
  run.threads = 3, run.rows = 7;
  EXPECT_EQ(Train(SmallCorpus(), run).output.facts, chosen.output.facts) << "on any machine";
  run.config["vocab_size"] = most;
  EXPECT_EQ(Train(SmallCorpus(), run).Object("tokenizer.vocab"), chosen.Object("tokenizer.vocab"))
      << "as if the number were written";
}

TEST(TrainTokenizerTest, AnEmptySplitIsNamedWithTheLinesOfTheOthers) {
  TrainingRun run;
  run.splits = true;  // and each line is in split 0, validation
  EXPECT_EQ(
      Train(SmallCorpus(9), run).status.message(),
      "tokenizer: there is no text to train on: the split `train` has no line, and 9 are in other splits");
}

TEST_P(TrainingEngineTest, EmptyTextIsRefused) {
  TrainingRun run;
  run.config["engine"] = GetParam();
  const Trained trained = Train({}, run);
  EXPECT_EQ(trained.status.code(), Code::kFailedPrecondition);
  EXPECT_NE(trained.status.message().find("no text to train on"), std::string::npos);
}

TEST_P(TrainingEngineTest, TextThatNeedsMoreMemoryThanThereIsIsRefused) {
  TrainingRun run;
  run.config["engine"] = GetParam();
  run.memory = 1 << 20;
  const Trained trained = Train(SmallCorpus(), run);
  EXPECT_EQ(trained.status.code(), Code::kResourceExhausted);
  EXPECT_NE(trained.status.message().find("limits.memory"), std::string::npos) << trained.status.message();

  const StageType type = TrainTokenizerType(BuiltProgram());
  const auto forecast = [&](std::string_view boundaries, std::uint64_t bytes) {
    Json config = TokenizerConfig("pipe", boundaries);
    config["engine"] = GetParam();
    auto stage = type.job()->make({"tokenizer", config, TokenizerSchema(run)});
    ArtifactTotals totals;
    totals.splits["train"] = {bytes / 200, bytes / 200, bytes};
    return (*stage)->Memory(totals).value();
  };
  EXPECT_GT(forecast("none", 200'000'000), 2'000'000'000u);
  EXPECT_LT(forecast("cuts", 200'000'000), 600'000'000u);
}

TEST_P(TrainingEngineTest, StopEndsTheTraining) {
  std::stop_source stop;
  stop.request_stop();
  TrainingRun run;
  run.config["engine"] = GetParam();
  run.stop = stop.get_token();
  EXPECT_EQ(Train(SmallCorpus(), run).status.code(), Code::kCancelled);
}

TEST(TrainTokenizerTest, ReportComparesTheBoundariesOnLinesKeptAside) {
  TrainingRun run;
  run.config["compare_boundaries"] = true;
  const std::vector<Line> lines = SmallCorpus(1500);
  const Json report = Json::Parse(Train(lines, run).Object("report.json")).value();
  const std::int64_t kept = report["training"]["lines_kept_aside"].AsInt();
  EXPECT_GT(kept, 10);
  EXPECT_EQ(report["training"]["lines"].AsInt() + kept, 1500);
  EXPECT_EQ(report["held_out"]["lines"].AsInt(), kept);
  EXPECT_GT(report["held_out"]["characters_per_token"].AsDouble(), 1.2);
  EXPECT_EQ(report["held_out"]["unknown_rate"].AsDouble(), 0);
  EXPECT_EQ(report["held_out"]["lines_not_restored"].AsInt(), 0);
  EXPECT_EQ(report["held_out"]["examples"].AsArray().size(), 5u);
  EXPECT_LT(report["word_initial_share"].AsDouble(), 0.02);
  for (const char* boundaries : {"cuts", "spaces", "none"})
    EXPECT_GT(report["comparison"]["characters_per_token"][boundaries].AsDouble(), 1.0) << boundaries;
  EXPECT_FALSE(report["held_out"].Has("normalizer"));
  EXPECT_FALSE(report["comparison"]["characters_per_token"].Has("cuts_in_words")) << "the report of old";

  run.config["boundaries"] = "cuts_in_words";
  const Json words = Json::Parse(Train(lines, run).Object("report.json")).value();
  EXPECT_EQ(words["training"]["boundaries"].AsString(), "cuts_in_words");
  EXPECT_GT(words["training"]["morphemes"].AsInt(), words["training"]["sentences"].AsInt());
  for (const char* boundaries : {"cuts_in_words", "cuts", "spaces", "none"})
    EXPECT_GT(words["comparison"]["characters_per_token"][boundaries].AsDouble(), 1.0) << boundaries;

  run.config = TokenizerConfig("flax_lm1b");
  std::vector<Line> wide = lines;
  for (Line& line : wide) line = LineOf({line.text, "Ａ"});
  const Json other = Json::Parse(Train(wide, run).Object("report.json")).value();
  EXPECT_EQ(other["held_out"]["normalizer"]["lines_that_differ"].AsInt(), other["held_out"]["lines"].AsInt());
}

TEST(TrainTokenizerTest, ConfigurationThatCannotWorkIsRefusedAtItsPlace) {
  const auto why_not = [](Json config, bool cuts) {
    TrainingRun run;
    run.cuts = cuts;
    Schema schema = TokenizerSchema(run);
    return std::string(TrainTokenizerType().check(config, schema).message());
  };
  EXPECT_EQ(why_not(TokenizerConfig(), false), "");
  EXPECT_NE(why_not(TokenizerConfig("pipe", "cuts"), false).find("segment_words"), std::string::npos);
  Json words = TokenizerConfig("pipe", "cuts");
  words["model"] = "word";
  EXPECT_NE(why_not(words, true).find("between spaces"), std::string::npos);
  Json scripts = TokenizerConfig("pipe", "scripts");
  EXPECT_EQ(why_not(scripts, false), "");
  scripts["engine"] = "sentencepiece";
  EXPECT_NE(why_not(scripts, true).find("boundaries: scripts is for"), std::string::npos);
  Json pattern = TokenizerConfig();
  pattern["pattern"] = "(a";
  EXPECT_NE(why_not(pattern, true).find("pattern: '(a': at character"), std::string::npos)
      << why_not(pattern, true);
  pattern["pattern"] = "a", pattern["model"] = "bpe";
  EXPECT_NE(why_not(pattern, true).find("only our trainer"), std::string::npos);
  Json rare = TokenizerConfig();
  rare["min_count"] = 0;
  EXPECT_NE(why_not(rare, true).find("min_count"), std::string::npos) << why_not(rare, true);
  rare["min_count"] = 2, rare["engine"] = "sentencepiece";
  EXPECT_NE(why_not(rare, true).find("only our trainer"), std::string::npos);
  words["boundaries"] = "cuts_in_words";
  EXPECT_NE(why_not(words, true).find("between spaces"), std::string::npos);
  EXPECT_NE(why_not(TokenizerConfig("pipe", "cuts_in_words"), false).find("segment_words"),
            std::string::npos);
  Json few = TokenizerConfig();
  few["vocab_size"] = 200;
  EXPECT_NE(why_not(few, true).find("vocab_size: 200"), std::string::npos);
  Json coverage = TokenizerConfig();
  coverage["character_coverage"] = 0.5;
  EXPECT_NE(why_not(coverage, true).find("character_coverage"), std::string::npos);
  const auto symbols = [&](Json list, std::string_view layout = "pipe") {
    Json config = TokenizerConfig(layout);
    if (layout == "bert") config["model"] = "wordpiece";
    config["symbols"] = std::move(list);
    return why_not(config, true);
  };
  EXPECT_EQ(symbols(Json::Array{"<答え>"}), "");
  for (const char* wrong : {"", "a b", "a,b", "\"", "\u2581", "<pad>", "<0x0A>", "<extra_id_3>", "\n"})
    EXPECT_NE(symbols(Json::Array{wrong}).find(StrCat("symbols: '", wrong, "'")), std::string::npos) << wrong;
  EXPECT_NE(symbols(Json::Array{std::string(65, 'a')}).find("64 bytes"), std::string::npos);
  EXPECT_NE(symbols(Json::Array{"<a>", "<a>"}).find("named twice"), std::string::npos);
  EXPECT_NE(symbols(Json::Array{"<a>"}, "bert").find("vocab.txt has none"), std::string::npos);
  Schema elsewhere = TextSchema();
  elsewhere.columns["split"] = ColumnType::kU8, elsewhere.splits = {"a", "b"};
  EXPECT_EQ(TrainTokenizerType().check(TokenizerConfig(), elsewhere).code(), Code::kInvalidArgument);
}

TrainingRun WordPieceRun(const std::string& boundaries) {
  TrainingRun run;
  run.config = TokenizerConfig("bert", boundaries);
  run.config["model"] = "wordpiece";
  run.config["vocab_size"] = 80;
  return run;
}

WordPieceVocabulary VocabularyOf(const Trained& trained) {
  EXPECT_TRUE(trained.status.ok()) << trained.status.message();
  auto vocabulary = WordPieceVocabulary::Parse(trained.Object("vocab.txt"));
  EXPECT_TRUE(vocabulary.ok()) << vocabulary.status().message();
  return std::move(vocabulary).value();
}

TEST(TrainTokenizerTest, WordPiecePublishesAVocabularyAndItsFacts) {
  const Trained trained = Train(SmallCorpus(), WordPieceRun("auto"));
  const WordPieceVocabulary vocabulary = VocabularyOf(trained);
  EXPECT_EQ(vocabulary.size(), 80u);
  EXPECT_TRUE(trained.Object("vocab.txt").starts_with("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"));
  const Json& facts = trained.output.facts;
  EXPECT_EQ(facts["layout"].AsString(), "bert");
  EXPECT_EQ(facts["vocab_size"].AsInt(), 80);
  EXPECT_EQ(facts["pad_id"].AsInt(), 0);
  EXPECT_EQ(facts["unk_id"].AsInt(), 1);
  EXPECT_EQ(facts["cls_id"].AsInt(), 2);
  EXPECT_EQ(facts["sep_id"].AsInt(), 3);
  EXPECT_EQ(facts["mask_id"].AsInt(), 4);
  EXPECT_TRUE(facts["morphemes"].AsBool());
  EXPECT_EQ(facts["model"].AsString(), "vocab.txt");
  EXPECT_TRUE(vocabulary.Find("東京都")) << "a morpheme";
  EXPECT_FALSE(vocabulary.Find("猫が"));
  const Json report = Json::Parse(trained.Object("report.json")).value();
  EXPECT_GT(report["held_out"]["characters_per_token"].AsDouble(), 1.2);
  EXPECT_GT(report["training"]["morphemes"].AsInt(), 1000);

  const Trained text = Train(SmallCorpus(), WordPieceRun("none"));
  EXPECT_FALSE(VocabularyOf(text).Find("東京都")) << "ideographs are words of their own";
  EXPECT_FALSE(text.output.facts.Has("morphemes"));
}

TEST(TrainTokenizerTest, WordPieceIsTheSameWhateverTheThreadsAndTheBatches) {
  TrainingRun run = WordPieceRun("none");
  const Trained first = Train(SmallCorpus(), run);
  run.threads = 7;
  run.rows = 1;
  const Trained second = Train(SmallCorpus(), run);
  for (const char* name : {"vocab.txt", "report.json"}) EXPECT_EQ(first.Object(name), second.Object(name));
}

TEST(TrainTokenizerTest, WordPieceSaysWhatDoesNotFit) {
  const auto refusal = [](const std::string& model, const std::string& layout,
                          const std::string& boundaries) {
    TrainingRun run;
    run.config = TokenizerConfig(layout, boundaries);
    run.config["model"] = model;
    Schema schema = TokenizerSchema(run);
    return std::string(TrainTokenizerType().check(run.config, schema).message());
  };
  EXPECT_EQ(refusal("wordpiece", "pipe", "none"),
            "layout: a model of WordPiece has the ids that BERT wants; write `layout: bert`");
  EXPECT_EQ(refusal("unigram", "bert", "none"),
            "layout: bert is that of a vocab.txt; write `model: wordpiece`");
  for (const std::string boundaries : {"spaces", "cuts_in_words"})
    EXPECT_TRUE(refusal("wordpiece", "bert", boundaries)
                    .starts_with(StrCat("boundaries: ", boundaries, " is for SentencePiece")));
  EXPECT_EQ(refusal("wordpiece", "bert", "auto"), "");
  TrainingRun most = WordPieceRun("none");
  Schema schema = TokenizerSchema(most);
  most.config["vocab_size"] = 1 << 20;
  EXPECT_TRUE(TrainTokenizerType().check(most.config, schema).ok());
  most.config["vocab_size"] = (1 << 20) + 1;
  EXPECT_EQ(TrainTokenizerType().check(most.config, schema).message(),
            "vocab_size: 1048577 is not between 16 and 1048576, the most that a vocab.txt may have");

  TrainingRun run = WordPieceRun("none");
  run.config["vocab_size"] = 16;
  EXPECT_NE(Train(SmallCorpus(), run).status.message().find("vocab_size: 16 is too few"), std::string::npos);
  run.config["vocab_size"] = 16000;
  EXPECT_NE(Train(SmallCorpus(), run).status.message().find("is more than this text has pieces for"),
            std::string::npos);
  run = WordPieceRun("none");
  run.memory = 1 << 20;
  EXPECT_EQ(Train(SmallCorpus(), run).status.code(), Code::kResourceExhausted);
}

TEST(TrainTokenizerTest, AutoFitsEachModelAndLayout) {
  for (const std::string_view model : {"unigram", "bpe", "word", "char"})
    for (const std::string_view layout : {"pipe", "flax_lm1b", "t5", "jestimator"}) {
      TrainingRun run;
      run.config = TokenizerConfig(layout, "none");
      run.config["model"] = model;
      run.config["vocab_size"] = "auto";
      const Trained trained = Train(SmallCorpus(200), run);
      ASSERT_TRUE(trained.status.ok()) << model << " " << layout << ": " << trained.status.message();
      EXPECT_EQ(trained.output.facts["vocab_size"].AsInt(),
                static_cast<std::int64_t>(ModelOf(trained).pieces().size()));
    }
  TrainingRun run = WordPieceRun("none");
  run.config["vocab_size"] = 16000;
  const std::int64_t most = SizesIn(Train(SmallCorpus(), run).status.message()).second;
  run.config["vocab_size"] = "auto";
  EXPECT_EQ(Train(SmallCorpus(), run).output.facts["vocab_size"].AsInt(), most);
  const Json promised = TrainTokenizerType().promises(run.config, TokenizerSchema(run));
  EXPECT_LE(promised["vocab_size"].AsInt(), most) << "the number is in the artifact alone";
}

}  // namespace
}  // namespace pipeline
