#include <gtest/gtest.h>
#include <mecab.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "tests/stages/batches.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"
#include "text/mecab/mecab_handle.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using Cuts = std::vector<std::uint32_t>;

// What `./dev dictionaries` makes.
const DictionaryPlaces kLocations = {SourceDir() + "/.dictionaries"};

Json SegmentConfig(std::string_view dictionary, std::string_view engine = "own") {
  Json config;
  config["dictionary"] = dictionary;
  config["engine"] = engine;
  return config;
}

std::unique_ptr<Transform> MakeSegmenter(std::string_view dictionary, std::string_view engine = "own") {
  return MakeTransform(SegmentWordsType(kLocations), SegmentConfig(dictionary, engine));
}

std::string WhyNoSegmenter(std::string_view dictionary, std::string_view engine = "own") {
  const StageType type = SegmentWordsType(kLocations);
  const auto made = type.transform()->make({"words", SegmentConfig(dictionary, engine), TextSchema()});
  return made.ok() ? "it can" : std::string(made.status().message());
}

Cuts CutsOf(const Batch& batch, std::size_t row) {
  const auto cuts = batch.cuts[row];
  return {cuts.begin(), cuts.end()};
}

/// "猫|が| 好き"
std::string Shown(const Batch& batch, std::size_t row) {
  std::string shown;
  std::size_t begin = 0;
  for (const std::uint32_t end : batch.cuts[row]) {
    if (begin > 0) shown += '|';
    shown += batch.text[row].substr(begin, end - begin);
    begin = end;
  }
  return shown;
}

void ExpectWhole(const Batch& batch) {
  ASSERT_EQ(batch.cuts.size(), batch.size());
  for (std::size_t row = 0; row < batch.size(); ++row) {
    std::uint32_t last = 0;
    for (const std::uint32_t cut : batch.cuts[row]) {
      ASSERT_GT(cut, last);
      last = cut;
    }
    ASSERT_EQ(last, batch.text[row].size());
  }
}

TEST(SegmentWordsTest, TheExampleOfTheDocument) {
  Batch batch = BatchOf({"猫が 好き。"});
  const StageCounts counts = ApplyTo(batch, *MakeSegmenter("ipadic"));
  EXPECT_EQ(CutsOf(batch, 0), (Cuts{3, 6, 13, 16}));
  EXPECT_EQ(Shown(batch, 0), "猫|が| 好き|。");
  EXPECT_TRUE(counts.reasons.empty());
  EXPECT_EQ(LinesOf(batch), (std::vector<std::string>{"猫が 好き。"}));
}

TEST(SegmentWordsTest, EveryByteIsInOneMorpheme) {
  Batch batch = BatchOf({"", " ", "  猫  ", "\t", "日本語とEnglishと１２３", "😀😀 猫", "ABC\u3000DEF",
                         "\u3000", "e\u0301 か\u3099", "\r\n", "…", "\x01\x7f", "한국어"});
  const StageCounts counts = ApplyTo(batch, *MakeSegmenter("ipadic"));
  ExpectWhole(batch);
  EXPECT_TRUE(counts.reasons.empty());
  EXPECT_TRUE(CutsOf(batch, 0).empty());
  EXPECT_EQ(Shown(batch, 2), "  猫  ");
}

TEST(SegmentWordsTest, ALineIsAnalysedAsMecabDoes) {
  const std::vector<std::string> lines = {
      "すもももももももものうち", "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。",
      "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。",
      "東京都に住む2,345人のうち、C++20を使うのは12.5%だった。", "ｶﾀｶﾅとＦＵＬＬ幅"};
  Batch batch = BatchOf(lines);
  ApplyTo(batch, *MakeSegmenter("ipadic"));
  const std::string directory = *FindDictionary("ipadic", {});
  const std::unique_ptr<MeCab::Tagger> tagger(
      MeCab::createTagger(StrCat("-r /dev/null -Owakati -d ", directory).c_str()));
  for (std::size_t row = 0; row < lines.size(); ++row) {
    std::string words = tagger->parse(lines[row].c_str());  // "すもも も もも \n"
    words.resize(words.size() - 2);
    std::replace(words.begin(), words.end(), ' ', '|');
    EXPECT_EQ(Shown(batch, row), words);
  }
}

