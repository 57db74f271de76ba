#include "text/unigram/word_counter.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/text/unigram/random_words.h"

namespace pipeline {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

Counts CountsOf(const CountedWords& words) {
  const auto all = words.All();
  return {all.begin(), all.end()};
}

/// Counts the text between cuts.
CountLine Parts() {
  return [](std::string_view line, std::span<const std::uint32_t> cuts, CountedWords& words) {
    std::uint32_t begin = 0;
    for (const std::uint32_t end : cuts) {
      words.Add(line.substr(begin, end - begin));
      begin = end;
    }
  };
}

TEST(WordCounterTest, CountsTheSameOnAnyNumberOfThreads) {
  for (const std::size_t threads : {0, 1, 2, 5}) {
    std::mt19937 random(2);
    Counts expected;
    WordCounter counter(threads, Parts);
    for (int at = 0; at < 60'000; ++at) {  // about twenty blocks
      std::string line;
      std::vector<std::uint32_t> cuts;
      for (int word = 0; word < 8; ++word) {
        const std::string next = RandomWord(random, 5);
        line += next;
        cuts.push_back(static_cast<std::uint32_t>(line.size()));
        ++expected[next];
      }
      counter.Add(line, cuts);
      if (at == 30'000) {
        EXPECT_EQ(CountsOf(counter.Join()), expected) << "half of it, " << threads << " threads";
      }
    }
    EXPECT_EQ(CountsOf(counter.Join()), expected) << threads << " threads";
    EXPECT_EQ(CountsOf(counter.Join()), expected) << "the second time, " << threads << " threads";
    EXPECT_GE(counter.memory(), counter.Join().memory());
  }
}

TEST(WordCounterTest, TellsItsMemoryBeforeAllIsCounted) {
  for (const std::size_t threads : {1, 3}) {
    WordCounter counter(threads, Parts);
    std::string line(100'000, 'x');
    for (int at = 0; at < 100; ++at) {
      line.replace(0, 3, std::to_string(100 + at));
      counter.Add(line, std::vector<std::uint32_t>{100'000});
    }
    EXPECT_GT(counter.memory(), 5'000'000u) << threads << " threads";
  }
}

TEST(WordCounterTest, AnOutletTakesLargeTablesAndNothingIsLost) {
  for (const std::size_t threads : {1, 4}) {
    std::mutex mutex;
    CountedWords taken;
    std::size_t times = 0;
    const auto take = [&](CountedWords& words) {
      const std::lock_guard lock(mutex);
      taken.Merge(words);
      words = CountedWords();
      ++times;
    };
    WordCounter counter(threads, Parts, {.bytes = 100'000, .take = take});
    Counts expected;
    std::mt19937 random(4);
    for (int at = 0; at < 100'000; ++at) {
      const std::string word = RandomWord(random, 12);
      ++expected[word];
      counter.Add(word, std::vector<std::uint32_t>{static_cast<std::uint32_t>(word.size())});
    }
    taken.Merge(counter.Join());
    EXPECT_EQ(CountsOf(taken), expected) << threads << " threads";
    EXPECT_GT(times, 5u) << threads << " threads";
    EXPECT_LT(counter.memory(), 300'000u);
  }
}

TEST(WordCounterTest, NoLineIsNothing) {
  WordCounter counter(3, Parts);
  EXPECT_EQ(counter.Join().distinct(), 0u);
  const WordCounter unused(3, Parts);
}

}  // namespace
}  // namespace pipeline
