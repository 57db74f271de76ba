#include "plugins/description_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/typed_value.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

namespace {

constexpr std::int64_t kLargestVersion = 1'000'000'000;

template <class Value>
struct Word {
  std::string_view word;
  Value value;
};

constexpr std::array<Word<ValueType>, 8> kTypes = {{
    {"string", ValueType::kString},
    {"integer", ValueType::kInteger},
    {"number", ValueType::kNumber},
    {"boolean", ValueType::kBoolean},
    {"bytes", ValueType::kBytes},
    {"choice", ValueType::kChoice},
    {"strings", ValueType::kStrings},
    {"map", ValueType::kMap},
}};
constexpr std::array<Word<bool>, 2> kLocations = {{{"out", false}, {"recipe", true}}};
constexpr std::array<Word<Effect>, 3> kEffects = {{
    {"bytes", Effect::kBytes},
    {"none", Effect::kNone},
    {"continue", Effect::kContinue},
}};

/// One object of the answer. Remembers the first mistake anywhere; after a mistake, reading continues with
/// empty values.
class Members {
 public:
  Members(const Json& json, std::string where, Status& status)
      : json_(json), where_(std::move(where)), status_(status) {
    if (!json.is_object()) Complain("", "must be an object");
  }

  void Complain(std::string_view member, std::string_view what) {
    if (!status_.ok()) return;
    std::string place = where_;
    if (!member.empty()) place += StrCat(place.empty() ? "" : ".", member);
    status_ = Status(Code::kInvalidArgument, StrCat(place.empty() ? "the answer" : place, ": ", what));
  }

  /// A member outside `known` is a mistake: ignoring it could change the meaning of the rest.
  void OnlyThese(std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : json_.AsObject())
      if (std::find(known.begin(), known.end(), name) == known.end())
        Complain(name, StrCat("this version of pipe does not know it", DidYouMean(name, known)));
  }

  const Json& At(std::string_view name) const { return json_[name]; }
  bool Has(std::string_view name) const { return json_.Has(name); }

  std::string Text(std::string_view name, bool required) {
    const Json& value = json_[name];
    if (value.is_string()) return std::string(value.AsString());
    if (required || !value.is_null()) Complain(name, "must be a text");
    return {};
  }

  std::string Name(std::string_view name) {
    std::string text = Text(name, true);
    if (!IsName(text)) Complain(name, kNameRule);
    return text;
  }

  bool Bool(std::string_view name, bool fallback) {
    if (json_.Has(name) && !json_[name].is_bool()) Complain(name, "must be true or false");
    return json_[name].AsBool(fallback);
  }

  const Json::Array& List(std::string_view name) {
    if (json_.Has(name) && !json_[name].is_array()) Complain(name, "must be an array");
    return json_[name].AsArray();
  }

  template <class Table>
  auto OneOf(std::string_view name, const Table& table, std::string_view fallback) {
    const std::string text = json_.Has(name) || fallback.empty() ? Text(name, true) : std::string(fallback);
    std::string all;
    for (const auto& row : table) {
      if (row.word == text) return row.value;
      all += StrCat(all.empty() ? "" : ", ", row.word);
    }
    Complain(name, StrCat("'", text, "' is none of ", all));
    return table.front().value;
  }

  std::string Inner(std::string_view name, std::size_t at) const {
    return StrCat(where_, where_.empty() ? "" : ".", name, "[", at, "]");
  }

 private:
  const Json& json_;
  const std::string where_;
  Status& status_;
};

class Parser {
 public:
  explicit Parser(std::string_view plugin) : plugin_(plugin), made_(std::make_unique<PluginDescription>()) {}

  Result<std::unique_ptr<PluginDescription>> Parse(const Json& json) {
    Members all(json, "", status_);
    all.OnlyThese({"stages", "commands"});
    for (std::size_t at = 0; const Json& stage : all.List("stages"))
      ReadStage(Members(stage, all.Inner("stages", at++), status_));
    for (std::size_t at = 0; const Json& command : all.List("commands"))
      ReadCommand(Members(command, all.Inner("commands", at++), status_), made_->commands, 0);
    if (!status_.ok()) return std::move(status_);
    return std::move(made_);
  }

