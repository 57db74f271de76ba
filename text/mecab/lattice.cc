#include "text/mecab/lattice.h"

#include <algorithm>

#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostGrouped = 24;  // characters behind the first one of a group
constexpr std::size_t kMostUnknown =
    1 + 15 + 1;                          // a group, one up to 15 characters, one if nothing was found
constexpr std::size_t kMostWords = 255;  // of one surface

/// Ways are compared as one number: by their cost, then by the node where they end. MeCab takes the node that
/// it made last of those with the least cost, and nodes are numbered as MeCab makes them.
std::int64_t WayOf(std::int32_t cost, std::uint32_t node) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(cost)) << 32 |
                                   ~node);
}
std::int32_t CostOf(std::int64_t way) { return static_cast<std::int32_t>(way >> 32); }
std::uint32_t NodeOf(std::int64_t way) { return ~static_cast<std::uint32_t>(way); }
std::int64_t Longer(std::int64_t way, std::int16_t cost) {
  return way + static_cast<std::int64_t>(cost) * (std::int64_t{1} << 32);
}

}  // namespace

Lattice::Lattice(const SegmentationModel& model)
    : model_(model),
      space_(model.space()),
      lefts_(model.right_ids()),
      lefts_of_rights_(model.right_ids()),
      ways_(model.left_ids()) {
  GrowNodes();
}

bool Lattice::Analyse(std::string_view text, std::vector<std::string_view>& morphemes) {
  morphemes.clear();
  if (text.size() > kMostLatticeBytes) return false;
  Prepare(text);
  bool is_clean = IsCleanUtf8(text);
  FillPlaces(text, is_clean);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (heads_[at] == kNone) continue;
    if (is_clean && IsUtf8Tail(text[at])) FillPlaces(text, is_clean = false);  // a word ends in a character
    const std::size_t begin = BehindSpace(at, text.size());
    if (begin == text.size()) continue;
    std::size_t matches = FindWords(text, begin);
    if (matches == 0 || places_[begin].category.invokes()) matches = AddUnknown(begin, text.size(), matches);
    AddNodes(at, matches, GatherLefts(at));
  }
  std::size_t end = text.size();
  while (heads_[end] == kNone) --end;  // white space at the end
  const std::int64_t way = BestWay(GatherLefts(end), model_.left_of_end());
  for (std::uint32_t node = NodeOf(way); node != 0; node = nodes_[node].previous) {
    const std::size_t begin = nodes_[node].begin;
    morphemes.push_back(text.substr(begin, end - begin));
    end = begin;
  }
  std::reverse(morphemes.begin(), morphemes.end());
  return true;
}

void Lattice::Prepare(std::string_view text) {
  if (places_.size() < text.size()) {
    places_.resize(text.size() * 2);
    matches_.resize(text.size() * 2 + kMostUnknown + 1);
  }
  heads_.assign(text.size() + 1, kNone);
  heads_[0] = 0;
  nodes_[0] = {0, 0, kNone, model_.right_of_begin(), 0};
  nodes_made_ = 1;
}

void Lattice::FillPlaces(std::string_view text, bool is_clean) {
  const std::uint32_t root = model_.root();
  for (std::size_t at = 0; at < text.size();) {
    const LooseCharacter one = LooseCharacterAt(text.data() + at, text.size() - at);
    const SegmentationModel::FirstStep& step = model_.first_step(one.code);
    if (is_clean && one.bytes < 4)
      places_[at] = {step.category, step.base, one.bytes, step.bytes};
    else
      places_[at] = {step.category, root, one.bytes, 0};
    at += is_clean ? one.bytes : 1U;
  }
}

/// Returns the offset of the first character behind white space.
std::size_t Lattice::BehindSpace(std::size_t at, std::size_t size) const {
  CharacterCategory before = space_;
  while (at < size && places_[at].category.Shares(before)) {
    before = places_[at].category;
    at += places_[at].bytes;
  }
  return at;
}

