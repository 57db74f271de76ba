#include "text/mecab/lattice.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"
#include "tests/text/mecab/small_dictionary.h"
#include "tests/text/mecab/small_unidic.h"
#include "text/mecab/mecab_handle.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using Engine = MecabHandle::Engine;

const char kIpadic[] = "/var/lib/mecab/dic/ipadic-utf8";

// Parts of lines: words, spaces of all kinds, characters of each category and of none, and control
// characters.
constexpr std::array kParts = {
    "東京",     "都",     "に",     "住む",   "すもも", "も",     "もも",   "の",     "うち",     "って",
    "ない",     "し",     "い",     "かった", "食べ",   "走り",   "今日",   "一九",   "二〇二六", "百",
    "々",       "〆",     "カタ",   "カナ",   "ー",     "ｶﾀ",     "ﾞ",      "Ａ",     "ｂ",       "１２",
    "12,345",   "3.14",   "-",      "C++",    "the",    "iPhone", "www",    "α",      "Ж",        "가",
    "한국어",   "는",     "습니다", "ㅋㅋ",   "漢",     "龍",     "𠮷",     "😀",      "👨\u200d👩", "e\u0301",
    "か\u3099", " ",      "  ",     "\t",     "\n",     "\r\n",   "\u3000", "\u00a0", "\u200b",   "\u2028",
    "\ufeff",   "\uffff", "\u0085", "\x01",   "\x7f",   "。",     "、",     "「",     "」",       "！？",
    "…",        "(",      ")",      "$",      "%",      "①",      "㍿"};

std::string RandomLine(std::mt19937& random, std::size_t parts) {
  std::string line;
  for (std::size_t at = 0; at < parts; ++at) line += kParts[random() % kParts.size()];
  return line;
}

std::unique_ptr<MecabHandle> Opened(const std::string& directory, Engine engine) {
  auto handle = MecabHandle::Open(directory, engine);
  EXPECT_TRUE(handle.ok()) << handle.status().message();
  if (!handle.ok()) return nullptr;
  EXPECT_EQ((*handle)->engine(), engine);
  return std::move(handle).value();
}

/// "東京|都| に"
std::string Shown(Analyser& analyser, std::string_view line) {
  std::vector<std::string_view> morphemes;
  if (!analyser.Analyse(line, morphemes)) return "failed";
  std::string shown;
  std::size_t end = 0;
  for (const std::string_view morpheme : morphemes) {
    EXPECT_EQ(morpheme.data(), line.data() + end);
    end += morpheme.size();
    shown += StrCat(morpheme, "|");
  }
  return shown;
}

/// Both engines with one dictionary.
class Compared {
 public:
  explicit Compared(const std::string& directory)
      : own_(Opened(directory, Engine::kOwn)),
        library_(Opened(directory, Engine::kLibrary)),
        by_own_(own_->NewAnalyser()),
        by_library_(library_->NewAnalyser()) {}

