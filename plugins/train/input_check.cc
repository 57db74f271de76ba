#include "plugins/train/input_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "plugins/train/config/check_config.h"
#include "plugins/train/config/trainer_keys.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/presets.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostModel = 256 << 20;
constexpr const char* kTrain = "train";
constexpr std::int64_t kRowsOfWords = 5;  // the version of packed.json of rows of a vocab.txt
constexpr const char* kValidation = "validation";
/// Keys of the stage that the trainer reads; the stage itself reads the others.
constexpr std::string_view kPassedOn[] = {"config",           "seed",       "steps",
                                          "log_every",        "eval_every", "checkpoint_every",
                                          "keep_checkpoints", "prompts",    "export"};

Status Mismatch(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

/// The members of a manifest that say how the artifact was made.
Result<Json> LineageOf(const std::string& uri, const ReadWhole& read) {
  ASSIGN_OR_RETURN(const std::string text, read(uri, kMostPacked));
  const Result<Json> manifest = Json::Parse(text);
  if (!manifest.ok())
    return Status(Code::kDataLoss, StrCat(uri, ": is not JSON: ", manifest.status().message()));
  Json lineage{Json::Object{}};
  for (const char* member : {"recipe", "content", "facts", "lineage"})
    if (manifest->Has(member)) lineage[member] = (*manifest)[member];
  return lineage;
}

/// OK: a stage of this type makes data for the trainer of the settings. `where`: the place of the data.
Status CheckMaker(const Json& settings, std::string_view type, const std::string& where) {
  const bool external = IsExternal(settings);
  if (type != kRowsMaker && (external || type != kPairsMaker))
    return Mismatch(StrCat(where, ": is made by a stage of type ", type,
                           ", and the trainer reads artifacts of `", kRowsMaker, "`",
                           external ? "" : StrCat(" or `", kPairsMaker, "`"), " only"));
  if (external) return {};
  const Json config = CompleteTrainerConfig(settings["config"]);
  const std::string_view objective = config["objective"]["name"].AsString();
  if ((objective == kPairsObjective) == (type == kPairsMaker)) return {};
  if (type == kRowsMaker)
    return Mismatch(StrCat(where, ": rows of write_packed, and config.objective.name: ", objective,
                           " learns masked pairs of sentences: give the stage `write_bert` at `data`"));
  return Mismatch(
      StrCat(where, ": masked pairs of sentences of write_bert, which config.objective.name: ", objective,
             " does not learn: write `config: { objective: { name: next_sentence } }` with a preset "
             "of the family bert, such as bert-base or tiny-masked, or give rows of `write_packed`"));
}

Status NoSplit(const std::string& where, std::string_view split, const std::vector<std::string>& all) {
  std::string names;
  for (const std::string& name : all) names += StrCat(names.empty() ? "" : ", ", name);
  return Mismatch(StrCat(where, ": there is no split '", split, "', only ", names.empty() ? "none" : names,
                         "; the trainer reads `train` and `validation`: give the stage `split` those names"));
}

Result<std::uint64_t> RowsOf(const Json& facts, const std::string& uri, const char* split) {
  const Json& there = facts["splits"][split];
  std::vector<std::string> all;
  for (const auto& [name, value] : facts["splits"].AsObject()) all.push_back(name);
  if (!there.is_object()) return NoSplit(uri, split, all);
  const std::int64_t rows = there["rows"].AsInt();
  if (rows < 1)
    return Mismatch(StrCat(uri, ": its split '", split,
                           "' has no rows; give `split` more of the text for it, or `seq_len` less"));
  return static_cast<std::uint64_t>(rows);
}

/// The number of scored targets of a split; absent: the rows have no weights.
Result<std::optional<std::uint64_t>> ScoredOf(const Json& facts, const std::string& uri, const char* split) {
  if (!facts["weights"].AsBool()) return std::optional<std::uint64_t>();
  const Json& split_totals = facts["splits"][split];
  const std::int64_t scored = split_totals["scored"].AsInt();
  if (scored < 1 || scored > split_totals["targets"].AsInt())
    return Status(Code::kDataLoss, StrCat(uri, ": its split '", split, "' has ", scored,
                                          " scored targets, where it needs one and has ",
                                          split_totals["targets"].AsInt(), " targets; make it again"));
  return std::optional(static_cast<std::uint64_t>(scored));
}

/// The trainer's reader supports Examples without segments, and rows of ids. `packed` describes the rows:
/// packed.json, or the configuration of the stage that will write it.
Status CheckRows(const Json& packed, const std::string& where) {
  if (packed["packing"].AsString() == "documents")
    return Mismatch(StrCat(where,
                           ": whole documents, which the trainer does not read: give write_packed `packing: "
                           "stream` or `best_fit`, and `encoding: example`, `raw16` or `raw32`"));
  const std::string_view encoding = packed["encoding"].AsString("example");
  const bool segments = packed["segments"].AsBool();
  if (!segments && (encoding == "example" || encoding == "raw16" || encoding == "raw32")) return {};
  return Mismatch(
      StrCat(where, ": rows ", segments ? "with segments" : "in ", segments ? "" : encoding,
             ", which the trainer does not read: give write_packed `encoding: example`, `raw16` or "
             "`raw32`, and no `segments`"));
}

/// Labels that are numbers are for one objective, which learns no others. `packed` as of CheckRows: in a
/// configuration a text is a list.
Status CheckLabels(const Json& settings, const Json& packed, const std::string& where) {
  const std::string_view objective = settings["config"]["objective"]["name"].AsString();
  const Json& labels = packed["labels"];
  const Json::Array& names = labels.AsArray();
  const bool numbers =
      labels.AsString() == "numbers" || (names.size() == 1 && names.front().AsString() == "numbers");
  if (numbers && (objective == "causal" || objective == "prefix" || objective == "classes"))
    return Mismatch(StrCat(where, ": its labels are numbers, which config.objective.name: ", objective,
                           " does not learn: write `regression`, with a preset of the family bert"));
  if (!numbers && objective == "regression")
    return Mismatch(StrCat(where, ": its labels are no numbers, which config.objective.name: regression ",
                           "learns: give write_packed `labels: numbers`"));
  return {};
}

/// packed.json has a version that the trainer reads.
Status CheckVersion(const Json& packed, const std::string& uri) {
  const std::int64_t version = packed["pipe_packed"].AsInt();
  const bool weights = packed["weights"].AsBool();
  if (version == kRowsOfWords || (version >= 1 && version <= 3 && weights == (version == 3))) return {};
  return Mismatch(StrCat(uri, ": is no packed data of version 1, 2, 3 or 5, which the trainer reads"));
}

/// The ids of a vocab.txt are for models of one family, whatever model a training begins with. `tokenizer`:
/// its facts.
Status CheckWords(const Json& settings, const Json& tokenizer, const std::string& where) {
  if (tokenizer["layout"].AsString() != "bert") return {};
  const std::string_view trainer = settings["trainer"].AsString();
  if (!PresetNamed(trainer)["encoding"].AsString().empty())
    return Mismatch(StrCat(where, ": the ids of a vocab.txt are not for `trainer: ", trainer,
                           "`, which reads a SentencePiece model beside its rows; make them with one"));
  if (IsExternal(settings)) return {};
  const Json config = CompleteTrainerConfig(settings["config"]);
  const std::string_view objective = config["objective"]["name"].AsString();
  const Json::Array& learned = TrainerKeys()["families"]["bert"]["objectives"].AsArray();
  if (std::count(learned.begin(), learned.end(), Json(objective)) > 0) return {};
  return Mismatch(StrCat(where,
                         ": the ids of a vocab.txt are for a model of the family bert, which does not learn ",
                         objective, ": take a preset such as tiny-masked, or a SentencePiece model"));
}

/// Checks `config.model` against the rows and the ids; 0 stands for an unknown number.
Status CheckModel(const Json& settings, std::int64_t seq_len, std::int64_t vocab_size) {
  const Json& model = settings["config"]["model"];
  const std::int64_t vocab = model["vocab"].AsInt(), length = model["seq_len"].AsInt();
  if (vocab != 0 && vocab < vocab_size)
    return Mismatch(StrCat("config.model.vocab is ", vocab, ", and the tokenizer has ", vocab_size,
                           " ids: leave it out, or train a smaller tokenizer"));
  if (length != 0 && seq_len != 0 && length != seq_len)
    return Mismatch(StrCat("config.model.seq_len is ", length, ", and the rows of `data` have ", seq_len,
                           ": leave it out, or set `seq_len` of the stage that writes them"));
  return {};
}

std::string Millions(std::uint64_t number) {
  if (number < 1'000'000) return StrCat(number);
  std::array<char, 32> text = {};
  (void)std::snprintf(text.data(), text.size(), "%.1f M", static_cast<double>(number) / 1e6);
  return text.data();
}

}  // namespace

