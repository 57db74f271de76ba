#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "tests/stages/batches.h"
#include "tests/text/utf8.h"
#include "text/unicode.h"
#include "text/white_space.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

Json NormalizeConfig(std::string_view form, std::string_view whitespace = "collapse",
                     bool drop_empty = true) {
  Json config;
  config["form"] = form;
  config["whitespace"] = whitespace;
  config["drop_empty"] = drop_empty;
  return config;
}

/// What becomes of one line; empty lines are kept.
std::string Normalized(std::string_view form, const std::string& line,
                       std::string_view whitespace = "collapse") {
  const auto transform = MakeTransform(NormalizeType(), NormalizeConfig(form, whitespace, false));
  Batch batch = BatchOf({line});
  ApplyTo(batch, *transform);
  return LinesOf(batch).at(0);
}

struct Case {
  std::string before;
  std::string after;
};

// From the Unicode Character Database by hand, not from ICU.
TEST(NormalizeTest, NfkcFollowsTheStandard) {
  const Case cases[] = {
      {"ＡＢＣ１２３！？", "ABC123!?"},                // full-width
      {"ｶﾞｷﾞｸﾞ ﾊﾟﾋﾟ", "ガギグ パピ"},                  // half-width kana with their marks
      {"か\u3099は\u309a", "がぱ"},                    // combining dakuten and handakuten
      {"ｶ\u3099", "ガ"},                               // half-width base, combining mark
      {"か\u309b", "か \u3099"},                       // a spacing mark does not combine
      {"\ufdfa", "صلى الله عليه وسلم"},                // one becomes eighteen
      {"①㍿㌔ﬁ½", "1株式会社キロfi1\u20442"},          // compatibility characters
      {"e\u0301a\u0323\u0307", "éạ\u0307"},            // composition, marks in order
      {"a\u0307\u0323", "ạ\u0307"},                    // marks out of order
      {"\u1112\u1161\u11ab글", "한글"},                // conjoining jamo
      {"👩\u200d👧🏽", "👩\u200d👧🏽"},    // emoji: nothing changes, not the joiner either
      {"神\ufa19", "神神"},                            // a compatibility ideograph
      {"\U0001d400\U0002f800", "A丽"},                 // beyond U+FFFF
      {"…―「」、。々〆ーゝ", "...―「」、。々〆ーゝ"},  // of these only the ellipsis
      {"～〜", "~〜"},                                 // full-width tilde, not the wave dash
      {"一\u3000二", "一 二"},                         // ideographic space
      {"plain ASCII, untouched.", "plain ASCII, untouched."},
  };
  for (const Case& c : cases) EXPECT_EQ(Normalized("nfkc", c.before), c.after) << c.before;
}

TEST(NormalizeTest, NfcComposesAndLeavesWidthsAlone) {
  const Case cases[] = {
      {"か\u3099e\u0301", "がé"}, {"ＡｶﾞＢ", "ＡｶﾞＢ"}, {"①…～", "①…～"}, {"\u212b", "Å"}, {"\ufa19", "神"}};
  for (const Case& c : cases) EXPECT_EQ(Normalized("nfc", c.before), c.after) << c.before;
}

TEST(NormalizeTest, NmtNfkcFollowsSentencePiece) {
  const Case cases[] = {
      {"ＡＢＣ ｶﾞ…", "ABC ガ..."},       // NFKC otherwise
      {"10～20", "10～20"},              // the full-width tilde stays
      {"か\u3099～か\u3099", "が～が"},  // and what is around it is composed
      {"a\x01\x1f\u008f"s + "b", "ab"},  // control characters go
      {"a\u200b\u200eb", "a b"},         // zero width becomes a space
      {"a\u200db", "a\u200db"},          // but the joiner does not
      {"▁the▁cat", "the cat"},           // the piece mark
      {"bad\ufffdbyte", "bad byte"},     // the replacement character
  };
  for (const Case& c : cases) EXPECT_EQ(Normalized("nmt_nfkc", c.before), c.after) << c.before;
  EXPECT_EQ(Normalized("nmt_nfkc", "a\t\u2581\u2581b\x02", "keep"), "a   b");
  EXPECT_EQ(Normalized("nmt_nfkc", "a\0b"s, "keep"), "a\0b"s);
}

std::string Lowered(std::string_view letter_case, std::string_view form, const std::string& line) {
  Json config = NormalizeConfig(form, "collapse", false);
  config["case"] = letter_case;
  const auto transform = MakeTransform(NormalizeType(), config);
  Batch batch = BatchOf({line});
  ApplyTo(batch, *transform);
  return LinesOf(batch).at(0);
}

