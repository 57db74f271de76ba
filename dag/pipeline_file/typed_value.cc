#include "dag/pipeline_file/typed_value.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::int64_t kMaxShards = 99999;  // shards are numbered with five digits
constexpr double kRounding = 1e-9;          // 0.7 + 0.2 + 0.1 is not 1

using MaybeJson = std::optional<Json>;

/// Reads one value. `where` names it in messages.
class Reader {
 public:
  Reader(std::string_view where, std::vector<Mistake>& mistakes) : where_(where), mistakes_(mistakes) {}

  MaybeJson Read(const ConfigKey& key, const YamlNode& node) const {
    switch (key.type) {
      case ValueType::kString: return String(node);
      case ValueType::kInteger: return Integer(node, "a whole number");
      case ValueType::kIntegerOrAuto:
        return IsText(node) && node.text == "auto" ? MaybeJson(Json("auto"))
                                                   : Integer(node, "'auto' or a whole number");
      case ValueType::kNumber: return Number(node, "a number");
      case ValueType::kBoolean: return Boolean(node);
      case ValueType::kBytes: return Bytes(node);
      case ValueType::kChoice: return Choice(key, node);
      case ValueType::kStrings: return Strings(node);
      case ValueType::kSplits: return Splits(node);
      case ValueType::kFractionRange: return FractionRange(node);
      case ValueType::kShards: return Shards(node);
      case ValueType::kShuffle: return Shuffle(node);
      case ValueType::kMap: return node.is_map() ? MaybeJson(FreeValue(node)) : Expected("a map", node);
    }
    return std::nullopt;
  }

 private:
  MaybeJson Refuse(FilePosition at, std::string_view what) const {
    mistakes_.push_back({at, StrCat(where_, " ", what)});
    return std::nullopt;
  }
  MaybeJson Expected(std::string_view what, const YamlNode& node) const {
    if (node.broken) return std::nullopt;
    return Refuse(node.at, StrCat("must be ", what, ", and this is ", Describe(node)));
  }
  /// Refuses a scalar that must not be text. Quotes make a scalar text, unless it comes from a variable,
  /// which can only be in quotes.
  MaybeJson ExpectedPlain(std::string_view what, const YamlNode& node) const {
    if (node.is_scalar() && node.quoted && !node.broken)
      return Refuse(node.at, StrCat("must be ", what, ", and this is the text ", Describe(node),
                                    ": leave out the quotes"));
    return Expected(what, node);
  }
  static bool IsPlain(const YamlNode& node) { return node.is_scalar() && !node.quoted && !node.broken; }
  static bool IsText(const YamlNode& node) { return node.is_scalar() && !node.broken; }

  MaybeJson String(const YamlNode& node) const {
    return IsText(node) ? MaybeJson(Json(node.text)) : Expected("a text", node);
  }

  static std::string_view WithoutPlus(std::string_view text) {
    return text.substr(text.starts_with('+') ? 1 : 0);
  }

  MaybeJson Integer(const YamlNode& node, std::string_view what) const {
    if (!IsPlain(node)) return ExpectedPlain(what, node);
    const auto value = ParseNumber<std::int64_t>(WithoutPlus(node.text));
    return value ? MaybeJson(Json(*value)) : Expected(what, node);
  }

  MaybeJson Number(const YamlNode& node, std::string_view what) const {
    if (!IsPlain(node)) return ExpectedPlain(what, node);
    const auto value = ParseNumber<double>(WithoutPlus(node.text));
    return value && std::isfinite(*value) ? MaybeJson(Json(*value)) : Expected(what, node);
  }

  MaybeJson Boolean(const YamlNode& node) const {
    constexpr std::string_view kWhat = "true or false";
    if (!IsPlain(node)) return ExpectedPlain(kWhat, node);
    if (node.text == "true") return Json(true);
    if (node.text == "false") return Json(false);
    return Expected(kWhat, node);
  }

  MaybeJson Bytes(const YamlNode& node) const {
    if (!IsText(node)) return Expected("a size such as 64MiB", node);
    const auto bytes = ParseBytes(node.text);
    if (bytes.ok()) return Json(*bytes);
    return Refuse(node.at,
                  StrCat("must be a size, and this is ", Describe(node), ": ", bytes.status().message()));
  }