std::string TrainInputs::Describe() const {
  if (train_rows == 0) return "the data set of an external trainer";
  std::string more;
  const auto add = [&more](const std::string& one) { more += StrCat(more.empty() ? " (" : ", ", one); };
  if (train_targets > 0) add(StrCat(Millions(train_targets), " targets"));
  if (train_scored) add(StrCat(Millions(*train_scored), " scored"));
  if (rows_per_step > 0) add(StrCat((train_rows + rows_per_step - 1) / rows_per_step, " steps an epoch"));
  return StrCat(train_rows, " rows of ", seq_len, " ids", more, more.empty() ? "" : ")", ", ",
                validation_rows, " held out, ", vocab_size, " pieces", epochs.empty() ? "" : "; ", epochs);
}

void ResolveEpochs(TrainJob& job, TrainInputs& inputs) {
  const double epochs = job.settings["epochs"].AsDouble();
  if (!(epochs > 0) || inputs.rows_per_step == 0) return;
  const double rows = epochs * static_cast<double>(inputs.train_rows);
  const double steps = std::ceil(rows / static_cast<double>(inputs.rows_per_step));
  job.settings["steps"] = static_cast<std::int64_t>(std::max(steps, 1.0));
  inputs.epochs = StrCat(job.settings["epochs"].Dump(), epochs == 1 ? " epoch is " : " epochs are ",
                         job.steps(), job.steps() == 1 ? " step" : " steps");
}

