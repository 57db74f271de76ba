// ${name} and ${env:NAME} in the values of a pipeline file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/pipeline_file.h"
#include "spec/yaml.h"

namespace pipeline {

/// The variables of one file. "${name}" stands for the text of a variable, "${env:NAME}" for one of
/// the environment that the file lists under `env:`, "$${" for "${" itself. A variable may use
/// others. A value that is made with one is text without quotes: its key decides what it means.
class Variables {
 public:
  /// Resolves every variable; what is wrong goes to `mistakes`, once. `vars` and `env` are the
  /// values of these keys, null where the file has none; `overrides` are the --set NAME=V.
  Variables(const YamlNode* vars, const YamlNode* env, const ParseOptions& options,
            const std::vector<std::pair<std::string, std::string>>& overrides,
            std::vector<Mistake>& mistakes);

  /// Replaces in `node` and all below it; keys of maps stay as they are.
  void Expand(YamlNode& node);

  /// Variables that nothing used so far.
  std::vector<Mistake> Unused() const;

  /// What each variable stands for; `env:NAME` of the environment, where it was asked.
  std::map<std::string, std::string> Texts() const;

  /// `message` with every secret it holds replaced by its reference: for texts that others wrote.
  std::string WithoutSecrets(std::string message) const;

 private:
  struct Variable {
    YamlNode value;  // `text` replaced once resolved
    FilePosition at;
    enum class State { kNew, kResolving, kDone } state = State::kNew;
    bool used = false;
  };
  /// What a reference stands for; null after reporting why it stands for nothing.
  const YamlNode* Resolve(std::string_view reference, FilePosition at);
  const YamlNode* ResolveVariable(std::string_view name, FilePosition at);
  const YamlNode* ResolveEnvironment(std::string_view name, FilePosition at);
  void ExpandScalar(YamlNode& node);
  void ReadVars(const YamlNode& vars);
  void ReadEnv(const YamlNode& env);
  void Complain(FilePosition at, std::string message) { mistakes_.push_back({at, std::move(message)}); }

  const ParseOptions& options_;
  std::vector<Mistake>& mistakes_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::map<std::string, std::optional<YamlNode>, std::less<>> environment_;  // listed; a value once asked
  std::vector<std::string_view> resolving_;  // the chain of variables that led here
  std::size_t expanded_bytes_ = 0;
};

}  // namespace pipeline
