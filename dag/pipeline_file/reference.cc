#include "dag/pipeline_file/reference.h"

#include <initializer_list>
#include <span>

#include "base/str.h"
#include "dag/pipeline_file/expectation.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

// ---------------------------------------------------------------------------------------- Markdown

std::string TypeName(const ConfigKey& key) {
  switch (key.type) {
    case ValueType::kString: return "text";
    case ValueType::kInteger: return "whole number";
    case ValueType::kIntegerOrAuto: return "`auto` or a whole number";
    case ValueType::kNumber: return "number";
    case ValueType::kBoolean: return "`true` or `false`";
    case ValueType::kBytes: return "size";
    case ValueType::kStrings: return "text or list of texts";
    case ValueType::kSplits: return "map of names to fractions or `rest`";
    case ValueType::kFractionRange: return "`[low, high]`, from 0 to 1";
    case ValueType::kShards: return "`auto` or a number";
    case ValueType::kShuffle: return "`none` or `{seed: 0, compress_spills: false}`";
    case ValueType::kMap: return "map";
    case ValueType::kChoice: break;
  }
  std::string choices;
  for (std::string_view choice : key.choices)
    choices += StrCat(choices.empty() ? "" : ", ", "`", choice, "`");
  return choices;
}

std::string Cell(std::string_view text) {
  std::string cell;
  for (char c : text) {
    if (c == '|') cell.push_back('\\');
    cell.push_back(c == '\n' ? ' ' : c);
  }
  return cell;
}

std::string KeyTable(const std::vector<ConfigKey>& keys) {
  std::string table = "| key | value | default | |\n| --- | --- | --- | --- |\n";
  for (const ConfigKey& key : keys) {
    const std::string fallback = key.fallback.empty()  ? "required"
                                 : key.fallback == "~" ? "none"
                                                       : StrCat("`", key.fallback, "`");
    table += StrCat("| `", key.name, "` | ", Cell(TypeName(key)), " | ", Cell(fallback), " | ",
                    Cell(key.help), " |\n");
  }
  return table;
}

template <class Table>
std::string NameTable(std::string_view title, const Table& rows) {
  std::string table = StrCat("| ", title, " | |\n| --- | --- |\n");
  for (const FileKey& row : rows)
    table += StrCat("| `", row.name, "`", row.required ? " (required)" : "", " | ", Cell(row.help), " |\n");
  return table;
}

std::string NamedInputTable(const std::vector<NamedInput>& named_inputs) {
  std::string table = "| named input | value | default | |\n| --- | --- | --- | --- |\n";
  for (const NamedInput& named_input : named_inputs) {
    const std::string_view fallback = named_input.inherited  ? "that of the nearest stage before"
                                      : named_input.required ? "required"
                                                             : "none";
    table += StrCat(
        "| `", named_input.name, "` | a stage", named_input.takes == Flow::kRecords ? " of records" : "",
        named_input.or_file ? " or the path of a file" : "", named_input.many ? ", or several" : "", " | ",
        fallback, " | ", Cell(named_input.help), " |\n");
  }
  return table;
}

std::string_view CountedOf(const Reason& reason) {
  switch (reason.of) {
    case Reason::Of::kRecords:
    case Reason::Of::kLookedAt: return reason.fate == Reason::Fate::kDropped ? "records, dropped" : "records";
    case Reason::Of::kDocuments: return "documents";
    case Reason::Of::kOther: return "no share";
  }
  return "";
}

std::string ReasonTable(const std::vector<Reason>& reasons) {
  std::string table = "| reason | share of | |\n| --- | --- | --- |\n";
  for (const Reason& reason : reasons)
    table += StrCat("| `", reason.name, "` | ", CountedOf(reason), " | ", Cell(reason.help), " |\n");
  return table;
}

std::string_view FlowWords(Flow flow) {
  switch (flow) {
    case Flow::kFiles: return "files";
    case Flow::kRecords: return "records";
    case Flow::kArtifact: return "an artifact";
    case Flow::kNothing: return "nothing";
  }
  return "";
}

