#include "stages/tokenizer/word_spill.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/str.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

CountedWords WordsOf(const Counts& counts) {
  CountedWords words;
  for (const auto& [word, count] : counts) words.Add(word, count);
  return words;
}

Result<Counts> Merged(WordSpill& spill) {
  Counts counts;
  RETURN_IF_ERROR(spill.Merge(
      [&counts](std::string_view word, std::uint64_t count) {
        counts.emplace_back(word, count);
        return Status();
      },
      {}));
  return counts;
}

Counts MergedWell(WordSpill& spill) {
  const Result<Counts> counts = Merged(spill);
  EXPECT_TRUE(counts.ok()) << counts.status().message();
  return counts.ok() ? *counts : Counts();
}

TEST(WordSpillTest, AddsUpTheRunsInTheOrderOfBytes) {
  const TempDir directory;
  WordSpill spill(directory.path());
  EXPECT_TRUE(spill.empty());
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  ASSERT_TRUE(spill.Write(WordsOf({{"犬", 2}, {"a", 1}, {"猫", most}}), {}).ok());
  ASSERT_TRUE(spill.Write(CountedWords(), {}).ok());
  ASSERT_TRUE(spill.Write(WordsOf({{"b", 7}, {"猫", 3}, {"a", 4}}), {}).ok());
  EXPECT_FALSE(spill.empty());
  const Counts expected = {{"a", 5}, {"b", 7}, {"犬", 2}, {"猫", most}};
  EXPECT_EQ(MergedWell(spill), expected);
  EXPECT_EQ(MergedWell(spill), expected) << "the second time";
}

TEST(WordSpillTest, ManyRunsOfManyThreadsStayFewFiles) {
  const TempDir directory;
  WordSpill spill(directory.path());
  constexpr int kThreads = 3, kRuns = 100, kWords = 300;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&spill] {
        for (int run = 0; run < kRuns; ++run) {
          CountedWords words;
          for (int word = 0; word < kWords; ++word)  // longer together than a buffer
            words.Add(StrCat("word ", word % (run + 1), std::string(static_cast<std::size_t>(word), 'x')));
          EXPECT_TRUE(spill.Write(words, {}).ok());
        }
      });
  }
  const auto files = std::distance(std::filesystem::directory_iterator(directory.path()),
                                   std::filesystem::directory_iterator());
  EXPECT_LT(files, 130);
  std::map<std::string, std::uint64_t> expected;
  for (int run = 0; run < kRuns; ++run)
    for (int word = 0; word < kWords; ++word)
      expected[StrCat("word ", word % (run + 1), std::string(static_cast<std::size_t>(word), 'x'))] +=
          kThreads;
  EXPECT_EQ(MergedWell(spill), Counts(expected.begin(), expected.end()));
}

TEST(WordSpillTest, AChangedOrShortenedRunIsFound) {
  const TempDir directory;
  CountedWords words;
  for (int word = 0; word < 20'000; ++word) words.Add(StrCat("word", word));
  {
    WordSpill spill(directory.path());
    ASSERT_TRUE(spill.Write(words, {}).ok());
  }
  const std::string bytes = ReadFile(*std::filesystem::directory_iterator(directory.path()));
  const auto read_again = [&](const std::string& changed) {
    const TempDir other;
    WordSpill spill(other.path());
    EXPECT_TRUE(spill.Write(words, {}).ok());
    WriteFile(*std::filesystem::directory_iterator(other.path()), changed);
    return Merged(spill).status().code();
  };
  EXPECT_EQ(read_again(bytes), Code::kOk);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{5}, std::size_t{13}, bytes.size() / 2, bytes.size() - 1}) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(read_again(changed), Code::kDataLoss) << "byte " << at;
  }
  EXPECT_EQ(read_again(bytes.substr(0, bytes.size() / 2)), Code::kDataLoss);
  EXPECT_EQ(read_again(""), Code::kDataLoss);
}

TEST(WordSpillTest, StopsAndPassesErrorsOn) {
  const TempDir directory;
  WordSpill spill(directory.path());
  CountedWords words;
  for (int word = 0; word < 50'000; ++word) words.Add(StrCat("word", word));
  std::stop_source stop;
  ASSERT_TRUE(spill.Write(words, stop.get_token()).ok());
  int taken = 0;
  const Status ended = spill.Merge(
      [&taken](std::string_view, std::uint64_t) {
        return ++taken < 10 ? Status() : Status(Code::kResourceExhausted, "enough");
      },
      {});
  EXPECT_EQ(ended.message(), "enough");
  EXPECT_EQ(taken, 10);
  stop.request_stop();
  EXPECT_EQ(spill.Write(words, stop.get_token()).code(), Code::kCancelled);
  EXPECT_EQ(spill.Merge([](std::string_view, std::uint64_t) { return Status(); }, stop.get_token()).code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace pipeline
