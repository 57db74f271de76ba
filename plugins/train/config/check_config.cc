#include "plugins/train/config/check_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/train/config/trainer_keys.h"

namespace pipeline {

namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kMesh = "mesh", kOptimizer = "optimizer", kLora = "lora", kModel = "model";
constexpr std::size_t kMostShownValue = 60;

std::vector<std::string_view> MembersOf(const Json& object) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : object.AsObject()) names.push_back(name);
  return names;
}

std::vector<std::string_view> TextsOf(const Json& list) {
  std::vector<std::string_view> texts;
  for (const Json& text : list.AsArray()) texts.push_back(text.AsString());
  return texts;
}

bool IsAmong(const Json& list, std::string_view text) {
  const std::vector<std::string_view> texts = TextsOf(list);
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string Listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += StrCat(text.empty() ? "" : ", ", name);
  return text;
}

/// Returns "; did you mean NAME?", or all names where none is near.
std::string Near(std::string_view word, const std::vector<std::string_view>& names) {
  const std::string_view nearest = NearestWord(word, names);
  return nearest.empty() ? StrCat("; there are ", Listed(names)) : StrCat("; did you mean ", nearest, "?");
}

std::string ShownValue(const Json& value) {
  std::string text = value.Dump();
  return text.size() < kMostShownValue ? text : text.substr(0, kMostShownValue - 3) + "...";
}

bool IsOfType(std::string_view type, const Json& value) {
  if (type == "whole") return value.is_int();
  if (type == "number") return value.is_number() && std::isfinite(value.AsDouble());
  if (type == "flag") return value.is_bool();
  if (type == "text") return value.is_string();
  return value.is_array() && !value.AsArray().empty() &&
         std::all_of(value.AsArray().begin(), value.AsArray().end(),
                     [](const Json& one) { return one.is_string(); });
}

std::string_view NameOfType(std::string_view type) {
  if (type == "whole") return "a whole number";
  if (type == "number") return "a number";
  if (type == "flag") return "true or false";
  return type == "text" ? "a text" : "a list of names";
}

/// Returns what `key` wants and `value` is not; empty: it fits.
std::string Misfit(const Json& key, const Json& value) {
  if (value.is_null() && key["null"].AsBool()) return {};
  const bool may_be_auto = key["auto"].AsBool();
  if (may_be_auto && value.AsString() == kAuto) return {};
  const std::string free = may_be_auto ? " or auto" : "";
  if (key.Has("choices"))
    return value.is_string() && IsAmong(key["choices"], value.AsString())
               ? std::string()
               : StrCat("wants one of ", Listed(TextsOf(key["choices"])), free);
  const std::string_view type = key["type"].AsString();
  if (!IsOfType(type, value)) return StrCat("wants ", NameOfType(type), free);
  const double number = value.AsDouble();
  const auto wants = [&key](std::string_view what, std::string_view bound) {
    return StrCat("wants ", what, " ", key[bound].Dump());
  };
  if (key.Has("low") && number < key["low"].AsDouble()) return wants("at least", "low");
  if (key.Has("below") && number >= key["below"].AsDouble()) return wants("less than", "below");
  if (key.Has("above") && number <= key["above"].AsDouble()) return wants("more than", "above");
  if (key.Has("high") && number > key["high"].AsDouble()) return wants("at most", "high");
  return {};
}

/// One configuration: mistakes of its keys, then of its shape.
class ConfigCheck {
 public:
  ConfigCheck(const Json& config, bool has_init)
      : config_(config), has_init_(has_init), sections_(TrainerKeys()["sections"]) {}

  Status Run() {
    ReadPreset();
    for (const auto& [name, value] : config_.AsObject())
      if (name != "preset" && !sections_.Has(name))
        Complain(name, StrCat("there is no such key", Near(name, MembersOf(sections_))));
    for (const auto& [name, keys] : sections_.AsObject()) ReadSection(name, keys);
    CheckShape(values_[kModel]);
    if (values_["pruning"]["share"].AsDouble() > 0 && values_[kLora]["rank"].AsInt() > 0)
      Complain("pruning.share", "adapters leave the weights as they are; leave out one of pruning and lora");
    if (!has_init_) {  // else the model to begin with decides them, which is not known yet
      CheckExperts(values_[kModel]);
      CheckGate(values_[kModel]);
      CheckObjective();
    }
    if (mistakes_.empty()) return {};
    return Status(Code::kInvalidArgument, mistakes_);
  }

