#include "text/sentencepiece/unigram_encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {
namespace {

using Engine = SentencePieceEncoder::Engine;

// Parts of lines: composed and decomposed characters, spaces of all kinds, text that a normaliser replaces by
// more or by nothing, names of special pieces, and characters that no model here has.
constexpr std::array kParts = {
    "か",     "\u3099", "は", "\u309a", "e",   "\u0301", "각",     "가",     "\u11a8", "\u1100", "\u1161",
    "ｶ",      "ﾞ",      "Ａ", "２０",   "①",   "㌔",     "\u3000", " ",      "  ",     "\u00a0", "\u200b",
    "\u2581", "😀",      "𠮷", "\ufeff", "ﷺ",   "…",      "a",      "b",      "x",      "<sep>",  "です",
    "ㅋ",     "ㅋㅋ",   "。", "」",     "the", "\t",     "\u00ad", "\u0085", "ß",      "İ",      "½",
    "ﬁ",      "\u2028", "日", "本",     "語",  "한",     "국",     "<c>",    "</s>",   "<unk>",  "<0x41>"};

std::string RandomLine(std::mt19937& random, std::size_t parts) {
  std::string line;
  for (std::size_t at = 0; at < parts; ++at) line += kParts[random() % kParts.size()];
  return line;
}

/// Trains a small model on random lines.
std::string Trained(std::map<std::string, std::string> options) {
  options.insert({{"vocab_size", "400"},
                  {"hard_vocab_limit", "false"},
                  {"minloglevel", "2"},
                  {"num_threads", "1"},
                  {"character_coverage", "0.98"}});
  std::mt19937 random(7);
  int left = 3'000;
  Result<std::string> model = TrainSentencePiece(options, [&](std::string& sentence) -> Result<bool> {
    sentence = RandomLine(random, 12);
    return left-- > 0;
  });
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *model : std::string();
}

std::unique_ptr<const SentencePieceEncoder> Loaded(const std::string& bytes, Engine engine,
                                                   SpaceMarks marks = SpaceMarks::kAreSpaces) {
  auto encoder = SentencePieceEncoder::Load(bytes, engine, marks);
  EXPECT_TRUE(encoder.ok()) << encoder.status().message();
  return std::move(encoder).value();
}

struct Ids {
  std::vector<std::uint32_t> ids, ends;
  bool operator==(const Ids&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Ids& ids) {
  for (std::size_t at = 0; at < ids.ids.size(); ++at) out << ids.ids[at] << '@' << ids.ends[at] << ' ';
  return out;
}

class Compared {
 public:
  explicit Compared(const std::string& bytes, SpaceMarks marks = SpaceMarks::kAreSpaces)
      : library_(Loaded(bytes, Engine::kLibrary, marks)),
        own_(UnigramEncoder::Make(*SentencePieceModel::Parse(bytes), marks)) {}