TEST(SegmentWordsTest, EachEngineFindsTheSameMorphemes) {
  // The next line of a batch begins right behind the white space: it is no part of the line before.
  const std::vector<std::string> lines = {"東京都に住む ",    "京都大学", " \u3000",
                                          "한국어 형태소를 ", "C++20 😀 ", "もももももも"};
  for (const char* dictionary : {"ipadic", "ko"}) {
    Batch by_own = BatchOf(lines), by_library = BatchOf(lines);
    ApplyTo(by_own, *MakeSegmenter(dictionary, "own"));
    ApplyTo(by_library, *MakeSegmenter(dictionary, "mecab"));
    ExpectWhole(by_own);
    for (std::size_t row = 0; row < lines.size(); ++row)
      EXPECT_EQ(Shown(by_own, row), Shown(by_library, row));
  }
}

TEST(SegmentWordsTest, AMegabyteWithoutASentenceEndIsCutAndCounted) {
  std::string line;
  while (line.size() < 1 << 20) line += "すもももももももものうちに";
  Batch batch = BatchOf({line, "猫。"});
  const StageCounts counts = ApplyTo(batch, *MakeSegmenter("ipadic"));
  ExpectWhole(batch);
  EXPECT_EQ(batch.text[0], line);
  EXPECT_EQ(counts.reasons.at("cut_inside_sentence"), 1u);
  EXPECT_EQ(counts.reasons.size(), 1u);
  EXPECT_TRUE(batch.quarantine.empty());
  EXPECT_GT(batch.cuts[0].size(), line.size() / 12);
}

TEST(SegmentWordsTest, SentencesOfALongLineDoNotSeeEachOther) {
  std::string line;
  while (line.size() < 50'000) line += "吾輩は猫である。名前はまだ無い。";
  Batch batch = BatchOf({line, "吾輩は猫である。名前はまだ無い。"});
  const StageCounts counts = ApplyTo(batch, *MakeSegmenter("ipadic"));
  ExpectWhole(batch);
  EXPECT_TRUE(counts.reasons.empty());
  const std::string once = Shown(batch, 1);
  EXPECT_EQ(Shown(batch, 0).substr(0, once.size()), once);
}

TEST(SegmentWordsTest, WorkersOnManyThreadsGiveTheSame) {
  const auto transform = MakeSegmenter("ipadic");
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i)
    lines.push_back(
        StrCat("第", i, "回、吾輩は猫である。", std::string(static_cast<std::size_t>(i) % 7, ' ')));
  Batch expected = BatchOf(lines);
  ApplyTo(expected, *transform);
  std::vector<Batch> batches(4, BatchOf(lines));
  std::vector<std::thread> threads;
  for (Batch& batch : batches) threads.emplace_back([&batch, &transform] { ApplyTo(batch, *transform); });
  for (std::thread& thread : threads) thread.join();
  for (const Batch& batch : batches)
    for (std::size_t row = 0; row < lines.size(); ++row) ASSERT_EQ(CutsOf(batch, row), CutsOf(expected, row));
}

TEST(SegmentWordsTest, AWorkerIsReusedWithoutATrace) {
  const auto transform = MakeSegmenter("ipadic");
  auto worker = transform->NewWorker();
  ASSERT_TRUE(worker.ok());
  for (const char* line : {"東京都に住む", "猫", "東京都に住む"}) {
    Batch batch = BatchOf({line});
    Batch fresh = BatchOf({line});
    StageCounts counts;
    ASSERT_TRUE((*worker)->Apply(batch, 1, counts).ok());
    ApplyTo(fresh, *transform);
    EXPECT_EQ(CutsOf(batch, 0), CutsOf(fresh, 0));
  }
}

TEST(SegmentWordsTest, KoreanHasMorphemesInsideOfWords) {
  ASSERT_TRUE(FindDictionary("ko", kLocations).ok()) << "run ./dev dictionaries";
  Batch batch = BatchOf({"한국어 형태소를 분석합니다.", "아버지가방에들어가신다"});
  const StageCounts counts = ApplyTo(batch, *MakeSegmenter("ko"));
  EXPECT_EQ(Shown(batch, 0), "한국어| 형태소|를| 분석|합니다|.");
  EXPECT_EQ(Shown(batch, 1), "아버지|가|방|에|들어가|신다");
  EXPECT_TRUE(counts.reasons.empty());
}

