// The words that this program was called with, with secrets hidden.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct Call;

/// `words` quoted for a shell, without secrets: values of NAME=VALUE whose name ends in a secret's word,
/// and the user part and query of URLs, become `***`.
std::string CommandLine(const std::vector<std::string>& words);
/// Does the same with the words of `call` and the name of the program.
std::string CommandLineOf(const Call& call);

/// The place of a secret in these words.
inline constexpr std::string_view kHiddenValue = "***";

/// `word` in single quotes, for a POSIX shell.
std::string ShellQuoted(std::string_view word);

/// The words of a line that CommandLine made.
std::vector<std::string> WordsOf(std::string_view line);

/// True if the last word of `name` suggests a secret: `api_token`, `stages.fetch.apiKey`.
bool IsSecretName(std::string_view name);

/// As CommandLine for a single path or URI.
std::string WithoutSecret(std::string_view value);

}  // namespace pipeline
