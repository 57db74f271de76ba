#include "cli/terminal/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/str.h"
#include "cli/terminal/command.h"
#include "storage/scheme.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 14> kSecretWords = {
    "secret", "secrets", "token",  "password",   "passwd",      "passphrase", "pass",
    "pwd",    "key",     "apikey", "credential", "credentials", "signature",  "sig"};

/// The last word of "stages.fetch.api_key", "apiToken" or "X-Goog-Signature", in lower case.
std::string LastWord(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && std::isalnum(static_cast<unsigned char>(name[begin - 1]))) {
    --begin;
    const bool upper = std::isupper(static_cast<unsigned char>(name[begin]));
    if (upper && begin > 0 && std::islower(static_cast<unsigned char>(name[begin - 1]))) break;
  }
  std::string word(name.substr(begin));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0 ||
         std::string_view("-_./:=@%+,*?&").find(c) != std::string_view::npos;
}

std::string Quoted(const std::string& word) {
  const bool safe = std::all_of(word.begin(), word.end(),
                                [](char c) { return IsPlain(c) && c != '*' && c != '?' && c != '&'; });
  // The stars of kHiddenValue need no quotes, because nobody types them.
  if (!word.empty() && (safe || (word.find(kHiddenValue) != std::string::npos &&
                                 std::all_of(word.begin(), word.end(), IsPlain))))
    return word;
  return ShellQuoted(word);
}

std::string Shown(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return WithoutSecret(word);
  const std::string name = word.substr(0, equals);
  if (name.find("://") != std::string::npos) return WithoutSecret(word);
  // --set=NAME=VALUE
  const std::string value = word.substr(equals + 1);
  if (name.starts_with("--")) return StrCat(name, "=", Shown(value));
  if (IsSecretName(name)) return StrCat(name, "=", kHiddenValue);
  return StrCat(name, "=", WithoutSecret(value));
}

}  // namespace

bool IsSecretName(std::string_view name) {
  const std::string word = LastWord(name);
  return std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end();
}

std::string WithoutSecret(std::string_view value) {
  const std::size_t scheme = value.find("://");
  if (scheme == std::string_view::npos) return std::string(value);
  std::string shown(value.substr(0, scheme + 3));
  std::string_view rest = value.substr(scheme + 3);
  const Scheme* known = FindScheme(value.substr(0, scheme));
  if (known != nullptr && known->form != Scheme::Form::kWeb) return shown += rest;  // it has no query
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    shown += kHiddenValue;
    rest.remove_prefix(at);
  }
  // The name of a parameter does not tell whether its value is a secret.
  const std::size_t query = rest.find_first_of("?#");
  if (query == std::string_view::npos) return shown += rest;
  return StrCat(shown, rest.substr(0, query), "?", kHiddenValue);
}

std::string ShellQuoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
  return quoted + "'";
}

std::string CommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += StrCat(line.empty() ? "" : " ", Quoted(Shown(word)));
  return line;
}

std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false, quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'')
      quoted = !quoted;
    else if (c == '\\' && !quoted && at + 1 < line.size())
      words.back().push_back(line[++at]);
    else
      words.back().push_back(c);
  }
  return words;
}

std::string CommandLineOf(const Call& call) {
  std::vector<std::string> words = call.words;
  words.insert(words.begin(), "pipe");
  return CommandLine(words);
}

}  // namespace pipeline
