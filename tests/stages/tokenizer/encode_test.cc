#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/str.h"
#include "dag/records/transform.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {
namespace {

/// One tokenizer for all tests that ask for the same.
const Trained& Tokenizer(const std::string& layout, bool byte_fallback) {
  static std::map<std::pair<std::string, bool>, Trained> made;
  Trained& trained = made[{layout, byte_fallback}];
  if (trained.output.objects.empty()) {
    TrainingRun run;
    run.config = TokenizerConfig(layout);
    run.config["byte_fallback"] = byte_fallback;
    run.config["vocab_size"] = byte_fallback ? 336 : 78;
    trained = Train(SmallCorpus(), run);
    EXPECT_TRUE(trained.status.ok()) << trained.status.message();
  }
  return trained;
}

Result<std::unique_ptr<Transform>> MakeEncode(ArtifactInput tokenizer, bool cuts = false,
                                              std::string_view words = "auto",
                                              std::string_view engine = "own", std::string_view rules = "1") {
  StageContext context{"tokens", Json::Object{}, TextSchema()};
  context.config["words"] = words;
  context.config["engine"] = engine;
  context.config["rules"] = rules;
  if (cuts) context.schema.columns["cuts"] = ColumnType::kU32List;
  context.artifacts.emplace("tokenizer", std::move(tokenizer));
  return EncodeType().transform()->make(context);
}

std::unique_ptr<Transform> EncodeWith(const Trained& trained) {
  auto made = MakeEncode({trained.store, "", trained.output.facts});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

std::vector<std::string> Lines() {
  std::vector<std::string> lines;
  for (const Line& line : SmallCorpus(100)) lines.push_back(line.text);
  for (const char* odd :
       {"", " ", "  猫  が ", "鱻鱻鱻と龘", "👩\u200d👧", "a\u2581b", "行\nの中", "ﾊﾟﾋﾟＡ…㍿", "e\u0301", "猫"})
    lines.emplace_back(odd);
  return lines;
}

void ExpectSoundColumns(const Batch& batch) {
  ASSERT_EQ(batch.ids.size(), batch.size());
  ASSERT_EQ(batch.id_ends.size(), batch.size());
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const auto ids = batch.ids[row];
    const auto ends = batch.id_ends[row];
    ASSERT_EQ(ids.size(), ends.size());
    std::uint32_t last = 0;
    for (const std::uint32_t end : ends) {
      EXPECT_GE(end, last) << batch.text[row];
      last = end;
    }
    EXPECT_TRUE(ids.empty() || last == batch.text[row].size()) << batch.text[row];
  }
}

TEST(EncodeTest, EachIdEndsWhereItsPieceDoes) {
  for (const bool byte_fallback : {true, false}) {
    const Trained& trained = Tokenizer("pipe", byte_fallback);
    const SentencePieceModel model = SentencePieceModel::Parse(trained.Object("tokenizer.model")).value();
    const auto transform = EncodeWith(trained);
    Batch batch = BatchOf(Lines());
    ApplyTo(batch, *transform);
    ExpectSoundColumns(batch);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::uint32_t begin = 0;
      std::string bytes;
      for (std::size_t at = 0; at < batch.ids[row].size(); ++at) {
        const SentencePiece& piece = model.pieces()[batch.ids[row][at]];
        const std::uint32_t end = batch.id_ends[row][at];
        std::string text(batch.text[row].substr(begin, end - begin));
        begin = end;
        if (piece.type == PieceType::kUnknown) {
          EXPECT_FALSE(text.empty());
        } else if (piece.type == PieceType::kByte) {
          bytes.push_back(static_cast<char>(ByteOfPiece(piece.text)));
          if (text.empty()) continue;  // the last byte of a character holds it
          EXPECT_EQ(text, bytes);
          bytes.clear();
        } else if (text != piece.text) {  // U+2581 stands for a space as well
          for (std::size_t space = text.find(' '); space != std::string::npos; space = text.find(' '))
            text.replace(space, 1, "\u2581");
          EXPECT_EQ(text, piece.text);
        }
      }
    }
  }
}

TEST(EncodeTest, ModelsThatChangeTextStillEndWhereTheLineDoes) {
  const auto transform = EncodeWith(Tokenizer("flax_lm1b", true));
  Batch batch = BatchOf(Lines());
  ApplyTo(batch, *transform);
  ExpectSoundColumns(batch);
  const std::vector<std::string> lines = Lines();
  for (std::size_t row = 0; row < lines.size(); ++row)
    EXPECT_EQ(batch.ids[row].empty(), lines[row].empty() || lines[row] == " ") << lines[row];
}

