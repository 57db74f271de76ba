// The words that this program was called with, fit to be kept and shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// `words` as a shell takes them, without what is secret: values of NAME=VALUE whose name ends in a word
/// for a secret, the user part of URLs and their queries become `***`.
std::string CommandLine(const std::vector<std::string>& words);

/// Whether the last word of `name` is one for a secret: `api_token`, `stages.fetch.apiKey`.
bool IsSecretName(std::string_view name);

/// The same for a path or URI alone.
std::string WithoutSecret(std::string_view value);

}  // namespace pipeline
