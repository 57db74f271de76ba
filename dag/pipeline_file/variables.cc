#include "dag/pipeline_file/variables.h"

#include <algorithm>

#include "base/str.h"
#include "dag/pipeline_file/typed_value.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxExpandedBytes = 4 << 20;  // all values together: variables can double themselves
constexpr std::size_t kMaxChain = 100;
constexpr std::string_view kEnvPrefix = "env:";

bool IsEnvironmentName(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= 256 && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), fits);
}

template <class Map>
std::vector<std::string_view> KeysOf(const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

Variables::Variables(const YamlNode* vars, const YamlNode* env, const ParseOptions& options,
                     const std::vector<std::pair<std::string, std::string>>& overrides,
                     std::vector<Mistake>& mistakes)
    : options_(options), mistakes_(mistakes) {
  if (env != nullptr) ReadEnv(*env);
  if (vars != nullptr) ReadVars(*vars);
  for (const auto& [name, text] : overrides) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
      Complain({}, StrCat("--set ", name, ": the file has no variable of that name",
                          NamesLike(name, KeysOf(variables_))));
      continue;
    }
    const bool is_other = found->second.value.text != text;
    found->second.value = {};
    found->second.value.kind = YamlNode::Kind::kScalar;
    found->second.value.text = text;
    found->second.value.is_set = is_other;
  }
  if (vars == nullptr) return;
  for (const YamlEntry& entry : vars->entries) {  // in the order of the file, so that a circle has one name
    const auto found = variables_.find(entry.key);
    if (found == variables_.end()) continue;
    const bool used = found->second.used;
    ResolveVariable(entry.key, entry.key_at);
    found->second.used = used;
  }
}

void Variables::ReadVars(const YamlNode& vars) {
  if (!vars.is_map()) {
    if (!vars.is_null())
      Complain(vars.at, StrCat("'vars' must be a map of names to values, and this is ", Describe(vars)));
    return;
  }
  for (const YamlEntry& entry : vars.entries) {
    if (!IsName(entry.key)) {
      Complain(entry.key_at, StrCat("bad name of a variable: ", kNameRule));
      continue;
    }
    Variable variable;
    variable.value = entry.value;
    variable.at = entry.key_at;
    if (!entry.value.is_scalar()) {
      Complain(entry.value.at, StrCat("variable '", entry.key, "' must be a text or a number, and this is ",
                                      Describe(entry.value)));
      variable.value.broken = true;
      variable.state = Variable::State::kDone;
    }
    variables_.emplace(entry.key, std::move(variable));
  }
}

void Variables::ReadEnv(const YamlNode& env) {
  if (!env.is_list()) {
    if (!env.is_null())
      Complain(env.at,
               StrCat("'env' must be a list of names of environment variables, and this is ", Describe(env)));
    return;
  }
  for (const YamlNode& item : env.items) {
    if (!item.is_scalar() || !IsEnvironmentName(item.text))
      Complain(item.at, StrCat("'env' lists names of environment variables, and this is ", Describe(item)));
    else if (!environment_.emplace(item.text, std::nullopt).second)
      Complain(item.at, StrCat("'env' lists ", item.text, " twice"));
  }
}

const YamlNode* Variables::Resolve(std::string_view reference, FilePosition at) {
  if (reference.substr(0, kEnvPrefix.size()) == kEnvPrefix)
    return ResolveEnvironment(reference.substr(kEnvPrefix.size()), at);
  return ResolveVariable(reference, at);
}

const YamlNode* Variables::ResolveVariable(std::string_view name, FilePosition at) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    Complain(at,
             StrCat("there is no variable '", name.substr(0, 64), "'", NamesLike(name, KeysOf(variables_))));
    return nullptr;
  }
  Variable& variable = found->second;
  variable.used = true;
  if (variable.state == Variable::State::kResolving) {
    std::string circle;
    for (auto one = std::find(resolving_.begin(), resolving_.end(), name); one != resolving_.end(); ++one)
      circle += StrCat(*one, " -> ");
    Complain(variable.at, StrCat("variables use each other in a circle: ", circle, name));
    return nullptr;
  }
  if (variable.state == Variable::State::kNew) {
    if (resolving_.size() >= kMaxChain) {
      Complain(at, StrCat("variables use each other in a chain of more than ", kMaxChain));
      return nullptr;
    }
    variable.state = Variable::State::kResolving;
    resolving_.push_back(found->first);
    ExpandScalar(variable.value);
    resolving_.pop_back();
    variable.state = Variable::State::kDone;
  }
  return variable.value.broken ? nullptr : &variable.value;
}