// From the Unicode Character Database (SpecialCasing.txt) by hand, not from ICU.
TEST(NormalizeTest, LowerCaseIsThatOfNoLanguage) {
  const Case cases[] = {
      {"The QUICK Brown", "the quick brown"},
      {"日本語ABCですNHK", "日本語abcですnhk"},
      {"ＮＨＫ㎞ÀÉ", "nhkkmàé"},  // after the form
      {"ISPARTA İZMİR ılık", "isparta i\u0307zmi\u0307r ılık"},
      {"ΟΔΥΣΣΕΥΣ", "οδυσσευς"},  // the last sigma of a word
      {"ΑΣ ΣΑΣ Σ ΑΣ' Α'Σ ΑΣ.Β", "ας σας σ ας' α'ς ασ.β"},
      {"xx\u0301'Σ", "xx\u0301'ς"},  // which goes by what stands before, however far
      {"aΣ", "aς"},
      {"STRASSE STRAẞE", "strasse straße"},
      {"J\u030c H\u0331", "ǰ ẖ"},  // which compose when they are small
      {"ДОМ ᏣᎳᎩ 𐐀", "дом \uabb3\uab83\uab79 𐐨"},
      {"한글 カタカナ", "한글 カタカナ"},
      {" A  B\u3000", "a b"},
      {"", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(Lowered("lower", "nfkc", c.before), c.after) << c.before;
  EXPECT_EQ(Lowered("lower", "nfc", "ＮＨＫ"), "ｎｈｋ");
  EXPECT_EQ(Lowered("lower", "none", "ＮＨＫ J\u030c"), "ｎｈｋ j\u030c");
  EXPECT_EQ(Lowered("lower", "nmt_nfkc", "▁ＡＢ～Ｃ\x01\u0301"), "ab～\u0107");
}

TEST(NormalizeTest, LowerAsciiIsAToZAlone) {
  EXPECT_EQ(Lowered("lower_ascii", "nfkc", "@AZ[`az{ ÉΣİＮ"), "@az[`az{ ÉΣİn");
  EXPECT_EQ(Lowered("lower_ascii", "nfc", "J\u030c ＮHK"), "ǰ Ｎhk");
  EXPECT_EQ(Lowered("lower_ascii", "none", "J\u030c日本A"), "j\u030c日本a");
}

TEST(NormalizeTest, LowerCaseIsTheSameWithAndWithoutShortCuts) {
  std::mt19937 random(29);
  const std::vector<std::string> pieces = {"a",  "A",      "É", "Σ", "σ", "'", "\u0301", "\u00ad", "日",
                                           "が", "\u3099", ".", " ", "İ", "J", "\u030c", "Ａ",     "1"};
  std::vector<std::string> lines(3000), far;
  for (std::string& line : lines) {
    for (std::size_t count = random() % 12; count > 0; --count) line += pieces[random() % pieces.size()];
    far.push_back("\u00c0 " + line);  // a character that is not stable in front: the whole takes the long way
  }
  for (const char* form : {"none", "nfc", "nfkc"}) {
    Json config = NormalizeConfig(form, "collapse", false);
    config["case"] = "lower";
    const auto transform = MakeTransform(NormalizeType(), config);
    const auto lower = [&transform](const std::vector<std::string>& of) {
      Batch batch = BatchOf(of);
      ApplyTo(batch, *transform);
      return LinesOf(batch);
    };
    const std::vector<std::string> once = lower(lines);
    EXPECT_EQ(lower(once), once);
    std::vector<std::string> wanted;
    for (const std::string& line : once) wanted.push_back(line.empty() ? "à" : "à " + line);
    EXPECT_EQ(lower(far), wanted);
  }
}

TEST(NormalizeTest, JamoStayWhereAskedTo) {
  const auto kept = [](std::string_view form, const std::string& line) {
    Json config = NormalizeConfig(form);
    config["keep_jamo"] = true;
    Batch batch = BatchOf({line});
    ApplyTo(batch, *MakeTransform(NormalizeType(), config));
    return LinesOf(batch).at(0);
  };
  const Case cases[] = {
      {"ㅋㅋㅠㅠ", "ㅋㅋㅠㅠ"},             // they would be U+110F, U+D050, U+1172
      {"ㅋㅋ  ㅠㅠ", "ㅋㅋ ㅠㅠ"},          // white space as ever
      {"ㄱㅏ가ㄳ", "ㄱㅏ가ㄳ"},             // nothing joins them, and they join nothing
      {"ﾻﾻￂ", "ㅋㅋㅏ"},                    // half-width ones become them
      {"\u1112\u1161\u11ab", "한"},         // conjoining ones are composed
      {"㉠ ㈎", "\u1100 (가)"},             // enclosed ones are no jamo of chat
      {"ㅋＡ①ㅋか\u3099ㅠ", "ㅋA1ㅋがㅠ"},  // everything else follows the form
      {"e\u0301ㅋ\u0301", "éㅋ\u0301"},     // a mark stays where it is
      {"\uffbf\uffdd", "\uffbf\uffdd"},     // not assigned
  };
  for (const std::string_view form : {"nfkc", "nmt_nfkc"})
    for (const Case& c : cases) EXPECT_EQ(kept(form, c.before), c.after) << form << " " << c.before;
  EXPECT_EQ(Normalized("nfkc", "ㅋㅋㅠㅠ"), "\u110f큐\u1172");
  EXPECT_EQ(Normalized("nfkc", "가ㄳ"), "갃");
}

TEST(NormalizeTest, KeepingJamoIsInTheRecipeOnlyWhereItIsAskedForAndNoMatterOfFormsThatChangeNone) {
  const StageType type = NormalizeType();
  Schema schema = TextSchema();
  for (const std::string_view form : {"nfc", "none"}) {
    Json config = NormalizeConfig(form);
    EXPECT_FALSE(CanonicalConfig(type.keys, config).Has("keep_jamo"));
    EXPECT_TRUE(type.check(config, schema).ok());
    config["keep_jamo"] = true;
    EXPECT_EQ(type.check(config, schema).message(),
              "keep_jamo: this form changes no jamo; leave the key out, or set form: nfkc");
  }
}

TEST(NormalizeTest, TheCaseIsInTheRecipeOnlyWhereItIsGiven) {
  const ConfigKey* found = nullptr;
  const StageType type = NormalizeType();
  for (const ConfigKey& key : type.keys)
    if (key.name == "case") found = &key;
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->fallback, "~");
  Json plain = NormalizeConfig("nfkc");
  EXPECT_FALSE(CanonicalConfig(type.keys, plain).Has("case"));
  plain["case"] = "lower";
  EXPECT_EQ(CanonicalConfig(type.keys, plain)["case"].AsString(), "lower");
}

TEST(NormalizeTest, NoneChangesWhiteSpaceAlone) {
  EXPECT_EQ(Normalized("none", "\u3000Ａ\tか\u3099  B \U0001f431"), "Ａ か\u3099 B \U0001f431");
  EXPECT_EQ(Normalized("none", "\u3000Ａ\t ", "keep"), "\u3000Ａ\t ");
}

TEST(NormalizeTest, NulAndOtherControlsAreWhiteSpace) {
  EXPECT_EQ(Normalized("nfkc", "\0a\0b\x1b[0m\x7f"s), "a b [0m");
  EXPECT_EQ(Normalized("nfkc", "a\r"), "a");
}

TEST(NormalizeTest, SpacesThatTheFormMakesCollapseToo) {
  EXPECT_EQ(Normalized("nfkc", "a \u00a8 b"), "a \u0308 b");  // U+00A8 is a space and a mark
  EXPECT_EQ(Normalized("nfkc", "\u00a8"), "\u0308");
  EXPECT_EQ(Normalized("nfkc", "\u00a8 ", "keep"), " \u0308 ");
}

TEST(NormalizeTest, EmptyLinesAreDroppedCountedAndKeptInQuarantine) {
  const auto transform = MakeTransform(NormalizeType(), NormalizeConfig("nfkc"));
  Batch batch = BatchOf({"猫", "\u3000 ", "Ａ", "", "犬"});
  batch.split = {0, 1, 2, 3, 4};
  batch.heads[4].sub = 7;
  const StageCounts counts = ApplyTo(batch, *transform);

  EXPECT_EQ(LinesOf(batch), (std::vector<std::string>{"猫", "A", "犬"}));
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch.heads[1].index, 2u);
  EXPECT_EQ(batch.heads[2].index, 4u);
  EXPECT_EQ(batch.heads[2].sub, 7u);
  EXPECT_EQ(batch.split, (std::vector<std::uint8_t>{0, 2, 4}));
  EXPECT_EQ(counts.reasons,
            (std::map<std::string, std::uint64_t, std::less<>>{{"altered", 1}, {"dropped_empty", 2}}));
  ASSERT_EQ(batch.quarantine.size(), 2u);
  EXPECT_EQ(batch.quarantine[0].stage, 1u);
  EXPECT_EQ(batch.quarantine[0].index, 1u);
  EXPECT_EQ(batch.quarantine[0].reason, "dropped_empty");
  EXPECT_EQ(batch.quarantine[0].bytes, "\u3000 ");
}

