// Finds the morphemes that MeCab 0.996 finds. Rules: text/mecab/lattice.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "text/mecab/segmentation_model.h"
#include "text/word_cutter.h"

namespace pipeline {

inline constexpr std::size_t kMostLatticeBytes = 32'767;  // so that no sum of costs needs more than 32 bits

/// Finds the best way through the words that may be in a text. Keeps the memory of its longest text.
class Lattice final : public Analyser {
 public:
  /// `model` must outlive it.
  explicit Lattice(const SegmentationModel& model);
  /// False: the text has more than kMostLatticeBytes.
  bool Analyse(std::string_view text, std::vector<std::string_view>& morphemes) override;

 private:
  /// A place of the text where a character begins. In clean UTF-8 other places are never used; else each
  /// byte is such a place.
  struct Place {
    CharacterCategory category;
    std::uint32_t state = 0;  // base of the trie behind `walked` bytes
    std::uint8_t bytes = 0;   // of the character
    std::uint8_t walked = 0;
  };
  /// Words with one surface that begin at the place in work.
  struct Match {
    std::uint32_t word = 0, end = 0;
  };
  /// A word that may be in the text, with the white space in front of it.
  struct Node {
    std::int32_t cost = 0;       // of the best way to its end
    std::uint32_t previous = 0;  // the node before it on that way
    std::uint32_t next = 0;      // the node made before it with the same end; kNone
    std::uint16_t right = 0;
    std::uint16_t begin = 0;  // of its white space
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// The best of the nodes that end at the place in work and have this right id.
  struct Left {
    std::int64_t way = 0;  // as WayOf gives it
    std::uint32_t right = 0;
  };
  /// Facts about an id. They hold at one place; all places of all texts have different numbers, so nothing
  /// has to be cleared.
  struct LeftOfRight {
    std::uint64_t place = 0;
    std::size_t at = 0;  // in lefts_
  };
  struct WayToLeft {
    std::uint64_t place = 0;
    std::int64_t way = 0;
  };

  void Prepare(std::string_view text);
  void FillPlaces(std::string_view text, bool is_clean);
  std::size_t BehindSpace(std::size_t at, std::size_t size) const;
  std::size_t FindWords(std::string_view text, std::size_t begin);
  std::size_t AddUnknown(std::size_t begin, std::size_t size, std::size_t matches);
  std::size_t GatherLefts(std::size_t at);
  std::int64_t BestWay(std::size_t lefts, std::uint16_t left) const;
  void AddNodes(std::size_t at, std::size_t matches, std::size_t lefts);
  void GrowNodes();

  const SegmentationModel& model_;
  const CharacterCategory space_;
  std::uint64_t place_number_ = 0;
  std::uint32_t nodes_made_ = 0;
  std::vector<Place> places_;         // by offset
  std::vector<std::uint32_t> heads_;  // by offset: the last node made of those that end there; kNone
  std::vector<Match> matches_;
  std::vector<Node> nodes_;  // the first is the begin of the text
  std::vector<Left> lefts_;
  std::vector<LeftOfRight> lefts_of_rights_;  // by right id
  std::vector<WayToLeft> ways_;               // by left id
};

}  // namespace pipeline