std::string StageSection(const StageType& type) {
  std::string section = StrCat("\n### `", type.name, "`\n\n", type.help, " Reads ", FlowWords(type.takes),
                               ", gives ", FlowWords(type.gives),
                               type.needs_out()   ? ", publishes at `out`"
                               : type.publishes() ? ", publishes at `out` or keeps it in the work directory"
                                                  : "",
                               ".\n");
  if (!type.reads.empty()) {
    section += "Needs the columns";
    std::string_view separator = " ";
    for (std::string_view column : type.reads) {
      section += StrCat(separator, "`", column, "`");
      separator = ", ";
    }
    section += ".\n";
  }
  if (!type.keys.empty()) section += StrCat("\n", KeyTable(type.keys));
  if (!type.named_inputs.empty()) section += StrCat("\n", NamedInputTable(type.named_inputs));
  if (!IsCounted(type)) return StrCat(section, "\nCounts no records, and takes no `expect`.\n");
  if (const auto metrics = MetricsOf(type); metrics.size() > kMetrics.size())
    section += StrCat("\n", NameTable("metric", std::span(metrics).subspan(kMetrics.size())));
  if (!type.reasons.empty()) section += StrCat("\n", ReasonTable(type.reasons));
  return section;
}

// ------------------------------------------------------------------------------------- JSON Schema

Json Map(Json::Object members) { return Json(std::move(members)); }
Json List(std::initializer_list<Json> items) { return Json(Json::Array(items)); }
Json Type(std::string_view name) { return Map({{"type", name}}); }
Json Ref(std::string_view name) { return Map({{"$ref", StrCat("#/$defs/", name)}}); }
Json AnyOf(std::initializer_list<Json> items) { return Map({{"anyOf", List(items)}}); }

Json ClosedMap(Json::Object properties, Json::Array required) {
  Json schema = Map({{"type", "object"}, {"additionalProperties", false}});
  schema["properties"] = Json(std::move(properties));
  if (!required.empty()) schema["required"] = Json(std::move(required));
  return schema;
}

Json ValueSchema(const ConfigKey& key) {
  switch (key.type) {
    case ValueType::kString: return Ref("text");
    case ValueType::kInteger: return AnyOf({Type("integer"), Ref("reference")});
    case ValueType::kIntegerOrAuto:
      return AnyOf({Type("integer"), Map({{"const", "auto"}}), Ref("reference")});
    case ValueType::kNumber: return AnyOf({Type("number"), Ref("reference")});
    case ValueType::kBoolean: return AnyOf({Type("boolean"), Ref("reference")});
    case ValueType::kBytes: return Ref("size");
    case ValueType::kStrings: return AnyOf({Ref("text"), Map({{"type", "array"}, {"items", Ref("text")}})});
    case ValueType::kSplits: return Ref("splits");
    case ValueType::kFractionRange: return Ref("fraction_range");
    case ValueType::kShards: return Ref("shards");
    case ValueType::kShuffle: return Ref("shuffle");
    case ValueType::kMap: return Type("object");
    case ValueType::kChoice: break;
  }
  Json::Array choices(key.choices.begin(), key.choices.end());
  return AnyOf({Map({{"enum", Json(std::move(choices))}}), Ref("reference")});
}

/// Adds `keys` to the properties of a map, and the names of those without a default to `required`.
void AddKeys(const std::vector<ConfigKey>& keys, Json::Object& properties, Json::Array& required) {
  for (const ConfigKey& key : keys) {
    Json schema = ValueSchema(key);
    const bool optional = key.fallback == "~";
    if (optional) schema = AnyOf({schema, Type("null")});
    // An editor shows the default beside the help: a `default` in the schema would need its type.
    const bool has_default = !key.fallback.empty() && !optional;
    schema["description"] = has_default ? Json(StrCat(key.help, " Default: ", key.fallback)) : Json(key.help);
    properties.insert_or_assign(std::string(key.name), std::move(schema));
    if (key.fallback.empty()) required.push_back(Json(key.name));
  }
}

Json BoundSchema(Json value, std::string_view help) {
  return Map({{"type", "array"},
              {"items", std::move(value)},
              {"minItems", 2},
              {"maxItems", 2},
              {"description", help}});
}

