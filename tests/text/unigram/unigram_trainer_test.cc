#include "text/unigram/unigram_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "formats/proto_message.h"
#include "formats/sentencepiece_model.h"
#include "tests/text/unigram/small_lattice.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/unigram/expected_counts.h"
#include "text/unigram/piece_losses.h"

namespace pipeline {
namespace {

using Pieces = std::vector<UnigramPiece>;
using Counts = std::map<std::string, std::uint64_t>;

CountedWords Counted(const Counts& counts) {
  CountedWords words;
  for (const auto& [word, count] : counts) words.Add(word, count);
  return words;
}

Pieces Train(const CountedWords& words, const UnigramRules& rules) {
  const Result<Pieces> pieces = TrainUnigram(words, rules, {});
  EXPECT_TRUE(pieces.ok()) << pieces.status().message();
  return pieces.ok() ? *pieces : Pieces();
}

std::string WhyNot(const Counts& counts, const UnigramRules& rules) {
  const Result<Pieces> pieces = TrainUnigram(Counted(counts), rules, {});
  EXPECT_EQ(pieces.status().code(), Code::kFailedPrecondition);
  return std::string(pieces.status().message());
}

std::set<std::string> TextsOf(const Pieces& pieces) {
  std::set<std::string> texts;
  for (const UnigramPiece& piece : pieces) EXPECT_TRUE(texts.insert(piece.text).second) << piece.text;
  return texts;
}

/// A model that keeps the text, with the pieces behind <unk>.
std::string ModelOf(const Pieces& pieces) {
  ProtoMessage trainer, normalizer, model;
  trainer.SetVarint(3, 1);
  normalizer.SetBytes(1, "identity");
  normalizer.SetVarint(3, 0);
  normalizer.SetVarint(4, 0);
  normalizer.SetVarint(5, 1);
  const auto add = [&model](std::string_view text, float score, std::uint64_t type) {
    ProtoMessage piece;
    piece.SetBytes(1, text);
    piece.SetFloat(2, score);
    piece.SetVarint(3, type);
    model.AddBytes(1, piece.Serialize());
  };
  add("<unk>", 0, 2);
  for (const UnigramPiece& piece : pieces) add(piece.text, piece.score, 1);
  model.SetBytes(2, trainer.Serialize());
  model.SetBytes(3, normalizer.Serialize());
  return model.Serialize();
}

std::vector<std::string> Encoded(const SentencePieceEncoder& encoder, const Pieces& pieces,
                                 std::string_view text) {
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  EXPECT_TRUE(encoder.Encode(text, scratch, ids, ends).ok());
  std::vector<std::string> texts;
  for (const std::uint32_t id : ids) texts.push_back(id == 0 ? "<unk>" : pieces[id - 1].text);
  return texts;
}

// The words have no text in common but single characters: each is a piece as a whole.
TEST(UnigramTrainerTest, FrequentWordsArePieces) {
  const Pieces pieces = Train(Counted({{"猫", 60}, {"犬", 50}, {"走る", 40}, {"飛ぶ", 30}}), {.pieces = 8});
  EXPECT_EQ(TextsOf(pieces), (std::set<std::string>{"猫", "犬", "走", "る", "飛", "ぶ", "走る", "飛ぶ"}));
  std::vector<std::string> first;
  double sum = 0;
  for (const UnigramPiece& piece : pieces) {
    if (first.size() < 4) first.push_back(piece.text);
    sum += std::exp(piece.score);
  }
  EXPECT_EQ(first, (std::vector<std::string>{"猫", "犬", "走る", "飛ぶ"}));
  EXPECT_NEAR(sum, 1, 0.05);
  EXPECT_NEAR(pieces[0].score, std::log(60. / 180), 0.02);
}

TEST(UnigramTrainerTest, EndingsThatWordsShareArePieces) {
  Counts counts;
  std::set<std::string> expected = {"っ", "た", "て", "った", "って"};
  for (const std::string stem : {"走", "言", "買", "待", "立", "切", "知", "取", "売", "勝"}) {
    counts[stem + "った"] = counts[stem + "って"] = 1;
    expected.insert(stem);
  }
  EXPECT_EQ(TextsOf(Train(Counted(counts), {.pieces = 15})), expected);
}

TEST(UnigramTrainerTest, NoPieceIsLongerThanAllowedOrLeavesItsWord) {
  const std::vector<std::string> words = {"abcdefgh", "\u2581ab", "cd"};
  for (const UnigramPiece& piece : Train(Counted({{words[0], 50}, {words[1], 50}, {words[2], 9}}),
                                         {.pieces = 99, .fewer_will_do = true, .max_characters = 3})) {
    EXPECT_LE(piece.text.size(), piece.text.starts_with("\u2581") ? 5u : 3u) << piece.text;
    EXPECT_TRUE(std::any_of(words.begin(), words.end(), [&piece](const std::string& word) {
      return word.find(piece.text) != std::string::npos;
    })) << piece.text;
  }
}

TEST(UnigramTrainerTest, ReservedTextsAndRareCharactersAreInNoPiece) {
  const Pieces pieces = Train(Counted({{"ab<sep>ab", 90}, {"aχb", 1}}), {.pieces = 9,
                                                                         .fewer_will_do = true,
                                                                         .character_coverage = 0.99,
                                                                         .required_characters = {"\u2581"},
                                                                         .reserved_texts = {"<sep>"}});
  EXPECT_EQ(TextsOf(pieces), (std::set<std::string>{"a", "b", "ab", "\u2581"}));
}

TEST(UnigramTrainerTest, AnyNumberOfThreadsAndAnyOrderOfWordsGiveTheSamePieces) {
  const CountedWords words = RandomWords(11, 40'000, 14, 8);
  UnigramRules rules = {.pieces = 900};
  const Pieces pieces = Train(words, rules);
  EXPECT_EQ(pieces.size(), 900u);
  for (const std::size_t threads : {2U, 7U}) {
    rules.threads = threads;
    EXPECT_EQ(Train(words, rules), pieces) << threads;
  }
  auto sorted = Sorted(words);
  std::reverse(sorted.begin(), sorted.end());
  CountedWords others;
  for (const auto& [word, count] : sorted) others.Add(word, count);
  EXPECT_EQ(Train(others, rules), pieces);
}

TEST(UnigramTrainerTest, EveryCharacterOfTheTextHasAPiece) {
  const CountedWords words = RandomWords(2, 3'000, 8, 8);
  const Pieces pieces = Train(words, {.pieces = 60});
  const std::string model = ModelOf(pieces);
  ASSERT_TRUE(SentencePieceModel::Parse(model).ok());
  const auto encoder = SentencePieceEncoder::Load(model, SentencePieceEncoder::Engine::kLibrary);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  for (const auto& [word, count] : Sorted(words)) {
    std::string joined;
    for (const std::string& text : Encoded(**encoder, pieces, word)) joined += text;
    ASSERT_EQ(joined, word);
  }
}

TEST(UnigramTrainerTest, TheLibraryFindsTheBestPathsOfTheTrainer) {
  PieceLattice lattice = LatticeOf(RandomTrainingWords(6, 4'000, 12, 8));
  for (int round = 0; round < 3; ++round) SetShares(*ExpectedCounts(lattice, 1, {}), 0, lattice);
  const BestPath paths(lattice);
  Pieces pieces;
  for (std::uint32_t piece = 1; piece < lattice.pieces().size(); ++piece)
    if (lattice.pieces()[piece].share > 0)
      pieces.push_back({lattice.TextOf(piece), static_cast<float>(paths.score(piece))});
  const auto encoder = SentencePieceEncoder::Load(ModelOf(pieces), SentencePieceEncoder::Engine::kLibrary);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  BestPath::Scratch scratch;
  const TrainingWords& words = lattice.words();
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::vector<std::uint32_t> way;
    paths.Find(words.begins[word], words.begins[word + 1] - 1, 0, scratch, way);
    std::vector<std::string> expected;
    std::string text;
    for (auto piece = way.rbegin(); piece != way.rend(); ++piece) {
      expected.push_back(lattice.TextOf(*piece));
      text += expected.back();
    }
    EXPECT_EQ(Encoded(**encoder, pieces, text), expected);
  }
}

TEST(UnigramTrainerTest, CountsThatAFloatCannotHoldAreNotLost) {
  const std::uint64_t many = (std::uint64_t{1} << 40) + 1;
  Counts counts = {{"走った", many}, {"言った", many}, {"って", 3}, {"走って", 2 * many}};
  const Pieces pieces = Train(Counted(counts), {.pieces = 7});
  for (const UnigramPiece& piece : pieces) EXPECT_TRUE(std::isfinite(piece.score)) << piece.text;
  EXPECT_TRUE(TextsOf(pieces).contains("走って"));
  counts["走って"] = UINT64_MAX;
  EXPECT_TRUE(TextsOf(Train(Counted(counts), {.pieces = 7})).contains("走って"));
}

TEST(UnigramTrainerTest, OneWordIsAText) {
  EXPECT_EQ(TextsOf(Train(Counted({{"猫", 1}}), {.pieces = 1})), std::set<std::string>{"猫"});
  EXPECT_EQ(TextsOf(Train(Counted({{"abab", 3}}), {.pieces = 9, .fewer_will_do = true})).count("abab"), 1u);
}

TEST(UnigramTrainerTest, SaysHowManyWouldDo) {
  EXPECT_EQ(WhyNot({}, {.pieces = 9}), "there is no text to train on; is the split `train` empty?");
  EXPECT_EQ(WhyNot({{"<s>", 1}}, {.pieces = 9, .reserved_texts = {"<s>"}}),
            "there is no text to train on; is the split `train` empty?");
  EXPECT_EQ(WhyNot({{"abc", 5}}, {.pieces = 2}),
            "vocab_size: 2 is too few: the special pieces and the characters that character_coverage asks "
            "for are 3 already; 3 to 4 would do, or `vocab_size: auto`, or a lower character_coverage");
  EXPECT_EQ(WhyNot({{"abc", 5}}, {.pieces = 50, .other_pieces = 7}),
            "vocab_size: 57 is more than this text has pieces for; 10 to 11 would do, or `vocab_size: auto`, "
            "or more text");
  EXPECT_EQ(WhyNot({{"abc", 5}}, {.pieces = 2, .other_pieces = 7, .as_many_as_there_are = true}),
            "vocab_size: auto takes at most 9, which is too few: the special pieces and the characters that "
            "character_coverage asks for are 10 already; 10 to 11 would do, or a lower character_coverage");
  EXPECT_EQ(WhyNot({{"abc", 5}}, {.pieces = 2, .fewer_will_do = true}),
            "vocab_size: 2 is too few: the special pieces and the characters that character_coverage asks "
            "for are 3 already; take more, or a lower character_coverage")
      << "a report has this text";
  EXPECT_EQ(Train(Counted({{"abc", 5}}), {.pieces = 4}).size(), 4u);
}

TEST(UnigramTrainerTest, EachSizeBetweenThoseThatAreNamedWorks) {
  std::map<std::string, std::uint64_t> counts;
  std::mt19937 random(3);
  for (int word = 0; word < 400; ++word) {
    std::string text;
    for (auto left = 2 + random() % 6; left > 0; --left)
      text += std::string("abcdefgh").substr(random() % 8, 1 + random() % 3);
    counts[text] += 1 + random() % 4;
  }
  const CountedWords words = Counted(counts);
  const std::size_t most = Train(words, {.pieces = 100'000, .as_many_as_there_are = true}).size();
  ASSERT_GT(most, 300U);
  for (std::size_t pieces = 8; pieces <= most; pieces += pieces + 40 < most ? 23 : 1)
    ASSERT_EQ(Train(words, {.pieces = pieces}).size(), pieces);
  EXPECT_EQ(TextsOf(Train(words, {.pieces = most})),
            TextsOf(Train(words, {.pieces = 100'000, .as_many_as_there_are = true})));
  EXPECT_EQ(Train(words, {.pieces = 100, .as_many_as_there_are = true}).size(), 100U);
}

TEST(UnigramTrainerTest, ALatticeThatDoesNotFitIsRefused) {
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t length = 200; length < 600; ++length) counts[std::string(length, 'a')] = 2;
  UnigramRules rules = {.pieces = 20, .fewer_will_do = true, .max_characters = 512, .memory = 8 << 20};
  const auto status = TrainUnigram(Counted(counts), rules, {}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("max_piece_length"), std::string::npos) << status.message();
  rules.max_characters = 4;
  EXPECT_TRUE(TrainUnigram(Counted(counts), rules, {}).ok());
}

TEST(UnigramTrainerTest, TheNumberThatWouldDoDoes) {
  for (std::uint32_t run = 0; run < 5; ++run) {
    const CountedWords words = RandomWords(run, 2'000, 8, 8);
    UnigramRules rules = {.pieces = 100'000, .fewer_will_do = true};
    const Pieces most = Train(words, rules);
    ASSERT_LT(most.size(), rules.pieces);
    rules = {.pieces = most.size()};
    EXPECT_EQ(Train(words, rules).size(), most.size());
  }
}

TEST(UnigramTrainerTest, ProgressGoesToTheEnd) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  UnigramRules rules = {.pieces = 300};
  rules.progress = [&told](std::uint64_t removed, std::uint64_t all) { told.emplace_back(removed, all); };
  Train(RandomWords(7, 5'000, 9, 8), rules);
  ASSERT_GT(told.size(), 2u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.front().second, told.back().second);
  EXPECT_EQ(told.back().first, told.back().second);
}

// The time of the processor is looked at, since other programs may have the cores.
TEST(UnigramTrainerTest, AStopEndsATrainingAtOnce) {
  const CountedWords words = RandomWords(1, 300'000, 20, 8);
  for (const int milliseconds : {0, 50, 200, 400, 800}) {
    std::stop_source stop;
    std::clock_t asked = 0;
    std::jthread asking([&, milliseconds] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      asked = std::clock();
      stop.request_stop();
    });
    const auto pieces = TrainUnigram(words, {.pieces = 500, .threads = 2}, stop.get_token());
    const std::clock_t ended = std::clock();
    asking.join();
    EXPECT_EQ(pieces.status().code(), Code::kCancelled) << milliseconds;
    EXPECT_LT(static_cast<double>(ended - asked) / CLOCKS_PER_SEC, 0.2)
        << milliseconds << ": two threads, 100 ms";
  }
}

}  // namespace
}  // namespace pipeline
