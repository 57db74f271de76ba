#include "plugins/train/command_words.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

Result<CommandWords> ParseCommandWords(const std::vector<std::string>& words,
                                       const std::vector<std::string_view>& known) {
  const auto wrong = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  CommandWords parsed;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!word.starts_with("--")) {
      parsed.alone.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view meant = NearestWord(name, known);
      return wrong(StrCat("there is no ", name, meant.empty() ? "" : StrCat("; did you mean ", meant, "?")));
    }
    if (equals == std::string::npos && at + 1 == words.size()) return wrong(StrCat(name, " wants a value"));
    const std::string value = equals == std::string::npos ? words[++at] : word.substr(equals + 1);
    if (!parsed.flags.emplace(name, value).second) return wrong(StrCat(name, " is there twice"));
  }
  return parsed;
}

}  // namespace pipeline