const YamlNode* Variables::ResolveEnvironment(std::string_view name, FilePosition at) {
  const auto found = environment_.find(name);
  if (found == environment_.end()) {
    const std::string hint = DidYouMean(name, KeysOf(environment_));
    Complain(at, StrCat("'${env:", name.substr(0, 64), "}' is not listed under 'env'",
                        hint.empty() ? "; list there the variables that the file reads" : hint));
    return nullptr;
  }
  if (found->second) return found->second->broken ? nullptr : &*found->second;
  found->second.emplace();
  YamlNode& value = *found->second;
  value.secret = true;
  const auto text = options_.environment ? options_.environment(found->first) : std::nullopt;
  value.broken = !text || FindBadCharacter(*text);
  if (!text)
    Complain(at, StrCat("the environment has no ", name, ", which the file reads; set it before the run"));
  else if (value.broken)
    Complain(at, StrCat("the value of ", name, " in the environment is not UTF-8 text"));
  else
    value.text = *text;
  return value.broken ? nullptr : &value;
}

void Variables::ExpandScalar(YamlNode& node) {
  const std::string& text = node.text;
  if (text.find("${") == std::string::npos) return;
  std::string expanded;
  bool replaced = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = text.find("${", i);
    if (start == std::string::npos) {
      expanded += text.substr(i);
      break;
    }
    if (start > i && text[start - 1] == '$') {  // "$${"
      expanded += text.substr(i, start - 1 - i);
      expanded += "${";
      i = start + 2;
      continue;
    }
    expanded += text.substr(i, start - i);
    const std::size_t end = text.find('}', start);
    if (end == std::string::npos) {
      Complain(node.at, "'${' without '}'; '$${' stands for these two characters themselves");
      node.broken = true;
      break;
    }
    const YamlNode* value = Resolve(std::string_view(text).substr(start + 2, end - start - 2), node.at);
    if (value != nullptr) {
      expanded += value->text;
      node.secret = node.secret || value->secret;
      node.is_set = node.is_set || value->is_set;
    } else {
      node.broken = true;
    }
    replaced = true;
    i = end + 1;
    if (expanded_bytes_ + expanded.size() > kMaxExpandedBytes) break;
  }
  expanded_bytes_ += expanded.size();
  if (expanded_bytes_ > kMaxExpandedBytes) {
    if (expanded_bytes_ - expanded.size() <= kMaxExpandedBytes)
      Complain(node.at, StrCat("variables make the file larger than ", HumanBytes(kMaxExpandedBytes)));
    node.broken = true;
  }
  if (node.broken) return;
  node.written = std::exchange(node.text, std::move(expanded));
  if (replaced) node.quoted = false;
}

void Variables::Expand(YamlNode& node) {
  if (node.is_scalar()) ExpandScalar(node);
  for (YamlNode& item : node.items) Expand(item);
  for (YamlEntry& entry : node.entries) Expand(entry.value);
}

std::vector<Mistake> Variables::Unused() const {
  std::vector<Mistake> unused;
  for (const auto& [name, variable] : variables_)
    if (!variable.used) unused.push_back({variable.at, StrCat("nothing uses the variable '", name, "'")});
  return unused;
}

std::map<std::string, std::string> Variables::Texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, variable] : variables_) texts.emplace(name, variable.value.text);
  for (const auto& [name, value] : environment_)
    if (value) texts.emplace(StrCat(kEnvPrefix, name), value->text);
  return texts;
}

std::string Variables::WithoutSecrets(std::string message) const {
  constexpr std::size_t kShortestSecret = 4;  // to replace "1" everywhere would only spoil the message
  for (const auto& [name, value] : environment_) {
    if (!value || value->text.size() < kShortestSecret) continue;
    const std::string reference = StrCat("${env:", name, "}");
    for (std::size_t at = 0; (at = message.find(value->text, at)) != std::string::npos;
         at += reference.size())
      message.replace(at, value->text.size(), reference);
  }
  return message;
}

}  // namespace pipeline