std::size_t Lattice::FindWords(std::string_view text, std::size_t begin) {
  const DictionaryFile::Unit* const units = model_.units();
  const Place& place = places_[begin];
  std::uint32_t state = place.state;
  std::size_t matches = 0;
  for (std::size_t at = begin + place.walked; state != SegmentationModel::kNowhere; ++at) {
    if ((state & SegmentationModel::kEndsWord) != 0) {
      state -= SegmentationModel::kEndsWord;
      matches_[matches++] = {DictionaryFile::RunOfLeaf(units[state]).first, static_cast<std::uint32_t>(at)};
    }
    if (at == text.size()) break;
    const DictionaryFile::Unit& next = units[state + static_cast<unsigned char>(text[at]) + 1];
    if (next.check != state) break;
    state = static_cast<std::uint32_t>(next.base);
  }
  return matches;
}

/// Adds words that are in no dictionary; returns the number of matches then.
std::size_t Lattice::AddUnknown(std::size_t begin, std::size_t size, std::size_t matches) {
  const CharacterCategory category = places_[begin].category;
  const std::uint32_t word = model_.unknown(category.main());
  const auto add = [&](std::size_t end) { matches_[matches++] = {word, static_cast<std::uint32_t>(end)}; };
  std::size_t end = begin + places_[begin].bytes;
  std::size_t group_end = 0;
  if (category.groups()) {
    std::size_t characters = 0, at = end;
    CharacterCategory before = category;
    while (at < size && characters <= kMostGrouped && places_[at].category.Shares(before)) {
      before = places_[at].category;
      at += places_[at].bytes;
      ++characters;
    }
    if (characters <= kMostGrouped) add(group_end = at);
  }
  for (std::uint32_t length = 1; length <= category.length(); ++length) {
    if (end == group_end) break;
    add(end);
    if (end == size || !category.Shares(places_[end].category)) break;
    end += places_[end].bytes;
  }
  if (matches == 0) add(end);
  return matches;
}

/// Fills lefts_ with the nodes that end at `at`; returns their number.
std::size_t Lattice::GatherLefts(std::size_t at) {
  const std::uint64_t number = ++place_number_;
  const Node* const nodes = nodes_.data();
  Left* const lefts = lefts_.data();
  LeftOfRight* const by_right = lefts_of_rights_.data();
  std::size_t count = 0;
  for (std::uint32_t node = heads_[at]; node != kNone; node = nodes[node].next) {
    const std::int64_t way = WayOf(nodes[node].cost, node);
    const std::uint16_t right = nodes[node].right;
    LeftOfRight& known = by_right[right];
    if (known.place == number) {
      lefts[known.at].way = std::min(lefts[known.at].way, way);
    } else {
      known = {number, count};
      lefts[count++] = {way, right};
    }
  }
  return count;
}

/// Returns the best way to a word with this left id.
std::int64_t Lattice::BestWay(std::size_t lefts, std::uint16_t left) const {
  const std::int16_t* const costs = model_.costs().Row(left);
  const Left* const all = lefts_.data();
  std::int64_t best = Longer(all[0].way, costs[all[0].right]);
  for (std::size_t at = 1; at < lefts; ++at) best = std::min(best, Longer(all[at].way, costs[all[at].right]));
  return best;
}

/// Adds the words of all matches, in the order of MeCab: the last one that it finds comes first.
void Lattice::AddNodes(std::size_t at, std::size_t matches, std::size_t lefts) {
  const std::uint64_t number = place_number_;
  const SegmentationModel::Word* const words = model_.words();
  WayToLeft* const ways = ways_.data();
  std::uint32_t* const heads = heads_.data();
  const auto begin = static_cast<std::uint16_t>(at);
  std::uint32_t made = nodes_made_;
  while (matches-- > 0) {
    if (nodes_.size() - made < kMostWords) GrowNodes();
    Node* const nodes = nodes_.data();
    const Match match = matches_[matches];
    std::uint32_t head = heads[match.end];
    const SegmentationModel::Word* word = words + match.word;
    do {
      WayToLeft& known = ways[word->left];
      if (known.place != number) known = {number, BestWay(lefts, word->left)};
      nodes[made] = {CostOf(known.way) + word->cost, NodeOf(known.way), head, word->right, begin};
      head = made++;
    } while (word++->more);
    heads[match.end] = head;
  }
  nodes_made_ = made;
}

void Lattice::GrowNodes() { nodes_.resize(nodes_.size() * 2 + 4 * kMostWords); }

}  // namespace pipeline