  void ExpectTheSame(std::string_view line) {
    ASSERT_EQ(Shown(*by_own_, line), Shown(*by_library_, line)) << '"' << line << '"';
  }
  void ExpectTheSameForMany() {
    std::mt19937 random(11);
    for (int lines = 0; lines < 3'000; ++lines) ExpectTheSame(RandomLine(random, random() % 15));
    for (const char* part : kParts) {
      std::string line;
      for (int times = 0; times < 60; ++times) ExpectTheSame(line += part);
      while (line.size() < 8'000) line += part;
      ExpectTheSame(line);
    }
  }
  std::string Own(std::string_view line) { return Shown(*by_own_, line); }

 private:
  const std::unique_ptr<MecabHandle> own_, library_;
  const std::unique_ptr<Analyser> by_own_, by_library_;
};

TEST(LatticeTest, JapaneseHasTheMorphemesOfMecab) {
  Compared compared(kIpadic);
  EXPECT_EQ(compared.Own("すもももももも もものうち "), "すもも|も|もも|も| もも|の|うち|");
  compared.ExpectTheSameForMany();
}

TEST(LatticeTest, KoreanHasTheMorphemesOfMecab) {
  const std::string directory = SourceDir() + "/.dictionaries/mecab-ko-dic";
  ASSERT_TRUE(fs::exists(directory)) << "run ./dev dictionaries";
  Compared(directory).ExpectTheSameForMany();
}

TEST(LatticeTest, TheLayoutOfUnidicHasTheMorphemesOfMecab) {
  constexpr std::uint32_t kFew = 40, kMany = 50'000;  // more than 15 bits
  for (const auto& [right_ids, left_ids] : {std::pair(kFew, kMany), std::pair(kMany, kFew)}) {
    const TempDir directory;
    Compile(SmallUnidic(right_ids, left_ids), directory.path());
    Compared compared(directory.path().string());
    compared.ExpectTheSameForMany();
    // `max-grouping-size` of dicrc has no say: MeCab's own 24 comes first.
    EXPECT_EQ(compared.Own("αβγδεζηθικλμ"), "αβγδεζηθικλμ|");
  }
}

TEST(LatticeTest, AnyBytesHaveTheMorphemesOfMecab) {
  Compared compared(kIpadic);
  std::mt19937 random(3);
  for (int lines = 0; lines < 3'000; ++lines) {
    std::string line = RandomLine(random, 1 + random() % 12);
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes)
      line[random() % line.size()] = static_cast<char>(random());
    compared.ExpectTheSame(line);
  }
  compared.ExpectTheSame(std::string_view("東\0京\0", 8));
}

TEST(LatticeTest, TheLongestTextsHaveTheMorphemesOfMecab) {
  Compared compared(kIpadic);
  std::mt19937 random(5);
  std::string line;
  while (line.size() < kMostLatticeBytes - 20) line += kParts[random() % kParts.size()];
  line.resize(kMostLatticeBytes, ' ');
  compared.ExpectTheSame(line);
  line += '.';
  EXPECT_EQ(compared.Own(line), "failed");
  compared.ExpectTheSame("東京都");
}

// -------------------------------------------------------------------------- dictionaries with few costs

// Characters of a line; the dictionary has words of most of them.
constexpr std::array kCharacters = {"a", "b",  "1",  "あ",     "漢", "ー", "é",  " ",  "\u3000",
                                    "😀", "か", "\t", "\u00a0", "z",  "語", "７", "aa", "あああああ"};

/// Costs are few and small, so that many ways are equal; categories have any rules.
SmallDictionary RandomDictionary(std::mt19937& random) {
  const auto below = [&](std::uint32_t most) { return static_cast<int>(random() % most); };
  const int rights = 1 + below(5), lefts = 1 + below(4);
  const auto word = [&] { return StrCat(below(lefts), ",", below(rights), ",", below(5) - 2, ",*\n"); };
  SmallDictionary made;
  for (int surfaces = 0; surfaces < 80; ++surfaces) {
    std::string surface;
    for (int characters = 1 + below(4); characters > 0; --characters)
      surface += kCharacters[static_cast<std::size_t>(below(13))];
    for (int words = 1 + below(4); words > 0; --words) made.words += StrCat("\"", surface, "\",", word());
  }
  constexpr std::array kNames = {"DEFAULT", "SPACE", "A", "B", "C", "D"};
  for (const char* name : kNames) {
    made.characters += StrCat(name, " ", below(2), " ", below(2), " ", below(4), "\n");
    for (int words = 1 + below(3); words > 0; --words) made.unknown += StrCat(name, ",", word());
  }
  const auto give = [&](const char* code, bool is_space) {
    std::string names = is_space ? " SPACE" : "";
    for (const char* name : {"A", "B", "C", "D"})
      if (below(3) == 0) names = below(2) == 0 ? StrCat(names, " ", name) : StrCat(" ", name, names);
    if (!names.empty()) made.characters += StrCat(code, names, "\n");
  };
  for (const char* code : {"0x0020", "0x3000", "0x0009"}) give(code, true);
  for (const char* code :
       {"0x0000", "0x0031", "0x0061..0x0062", "0x3042", "0x6F22", "0x30FC", "0x00E9", "0x304B"})
    give(code, false);
  made.costs = StrCat(rights, " ", lefts, "\n");
  for (int right = 0; right < rights; ++right)
    for (int left = 0; left < lefts; ++left) made.costs += StrCat(right, " ", left, " ", below(4) - 1, "\n");
  return made;
}

TEST(LatticeTest, EqualWaysAndRulesOfCategoriesAreDecidedAsMecabDoes) {
  std::mt19937 random(17);
  for (int dictionaries = 0; dictionaries < 60; ++dictionaries) {
    const TempDir directory;
    Compile(RandomDictionary(random), directory.path());
    Compared compared(directory.path().string());
    for (int lines = 0; lines < 500; ++lines) {
      std::string line;
      for (std::size_t characters = random() % 40; characters > 0; --characters)
        line += kCharacters[random() % kCharacters.size()];
      compared.ExpectTheSame(line);
      if (HasFatalFailure()) return;
      if (line.empty()) continue;
      line[random() % line.size()] = static_cast<char>(random());
      compared.ExpectTheSame(line);
      if (HasFatalFailure()) return;
    }
  }
}

// ------------------------------------------------------------------------------ dictionaries that differ

class DictionaryFilesTest : public testing::Test {
 protected:
  DictionaryFilesTest() {
    std::mt19937 random(1);
    made_ = RandomDictionary(random);
    Compile(made_, directory_.path());
  }
  std::string directory() const { return directory_.path().string(); }
  Status Opening() const { return SegmentationModel::Open(directory()).status(); }
  void Change(const char* file, std::size_t offset, std::string_view bytes) {
    std::string all = ReadFile(directory_.path() / file);
    all.replace(offset, bytes.size(), bytes);
    WriteFile(directory_.path() / file, all);
  }