TEST(NormalizeTest, EmptyLinesStayWhenAskedTo) {
  const auto transform = MakeTransform(NormalizeType(), NormalizeConfig("nfkc", "collapse", false));
  Batch batch = BatchOf({" ", "a"});
  const StageCounts counts = ApplyTo(batch, *transform);
  EXPECT_EQ(LinesOf(batch), (std::vector<std::string>{"", "a"}));
  EXPECT_TRUE(batch.quarantine.empty());
  EXPECT_EQ(counts.reasons.count("dropped_empty"), 0u);
}

TEST(NormalizeTest, AWorkerKeepsNothingOfABatch) {
  const auto transform = MakeTransform(NormalizeType(), NormalizeConfig("nfkc"));
  auto worker = transform->NewWorker();
  ASSERT_TRUE(worker.ok());
  StageCounts counts;
  Batch first = BatchOf({"Ａ", "　"});
  Batch empty = BatchOf({});
  Batch second = BatchOf({"Ｂ"});
  for (Batch* batch : {&first, &empty, &second}) EXPECT_TRUE((*worker)->Apply(*batch, 1, counts).ok());
  EXPECT_EQ(LinesOf(first), std::vector<std::string>{"A"});
  EXPECT_EQ(LinesOf(empty), std::vector<std::string>{});
  EXPECT_EQ(LinesOf(second), std::vector<std::string>{"B"});
}