  /// Call it after Run.
  Json TakeValues() { return std::move(values_); }

 private:
  void Complain(std::string_view key, std::string_view what) {
    mistakes_ += StrCat(mistakes_.empty() ? "" : "; ", "config.", key, ": ", what);
  }
  void ComplainOfModel(std::string_view key, std::string_view what) {
    Complain(StrCat(kModel, ".", key), what);
  }

  void ReadPreset() {
    const Json& presets = TrainerKeys()["presets"];
    const Json name = config_.Has("preset") ? config_["preset"] : Json("tiny");
    if (name.is_string() && presets.Has(name.AsString())) {
      preset_ = presets[name.AsString()];
      return;
    }
    const std::string_view nearest =
        name.is_string() ? NearestWord(name.AsString(), MembersOf(presets)) : std::string_view();
    Complain("preset",
             StrCat(ShownValue(name), nearest.empty() ? "" : StrCat("; did you mean ", nearest, "?"),
                    "; there are ", Listed(MembersOf(presets))));
  }

  /// Checks what the configuration gives, and sets values_[name] to the values that the trainer would have.
  void ReadSection(const std::string& name, const Json& keys) {
    Json& values = values_[name];
    for (const auto& [key, facts] : keys.AsObject()) values[key] = facts["default"];
    for (const auto& [key, value] : preset_[name].AsObject()) values[key] = value;
    const Json& given = config_[name];
    if (name == kOptimizer) ReadOptimizer(given, values);
    if (given.is_null() || (name == kMesh && given.AsString() == kAuto)) return;
    if (!given.is_object()) return Complain(name, StrCat("wants a map, and is ", ShownValue(given)));
    if (name == kLora) CheckLora(given);
    for (const auto& [key, value] : given.AsObject()) {
      const std::string path = StrCat(name, ".", key);
      if (!keys.Has(key)) {
        Complain(path, StrCat("there is no such key", Near(key, MembersOf(keys))));
        continue;
      }
      const std::string misfit = Misfit(keys[key], value);
      if (!misfit.empty()) {
        const std::string_view meant = NearestWord(value.AsString(), TextsOf(keys[key]["choices"]));
        Complain(path, StrCat(misfit, ", and is ", ShownValue(value),
                              meant.empty() ? "" : StrCat("; did you mean ", meant, "?")));
      } else if (value.AsString() != kAuto || !keys[key]["auto"].AsBool()) {
        values[key] = value;
      }
    }
  }

  /// Another optimiser has other defaults than a preset, and reads other keys.
  void ReadOptimizer(const Json& given, Json& values) {
    const Json& optimizers = TrainerKeys()["optimizers"];
    const std::string name(given["name"].AsString(values["name"].AsString()));
    for (const auto& [key, value] : TrainerKeys()["own_defaults"][name].AsObject()) values[key] = value;
    if (!optimizers.Has(name)) return;
    for (const auto& [key, value] : given.AsObject()) {
      const bool of_another =
          std::any_of(optimizers.AsObject().begin(), optimizers.AsObject().end(),
                      [&key = key](const auto& optimizer) { return IsAmong(optimizer.second, key); });
      if (of_another && !IsAmong(optimizers[name], key))
        Complain(StrCat(kOptimizer, ".", key),
                 StrCat(name, " does not read it; leave it out, or take one of lr, clip, ",
                        Listed(TextsOf(optimizers[name]))));
    }
  }

  void CheckLora(const Json& given) {
    if (!given.AsObject().empty() && !given.Has("rank"))
      Complain(StrCat(kLora, ".", given.AsObject().begin()->first),
               "is read with a rank alone; say lora.rank, or leave lora out");
    if (given["rank"].AsInt() > 0 && !has_init_)
      Complain(StrCat(kLora, ".rank"),
               "there is no model for the adapters; name it as the input init_from, or "
               "leave lora out");
  }

