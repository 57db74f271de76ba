#include "cli/report/length_loss.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "cli/report/html.h"
#include "formats/sentencepiece_model.h"
#include "stages/all/builtin.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

Result<std::string> ReadModel(const std::string& location, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
  std::error_code error;
  const bool is_file = uri.is_local()
                           ? !std::filesystem::is_directory(uri.path, error)
                           : uri.LastPart().ends_with("model");  // a usual name is sentencepiece_model
  if (!is_file) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(location));
    return ReadObject(*store, kTokenizerModelFile, kMaxTokenizerModelBytes, std::move(stop));
  }
  const std::string whole = uri.ToString(), name(uri.LastPart());
  const std::string above = whole.substr(0, whole.size() - name.size());
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(above.empty() ? "." : above));
  return ReadObject(*store, name, kMaxTokenizerModelBytes, std::move(stop));
}

Result<std::shared_ptr<const SentencePieceEncoder>> LoadModel(const std::string& location,
                                                              std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadModel(location, std::move(stop)));
  RETURN_IF_ERROR(SentencePieceModel::Parse(bytes).status());
  ASSIGN_OR_RETURN(std::unique_ptr<const SentencePieceEncoder> encoder, SentencePieceEncoder::Load(bytes));
  return std::shared_ptr<const SentencePieceEncoder>(std::move(encoder));
}

/// "2 of 9 lines (22.2 %) and 300 of 500 tokens (60 %)"
std::string LossOf(const LengthCounts& counts) {
  if (counts.long_lines == 0) return StrCat("none of ", Grouped(counts.lines), " lines");
  const auto part = [](std::uint64_t some, std::uint64_t all, std::string_view noun) {
    return StrCat(Grouped(some), " of ", Grouped(all), " ", noun, " (", Percent(some, all), ")");
  };
  return StrCat(part(counts.long_lines, counts.lines, "lines"), " and ",
                part(counts.long_tokens, counts.tokens, "tokens"));
}

}  // namespace

Result<LengthFilter> ReadLengthFilter(const std::string& tokenizer, std::uint64_t max_tokens,
                                      std::stop_token stop) {
  LengthFilter filter;
  filter.max_tokens = static_cast<std::size_t>(max_tokens);
  if (tokenizer.empty()) return filter;
  Result<std::shared_ptr<const SentencePieceEncoder>> model = LoadModel(tokenizer, std::move(stop));
  if (!model.ok()) return std::move(model).status().Annotate(StrCat("--tokenizer ", tokenizer));
  filter.tokenizer = std::move(model).value();
  return filter;
}

std::string LengthLossLine(const VerifyReport& report) {
  if (report.max_tokens == 0) return {};
  return StrCat("a trainer that drops lines of more than ", report.max_tokens, " tokens drops ",
                LossOf(report.lengths));
}

std::string LongestLineOf(std::string_view type, const Json& config, const Schema& schema) {
  const ExportFormat* const format = FindExportFormat(ExportFormats(), type);
  if (format == nullptr || format->longest_line == nullptr) return {};
  const std::optional<std::int64_t> most = format->longest_line(config, schema);
  if (!most) return {};
  return *most > 0 ? std::to_string(*most) : "any";
}

std::string LengthLossHtml(const RunRecord& record) {
  std::string html;
  for (const RecordedStage& stage : record.stages) {
    const auto found = record.counts.find(stage.name);
    if (stage.longest_line.empty() || found == record.counts.end()) continue;
    html += StrCat("<p class=\"lead\"><b>", HtmlText(stage.name), "</b>: ");
    if (stage.longest_line == "any") {
      html += StrCat(
          "lines may have any length. A trainer that drops long ones, as transformer-lm-japanese "
          "does above its max_target_length, may drop a part of this data set: <code>pipe verify ",
          HtmlText(stage.location), " --tokenizer MODEL --max-tokens N</code> says how much.</p>\n");
      continue;
    }
    const StageCounts& counts = found->second.counts;
    const auto counted = [&counts](std::string_view reason) {
      const auto of = counts.reasons.find(reason);
      return of == counts.reasons.end() ? 0 : of->second;
    };
    const std::string limit = HtmlText(stage.longest_line);
    const std::uint64_t left = counted("over_max_tokens"), split = counted("split_long");
    html +=
        StrCat("a trainer that drops lines of more than ", limit, " tokens drops ",
               left == 0 ? std::string("none of this data set")
                         : StrCat(Grouped(left), " parts of it, each a single character with more tokens"),
               ". ");
    if (split == 0)
      html += "No line was longer.";
    else
      html += StrCat("Lines that were longer, ", Grouped(split), " of ", Grouped(counts.records_in), " (",
                     HtmlText(Percent(split, counts.records_in)),
                     "), were split into several: it would have dropped them.");
    html += "</p>\n";
  }
  return html;
}

}  // namespace pipeline