/// The value of a flag in a command; absent: it is not there, or no number.
std::optional<std::int64_t> NumberOfFlag(const Json& command, std::string_view flag) {
  for (const Json& word : command.AsArray()) {
    std::string_view text = word.AsString();
    if (text.starts_with("--")) text.remove_prefix(2);
    if (text.starts_with(flag) && text.substr(flag.size()).starts_with("="))
      return WholeNumber(text.substr(flag.size() + 1));
  }
  return {};
}

/// Checks the stage at `data_set`, and the form of the rows at `data`, against a preset.
Status CheckForPreset(const Json& settings, const Json& makers) {
  const Json& preset = PresetNamed(settings["trainer"].AsString());
  const std::string_view reads = preset["reads"].AsString(), encoding = preset["encoding"].AsString();
  const std::string_view type = makers["data_set"]["type"].AsString();
  if (!reads.empty() && !type.empty() && type != reads)
    return Mismatch(StrCat("data_set: is made by a stage of type ", type, ", and `trainer: ",
                           settings["trainer"].AsString(), "` reads artifacts of `", reads, "`"));
  const std::string_view rows = makers["data"]["config"]["encoding"].AsString(encoding);
  if (!encoding.empty() && rows != encoding)
    return Mismatch(StrCat("data: rows in ", rows, ", and `trainer: ", settings["trainer"].AsString(),
                           "` reads `encoding: ", encoding, "`"));
  for (const auto& [flag, of] : preset["agree"].AsObject()) {
    const Json::Array& place = of.AsArray();
    const std::string_view input = place.at(0).AsString(), key = place.at(1).AsString();
    const Json& value = makers[input]["config"][key];
    const std::optional<std::int64_t> given = NumberOfFlag(settings["command"], flag);
    if (!value.is_int() || !given || *given == value.AsInt() + place.at(2).AsInt()) continue;
    return Mismatch(StrCat(input, ": has ", key, ": ", value.AsInt(), ", so ", flag, " must be ",
                           value.AsInt() + place.at(2).AsInt(), ", and is ", *given, ": flags.",
                           settings["trainer"].AsString(), ".", flag));
  }
  return {};
}

