#include "cli/report/hidden_text.h"

#include <algorithm>
#include <cctype>

#include "base/str.h"
#include "cli/terminal/command_line.h"

namespace pipeline {

namespace {

constexpr std::string_view kHidden = "***";
// Shorter secrets, such as "1", are not replaced in a text, because other text has them too.
constexpr std::size_t kShortestSecret = 4;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void Replace(std::string& text, const std::string& what) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += kHidden.size())
    text.replace(at, what.size(), kHidden);
}

/// Hides secrets in NAME=VALUE and in URLs, as in the words of a command.
std::string WithoutNamed(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && text.find("://") > equals && IsSecretName(text.substr(0, equals)))
    return StrCat(text.substr(0, equals + 1), kHidden);
  return WithoutSecret(text);
}

}  // namespace

std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : variables)
    if (!value.empty() && (name.starts_with("env:") || IsSecretName(name))) secrets.push_back(value);
  // The longest come first, because one may be the beginning of another.
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return secrets;
}

std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets) {
  std::string shown(text);
  for (const std::string& secret : secrets) {
    if (shown == secret) return std::string(kHidden);
    if (secret.size() >= kShortestSecret) Replace(shown, secret);
  }
  const std::string lower = Lower(shown);
  for (const std::string_view mark : {"authorization:", "bearer "})
    if (const std::size_t at = lower.find(mark); at != std::string::npos)
      return StrCat(shown.substr(0, at + mark.size()), kHidden);
  return WithoutNamed(shown);
}

Json Hidden(const Json& config, const std::vector<std::string>& secrets) {
  if (config.is_string()) return Json(HiddenText(config.AsString(), secrets));
  if (config.is_array()) {
    Json shown = Json::Array{};
    for (const Json& element : config.AsArray()) shown.Append(Hidden(element, secrets));
    return shown;
  }
  if (config.is_object()) {
    Json shown = Json::Object{};
    for (const auto& [name, value] : config.AsObject())
      shown[name] = value.is_string() && IsSecretName(name) ? Json(kHidden) : Hidden(value, secrets);
    return shown;
  }
  const std::string text = config.is_null() ? std::string() : config.Dump();
  const bool secret =
      text.size() >= kShortestSecret && std::find(secrets.begin(), secrets.end(), text) != secrets.end();
  return secret ? Json(kHidden) : config;
}

}  // namespace pipeline
