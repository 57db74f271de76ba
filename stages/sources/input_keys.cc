#include "stages/sources/input_keys.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/reading_rules.h"
#include "dag/pipeline_file/subset.h"
#include "text/encoding_guess.h"

namespace pipeline {

namespace {

constexpr std::string_view kMaxBadRows = "max_bad_rows";
constexpr std::int64_t kLeastRecord = 1 << 10;
constexpr std::int64_t kMostRecord = 1 << 30;  // batches count bytes in 32 bits
constexpr std::int64_t kMostRatio = 1'000'000'000;
constexpr std::string_view kInvalidLines = "invalid_lines";
constexpr double kInvalidShare = 0.01;

std::size_t Nuls(std::string_view bytes) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\0'));
}

constexpr std::string_view kLong = "long_quarantined";
constexpr double kMostWithoutText = 0.5;

std::string LongAdvice(std::string_view noun, const Json& config) {
  return StrCat(noun, "s longer than max_record_bytes (",
                HumanBytes(static_cast<std::uint64_t>(config["max_record_bytes"].AsInt())),
                ") are set aside: raise it");
}

std::vector<std::string_view> CompressionChoices() {
  std::vector<std::string_view> names = {"auto"};
  for (const CompressedFormat& format : CompressedFormats()) names.push_back(format.name);
  names.push_back(Compression().name());
  return names;
}

}  // namespace

ConfigKey SubsetKey() {
  return {"subset", ValueType::kString, "~",
          "For trials: the first documents of each file (`5000`; in an archive with `splits`, of each of "
          "them), or a "
          "part of all of them (`1%`), the same one each time; see --subset."};
}

ConfigKey TextRulesKey() {
  return RulesKey(
      "The number of the reading rules; without it a plan keeps those of earlier work, and takes the newest "
      "elsewhere.");
}

std::vector<ConfigKey> InputKeys(std::string_view compression_key) {
  ConfigKey encoding = Choice(
      "encoding", "~",
      {"auto", "utf-8", "shift_jis", "cp932", "euc-jp", "iso-2022-jp", "cp949", "johab", "iso-2022-kr",
       "utf-16le", "utf-16be"},
      "The encoding of the text; `auto`, as without the key, looks at the bytes of each file or member.");
  encoding.other_word = EncodingOfWord;
  return {
      Choice(compression_key, "auto", CompressionChoices(),
             "How the files are compressed; `auto` looks at their first bytes."),
      Choice("archive", "auto", {"auto", "tar", "zip", "none"},
             "Whether the files are archives, whose members are read one after the other; `auto` looks."),
      {"members", ValueType::kStrings, "~",
       "Patterns, with * and ?, of the names of the members that are read; without it, all are."},
      Choice(
          "content", "auto", {"auto", "text"},
          "`text` reads the lines of WARC, XML and HTML as they are; `auto` refuses these, as it does PDF, "
          "Parquet and other formats that are no text.",
          Effect::kNone),
      std::move(encoding),
      {kInvalidLines, ValueType::kNumber, "0.01",
       "The share of lines with invalid UTF-8 or NUL, or of their bad bytes, of each file and of all "
       "together, "
       "above which the run fails; up to 20 lines are too many only if they are half of all.",
       Effect::kNone},
      SubsetKey(),
      TextRulesKey(),
      {"max_ratio", ValueType::kInteger, "200",
       "Above 16 MiB, the most bytes of text that a byte of an archive may stand for.", Effect::kNone},
  };
}

InputRules InputRulesOf(const Json& config, std::string_view compression_key) {
  InputRules rules;
  rules.compression_key = compression_key;
  rules.compression = Compression::Named(config[compression_key].AsString());
  const std::string_view archive = config["archive"].AsString();
  rules.archives = archive == "tar"    ? Archives::kTar
                   : archive == "zip"  ? Archives::kZip
                   : archive == "none" ? Archives::kNone
                                       : Archives::kDetect;
  for (const Json& pattern : config["members"].AsArray())
    rules.archive.members.emplace_back(pattern.AsString());
  if (config.Has("splits"))  // StageType::check has checked them
    if (Result<FileSplits> splits = FileSplits::Make(config["splits"]); splits.ok())
      rules.splits = std::move(splits).value();
  rules.encoding = EncodingByName(config["encoding"].AsString());
  rules.by_letters = ReadingRulesOf(config) > 1;
  if (config["content"].AsString() == "text") rules.forms = rules.archive.forms = TextForms::kAny;
  rules.archive.max_ratio = static_cast<std::uint64_t>(config["max_ratio"].AsInt(200));
  return rules;
}