TEST(EncodeTest, CountsWhatItMade) {
  Batch batch = BatchOf({"鱻", "猫が", "猫\u2581が", ""});
  const StageCounts counts = ApplyTo(batch, *EncodeWith(Tokenizer("pipe", true)));
  EXPECT_EQ(counts.reasons.at("byte_ids"), 3u);
  EXPECT_EQ(counts.reasons.at("ids"), batch.ids.joined().size());
  EXPECT_EQ(counts.reasons.at("space_mark_in_text"), 1u);
  EXPECT_EQ(counts.reasons.count("unk_ids"), 0u);
  EXPECT_EQ(batch.ids[3].size(), 0u);

  Batch unknown = BatchOf({"鱻龘猫"});
  const StageCounts found = ApplyTo(unknown, *EncodeWith(Tokenizer("pipe", false)));
  EXPECT_EQ(found.reasons.at("unk_ids"), 1u) << "a run is one id";
  const StageType type = EncodeType();
  EXPECT_EQ(type.metrics.at(0).name, "unk_rate");
  EXPECT_EQ(type.metrics.at(0).value(found), 0.5);
  EXPECT_EQ(type.metrics.at(0).value({}), 0);
  EXPECT_EQ(unknown.id_ends[0][0], 6u);
}

TEST(EncodeTest, SpaceMarksOfATextComeBackByRules2WithByteFallback) {
  for (const char* layout : {"pipe", "flax_lm1b"})
    for (const char* engine : {"own", "sentencepiece"}) {
      const Trained& trained = Tokenizer(layout, true);
      const SentencePieceModel model = SentencePieceModel::Parse(trained.Object("tokenizer.model")).value();
      const auto now = MakeEncode({trained.store, "", trained.output.facts}, false, "auto", engine, "2");
      ASSERT_TRUE(now.ok()) << now.status().message();
      const std::vector<std::string> lines = Lines();
      Batch batch = BatchOf(lines), before = BatchOf(lines);
      const StageCounts counts = ApplyTo(batch, **now);
      ApplyTo(before, *EncodeWith(trained));
      EXPECT_EQ(counts.reasons.count("space_mark_in_text"), 0u);
      ExpectSoundColumns(batch);
      for (std::size_t row = 0; row < lines.size(); ++row) {
        const std::vector<std::uint32_t> ids(batch.ids[row].begin(), batch.ids[row].end());
        const std::vector<std::uint32_t> old(before.ids[row].begin(), before.ids[row].end());
        if (lines[row].find("\u2581") == std::string::npos) {
          EXPECT_EQ(ids, old) << lines[row];
          continue;
        }
        std::string pieces;
        for (const std::uint32_t id : ids) pieces += model.pieces()[id].text;
        EXPECT_NE(pieces.find("<0xE2><0x96><0x81>"), std::string::npos) << pieces;
      }
    }
}

TEST(EncodeTest, ThreadsShareOneModel) {
  const auto transform = EncodeWith(Tokenizer("pipe", true));
  Batch expected = BatchOf(Lines());
  ApplyTo(expected, *transform);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto worker = transform->NewWorker();
      for (int again = 0; again < 20; ++again) {
        Batch batch = BatchOf(Lines());
        StageCounts counts;
        ASSERT_TRUE((*worker)->Apply(batch, 1, counts).ok());
        ASSERT_TRUE(std::equal(batch.ids.joined().begin(), batch.ids.joined().end(),
                               expected.ids.joined().begin(), expected.ids.joined().end()));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(EncodeTest, TakesAModelFileOfTheUsers) {
  const Trained& trained = Tokenizer("flax_lm1b", true);
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "mine.model", trained.Object("tokenizer.model"), {}).ok());
  const auto transform = MakeEncode({store, "mine.model", {}});
  ASSERT_TRUE(transform.ok()) << transform.status().message();
  Batch by_file = BatchOf(Lines()), by_stage = BatchOf(Lines());
  ApplyTo(by_file, **transform);
  ApplyTo(by_stage, *EncodeWith(trained));
  EXPECT_TRUE(std::equal(by_file.ids.joined().begin(), by_file.ids.joined().end(),
                         by_stage.ids.joined().begin(), by_stage.ids.joined().end()));
}

TEST(EncodeTest, EachEngineGivesTheSameIds) {
  for (const char* layout : {"pipe", "flax_lm1b"}) {
    const Trained& trained = Tokenizer(layout, true);
    Batch by_own = BatchOf(Lines()), by_library = BatchOf(Lines());
    ApplyTo(by_own, *EncodeWith(trained));
    const auto library =
        MakeEncode({trained.store, "", trained.output.facts}, false, "auto", "sentencepiece");
    ASSERT_TRUE(library.ok()) << library.status().message();
    ApplyTo(by_library, **library);
    EXPECT_TRUE(std::ranges::equal(by_own.ids.joined(), by_library.ids.joined()));
    EXPECT_TRUE(std::ranges::equal(by_own.id_ends.joined(), by_library.id_ends.joined()));
  }
}

constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n東\n##京\nた\n##わー\n！\n";