  Ids Library(std::string_view line) {
    Ids found;
    EXPECT_TRUE(library_->Encode(line, library_scratch_, found.ids, found.ends).ok());
    return found;
  }
  Ids Own(std::string_view line) {
    Ids found;
    own_->Encode(line, own_scratch_, found.ids, found.ends);
    return found;
  }
  void ExpectTheSame(std::string_view line) { EXPECT_EQ(Own(line), Library(line)) << '"' << line << '"'; }
  void ExpectTheSameForMany() {
    std::mt19937 random(11);
    for (int lines = 0; lines < 4'000; ++lines) ExpectTheSame(RandomLine(random, random() % 15));
    for (const char* part : kParts) {
      std::string line;
      for (int times = 0; times < 3'000; ++times) line += part;
      ExpectTheSame(line);
    }
  }

 private:
  std::unique_ptr<const SentencePieceEncoder> library_;
  std::unique_ptr<const UnigramEncoder> own_;
  SentencePieceEncoder::Scratch library_scratch_;
  UnigramEncoder::Scratch own_scratch_;
};

TEST(UnigramEncoderTest, EachNormaliserGivesTheIdsOfTheLibrary) {
  for (const char* rule : {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "identity"})
    Compared(Trained({{"normalization_rule_name", rule}})).ExpectTheSameForMany();
}

TEST(UnigramEncoderTest, UnknownCharactersBecomeTheirBytes) {
  Compared(Trained({{"byte_fallback", "true"}, {"vocab_size", "600"}})).ExpectTheSameForMany();
}

TEST(UnigramEncoderTest, SpaceMarksOfATextBecomeTheirBytesAndAllOtherIdsStay) {
  for (const char* rule : {"nmt_nfkc", "identity"})
    for (const char* suffix : {"false", "true"})
      for (const bool removes : {false, true}) {
        SentencePieceModel model = *SentencePieceModel::Parse(
            Trained({{"byte_fallback", "true"},
                     {"vocab_size", "600"},
                     {"normalization_rule_name", rule},
                     {"treat_whitespace_as_suffix", suffix},
                     {"user_defined_symbols", "<sep>,\u2581the,a\u2581b,\ue000,  "}}));
        model.SetSpacing(true, removes);
        const std::string bytes = model.Serialize();
        Compared compared(bytes, SpaceMarks::kBytes), as_spaces(bytes);
        compared.ExpectTheSameForMany();
        for (const char* line : {"\u2581", "\u2581\u2581the", " \u2581 ", "a\u2581b",
                                 "\ue000\u2581\ue001\u2581", "\u2581か\u3099", "か\u2581\u3099"})
          compared.ExpectTheSame(line);
        for (const char* line : {"", " ", "the a b", "日本語😀", "\ue000\ue001"})
          EXPECT_EQ(compared.Own(line), as_spaces.Own(line)) << line;
      }
}

TEST(UnigramEncoderTest, SpaceMarksComeBackWithEachTypeOfModel) {
  for (const char* type : {"unigram", "bpe", "char"}) {
    SentencePieceModel model = *SentencePieceModel::Parse(
        Trained({{"byte_fallback", "true"}, {"vocab_size", "600"}, {"model_type", type}}));
    model.RemoveCharsmap();
    model.SetSpacing(true, false);
    for (const Engine engine : {Engine::kOwn, Engine::kLibrary}) {
      const auto encoder = Loaded(model.Serialize(), engine, SpaceMarks::kBytes);
      SentencePieceEncoder::Scratch scratch;
      for (const std::string line : {"\u2581", "日\u2581本", "\u2581\u2581 a\u2581", "\ue000\u2581\ue000"}) {
        Ids found;
        ASSERT_TRUE(encoder->Encode(line, scratch, found.ids, found.ends).ok());
        EXPECT_EQ(encoder->Decode(found.ids).value(), line) << type;
        EXPECT_EQ(found.ends.back(), line.size());
      }
    }
  }
}

TEST(UnigramEncoderTest, WithoutBytePiecesSpaceMarksStaySpaces) {
  const std::string model = Trained({});
  Compared compared(model, SpaceMarks::kBytes), as_spaces(model);
  for (const char* line : {"a\u2581b", "\u2581"}) EXPECT_EQ(compared.Own(line), as_spaces.Own(line));
  EXPECT_FALSE(Loaded(model, Engine::kOwn, SpaceMarks::kBytes)->keeps_marks());
}

TEST(UnigramEncoderTest, EachRuleAboutSpacesGivesTheIdsOfTheLibrary) {
  for (const char* suffix : {"false", "true"}) {
    const std::string trained = Trained({{"treat_whitespace_as_suffix", suffix}});
    for (const bool prefix : {false, true})
      for (const bool removes : {false, true}) {
        SentencePieceModel model = *SentencePieceModel::Parse(trained);
        model.SetSpacing(prefix, removes);
        Compared(model.Serialize()).ExpectTheSameForMany();
      }
  }
}

TEST(UnigramEncoderTest, UserDefinedPiecesAreFoundBeforeAnyRule) {
  for (const char* rule : {"nmt_nfkc", "identity"})
    Compared(Trained({{"normalization_rule_name", rule},
                      {"user_defined_symbols", "<sep>,ㅋㅋ,です,a b, x,\u2581the,Ａ,２０,\u3000,  "},
                      {"control_symbols", "<c>"}}))
        .ExpectTheSameForMany();
}

TEST(UnigramEncoderTest, PiecesThatAreNotUsedAreNotFound) {
  SentencePieceModel model = *SentencePieceModel::Parse(Trained({}));
  model.AppendPiece({"か日", -0.5F, PieceType::kUnused});
  model.AppendPiece({"本か", -0.5F, PieceType::kNormal});
  model.AppendPiece({"本か日", -0.1F, PieceType::kUnused});
  Compared compared(model.Serialize());
  compared.ExpectTheSame("日本か日本か日");
  compared.ExpectTheSameForMany();
}

TEST(UnigramEncoderTest, TheFirstOfEqualWaysStays) {
  SentencePieceModel model = *SentencePieceModel::Parse("\x0a\x09\x0a\x05<unk>\x18\x02");
  for (const char* text : {"a", "b", "c", "ab", "bc", "abc", "ca"}) {
    const auto length = static_cast<float>(std::string_view(text).size());
    model.AppendPiece({text, -length, PieceType::kNormal});
  }
  model.SetSpacing(false, false);
  Compared compared(model.Serialize());
  for (const char* line : {"abc", "abcabc", "cabcab", "bcabca", "aabbcc"}) compared.ExpectTheSame(line);
}

TEST(UnigramEncoderTest, AModelWithoutNormalPiecesEncodesAsTheLibrary) {
  SentencePieceModel model = *SentencePieceModel::Parse("\x0a\x09\x0a\x05<unk>\x18\x02");
  model.AppendPiece({"ab", 0, PieceType::kUserDefined});
  model.SetSpacing(false, false);
  Compared compared(model.Serialize());
  for (const char* line : {"", "ab", "xab", "abx", "xxabxx"}) compared.ExpectTheSame(line);
}

TEST(UnigramEncoderTest, OtherTypesOfModelsGoToTheLibrary) {
  const std::string bpe = Trained({{"model_type", "bpe"}});
  EXPECT_EQ(UnigramEncoder::Make(*SentencePieceModel::Parse(bpe)), nullptr);
}

TEST(UnigramEncoderTest, ACharsmapThatGivesBrokenCharactersGoesToTheLibrary) {
  std::string bytes = Trained({});
  const std::string replacement("ガ\0", 4);
  const std::size_t at = bytes.find(replacement);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\xf3';
  EXPECT_EQ(UnigramEncoder::Make(*SentencePieceModel::Parse(bytes)), nullptr);
  const auto own = Loaded(bytes, Engine::kOwn), library = Loaded(bytes, Engine::kLibrary);
  SentencePieceEncoder::Scratch scratch;
  Ids left, right;
  ASSERT_TRUE(own->Encode("ｶﾞか", scratch, left.ids, left.ends).ok());
  ASSERT_TRUE(library->Encode("ｶﾞか", scratch, right.ids, right.ends).ok());
  EXPECT_EQ(left, right);
}

TEST(UnigramEncoderTest, BytesThatAreNotUtf8AreEncodedAsTheLibraryDoes) {
  const std::string model = Trained({});
  const auto own = Loaded(model, Engine::kOwn), library = Loaded(model, Engine::kLibrary);
  SentencePieceEncoder::Scratch scratch;
  Ids left, right;
  const std::string_view line("\xe3\x81 日\xff本\0語", 14);
  ASSERT_TRUE(own->Encode(line, scratch, left.ids, left.ends).ok());
  ASSERT_TRUE(library->Encode(line, scratch, right.ids, right.ends).ok());
  EXPECT_EQ(left, right);
}

}  // namespace
}  // namespace pipeline