Status CheckInputKeys(const Json& config) {
  RETURN_IF_ERROR(SubsetOf(config).status());
  const std::int64_t ratio = config["max_ratio"].AsInt(200);
  if (ratio < 1 || ratio > kMostRatio)
    return Status(Code::kInvalidArgument, StrCat("max_ratio: ", ratio, ": must be from 1 to ", kMostRatio));
  if (const double share = config[kInvalidLines].AsDouble(kInvalidShare); !(share >= 0 && share <= 1))
    return Status(Code::kInvalidArgument, StrCat(kInvalidLines, ": must be a share from 0 to 1"));
  if (config.Has("members") && config["members"].AsArray().empty())
    return Status(Code::kInvalidArgument,
                  "members: an empty list selects nothing; leave the key out to read all");
  return {};
}

Status CheckCutKeys(const Json& config) {
  const std::int64_t record = config["max_record_bytes"].AsInt();
  if (record < kLeastRecord || record > kMostRecord)
    return Status(Code::kInvalidArgument, "max_record_bytes: must be from 1KiB to 1GiB");
  for (const std::string_view key : {"partition", "max_document_bytes"})
    if (config.Has(key) && config[key].AsInt() < 1)
      return Status(Code::kInvalidArgument, StrCat(key, ": must be at least 1"));
  return {};
}

bool AreFields(const Json& config) { return config["columns"].AsString() == "fields"; }

ConfigKey MaxBadRowsKey() {
  return {
      kMaxBadRows, ValueType::kNumber, "0.01",
      "The share of rows set aside for being bad, or of their bytes, of each file and of all together, above "
      "which the run fails; up to 20 rows are too many only if they are half of all.",
      Effect::kNone};
}

Status CheckMaxBadRows(const Json& config) {
  const double share = config[kMaxBadRows].AsDouble();
  if (share >= 0 && share <= 1) return {};
  return Status(Code::kInvalidArgument, StrCat(kMaxBadRows, ": must be a share from 0 to 1"));
}

FaultBound BadRowsBound(const Json& config, std::vector<std::string_view> reasons,
                        std::function<std::string(std::string_view reason, std::string_view sample)> advice) {
  const auto with_long = [too_long = LongAdvice("row", config), advice = std::move(advice)](
                             std::string_view reason, std::string_view sample) {
    if (reason == kLong) return too_long;
    return advice ? advice(reason, sample) : std::string("mend it");
  };
  return {kMaxBadRows, "row", std::move(reasons), config[kMaxBadRows].AsDouble(), true, with_long};
}

FaultBound NoTextBound(const Json& config, std::function<std::string(std::string_view sample)> advice) {
  FaultBound bound = BadRowsBound(
      config, {kNoText},
      [advice = std::move(advice)](std::string_view, std::string_view sample) { return advice(sample); });
  if (bound.share > 0) bound.share = std::max(bound.share, kMostWithoutText);
  bound.lacks = "a column of text";
  return bound;
}

FaultBound LongLinesBound(const Json& config) {
  return {"on_long",
          "line",
          {kLong},
          1,
          false,
          [advice = LongAdvice("line", config)](std::string_view, std::string_view) { return advice; }};
}

std::optional<FaultBound> InvalidLinesBound(const Json& config) {
  if (InvalidUtf8Of(config) == InvalidUtf8::kFail) return std::nullopt;
  const std::optional<Encoding> fixed = EncodingByName(config["encoding"].AsString());
  const auto advice = [decodes = fixed.value_or(Encoding::kUtf8) != Encoding::kUtf8](
                          std::string_view reason, std::string_view sample) {
    if (reason.ends_with("nul") && 2 * Nuls(sample) > sample.size())
      return std::string("most of their bytes are NUL, which no text has: fetch the file again");
    if (reason.ends_with("iso_2022"))
      return std::string("these lines are in ISO-2022-JP: split the file where it changes, or convert them");
    const std::string fitting = decodes ? std::string() : FittingNames(sample);
    return fitting.empty() ? std::string("set encoding if it is another one, or convert the text to UTF-8")
                           : StrCat("these lines fit ", fitting, "; or split the file where it changes");
  };
  return FaultBound{
      kInvalidLines,
      "line",
      {"invalid_utf8", "nul", "iso_2022", "dropped_invalid_utf8", "dropped_nul", "dropped_iso_2022"},
      config[kInvalidLines].AsDouble(kInvalidShare),
      false,
      advice};
}

void ReadCutKeys(const Json& config, LineRules& rules) {
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  rules.max_record_bytes = static_cast<std::size_t>(config["max_record_bytes"].AsInt());
  const std::string_view on_long = config["on_long"].AsString();
  rules.on_long = on_long == "fail"         ? OnLong::kFail
                  : on_long == "quarantine" ? OnLong::kQuarantine
                                            : OnLong::kSplit;
}

InvalidUtf8 InvalidUtf8Of(const Json& config) {
  const std::string_view invalid = config["invalid_utf8"].AsString();
  return invalid == "fail"         ? InvalidUtf8::kFail
         : invalid == "quarantine" ? InvalidUtf8::kQuarantine
                                   : InvalidUtf8::kReplace;
}

}  // namespace pipeline