  MaybeJson Choice(const ConfigKey& key, const YamlNode& node) const {
    const std::string what = Enumeration(key.choices, "or");
    if (!IsText(node)) return Expected(what, node);
    for (std::string_view choice : key.choices)
      if (choice == node.text) return Json(choice);
    if (const std::string_view meant = key.other_word ? key.other_word(node.text) : ""; !meant.empty())
      return Json(meant);
    const bool guesses = !node.secret && key.other_word == nullptr;
    const std::string hint = guesses ? DidYouMean(node.text, key.choices) : std::string();
    return Refuse(node.at, StrCat("must be ", what, ", and this is ", Describe(node), hint));
  }

  MaybeJson Strings(const YamlNode& node) const {
    if (IsText(node)) return Json(Json::Array{Json(node.text)});
    if (!node.is_list()) return Expected("a text or a list of texts", node);
    Json::Array texts;
    for (const YamlNode& item : node.items) {
      MaybeJson text = String(item);
      if (text) texts.push_back(std::move(*text));
    }
    if (texts.size() < node.items.size()) return std::nullopt;
    return Json(std::move(texts));
  }

  MaybeJson Splits(const YamlNode& node) const {
    if (!node.is_map()) return Expected("a map of names to fractions", node);
    if (node.entries.empty()) return Refuse(node.at, "names no split");
    if (node.entries.size() > 255) return Refuse(node.at, "has more than 255 splits");
    Json::Array splits;
    double sum = 0;
    std::optional<std::size_t> rest;
    bool whole = true;
    for (const YamlEntry& entry : node.entries) {
      if (!IsName(entry.key)) {
        Refuse(entry.key_at, StrCat("has a split with a bad name: ", kNameRule));
        whole = false;
      }
      double fraction = 0;
      if (IsText(entry.value) && entry.value.text == "rest") {
        if (rest) {
          Refuse(entry.value.at, "has 'rest' twice");
          whole = false;
        }
        rest = splits.size();
      } else if (const MaybeJson number = Number(entry.value, "a fraction or 'rest' for each split")) {
        fraction = number->AsDouble();
        if (!(fraction >= 0 && fraction <= 1)) {
          Refuse(entry.value.at, StrCat("must give '", entry.key, "' a fraction from 0 to 1, and this is ",
                                        Describe(entry.value)));
          whole = false;
        }
        if (fraction == 0) continue;  // `--set validation=0`: nothing is held out, and there is no such split
      } else {
        whole = false;
      }
      sum += fraction;
      splits.push_back(Json(Json::Array{Json(entry.key), Json(fraction)}));
    }
    if (!whole) return std::nullopt;
    if (sum > 1 + kRounding) return Refuse(node.at, "has fractions that add up to more than 1");
    if (!rest && sum < 1 - kRounding)
      return Refuse(node.at, "has fractions that add up to less than 1: give one split 'rest'");
    if (rest && sum > 1 - kRounding) return Refuse(node.at, "has fractions that leave nothing for 'rest'");
    if (rest) splits[*rest] = Json(Json::Array{splits[*rest].AsArray()[0], Json(1 - sum)});
    return Json(std::move(splits));
  }

  MaybeJson FractionRange(const YamlNode& node) const {
    constexpr std::string_view kWhat = "[low, high], two fractions from 0 to 1";
    if (!node.is_list()) return Expected(kWhat, node);
    if (node.items.size() != 2)
      return Refuse(node.at, StrCat("must be ", kWhat, ", and this is a list of ", node.items.size()));
    const MaybeJson low = Number(node.items[0], "a fraction");
    const MaybeJson high = Number(node.items[1], "a fraction");
    if (!low || !high) return std::nullopt;
    for (const YamlNode& item : node.items) {
      const double fraction = (&item == &node.items[0] ? low : high)->AsDouble();
      if (!(fraction >= 0 && fraction <= 1))
        return Refuse(item.at, StrCat("must be ", kWhat, ", and this is ", Describe(item)));
    }
    if (low->AsDouble() > high->AsDouble())
      return Refuse(node.at, StrCat("must have the lower bound first: ", Describe(node.items[0]),
                                    " is above ", Describe(node.items[1])));
    return Json(Json::Array{*low, *high});
  }

  MaybeJson Shards(const YamlNode& node) const {
    if (IsText(node) && node.text == "auto") return Json("auto");
    const std::string what = StrCat("'auto' or a number from 1 to ", kMaxShards);
    if (!IsPlain(node)) return ExpectedPlain(what, node);
    const auto count = ParseNumber<std::int64_t>(WithoutPlus(node.text));
    return count && *count >= 1 && *count <= kMaxShards ? MaybeJson(Json(*count)) : Expected(what, node);
  }