/// The rules of stages/lines/normalize.md in the order in which they are written, without a short cut.
std::string InSlowMotion(NormalForm form, Jamo jamo, std::string_view line) {
  std::string out;
  EXPECT_TRUE(AppendNormalForm(form, line, out, jamo).ok());
  CollapseWhiteSpace(out, 0);
  return std::string(StripWhiteSpace(out));
}

TEST(NormalizeTest, ShortCutsChangeNoByte) {
  // Everything that composes, decomposes, vanishes or is white, next to what does none of it.
  const std::vector<std::string> pieces = {
      "あ", "か", "が", "\u3099", "\u309a", "\u309b", "ｶ", "ﾞ", "猫", "ー", "。", "a", "e", "é", "\u0301",
      "\u0323", "\u0345", " ", " ", "\u3000", "\u00a0", "\t", "\x01", "\x7f", "\u0085", "\u008f", "\0"s, "Ａ",
      "！", "…", "～", "\ufdfa", "\u00a8", "\u200b", "\u200d", "\u2581", "\ufffd", "\ufeff", "\u1112",
      "\u1161", "\u11ab", "한", "ㅋ", "ㅠ", "ㄳ", "ﾻ", "ￂ", "\u3164", "㉠", "가", "\u0915", "\u093c",
      "\u09c7", "\u09be", "\u0f71", "\u0f72", "\u1680", "\u2028", "👩", "\U0001d400", "\U000110ba",
      // Runs that are copied between two that are not.
      "猫が鳴くので起きた", " a run of several words ", "e  and more, after two",
      "\u3000字下げのある長い行だ"};
  const std::pair<std::string, NormalForm> forms[] = {{"nfc", NormalForm::kNfc},
                                                      {"nfkc", NormalForm::kNfkc},
                                                      {"nmt_nfkc", NormalForm::kNmtNfkc},
                                                      {"none", NormalForm::kNone}};
  std::mt19937 random(1);
  std::vector<std::string> lines;
  for (const std::string& a : pieces)
    for (const std::string& b : pieces) lines.push_back(a + b), lines.push_back("か" + a + b + "あ");
  for (int i = 0; i < 4000; ++i) {
    std::string line;
    for (auto left = random() % 12; left > 0; --left) line += pieces[random() % pieces.size()];
    lines.push_back(line);
    for (auto left = random() % 12; left > 0; --left)  // the last ones, mostly
      line += pieces[random() % 3 > 0 ? pieces.size() - 1 - random() % 4 : random() % pieces.size()];
    lines.push_back(line);
  }
  std::vector<std::pair<Json, std::pair<NormalForm, Jamo>>> settings;
  for (const auto& [name, form] : forms)
    settings.push_back({NormalizeConfig(name, "collapse", false), {form, Jamo::kCompose}});
  for (const std::string_view name : {"nfkc", "nmt_nfkc"}) {
    settings.push_back({NormalizeConfig(name, "collapse", false),
                        {name == "nfkc" ? NormalForm::kNfkc : NormalForm::kNmtNfkc, Jamo::kKeep}});
    settings.back().first["keep_jamo"] = true;
  }
  for (const auto& [config, rule] : settings) {
    const auto [form, jamo] = rule;
    const std::string name = config.Dump();
    const auto transform = MakeTransform(NormalizeType(), config);
    Batch batch = BatchOf(lines);
    ApplyTo(batch, *transform);
    for (std::size_t i = 0; i < lines.size(); ++i)
      ASSERT_EQ(batch.text[i], InSlowMotion(form, jamo, lines[i]))
          << name << ": " << testing::PrintToString(lines[i]);

    if (form == NormalForm::kNmtNfkc) continue;  // see stages/lines/normalize.md
    const std::vector<std::string> once = LinesOf(batch);
    ApplyTo(batch, *transform);
    EXPECT_EQ(LinesOf(batch), once) << name << " again";
  }
}