Json ExpectSchema(const StageType& type) {
  const Json number = AnyOf({Type("number"), Ref("reference")});
  Json::Object metrics, reasons;
  for (const FileKey& metric : MetricsOf(type))
    metrics.emplace(metric.name, BoundSchema(metric.name == "bytes" ? Ref("size") : number, metric.help));
  for (const Reason* reason : ReasonsWithShare(type))
    reasons.emplace(reason->name, BoundSchema(number, reason->help));
  if (!reasons.empty()) {
    Json of_reasons = ClosedMap(std::move(reasons), {});
    of_reasons["description"] = kReasonsKey.help;
    metrics.emplace(kReasonsKey.name, std::move(of_reasons));
  }
  Json schema = ClosedMap(std::move(metrics), {});
  schema["description"] = kExpectKey.help;
  return schema;
}

/// Adds each named input as a key and as an entry of `inputs`.
void AddNamedInputs(const std::vector<NamedInput>& named_inputs, Json::Object& properties) {
  if (named_inputs.empty()) return;
  Json::Object entries;
  for (const NamedInput& named_input : named_inputs) {
    const Json stage = named_input.or_file ? Ref("text") : AnyOf({Ref("name"), Ref("reference")});
    const Json several = Map({{"type", "array"}, {"items", stage}, {"minItems", 1}});
    Json schema = named_input.many ? AnyOf({stage, several, Type("null")}) : AnyOf({stage, Type("null")});
    schema["description"] = named_input.help;
    entries.emplace(named_input.name, schema);
    properties.emplace(named_input.name, std::move(schema));
  }
  Json inputs = ClosedMap(std::move(entries), {});
  inputs["description"] = kInputsKey.help;
  properties.emplace(kInputsKey.name, std::move(inputs));
}

Json StageSchema(const StageType& type) {
  Json::Object properties;
  Json::Array required;
  AddKeys(type.keys, properties, required);
  for (const ConfigKey& key : StageKeys()) {
    if (key.name == "input" && type.takes == Flow::kNothing) continue;
    if (key.name == "out" && !type.publishes()) continue;
    if (key.name == "plugin") continue;  // stages of plugins are not checked here
    Json::Array needed;
    AddKeys({key}, properties, needed);
    const bool needs_out = key.name == "out" && type.needs_out();
    if (key.name == "type" || key.name == "input" || needs_out) required.push_back(Json(key.name));
  }
  AddNamedInputs(type.named_inputs, properties);
  properties["type"] = Map({{"const", type.name}, {"description", type.help}});
  if (IsCounted(type)) properties.emplace(kExpectKey.name, ExpectSchema(type));
  Json schema = ClosedMap(std::move(properties), std::move(required));
  schema["description"] = type.help;
  return schema;
}

