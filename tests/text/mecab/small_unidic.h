// A small dictionary with the layout of UniDic, whose own files are too large for a test.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/str.h"
#include "tests/text/mecab/small_dictionary.h"

namespace pipeline {

/// dicrc, categories and the columns of the words are those of UniDic; each surface and most categories have
/// several words. About 20 ids of each side are used, all over the numbers below `right_ids` and `left_ids`.
inline SmallDictionary SmallUnidic(std::uint32_t right_ids, std::uint32_t left_ids) {
  constexpr std::uint32_t kUsed = 20;
  std::mt19937 random(23);
  const auto below = [&](std::uint32_t most) { return static_cast<int>(random() % most); };
  const auto spread = [](std::uint32_t number, std::uint32_t ids) {
    return number * (ids - 1) / (kUsed - 1);
  };
  const auto ids_and_cost = [&](int least) {
    const auto id = [&](std::uint32_t ids) {
      return spread(static_cast<std::uint32_t>(random() % kUsed), ids);
    };
    const std::uint32_t left = id(left_ids), right = id(right_ids);
    return StrCat(left, ",", right, ",", least + below(6'000));
  };
  SmallDictionary made;
  for (const char* surface :
       {"東京", "東",   "京都", "都",  "に",   "住む", "すもも", "す", "も",     "もも", "の",   "うち",
        "う",   "ち",   "って", "て",  "ない", "な",   "い",     "し", "かった", "か",   "食べ", "食",
        "走り", "今日", "今",   "日",  "一",   "九",   "二",     "〇", "百",     "々",   "カナ", "ー",
        "ｶﾀ",   "Ａ",   "12",   "the", "-",    "…",    "。",     "、", "「",     "」",   "가",   "😀"})
    for (int words = 1 + below(4); words > 0; --words)
      made.words +=
          StrCat(surface, ",", ids_and_cost(1'000), ",名詞,普通名詞,一般,*,*,*,ヨミ,語-gloss,", surface,
                 ",ヨミ,", surface, ",ヨミ,混,*,*,*,*,*,*,体,ヨミ,ヨミ,ヨミ,ヨミ,\"1,3\",\"C2,C3\",\"M4@1\",",
                 "9223372036854775807,", below(99'999), "\n");
  struct Category {
    const char *name, *rules;
    int words;
  };
  for (const auto& [name, rules, words] : std::vector<Category>{{"DEFAULT", "0 1 0", 1},
                                                                {"SPACE", "0 1 0", 1},
                                                                {"KANJI", "0 0 2", 5},
                                                                {"SYMBOL", "1 1 0", 1},
                                                                {"NUMERIC", "1 1 0", 1},
                                                                {"ALPHA", "1 1 0", 5},
                                                                {"HIRAGANA", "0 1 2", 6},
                                                                {"KATAKANA", "1 1 2", 6},
                                                                {"KANJINUMERIC", "0 1 0", 1},
                                                                {"GREEK", "1 1 0", 4},
                                                                {"CYRILLIC", "1 1 0", 4}}) {
    made.characters += StrCat(name, " ", rules, "\n");
    for (int word = 0; word < words; ++word)
      made.unknown += StrCat(name, ",", ids_and_cost(word == 0 ? -1'200 : 4'000), ",名詞,数詞,*,*,*,*\n");
  }
  made.characters +=
      "0x0020 SPACE\n0x00D0 SPACE\n0x0009 SPACE\n0x000B SPACE\n0x000A SPACE\n"
      "0x0021..0x002F SYMBOL\n0x0030..0x0039 NUMERIC\n0x003A..0x0040 SYMBOL\n0x0041..0x005A ALPHA\n"
      "0x005B..0x0060 SYMBOL\n0x0061..0x007A ALPHA\n0x007B..0x007E SYMBOL\n0x00A1..0x00BF SYMBOL\n"
      "0x00C0..0x0236 ALPHA\n0x0374..0x03FB GREEK\n0x0400..0x050F CYRILLIC\n0x2000..0x206F SYMBOL\n"
      "0x2150..0x218F NUMERIC\n0x2190..0x2BFF SYMBOL\n0x3000..0x303F SYMBOL\n0x3041..0x309F HIRAGANA\n"
      "0x30A1..0x30FF KATAKANA\n0x3200..0x33FF SYMBOL\n0x3005 KANJI\n0x3400..0x4DB5 KANJI\n"
      "0x4E00..0x9FA5 KANJI\n0x3007 SYMBOL KANJINUMERIC\n0x4E00 KANJINUMERIC KANJI\n"
      "0x4E5D KANJINUMERIC KANJI\n0x4E8C KANJINUMERIC KANJI\n0x767E KANJINUMERIC KANJI\n"
      "0xFF01..0xFF0F SYMBOL\n0xFF10..0xFF19 NUMERIC\n0xFF21..0xFF3A ALPHA\n0xFF41..0xFF5A ALPHA\n"
      "0xFF66..0xFF9F KATAKANA\n";
  made.costs = StrCat(right_ids, " ", left_ids, "\n");
  for (std::uint32_t right = 0; right < kUsed; ++right)
    for (std::uint32_t left = 0; left < kUsed; ++left)
      made.costs +=
          StrCat(spread(right, right_ids), " ", spread(left, left_ids), " ", below(4'000) - 2'000, "\n");
  made.settings =
      "; List of features\n; f[0]:  pos1\n\n;dictionary-charset = utf8\nconfig-charset = utf8\ncost-factor = "
      "700\n"
      "max-grouping-size = 10\nbos-feature = BOS/EOS,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*\n"
      "output-format-type = unidic22\n"
      "node-format-unidic22 = %m\\t%f[0],%f[1],\"%f[13]\"\\n\nunk-format-unidic22 = %m\\t%f[0]\\n\n"
      "bos-format-unidic22 =\neos-format-unidic22 = EOS\\n\n";
  return made;
}

}  // namespace pipeline
