// A compiled dictionary of MeCab, ready for lattices. Rules: text/mecab/lattice.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/mecab/character_categories.h"
#include "text/mecab/connection_costs.h"
#include "text/mecab/dictionary_file.h"

namespace pipeline {

/// True for the names that MeCab takes for UTF-8.
bool IsUtf8Name(std::string charset);

/// Immutable; safe from any thread.
class SegmentationModel {
 public:
  /// A word, with its ids as numbers of the table of costs. The words of a surface follow each other, the
  /// last one of the dictionary first; of two with the same ids only the cheaper one is there.
  struct Word {
    std::uint16_t left = 0, right = 0;
    std::int16_t cost = 0;
    bool more = false;  // the next word has the same surface
  };
  /// The first step through the trie, along the whole character.
  struct FirstStep {
    std::uint32_t base = 0;  // where the trie goes on; kNowhere
    std::uint8_t bytes = 0;  // that are behind this step
    CharacterCategory category;
  };
  static constexpr std::uint32_t kNowhere = 0;  // no word begins so
  /// Added to the base of a unit with a leaf, so that others are not searched for one.
  static constexpr std::uint32_t kEndsWord = 1U << 31;

  /// Loads a directory with the files of `mecab-dict-index`. kFailedPrecondition: a file is missing, damaged,
  /// of another version, or in another charset than UTF-8. kUnimplemented: the dictionary may be whole, but
  /// only MeCab can read it.
  static Result<std::unique_ptr<const SegmentationModel>> Open(const std::string& directory);

  const DictionaryFile::Unit* units() const { return units_.data(); }
  std::uint32_t root() const { return static_cast<std::uint32_t>(units_.front().base); }
  const Word* words() const { return words_.data(); }
  /// Number of the first word for unknown characters of a category.
  std::uint32_t unknown(std::uint32_t category) const { return unknown_[category]; }
  /// By LooseCharacter::code, for clean UTF-8.
  const FirstStep& first_step(std::uint16_t code) const { return first_steps_[code]; }
  CharacterCategory space() const { return first_steps_[' '].category; }
  const ConnectionCosts& costs() const { return costs_; }
  /// Number of the context at both ends of a line.
  std::uint16_t left_of_end() const { return numbers_.left.front(); }
  std::uint16_t right_of_begin() const { return numbers_.right.front(); }
  std::size_t left_ids() const { return numbers_.left.size(); }
  std::size_t right_ids() const { return numbers_.right.size(); }
  std::uint64_t memory() const;

 private:
  SegmentationModel() = default;

  void AddWords(const DictionaryFile& file, DictionaryFile::Run run, std::uint32_t place);
  Status AddUnknown(const std::string& path, const DictionaryFile& file,
                    const CharacterCategories& categories);
  void MarkEnds();
  void FillFirstSteps(const CharacterCategories& categories);

  std::vector<DictionaryFile::Unit> units_;
  std::vector<Word> words_;             // those of sys.dic have the numbers that the leaves have
  std::vector<std::uint32_t> unknown_;  // by category
  std::vector<FirstStep> first_steps_;
  ContextNumbers numbers_;
  ConnectionCosts costs_;
};

}  // namespace pipeline