TEST(NormalizeTest, EveryCodePointGoesThroughTheShortCutUnharmed) {
  const CodePointSet stable = StableCodePoints(NormalForm::kNfkc);
  std::size_t changed = 0;
  for (char32_t c = 0x21; c < 0x10000; ++c) {
    if ((0xd800 <= c && c < 0xe000) || !stable.Has(c)) continue;
    const std::string utf8 = Utf8(c);
    // Bases that much composes with.
    const std::string line = utf8 + "か" + utf8 + "a" + utf8 + "\u1112" + utf8 + "\u0915" + utf8;
    std::string out;
    ASSERT_TRUE(AppendNormalForm(NormalForm::kNfkc, line, out).ok());
    if (out != line) ++changed;
  }
  EXPECT_EQ(changed, 0u);
  for (const char32_t c : {U'あ', U'が', U'ー', U'猫', U'a', U'한', U'。'}) EXPECT_TRUE(stable.Has(c));
  for (const char32_t c : {U'\u3099', U'ｶ', U'Ａ', U'\u0301', U'\u1161', U'…'}) EXPECT_FALSE(stable.Has(c));
}

TEST(NormalizeTest, EachFieldIsALineOfItsOwn) {
  const auto batch_of = [](const std::vector<std::vector<std::string>>& rows) {
    Batch batch = BatchOf({});
    for (const std::vector<std::string>& fields : rows) {
      batch.heads.push_back({batch.heads.size(), 0, 0, 0});
      std::string text;
      for (const std::string& field : fields) {
        text += (text.empty() ? "" : " ") + field;
        batch.fields.open_row().push_back(static_cast<std::uint32_t>(text.size()));
      }
      batch.fields.CloseRow();
      batch.text.Append(text);
    }
    return batch;
  };
  Batch batch = batch_of({{" ｶ", "\u3099 ａ"}, {"x", "\u3000"}, {"b  c", "d"}});
  const StageCounts counts = ApplyTo(batch, *MakeTransform(NormalizeType(), NormalizeConfig("nfkc")));
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(FieldsOf(batch, 0), "[カ][\u3099 a]");  // nothing composes over the border
  EXPECT_EQ(FieldsOf(batch, 1), "[b c][d]");
  EXPECT_EQ(counts.reasons, (decltype(counts.reasons){{"altered", 2}, {"dropped_empty", 1}}));
  ASSERT_EQ(batch.quarantine.size(), 1u);
  EXPECT_EQ(batch.quarantine[0].bytes, "x \u3000");

  Batch kept = batch_of({{"x", "\u3000"}});
  ApplyTo(kept, *MakeTransform(NormalizeType(), NormalizeConfig("nfkc", "collapse", false)));
  EXPECT_EQ(FieldsOf(kept, 0), "[x][]");
}

TEST(NormalizeTest, TheTypeNamesItsLibraryAndNeedsText) {
  const StageType type = NormalizeType();
  EXPECT_EQ(type.libraries.at("icu"), IcuVersion());
  Schema text = TextSchema();
  EXPECT_TRUE(type.check(NormalizeConfig("nfkc"), text).ok());
  Schema none;
  EXPECT_EQ(type.check(NormalizeConfig("nfkc"), none).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