// --------------------------------------------------------------------------------- dictionaries

/// A directory with the files of ipadic, as links.
class DictionaryTest : public testing::Test {
 protected:
  DictionaryTest() {
    const Result<std::string> found = FindDictionary("ipadic", {});
    EXPECT_TRUE(found.ok()) << found.status().message();
    if (!found.ok()) return;
    ipadic_ = *found;
    directory_ = temp_.path() / "my dictionary";
    fs::create_directory(directory_);
    for (const char* file : {"sys.dic", "unk.dic", "matrix.bin", "char.bin", "dicrc"})
      fs::create_symlink(ipadic_ / file, directory_ / file);
  }
  /// Replaces the link by a copy with `bytes` at `offset`.
  void Patch(const std::string& file, std::size_t offset, std::string_view bytes) {
    fs::remove(directory_ / file);
    fs::copy_file(ipadic_ / file, directory_ / file);
    fs::permissions(directory_ / file, fs::perms::owner_write, fs::perm_options::add);
    std::fstream stream(directory_ / file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream << bytes;
  }

  TempDir temp_;
  fs::path ipadic_;
  fs::path directory_;
};

TEST_F(DictionaryTest, APathIsTakenAsItIs) {
  Batch batch = BatchOf({"すもももももももものうち"});
  ApplyTo(batch, *MakeSegmenter(directory_.string()));
  EXPECT_EQ(Shown(batch, 0), "すもも|も|もも|も|もも|の|うち");
}

TEST_F(DictionaryTest, NoRcFileHasASay) {
  // MECABRC names a dictionary that is not there: MeCab by itself would fail.
  setenv("MECABRC", "/nowhere/mecabrc", 1);
  EXPECT_EQ(WhyNoSegmenter(directory_.string()), "it can");
  unsetenv("MECABRC");
}

TEST_F(DictionaryTest, AnotherCharsetIsNamedAndRefused) {
  Patch("sys.dic", 40, std::string_view("EUC-JP\0", 7));
  EXPECT_EQ(
      WhyNoSegmenter(directory_.string()),
      StrCat("dictionary ", directory_.string(),
             ": is in the charset EUC-JP, and text here is UTF-8; name the directory that mecab-dict-index "
             "wrote, made with -t utf-8"));
}

TEST_F(DictionaryTest, ADamagedDictionaryIsAnErrorNotAnEnd) {
  for (const char* file : {"sys.dic", "unk.dic", "matrix.bin", "char.bin"}) {
    fs::remove(directory_ / file);
    std::ofstream(directory_ / file) << "short";
    const std::string why = WhyNoSegmenter(directory_.string()),
                      by_mecab = WhyNoSegmenter(directory_.string(), "mecab");
    EXPECT_NE(why.find(StrCat(file, ": is damaged")), std::string::npos) << why;
    const char* says = file == std::string("sys.dic") ? "sys.dic: is damaged" : "MeCab cannot load it";
    EXPECT_NE(by_mecab.find(says), std::string::npos) << file << ": " << by_mecab;
    fs::remove(directory_ / file);
    std::ofstream empty(directory_ / file);
    for (const char* engine : {"own", "mecab"})
      EXPECT_NE(WhyNoSegmenter(directory_.string(), engine), "it can") << file;
    fs::remove(directory_ / file);
    fs::create_symlink(ipadic_ / file, directory_ / file);
  }
  Patch("sys.dic", 4, "\1");  // the version
  EXPECT_NE(WhyNoSegmenter(directory_.string()).find("has version 1 of the format, not 102"),
            std::string::npos);
}

TEST_F(DictionaryTest, AUserDictionaryIsRefused) {
  Patch("sys.dic", 8, "\1");  // its type becomes that of a user dictionary
  fs::rename(directory_ / "sys.dic", directory_ / "user.dic");
  fs::create_symlink(ipadic_ / "sys.dic", directory_ / "sys.dic");
  Patch("dicrc", 0, "");
  std::ofstream(directory_ / "dicrc", std::ios::app)
      << "\nuserdic = " << temp_.path().string() << "/user.dic\n";
  fs::rename(directory_ / "user.dic", temp_.path() / "user.dic");
  EXPECT_NE(WhyNoSegmenter(directory_.string()).find("its dicrc names the user dictionary"),
            std::string::npos)
      << WhyNoSegmenter(directory_.string());
}

TEST_F(DictionaryTest, WhatIsMissingIsNamed) {
  fs::remove(directory_ / "matrix.bin");
  EXPECT_EQ(
      WhyNoSegmenter(directory_.string()),
      StrCat(
          "dictionary '", directory_.string(), "': ", directory_.string(),
          " holds no file matrix.bin; name the directory that mecab-dict-index wrote, made with -t utf-8"));
  EXPECT_NE(WhyNoSegmenter("/nowhere/at/all").find("/nowhere/at/all holds no file sys.dic"),
            std::string::npos);
}

TEST_F(DictionaryTest, ANameIsFoundInThePlacesFirst) {
  const fs::path place = temp_.path() / "places";
  fs::create_directory(place);
  fs::create_directory_symlink(directory_, place / "ipadic");
  EXPECT_EQ(*FindDictionary("ipadic", {}), ipadic_);
  // Its better directory, of any place, comes first: Debian's `ipadic` is EUC-JP.
  EXPECT_EQ(*FindDictionary("ipadic", {place.string()}), ipadic_);
  fs::create_directory_symlink(directory_, place / "ipadic-utf8");
  EXPECT_EQ(*FindDictionary("ipadic", {"/nowhere", place.string()}), place / "ipadic-utf8");
}

TEST_F(DictionaryTest, TheFilesThatHaveASayAreListed) {
  const StageType type = SegmentWordsType({});
  std::uint64_t bytes = 0;
  for (const std::string& dictionary : {std::string("ipadic"), directory_.string()}) {
    const auto files = type.files(SegmentConfig(dictionary));
    ASSERT_TRUE(files.ok());
    ASSERT_EQ(files->size(), 5u);
    const bool named = dictionary == "ipadic";
    EXPECT_EQ(files->front().name, named ? "dictionary ipadic/sys.dic" : "dictionary sys.dic");
    EXPECT_EQ(files->front().of_machine, named);
    bytes = 0;
    for (const StageFile& file : *files) bytes += fs::file_size(file.path);
    EXPECT_EQ(type.model_memory(SegmentConfig(dictionary)), bytes);
  }
  EXPECT_GT(bytes, 50'000'000u);
  EXPECT_EQ(type.files(SegmentConfig("/nowhere/at/all")).status().code(), Code::kNotFound);
  EXPECT_EQ(type.model_memory(SegmentConfig("/nowhere/at/all")), 0u);
}

TEST(DictionaryNameTest, AMissingOneSaysWhatInstallsIt) {
  const std::string why = std::string(FindDictionary("ko", {}).status().message());
  EXPECT_NE(why.find("dictionary 'ko' is not on this machine: no folder mecab-ko-dic in /var/lib/mecab/dic"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("./dev dictionaries"), std::string::npos);
  EXPECT_EQ(HowToInstall("naist"), "apt-get install mecab-naist-jdic");
}

TEST(DictionaryNameTest, AnotherNameIsAMistakeInTheFile) {
  const StageType type = SegmentWordsType({});
  Schema schema = TextSchema();
  const Status status = type.check(SegmentConfig("jumandic"), schema);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(schema, TextSchema());
  EXPECT_FALSE(type.check(SegmentConfig(""), schema).ok());
  // One that this machine lacks is none: what it made may be there already.
  EXPECT_TRUE(type.check(SegmentConfig("/nowhere/at/all"), schema).ok());
  EXPECT_EQ(schema.columns.at("cuts"), ColumnType::kU32List);
  EXPECT_FALSE(type.check(SegmentConfig("ipadic"), schema).ok()) << "twice";
  Schema none;
  EXPECT_FALSE(type.check(SegmentConfig("ipadic"), none).ok()) << "no text";
  EXPECT_EQ(type.libraries.at("mecab"), MecabHandle::Version());
}

}  // namespace
}  // namespace pipeline