TEST(EncodeTest, TakesAVocabularyOfTheUsers) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "vocab.txt", std::string(kVocabulary), {}).ok());
  ASSERT_TRUE(WriteObject(*store, "notes.txt", "not a vocabulary", {}).ok());
  const auto transform = MakeEncode({store, "vocab.txt", {}});
  ASSERT_TRUE(transform.ok()) << transform.status().message();
  Batch batch = BatchOf({"東京 たわー！ "});
  const StageCounts counts = ApplyTo(batch, **transform);
  EXPECT_EQ(counts.reasons.at("ids"), 5u);
  EXPECT_EQ(counts.reasons.at("unk_ids"), 1u);
  const auto ids = batch.ids[0], ends = batch.id_ends[0];
  EXPECT_EQ(std::vector(ids.begin(), ids.end()), (std::vector<std::uint32_t>{5, 1, 7, 8, 9}));
  EXPECT_EQ(std::vector(ends.begin(), ends.end()), (std::vector<std::uint32_t>{3, 6, 10, 16, 20}));
  ExpectSoundColumns(batch);
  EXPECT_TRUE(MakeEncode({store, "notes.txt", {}})
                  .status()
                  .message()
                  .starts_with("tokens: notes.txt: has no piece [UNK]"));
}

TEST(EncodeTest, MorphemesAreWordsWhereTheTokenizerSaysSo) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "vocab.txt", std::string(kVocabulary), {}).ok());
  TokenizerFacts facts =
      FactsOfVocabulary(WordPieceVocabulary::Parse(kVocabulary).value(), "vocab.txt", kVocabulary);
  facts.morphemes = true;
  for (const bool by_facts : {true, false}) {
    const auto transform = by_facts ? MakeEncode({store, "", ToJson(facts)}, true)
                                    : MakeEncode({store, "vocab.txt", {}}, true, "morphemes");
    ASSERT_TRUE(transform.ok()) << transform.status().message();
    Batch batch = BatchOf({"東京たわー"});
    batch.cuts.Append(std::vector<std::uint32_t>{6, 15});
    ApplyTo(batch, **transform);
    const auto ids = batch.ids[0];
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), (std::vector<std::uint32_t>{5, 6, 7, 8}));
  }
  const Status refused = MakeEncode({store, "", ToJson(facts)}).status();
  EXPECT_TRUE(refused.message().starts_with("tokens: the words of its tokenizer are morphemes"))
      << refused.message();
  const Trained& model = Tokenizer("pipe", true);
  EXPECT_EQ(MakeEncode({model.store, "", model.output.facts}, true, "morphemes").status().code(),
            Code::kFailedPrecondition);
}

TEST(EncodeTest, AVocabularyThatIsNotWhatItsTokenizerSaysIsRefused) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "vocab.txt", std::string(kVocabulary), {}).ok());
  TokenizerFacts facts =
      FactsOfVocabulary(WordPieceVocabulary::Parse(kVocabulary).value(), "vocab.txt", kVocabulary);
  facts.vocab_size = 11;
  EXPECT_EQ(
      MakeEncode({store, "", ToJson(facts)}).status().message(),
      "tokens: vocab.txt: its tokenizer says vocab_size 11, and it is 10: they are not of one training; "
      "train again");
  facts.model_digest = DigestOf("another");
  EXPECT_EQ(MakeEncode({store, "", ToJson(facts)}).status().message(),
            "tokens: the tokenizer's model vocab.txt is not the one that its facts name: it was changed or "
            "damaged");
}

TEST(EncodeTest, ALargeVocabularyIsCountedAndAFileThatIsTooLargeIsNotRead) {
  const auto store = std::make_shared<MemoryStore>();
  std::string text(kVocabulary);
  ASSERT_TRUE(WriteObject(*store, "small.txt", text, {}).ok());
  for (std::size_t i = 0; i < 600'000; ++i) text += StrCat("x", i, "\n");
  ASSERT_TRUE(WriteObject(*store, "large.txt", text, {}).ok());
  EXPECT_EQ(MakeEncode({store, "small.txt", {}}).value()->memory(), 0u);
  EXPECT_GT(MakeEncode({store, "large.txt", {}}).value()->memory(), 0u);
  ASSERT_TRUE(WriteObject(*store, "huge.txt", std::string(kMaxWordPieceBytes + 1, 'a'), {}).ok());
  EXPECT_EQ(MakeEncode({store, "huge.txt", {}}).status().code(), Code::kResourceExhausted);
}

TEST(EncodeTest, FileThatIsNoModelIsNamed) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "notes.model", "not a model", {}).ok());
  const Status refused = MakeEncode({store, "notes.model", {}}).status();
  EXPECT_EQ(refused.code(), Code::kDataLoss);
  EXPECT_TRUE(refused.message().starts_with("tokens: notes.model: not a SentencePiece model"))
      << refused.message();
  EXPECT_EQ(MakeEncode({store, "absent.model", {}}).status().code(), Code::kNotFound);
}

TEST(EncodeTest, GivesIdsAndTheirEndsBesideTheText) {
  Schema schema = TextSchema();
  ASSERT_TRUE(EncodeType().check({}, schema).ok());
  EXPECT_EQ(schema.columns.count("ids"), 1u);
  EXPECT_EQ(schema.columns.count("id_ends"), 1u);
  EXPECT_EQ(EncodeType().check({}, schema).code(), Code::kInvalidArgument) << "twice";
}

}  // namespace
}  // namespace pipeline