Json Definitions(const Registry& registry) {
  const Json name = Map({{"pattern", "^[a-z][a-z0-9_]*$"}, {"maxLength", 64}});
  Json defs = Map({
      {"name", name},
      {"reference", Map({{"type", "string"}, {"pattern", "\\$\\{[^}]+\\}"}})},
      {"text", Map({{"type", List({"string", "number", "boolean"})}})},
      {"size",
       AnyOf({Map({{"type", "integer"}, {"minimum", 0}}),
              Map({{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)? *([KMGTPkmgtp]?[Ii]?[Bb])?$"}}),
              Ref("reference")})},
      {"splits",
       Map({{"type", "object"},
            {"propertyNames", Ref("name")},
            {"minProperties", 1},
            {"additionalProperties", AnyOf({Map({{"type", "number"}, {"minimum", 0}, {"maximum", 1}}),
                                            Map({{"const", "rest"}}), Ref("reference")})}})},
      {"fraction_range",
       Map({{"type", "array"},
            {"items", AnyOf({Map({{"type", "number"}, {"minimum", 0}, {"maximum", 1}}), Ref("reference")})},
            {"minItems", 2},
            {"maxItems", 2}})},
      {"shards", AnyOf({Map({{"const", "auto"}}),
                        Map({{"type", "integer"}, {"minimum", 1}, {"maximum", 99999}}), Ref("reference")})},
      {"shuffle",
       AnyOf({Map({{"const", "none"}}),
              ClosedMap({{"seed", AnyOf({Map({{"type", "integer"}, {"minimum", 0}}), Ref("reference")})},
                         {"compress_spills", AnyOf({Type("boolean"), Ref("reference")})}},
                        {}),
              Ref("reference")})},
  });
  for (const StageType& type : registry.types()) defs[StrCat("stage_", type.name)] = StageSchema(type);
  return defs;
}

Json StagesSchema(const Registry& registry) {
  Json::Array types, shapes;
  for (const StageType& type : registry.types()) {
    types.push_back(Json(type.name));
    const Json is_type =
        Map({{"required", List({"type"})}, {"properties", Map({{"type", Map({{"const", type.name}})}})}});
    shapes.push_back(Map({{"if", is_type}, {"then", Ref(StrCat("stage_", type.name))}}));
  }
  // Only the plugin knows the keys of its stages.
  Json ours = Map({{"properties", Map({{"type", Map({{"enum", Json(std::move(types))}})}})}});
  if (!shapes.empty()) ours["allOf"] = Json(std::move(shapes));
  Json stage = Map({{"type", "object"}, {"required", List({"type"})}});
  stage["if"] = Map({{"required", List({"plugin"})}});
  stage["then"] =
      Map({{"properties", Map({{"type", Ref("name")}, {"plugin", AnyOf({Type("string"), Type("null")})}})}});
  stage["else"] = std::move(ours);
  return Map({{"type", "object"},
              {"propertyNames", Ref("name")},
              {"minProperties", 1},
              {"additionalProperties", std::move(stage)}});
}

Json FileKeySchema(std::string_view name, const Registry& registry) {
  if (name == "pipe") return Map({{"const", kFileVersion}});
  if (name == "name") return Ref("name");
  if (name == "vars")
    return Map({{"type", List({"object", "null"})},
                {"propertyNames", Ref("name")},
                {"additionalProperties", Ref("text")}});
  if (name == "env")
    return Map({{"type", List({"array", "null"})}, {"items", Type("string")}, {"uniqueItems", true}});
  if (name == "stages") return StagesSchema(registry);
  Json::Object limits;
  Json::Array required;
  AddKeys(LimitKeys(), limits, required);
  return ClosedMap(std::move(limits), std::move(required));
}

}  // namespace

std::string ReferenceMarkdown(const Registry& registry) {
  std::string page = StrCat("# The pipeline file\n\nVersion ", kFileVersion,
                            ", as this program reads it.\n\n## The file\n\n", NameTable("key", kFileKeys));
  page +=
      "\n`${name}` inside a value stands for a variable, `${env:NAME}` for a variable of the environment "
      "that `env`\n"
      "lists, and `$${` for `${` itself. A value that is made this way means what its key wants, quotes or "
      "not.\n"
      "A size is a number of bytes with or without a unit: `4096`, `64MiB` (1024²), `1.5GB` (1000³).\n"
      "\n### `limits`\n\n";
  page += StrCat(KeyTable(LimitKeys()), "\n## Every stage\n\n", KeyTable(StageKeys()), "\n`", kExpectKey.name,
                 "`: ", kExpectKey.help, "\n\n", NameTable("metric", kMetrics), "\n`", kExpectKey.name, ": {",
                 kReasonsKey.name, ": …}`: ", kReasonsKey.help, " The reasons of each type stand with it.\n",
                 "\n## Types of stages\n");
  for (const StageType& type : registry.types()) page += StageSection(type);
  return page;
}

Json PipelineSchema(const Registry& registry) {
  Json::Object properties;
  Json::Array required;
  for (const FileKey& key : kFileKeys) {
    Json schema = FileKeySchema(key.name, registry);
    schema["description"] = key.help;
    properties.emplace(key.name, std::move(schema));
    if (key.required) required.push_back(Json(key.name));
  }
  Json schema = ClosedMap(std::move(properties), std::move(required));
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "pipe pipeline file";
  schema["$defs"] = Definitions(registry);
  return schema;
}

}  // namespace pipeline