Status CheckMakers(const Json& settings, const Json& makers) {
  RETURN_IF_ERROR(CheckForPreset(settings, makers));
  // The artifact of a plugin's stage is known only when it exists.
  const auto unknown = [](const Json& maker) {
    const std::string_view type = maker["type"].AsString();
    return type.empty() || type.find('.') != std::string_view::npos;
  };
  if (const Json& data = makers["data"]; !unknown(data)) {
    RETURN_IF_ERROR(CheckMaker(settings, data["type"].AsString(), "data"));
    if (data["type"].AsString() == kRowsMaker) {
      RETURN_IF_ERROR(CheckRows(data["config"], "data"));
      RETURN_IF_ERROR(CheckLabels(settings, data["config"], "data"));
    }
    std::vector<std::string> splits;
    for (const Json& split : data["splits"].AsArray()) splits.emplace_back(split.AsString());
    for (const char* split : {kTrain, kValidation})
      if (std::find(splits.begin(), splits.end(), split) == splits.end())
        return NoSplit("data", split, splits);
    RETURN_IF_ERROR(CheckModel(settings, data["config"]["seq_len"].AsInt(), 0));
  }
  if (const Json& tokenizer = makers["tokenizer"]; !unknown(tokenizer)) {
    if (!tokenizer["facts"].Has("vocab_size"))
      return Mismatch(StrCat("tokenizer: a stage of type ", tokenizer["type"].AsString(),
                             " makes no tokenizer; name the one that made the ids of `data`"));
    RETURN_IF_ERROR(CheckModel(settings, 0, tokenizer["facts"]["vocab_size"].AsInt()));
    RETURN_IF_ERROR(CheckWords(settings, tokenizer["facts"], "tokenizer"));
  }
  if (const Json& model = makers["init_from"]; !unknown(model))
    return Mismatch(StrCat("init_from: a stage of type ", model["type"].AsString(),
                           " makes no model; name a stage `train`, or the path of a model.safetensors"));
  return {};
}

namespace {

Status CheckRowsOf(const TrainJob& job, const ReadWhole& read, TrainInputs& inputs) {
  Result<RowFacts> found = ReadRowFacts(job.data_uri, job.data_manifest, read);
  if (!found.ok() && found.status().code() == Code::kNotFound)
    return Mismatch(StrCat(found.status().message(), ", so another stage made the artifact at `data`"));
  ASSIGN_OR_RETURN(const RowFacts rows, std::move(found));
  const std::string& uri = rows.uri;
  const Json& facts = rows.facts;
  RETURN_IF_ERROR(CheckMaker(job.settings, rows.maker, uri));
  if (rows.maker == kRowsMaker) {
    RETURN_IF_ERROR(CheckRows(facts, uri));
    RETURN_IF_ERROR(CheckVersion(facts, uri));
    RETURN_IF_ERROR(CheckLabels(job.settings, facts, uri));
  }
  ASSIGN_OR_RETURN(inputs.train_rows, RowsOf(facts, uri, kTrain));
  ASSIGN_OR_RETURN(inputs.validation_rows, RowsOf(facts, uri, kValidation));
  ASSIGN_OR_RETURN(inputs.train_scored, ScoredOf(facts, uri, kTrain));
  RETURN_IF_ERROR(ScoredOf(facts, uri, kValidation).status());
  inputs.train_targets = static_cast<std::uint64_t>(facts["splits"][kTrain]["targets"].AsInt());
  inputs.seq_len = facts["seq_len"].AsInt();
  const Json& made_with = facts["tokenizer"];
  RETURN_IF_ERROR(CheckWords(job.settings, made_with, uri));
  inputs.vocab_size = made_with["vocab_size"].AsInt();
  if (inputs.seq_len < 1 || inputs.vocab_size < 1)
    return Status(Code::kDataLoss,
                  StrCat(uri, ": says no length of the rows or no size of the vocabulary; make it again"));
  ASSIGN_OR_RETURN(inputs.data_lineage, LineageOf(job.data_manifest, read));
  if (job.tokenizer_uri.empty()) return {};
  const std::string model = StrCat(job.tokenizer_uri, "/", job.tokenizer_file);
  ASSIGN_OR_RETURN(const std::string bytes, read(model, kMostModel));
  inputs.tokenizer_digest = DigestOf(bytes).ToHex();
  if (made_with["model_digest"].AsString() != inputs.tokenizer_digest)
    return Mismatch(StrCat("the rows of `data` were made with another tokenizer (",
                           made_with["model_digest"].AsString(), ") than the one at `tokenizer` (", model,
                           ", ", inputs.tokenizer_digest, "): give both stages the same one"));
  Json tokenizer;
  if (!job.tokenizer_manifest.empty()) {
    ASSIGN_OR_RETURN(tokenizer, LineageOf(job.tokenizer_manifest, read));
  }
  const std::int64_t told = tokenizer["facts"]["vocab_size"].AsInt(inputs.vocab_size);
  if (told != inputs.vocab_size)
    return Mismatch(StrCat("the rows of `data` count ", inputs.vocab_size,
                           " pieces of the tokenizer and its manifest ", told, "; make `data` again"));
  RETURN_IF_ERROR(CheckModel(job.settings, inputs.seq_len, inputs.vocab_size));
  return {};
}

}  // namespace

