#include "plugins/train/external/placeholders.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 15> kPlaceholders = {"data",
                                                            "tokenizer",
                                                            "data_set",
                                                            "tfds_dir",
                                                            "tfds_name",
                                                            "tfds_version",
                                                            "checkout",
                                                            "run_dir",
                                                            "steps",
                                                            "seed",
                                                            "host",
                                                            "hosts",
                                                            "coordinator",
                                                            "coordinator_address",
                                                            "coordinator_port"};

/// Calls `name` with each name between braces and `text` with everything else. Returns false at a lone
/// brace.
bool Walk(std::string_view word, const std::function<void(std::string_view)>& text,
          const std::function<void(std::string_view)>& name) {
  while (!word.empty()) {
    const std::size_t brace = word.find_first_of("{}");
    text(word.substr(0, brace));
    if (brace == std::string_view::npos) return true;
    word.remove_prefix(brace);
    if (word.size() > 1 && word[1] == word[0]) {
      text(word.substr(0, 1));
      word.remove_prefix(2);
      continue;
    }
    const std::size_t end = word.find_first_of("{}", 1);
    if (word.front() == '}' || end == std::string_view::npos || word[end] == '{') return false;
    name(word.substr(1, end - 1));
    word.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

Status CheckPlaceholders(std::string_view key, std::string_view word) {
  Status checked;
  const auto known = [&](std::string_view name) {
    if (!checked.ok() || std::find(kPlaceholders.begin(), kPlaceholders.end(), name) != kPlaceholders.end())
      return;
    const std::string_view meant = NearestWord(name, kPlaceholders);
    std::string all;
    for (const std::string_view one : kPlaceholders) all += StrCat(all.empty() ? "{" : ", {", one, "}");
    checked = Status(
        Code::kInvalidArgument,
        StrCat(key, ": \"", word, "\" has an unknown placeholder {", name, "}",
               meant.empty() ? "; there are " : StrCat("; did you mean {", meant, "}? There are "), all));
  };
  if (!Walk(
          word, [](std::string_view) {}, known))
    return Status(Code::kInvalidArgument,
                  StrCat(key, ": \"", word, "\" has a lone brace; write {{ for { and }} for }"));
  return checked;
}

std::vector<std::string> PlaceholdersIn(std::string_view word) {
  std::vector<std::string> names;
  Walk(
      word, [](std::string_view) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string FillPlaceholders(std::string_view word, const PlaceholderValues& values) {
  std::string filled;
  Walk(
      word, [&](std::string_view text) { filled += text; },
      [&](std::string_view name) {
        if (const auto found = values.find(name); found != values.end()) filled += found->second;
      });
  return filled;
}

}  // namespace pipeline