 private:
  std::string_view Keep(std::string text) { return made_->texts.emplace_back(std::move(text)); }

  void ReadStage(Members stage) {
    stage.OnlyThese({"name", "version", "help", "kind", "place", "ports", "keys", "libraries"});
    StageType type;
    const std::string name = stage.Name("name");
    if (made_->Find(plugin_, name) != nullptr) stage.Complain("name", StrCat("'", name, "' is there twice"));
    type.name = Keep(StrCat(plugin_, ".", name));
    const std::int64_t version = stage.At("version").AsInt();
    if (!stage.At("version").is_int() || version < 1 || version > kLargestVersion)
      stage.Complain("version", "must be a whole number from 1");
    type.version = static_cast<std::uint32_t>(version);
    type.help = Keep(stage.Text("help", true));
    if (stage.Text("kind", true) != "job") stage.Complain("kind", "must be 'job', the only kind there is");
    type.kind = JobKind{.location_of_recipe = stage.OneOf("place", kLocations, "out")};
    type.takes = Flow::kNothing;
    type.gives = Flow::kArtifact;
    for (std::size_t at = 0; const Json& named_input : stage.List("ports"))
      ReadNamedInput(Members(named_input, stage.Inner("ports", at++), status_), type);
    for (std::size_t at = 0; const Json& key : stage.List("keys"))
      ReadKey(Members(key, stage.Inner("keys", at++), status_), type);
    if (!stage.At("libraries").is_null() && !stage.At("libraries").is_object())
      stage.Complain("libraries", "must be an object of texts");
    for (const auto& [library, value] : stage.At("libraries").AsObject()) {
      if (!value.is_string()) stage.Complain("libraries", "must be an object of texts");
      type.libraries.emplace(library, value.AsString());
    }
    made_->stages.push_back(std::move(type));
  }

  void ReadNamedInput(Members named_input, StageType& type) {
    named_input.OnlyThese({"name", "help", "required", "or_file", "verify"});
    NamedInput made;
    made.name = Keep(FreeName(named_input, type));
    made.help = Keep(named_input.Text("help", false));
    made.required = named_input.Bool("required", true);
    made.or_file = named_input.Bool("or_file", false);
    if (named_input.Bool("verify", false)) made_->verified_inputs[type.name].emplace_back(made.name);
    type.named_inputs.push_back(made);
  }

  void ReadKey(Members key, StageType& type) {
    key.OnlyThese({"name", "type", "default", "effect", "choices", "content", "help"});
    ConfigKey made = {};
    made.name = Keep(FreeName(key, type));
    made.type = key.OneOf("type", kTypes, "");
    made.effect = key.OneOf("effect", kEffects, "bytes");
    made.help = Keep(key.Text("help", true));
    if (key.Bool("content", false)) {
      if (made.type != ValueType::kString) key.Complain("content", "belongs to the type 'string'");
      made_->content_keys[type.name].emplace_back(made.name);
    }
    for (const Json& choice : key.List("choices")) {
      if (!choice.is_string() || choice.AsString().empty()) key.Complain("choices", "must be texts");
      made.choices.push_back(Keep(std::string(choice.AsString())));
    }
    if (made.choices.empty() == (made.type == ValueType::kChoice))
      key.Complain("choices", "belong to the type 'choice', and to no other");
    made.fallback = Keep(Fallback(key));
    if (!made.fallback.empty() && made.fallback != "~") CheckFallback(key, made);
    type.keys.push_back(std::move(made));
  }

