#include "plugins/train/fit_question.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/digest.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/command_table.h"
#include "plugins/train/config/check_config.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

namespace {

constexpr std::string_view kTpu = "tpu";
constexpr std::size_t kMostShown = 8;
constexpr std::size_t kMostFitAnswer = 200;
constexpr std::int64_t kMostOfAuto = 32'000;  // as in text/vocabulary_sizes.h

std::string FitCommand(const Json& stage) {
  std::string command = StrCat("pipe trainer fit ", Quoted(stage["file"].AsString()));
  for (const auto& [name, value] : stage["set"].AsObject())
    command += StrCat(" --set ", Quoted(StrCat(name, "=", value.AsString())));
  return command + " --on v3-8";
}

}  // namespace

Json FitQuestion(const Json& stage) {
  Json question;
  const Json& settings = stage["config"];
  question["config"] = settings["config"].is_object() ? settings["config"] : Json(Json::Object{});
  if (const std::int64_t steps = settings["steps"].AsInt(); steps > 0) question["steps"] = steps;
  const Json& makers = stage["makers"];
  // The rows are known if they are made.
  const double rows = makers["data"]["facts"]["rows"].AsDouble(), epochs = settings["epochs"].AsDouble();
  const std::int64_t batch = CompleteTrainerConfig(question["config"])["batch"]["rows"].AsInt();
  if (rows > 0 && epochs > 0 && batch > 0)
    question["steps"] = static_cast<std::int64_t>(std::ceil(rows * epochs / static_cast<double>(batch)));
  if (const std::int64_t length = makers["data"]["config"]["seq_len"].AsInt(); length > 0)
    question["seq_len"] = length;
  // The facts of a tokenizer that is not made yet have the least number of its pieces, which is the wanted
  // one for some of its models only; `auto` takes kMostOfAuto at most.
  const Json& tokenizer = makers["tokenizer"];
  const Json& wanted = tokenizer["config"]["vocab_size"];
  const std::int64_t most = wanted.is_string() ? kMostOfAuto : wanted.AsInt();
  if (const std::int64_t vocab = std::max(tokenizer["facts"]["vocab_size"].AsInt(), most); vocab > 0)
    question["vocab"] = vocab;
  return question;
}

std::string FitMark() {
  const Result<std::string> mark = MarkOf(std::string(kTpu));
  return mark.ok() ? *mark : std::string();
}

std::string FitAnswers(const Json& question) {
  return StrCat(".pipe/fit/", DigestOf(question.Dump()).ToHex(), ".json");
}

std::vector<std::string> KeptFit(const Json& stage) {
  const Json kept = ReadJsonFile(FitAnswers(FitQuestion(stage)));
  std::vector<std::string> lines;
  if (kept["mark"].AsString() == FitMark())
    for (const auto& [slice, answer] : kept["answers"].AsObject())
      if (lines.size() < kMostShown)
        lines.push_back(
            StrCat("stage '", stage["stage"].AsString(), "': ", Readable(answer.AsString(), kMostFitAnswer)));
  if (lines.empty())
    lines.push_back(StrCat("stage '", stage["stage"].AsString(),
                           "': whether it fits a TPU, and how long it takes there: ", FitCommand(stage)));
  return lines;
}

}  // namespace pipeline