  MaybeJson Shuffle(const YamlNode& node) const {
    if (IsText(node) && node.text == "none") return Json("none");
    if (!node.is_map()) return Expected("'none' or {seed: NUMBER}", node);
    static const std::vector<ConfigKey> kKeys = {
        {"seed", ValueType::kInteger, "0", ""},
        {"compress_spills", ValueType::kBoolean, "false", "", Effect::kNone},
    };
    MaybeJson shuffle = ReadConfig(kKeys, node.entries, {}, where_, node.at, mistakes_);
    if (shuffle && (*shuffle)["seed"].AsInt() < 0)
      return Refuse(node.at, "must have a seed that is not negative");
    return shuffle;
  }

  std::string_view where_;
  std::vector<Mistake>& mistakes_;
};

}  // namespace

std::optional<Json> ReadValue(const ConfigKey& key, const YamlNode& node, std::string_view where,
                              std::vector<Mistake>& mistakes) {
  return Reader(where, mistakes).Read(key, node);
}

std::optional<Json> ReadConfig(const std::vector<ConfigKey>& keys, const std::vector<YamlEntry>& entries,
                               const std::vector<std::string_view>& also, std::string_view where,
                               FilePosition at, std::vector<Mistake>& mistakes) {
  Json config{Json::Object{}};
  bool whole = true;
  for (const YamlEntry& entry : entries) {
    if (std::find(also.begin(), also.end(), entry.key) != also.end()) continue;
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.name == entry.key; });
    if (key == keys.end()) {
      std::vector<std::string_view> known = also;
      for (const ConfigKey& candidate : keys) known.push_back(candidate.name);
      mistakes.push_back(
          {entry.key_at, StrCat(where, ": unknown key '", entry.key, "'", DidYouMean(entry.key, known))});
      whole = false;
    } else if (!(entry.value.is_null() && key->fallback == "~")) {
      std::optional<Json> value =
          ReadValue(*key, entry.value, StrCat(where, ": '", key->name, "'"), mistakes);
      if (value)
        config[key->name] = std::move(*value);
      else
        whole = false;
    }
  }
  for (const ConfigKey& key : keys) {
    const auto given = [&](const YamlEntry& entry) { return entry.key == key.name; };
    if (std::any_of(entries.begin(), entries.end(), given) || key.fallback == "~") continue;
    if (key.fallback.empty()) {
      mistakes.push_back({at, StrCat(where, ": ", MissingKey(key.name, key.help))});
      whole = false;
      continue;
    }
    const ParsedYaml fallback = ParseYaml(key.fallback);
    std::optional<Json> value;
    if (fallback.root)
      value = ReadValue(key, *fallback.root, StrCat(where, ": the built-in default of '", key.name, "'"),
                        mistakes);
    if (value)
      config[key.name] = std::move(*value);
    else
      whole = false;
  }
  if (!whole) return std::nullopt;
  return config;
}

std::string MissingKey(std::string_view key, std::string_view help) {
  std::string clause(help);
  if (!clause.empty() && clause.back() == '.') clause.pop_back();
  if (!clause.empty()) clause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(clause[0])));
  return StrCat("missing key '", key, "'", clause.empty() ? "" : ": ", clause);
}

bool IsName(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= 64 && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

namespace {

Json Scalar(const YamlNode& node) {
  const std::string_view text = node.text;
  if (node.quoted) return Json(text);
  if (text == "true") return Json(true);
  if (text == "false") return Json(false);
  const bool has_plus = text.size() > 1 && text.front() == '+' && text[1] != '-';
  const std::string_view digits = text.substr(has_plus ? 1 : 0);
  if (const auto whole = ParseNumber<std::int64_t>(digits)) return Json(*whole);
  const bool integer = text.find_first_not_of("+-0123456789") == std::string_view::npos;
  if (const auto number = ParseNumber<double>(digits); !integer && number && std::isfinite(*number))
    return Json(*number);
  return Json(text);
}

}  // namespace

Json FreeValue(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return Json();
    case YamlNode::Kind::kScalar: return Scalar(node);
    case YamlNode::Kind::kList: {
      Json::Array items;
      for (const YamlNode& item : node.items) items.push_back(FreeValue(item));
      return Json(std::move(items));
    }
    case YamlNode::Kind::kMap: {
      Json::Object members;
      for (const YamlEntry& entry : node.entries) members.emplace(entry.key, FreeValue(entry.value));
      return Json(std::move(members));
    }
  }
  return Json();
}

}  // namespace pipeline
