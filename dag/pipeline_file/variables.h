// Replaces ${name} and ${env:NAME} in the values of a pipeline file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

/// The variables of one file. "${name}" stands for the text of a variable, "${env:NAME}" for an environment
/// variable that the file lists under `env:`, "$${" for "${" itself. A variable may use others. A value
/// that contains a variable is unquoted text: its key decides its meaning.
class Variables {
 public:
  /// Resolves every variable and adds each mistake once to `mistakes`. `vars` and `env` are the values of
  /// these keys, null if the file has none; `overrides` are the --set NAME=V.
  Variables(const YamlNode* vars, const YamlNode* env, const ParseOptions& options,
            const std::vector<std::pair<std::string, std::string>>& overrides,
            std::vector<Mistake>& mistakes);

  /// Replaces the variables in `node` and everything below it. Keys of maps stay as they are.
  void Expand(YamlNode& node);

  /// Returns a mistake for each variable that nothing has used so far.
  std::vector<Mistake> Unused() const;

  /// Returns the values of the variables; `env:NAME` is an environment variable, included only if it was
  /// used.
  std::map<std::string, std::string> Texts() const;

  /// Returns `message` with every secret in it replaced by its reference, for texts from other programs.
  std::string WithoutSecrets(std::string message) const;

 private:
  struct Variable {
    YamlNode value;  // `text` replaced once resolved
    FilePosition at;
    enum class State { kNew, kResolving, kDone } state = State::kNew;
    bool used = false;
  };
  /// Returns the value of a reference; null: it has none, and the mistake is reported.
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
  std::map<std::string, std::optional<YamlNode>, std::less<>> environment_;  // listed; once read: a value
  std::vector<std::string_view> resolving_;  // the chain of variables that are being resolved
  std::size_t expanded_bytes_ = 0;
};

}  // namespace pipeline
