#include "stages/tokenizer/word_tally.h"

#include "text/unigram/counted_words.h"
#include "text/unigram/unigram_trainer.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kCharacterTables = 32 << 20;
constexpr std::uint64_t kMostBytesOfWord = 60;  // in CountedWords, beside its text

}  // namespace

std::uint64_t WordsMemory(std::uint64_t characters, std::uint64_t distinct, std::uint64_t held) {
  return kCharacterTables + UnigramMemory(characters, distinct, held);
}

void WordTally::Words::Add(const Words& other) {
  distinct += other.distinct;
  characters += other.characters;
  bytes += other.bytes;
}

std::uint64_t WordTally::Words::Memory() const {
  return WordsMemory(characters, distinct, kMostBytesOfWord * distinct + bytes);
}

void WordTally::Add(std::string_view word, std::uint64_t count) {
  by_count_[count].Add({1, CountCharacters(word), word.size()});
  total_ = SaturatedSum(total_, count);
}

std::uint64_t WordTally::MemoryFrom(std::uint64_t least) const {
  Words words;
  for (auto at = by_count_.lower_bound(least); at != by_count_.end(); ++at) words.Add(at->second);
  return words.Memory();
}

std::uint64_t WordTally::LeastThatFits(std::uint64_t memory) const {
  Words words;
  for (auto at = by_count_.rbegin(); at != by_count_.rend(); ++at) {
    words.Add(at->second);
    if (words.Memory() <= memory) continue;
    return at == by_count_.rbegin() ? 0 : at->first + 1;
  }
  return 1;
}

}  // namespace pipeline