  void CheckShape(const Json& model) {
    const std::int64_t d = model["d"].AsInt(), heads = model["heads"].AsInt();
    const std::int64_t kv_heads = model["kv_heads"].AsInt(heads);
    const std::int64_t head_dim = model["head_dim"].AsInt(std::max<std::int64_t>(d / heads, 1));
    const std::string_view family = model["family"].AsString(), attention = model["attention"].AsString();
    const bool tied = model["tied"].AsBool();
    if (heads % kv_heads != 0)
      ComplainOfModel("kv_heads", StrCat(kv_heads, " does not divide heads ", heads));
    if (d % heads != 0 && head_dim == d / heads)
      ComplainOfModel("heads", StrCat(heads, " does not divide d ", d, "; say head_dim as well"));
    if (head_dim % 2 != 0)
      ComplainOfModel("head_dim", StrCat(head_dim, " is odd; rotary positions take halves of it"));
    if (family == "bert" && (kv_heads != heads || !tied))
      ComplainOfModel("family", "bert has as many kv_heads as heads, and its head is the embedding");
    if (family == "t5" && (kv_heads != heads || (attention != kAuto && attention != "reference")))
      ComplainOfModel("family",
                      "t5 has as many kv_heads as heads, and only the form of attention `reference`");
    if (family == "lm1b" && (kv_heads != heads || tied || d % 2 != 0))
      ComplainOfModel("family", "lm1b has as many kv_heads as heads, a head of its own and an even d");
  }

  void CheckGate(const Json& model) {
    if (!model["gated"].AsBool(true) && (model["family"].AsString() != "t5" || model["experts"].AsInt() > 0))
      ComplainOfModel("gated",
                      "false is for a t5 without experts, whose MLP is that of the first T5; leave it out");
  }

  void CheckExperts(const Json& model) {
    const std::int64_t experts = model["experts"].AsInt();
    const Json& families = TrainerKeys()["families"];
    if (experts == 0) {
      for (const auto& [key, facts] : sections_[kModel].AsObject())
        if (key.starts_with("expert_") && model[key].AsDouble() != facts["default"].AsDouble())
          ComplainOfModel(key, "there are no experts; say config.model.experts, or leave it out");
    } else if (!families[model["family"].AsString()]["experts"].AsBool()) {
      std::vector<std::string_view> able;
      for (const auto& [name, family] : families.AsObject())
        if (family["experts"].AsBool()) able.push_back(name);
      ComplainOfModel("experts", StrCat("a model of family ", model["family"].AsString(), " has none; ",
                                        Listed(able), " may have them"));
    } else {
      const std::int64_t every = model["expert_every"].AsInt(), top = model["expert_top"].AsInt();
      if (model["layers"].AsInt() % every != 0)
        ComplainOfModel("expert_every", StrCat(every, " does not divide layers ", model["layers"].AsInt()));
      if (top > experts) ComplainOfModel("expert_top", StrCat(top, ", and there are ", experts, " experts"));
    }
  }

  void CheckObjective() {
    const std::string_view family = values_[kModel]["family"].AsString();
    const std::string_view objective = values_["objective"]["name"].AsString();
    const Json& learns = TrainerKeys()["families"][family]["objectives"];
    if (!IsAmong(learns, objective))
      Complain("objective.name", StrCat("a model of family ", family, " learns ", Listed(TextsOf(learns)),
                                        ", and not ", objective));
    if (values_[kModel]["next_sentence"].AsBool() && objective != kPairsObjective)
      ComplainOfModel(kPairsObjective, "is for objective.name: next_sentence; leave it out");
    if (values_["data"]["native"].AsBool() && objective == kPairsObjective)
      Complain("data.native",
               "the library reads packed rows, and next_sentence learns no such; leave it out");
  }

  const Json& config_;
  const bool has_init_;
  const Json& sections_;
  Json preset_;
  Json values_;  // of all sections, where they are right
  std::string mistakes_;
};

}  // namespace

Status CheckTrainerConfig(const Json& config, bool has_init) {
  if (!config.is_object() && !config.is_null())
    return Status(Code::kInvalidArgument, "config: must be a map, such as { preset: tiny }");
  return ConfigCheck(config, has_init).Run();
}

Json CompleteTrainerConfig(const Json& config) {
  ConfigCheck check(config, true);
  (void)check.Run();  // mistakes were told when the file was read
  return check.TakeValues();
}

}  // namespace pipeline