  TempDir directory_;
  SmallDictionary made_;
};

TEST_F(DictionaryFilesTest, ASurfaceWithTooManyWordsForTheFormatGoesToTheLibrary) {
  EXPECT_EQ(Opened(directory(), Engine::kOwn)->engine(), Engine::kOwn);
  for (int words = 0; words < 256; ++words) made_.words += "zzz,0,0,0,*\n";
  Compile(made_, directory_.path());
  EXPECT_EQ(Opening().code(), Code::kUnimplemented) << Opening().message();
  const auto handle = MecabHandle::Open(directory());
  ASSERT_TRUE(handle.ok()) << handle.status().message();
  EXPECT_EQ((*handle)->engine(), Engine::kLibrary);
}

TEST_F(DictionaryFilesTest, TheFormatOfTheOutputIsReadByNeitherEngine) {
  for (const char* format : {"wakati", "none", "em", "one-that-has-no-format"}) {
    WriteFile(directory_.path() / "dicrc",
              StrCat("bos-feature = BOS/EOS\noutput-format-type = ", format, "\n"));
    Compared compared(directory());
    for (const char* line : {"", "aab b1", "ああ漢 語ー7  "}) compared.ExpectTheSame(line);
  }
}

TEST_F(DictionaryFilesTest, ADamagedFileIsNamed) {
  for (const char* file : {"sys.dic", "unk.dic", "matrix.bin", "char.bin"}) {
    const std::string whole = ReadFile(directory_.path() / file);
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, whole.size() / 2, whole.size() - 1}) {
      WriteFile(directory_.path() / file, whole.substr(0, size));
      EXPECT_EQ(Opening().code(), Code::kFailedPrecondition) << file << size;
      EXPECT_NE(Opening().message().find(StrCat("/", file, ": is damaged")), std::string::npos)
          << Opening().message();
    }
    WriteFile(directory_.path() / file, whole);
  }
  EXPECT_TRUE(Opening().ok()) << Opening().message();
  fs::remove(directory_.path() / "matrix.bin");
  EXPECT_EQ(Opening().code(), Code::kFailedPrecondition);
}

TEST_F(DictionaryFilesTest, NumbersOutOfTheirBoundsAreFound) {
  constexpr std::size_t kUnits = 72;                                   // behind the header
  Change("sys.dic", kUnits, std::string_view("\xff\xff\xff\x7f", 4));  // the first step of all words
  EXPECT_EQ(Opening().code(), Code::kFailedPrecondition);
  EXPECT_NE(Opening().message().find("sys.dic: is damaged"), std::string::npos) << Opening().message();
  Compile(made_, directory_.path());
  const std::string whole = ReadFile(directory_.path() / "sys.dic");
  std::uint32_t trie_bytes = 0;
  std::copy_n(whole.data() + 24, sizeof(trie_bytes), reinterpret_cast<char*>(&trie_bytes));
  Change("sys.dic", kUnits + trie_bytes, "\xff\x7f");  // the left id of the first word
  EXPECT_NE(Opening().message().find("sys.dic: is damaged"), std::string::npos) << Opening().message();
}

TEST_F(DictionaryFilesTest, CostsOfAnotherDictionaryAreRefused) {
  WriteFile(directory_.path() / "matrix.bin", StrCat(std::string_view("\7\0\7\0", 4), std::string(98, '\0')));
  EXPECT_NE(Opening().message().find("they belong to two dictionaries"), std::string::npos)
      << Opening().message();
}

}  // namespace
}  // namespace pipeline
