#include "text/pattern_set.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxWindow = 200;  // a shift is a byte

Status Refuse(std::string_view pattern, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat("the pattern '", pattern, "' ", why));
}

}  // namespace

Result<PatternSet::Pattern> PatternSet::Parse(std::string_view text) {
  Pattern pattern;
  std::string_view rest = text;
  if (rest.substr(0, 1) == "^") {
    pattern.at_begin = true;
    rest.remove_prefix(1);
  }
  if (rest.substr(0, 1) == "*") pattern.at_begin = false;
  std::string piece;
  const auto close = [&] {
    if (!piece.empty()) pattern.pieces.push_back(std::move(piece));
    piece.clear();
  };
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      if (++i == rest.size() || std::string_view("*^$\\").find(rest[i]) == std::string_view::npos)
        return Refuse(text,
                      "has a '\\' that does not stand before one of * ^ $ \\; write it twice to mean itself");
      piece.push_back(rest[i]);
    } else if (rest[i] == '*') {
      close();
    } else if (rest[i] == '$' && i + 1 == rest.size()) {
      pattern.at_end = !piece.empty();  // a pattern that ends with a star matches any end
    } else {
      piece.push_back(rest[i]);
    }
  }
  close();
  if (pattern.pieces.empty()) return Refuse(text, "names no text and would match too much; give it a text");
  const auto longest = std::max_element(pattern.pieces.begin(), pattern.pieces.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  pattern.longest = static_cast<std::size_t>(longest - pattern.pieces.begin());
  return pattern;
}

bool PatternSet::Pattern::Match(std::string_view text) const {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    const bool begins = i == 0 && at_begin;
    if (i + 1 == pieces.size() && at_end)
      return text.size() >= piece.size() && text.substr(text.size() - piece.size()) == piece &&
             (!begins || text.size() == piece.size());
    const std::size_t at =
        begins ? (text.substr(0, piece.size()) == piece ? 0 : std::string_view::npos) : text.find(piece);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + piece.size());
  }
  return true;
}

Result<PatternSet> PatternSet::Make(const std::vector<std::string>& patterns) {
  PatternSet set;
  for (const std::string& text : patterns) {
    ASSIGN_OR_RETURN(Pattern pattern, Parse(text));
    set.patterns_.push_back(std::move(pattern));
  }
  if (!set.patterns_.empty()) set.BuildTables();
  return set;
}

inline std::size_t PatternSet::BlockHash(const char* end, std::size_t block) {
  const auto byte = [end](std::ptrdiff_t back) {
    return std::size_t{static_cast<unsigned char>(end[-back])};
  };
  std::size_t hash = byte(1);
  if (block > 1) hash ^= byte(2) << 4;
  if (block > 2) hash ^= byte(3) << 7;
  return hash % kHashes;
}

void PatternSet::BuildTables() {
  const auto key = [](const Pattern& pattern) -> const std::string& {
    return pattern.pieces[pattern.longest];
  };
  window_ = kMaxWindow;
  for (const Pattern& pattern : patterns_) window_ = std::min(window_, key(pattern).size());
  block_ = std::min<std::size_t>(window_, 3);
  const auto hash = [&](const Pattern& pattern) { return BlockHash(key(pattern).data() + window_, block_); };
  std::stable_sort(patterns_.begin(), patterns_.end(),
                   [&](const Pattern& a, const Pattern& b) { return hash(a) < hash(b); });
  shift_.fill(static_cast<std::uint8_t>(window_ - block_ + 1));
  begin_.fill(0);
  for (const Pattern& pattern : patterns_) {
    ++begin_[hash(pattern) + 1];
    for (std::size_t end = block_; end <= window_; ++end) {
      std::uint8_t& shift = shift_[BlockHash(key(pattern).data() + end, block_)];
      shift = std::min(shift, static_cast<std::uint8_t>(window_ - end));
    }
  }
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
}

bool PatternSet::Match(std::string_view text) const {
  switch (block_) {
    case 0: return false;
    case 1: return MatchBlocks<1>(text);
    case 2: return MatchBlocks<2>(text);
    default: return MatchBlocks<3>(text);
  }
}

template <std::size_t kBlock>
bool PatternSet::MatchBlocks(std::string_view text) const {
  std::vector<bool> failed;  // patterns with more than a literal that were tried; mostly empty
  for (std::size_t end = window_; end <= text.size();) {
    const std::size_t hash = BlockHash(text.data() + end, kBlock);
    if (shift_[hash] > 0) {
      end += shift_[hash];
      continue;
    }
    const std::string_view from = text.substr(end - window_);
    for (std::size_t i = begin_[hash]; i < begin_[hash + 1]; ++i) {
      const Pattern& pattern = patterns_[i];
      const std::string& piece = pattern.pieces[pattern.longest];
      if (from.substr(0, piece.size()) != piece) continue;
      if (pattern.is_literal()) return true;
      failed.resize(patterns_.size());
      if (!failed[i] && pattern.Match(text)) return true;
      failed[i] = true;
    }
    ++end;
  }
  return false;
}

}  // namespace pipeline
