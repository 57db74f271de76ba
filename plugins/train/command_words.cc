#include "plugins/train/command_words.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

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

Status CheckNumber(const CommandWords& words, std::string_view flag, double least, double most, bool whole) {
  const auto found = words.flags.find(flag);
  if (found == words.flags.end()) return {};
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  const bool number = !found->second.empty() && *end == '\0' && value >= least && value <= most;
  const bool digits = found->second.find_first_not_of("0123456789") == std::string::npos;
  if (number && (digits || !whole)) return {};
  return Status(Code::kInvalidArgument,
                StrCat(flag, ": '", found->second, "' is no ", whole ? "whole " : "", "number from ",
                       static_cast<std::int64_t>(least), " to ", static_cast<std::int64_t>(most)));
}

Status CheckTarget(const CommandWords& words, std::string_view flag) {
  namespace fs = std::filesystem;
  const auto found = words.flags.find(flag);
  if (found == words.flags.end()) return {};
  const auto wrong = [&](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat(flag, ": '", found->second, "' ", why));
  };
  const fs::path file = found->second;
  std::error_code error;
  if (!file.has_filename()) return wrong("names no file");
  if (file.has_parent_path() && !fs::is_directory(file.parent_path(), error))
    return wrong("has no directory yet; make it");
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    return wrong("is there and no file to replace; name another");
  return {};
}

std::string Quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace pipeline