  /// Has the type that ConfigKey::fallback expects.
  static std::string Fallback(Members& key) {
    const Json& value = key.At("default");
    if (!value.is_null() && !value.is_string()) {
      key.Complain("default", "must be a text, as it would be written in the file");
      return {};
    }
    const std::string text(value.AsString());
    if (value.is_string() && text.empty()) return "\"\"";
    if (value.is_string()) return text;
    return key.Has("default") ? std::string("~") : std::string();
  }

  static void CheckFallback(Members& key, const ConfigKey& made) {
    const ParsedYaml yaml = ParseYaml(made.fallback);
    std::vector<Mistake> mistakes = yaml.mistakes;
    if (yaml.root) ReadValue(made, *yaml.root, "the value", mistakes);
    if (!mistakes.empty()) key.Complain("default", mistakes.front().message);
  }

  /// Finds a name that no key or named input of the stage has.
  static std::string FreeName(Members& member, const StageType& type) {
    std::string name = member.Name("name");
    const auto has = [&](const auto& row) { return row.name == name; };
    const auto& every = StageKeys();
    if (std::any_of(type.keys.begin(), type.keys.end(), has) ||
        std::any_of(type.named_inputs.begin(), type.named_inputs.end(), has) ||
        std::any_of(every.begin(), every.end(), has) || name == kExpectKey.name || name == "inputs")
      member.Complain("name", StrCat("'", name, "' is taken"));
    return name;
  }

  void ReadCommand(Members command, std::vector<CommandEntry>& commands, int depth) {
    command.OnlyThese({"name", "help", "words", "commands"});
    CommandEntry made = {command.Name("name"), command.Text("help", true)};
    for (const CommandEntry& other : commands)
      if (other.name == made.name) command.Complain("name", StrCat("'", made.name, "' is there twice"));
    made.has_words = command.Has("words") || command.Has("commands");
    for (std::size_t at = 0; const Json& word : command.List("words"))
      made.words.push_back(ReadWord(Members(word, command.Inner("words", at++), status_)));
    std::stable_partition(made.words.begin(), made.words.end(),
                          [](const CommandWord& word) { return word.flags.empty(); });
    if (depth > 0 && command.Has("commands")) command.Complain("commands", "only one level of them is known");
    for (std::size_t at = 0; depth == 0 && at < command.List("commands").size(); ++at)
      ReadCommand(Members(command.List("commands")[at], command.Inner("commands", at), status_),
                  made.commands, depth + 1);
    commands.push_back(std::move(made));
  }

  static std::vector<std::string> Texts(Members& of, std::string_view name) {
    std::vector<std::string> texts;
    for (const Json& text : of.List(name)) {
      if (!IsPlainWord(text.AsString())) of.Complain(name, "must be words without white space");
      texts.emplace_back(text.AsString());
    }
    return texts;
  }

  /// Words that the completion of a shell can handle.
  static bool IsPlainWord(std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("-_=,.:/|%+@").find(c) != std::string_view::npos;
    });
  }

  static CommandWord ReadWord(Members word) {
    word.OnlyThese({"flags", "value", "choices", "help", "required", "repeats"});
    CommandWord made = {Texts(word, "flags"),    word.Text("value", false),    Texts(word, "choices"),
                        word.Text("help", true), word.Bool("required", false), word.Bool("repeats", false)};
    for (const std::string& flag : made.flags)
      if (!flag.starts_with('-')) word.Complain("flags", StrCat("'", flag, "' does not begin with -"));
    if (made.flags.empty() && made.value.empty()) word.Complain("value", "a word without flags needs one");
    if (!made.value.empty() && !IsPlainWord(made.value))
      word.Complain("value", "must be a word without white space");
    return made;
  }

  const std::string_view plugin_;
  std::unique_ptr<PluginDescription> made_;
  Status status_;
};

}  // namespace

Result<std::unique_ptr<PluginDescription>> ParseDescription(std::string_view plugin, std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kInvalidArgument, StrCat("is not JSON: ", json.status().message()));
  return Parser(plugin).Parse(*json);
}

}  // namespace pipeline