Result<TrainInputs> CheckTrainInputs(const TrainJob& job, const ReadWhole& read) {
  TrainInputs inputs;
  if (!job.data_uri.empty()) RETURN_IF_ERROR(CheckRowsOf(job, read, inputs));
  for (const auto& [manifest, lineage] : {std::pair(&job.tokenizer_manifest, &inputs.tokenizer_lineage),
                                          std::pair(&job.data_set_manifest, &inputs.data_set_lineage),
                                          std::pair(&job.init_manifest, &inputs.init_lineage)})
    if (!manifest->empty()) {
      ASSIGN_OR_RETURN(*lineage, LineageOf(*manifest, read));
    }
  const std::int64_t rows =
      IsExternal(job.settings) ? 0 : CompleteTrainerConfig(job.settings["config"])["batch"]["rows"].AsInt();
  inputs.rows_per_step = static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
  return inputs;
}

Json JobFile(const TrainJob& job, const TrainInputs& inputs) {
  Json file;
  file["pipe_job"] = kTrainerContract;
  file["name"] = job.stage;
  file["recipe"] = job.recipe;
  file["run_dir"] = job.run_dir;
  if (!job.data_uri.empty()) {
    file["data"]["dir"] = job.data_dir;
    file["data"]["train"] = kTrain;
    file["data"]["validation"] = kValidation;
  }
  if (!job.tokenizer_uri.empty())
    file["tokenizer"]["model"] = StrCat(job.tokenizer_dir, "/", job.tokenizer_file);
  if (!job.tokenizer_uri.empty() && !job.data_uri.empty()) {
    file["tokenizer"]["digest"] = inputs.tokenizer_digest;
    file["tokenizer"]["vocab_size"] = inputs.vocab_size;
  }
  for (const std::string_view key : kPassedOn)
    if (job.settings.Has(key)) file[key] = job.settings[key];
  // A key that is off is left out, so the job equals that of the version before.
  if (!job.init_from.empty()) file["init_from"] = job.init_from;
  if (job.settings["keep_best"].AsBool()) file["keep_best"] = true;
  if (job.stops_early()) file["early_stop"] = job.settings["early_stop"];
  if (const Json& profile = job.settings["profile"]; !profile.AsObject().empty()) file["profile"] = profile;
  if (!file["config"].is_object()) file["config"] = Json(Json::Object{});
  if (IsExternal(job.settings)) file["external"] = ExternalRecipe(job.settings);
  file["threads"] = job.threads;
  for (const auto& [name, lineage] :
       {std::pair("data", &inputs.data_lineage), std::pair("tokenizer", &inputs.tokenizer_lineage),
        std::pair("data_set", &inputs.data_set_lineage), std::pair("init_from", &inputs.init_lineage)})
    if (lineage->is_object()) file["lineage"][name] = *lineage;
  return file;
}

}  // namespace pipeline
