#include "cli/report/report_labels.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {

namespace {

std::string ScoreCell(double value) {
  return std::isfinite(value) ? StrCat("<td>", Fixed(value, 4), "</td>") : std::string("<td></td>");
}

/// A number of any size.
std::string Figures(double value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 32> text;
  const auto [end, full] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return full == std::errc() ? std::string(text.data(), end) : std::string();
}

std::string LabelScoreRow(std::string_view head, const RecordedLabels::Score& score, bool numbers) {
  std::string cells;
  for (const double value : score.values)
    cells += numbers ? StrCat("<td>", Figures(value), "</td>") : ScoreCell(value);
  return StrCat("<tr><th scope=\"row\">", head, "</th><td class=\"text\">", HtmlText(score.name), "</td>",
                cells, "</tr>\n");
}

std::string Wide(std::string_view name, std::string_view head, std::string_view rows) {
  return StrCat("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", name,
                "\"><table><thead><tr>", head, "</tr></thead><tbody>\n", rows, "</tbody></table></div>\n");
}

std::string HeadCell(std::string_view text, bool is_text = false) {
  return StrCat("<th scope=\"col\"", is_text ? " style=\"text-align:left\"" : "", ">", HtmlText(text),
                "</th>");
}

std::string Scores(const RecordedLabels& labels) {
  std::string rows;
  for (const RecordedLabels::Score& score : labels.baselines)
    rows += LabelScoreRow("baseline", score, labels.numbers);
  for (const RecordedLabels::Score& score : labels.evaluations)
    rows += LabelScoreRow(StrCat("step ", Grouped(static_cast<std::uint64_t>(score.step))), score,
                          labels.numbers);
  std::string head = StrCat(HeadCell("Evaluation"), HeadCell("Name", true));
  for (const LabelScore& score : labels.scores()) head += HeadCell(score.name);
  return Wide("Scores of labels", head, rows);
}

std::string Confusion(const RecordedLabels::Evaluation& last) {
  if (last.confusion.empty()) return {};
  std::string head = HeadCell("Label, by answer"), rows;
  for (const std::string& name : last.names) head += HeadCell(name);
  for (std::size_t at = 0; at < last.confusion.size(); ++at) {
    rows += StrCat("<tr><th scope=\"row\">", HtmlText(last.names[at]), "</th>");
    for (const std::uint64_t number : last.confusion[at]) rows += StrCat("<td>", Grouped(number), "</td>");
    rows += StrCat(ScoreCell(last.f1[at]), "</tr>\n");
  }
  return StrCat("<p class=\"lead\">Documents of step ", Grouped(static_cast<std::uint64_t>(last.step)),
                ".</p>\n", Wide("Confusion", StrCat(head, HeadCell("F1")), rows));
}

std::string Mistakes(const RecordedLabels::Evaluation& last, bool numbers) {
  if (last.mistakes.empty()) return {};
  const std::string_view title =
      numbers ? "Documents with the greatest errors" : "Documents whose label was least likely";
  std::string rows;
  for (const RecordedLabels::Mistake& one : last.mistakes) {
    const std::string_view language = LanguageOf(one.text);
    const std::string measure =
        numbers ? StrCat("<td>", Figures(one.measure), "</td>") : ScoreCell(one.measure);
    rows += StrCat("<tr>", measure, "<td class=\"text\">", HtmlText(one.label), "</td><td class=\"text\">",
                   HtmlText(one.answer), "</td><td class=\"text\"",
                   language.empty() ? "" : StrCat(" lang=\"", language, "\""), ">", HtmlText(one.text),
                   "</td></tr>\n");
  }
  return StrCat("<h3>", title, "</h3>\n",
                Wide(title,
                     StrCat(HeadCell(numbers ? "Error" : "Nats"), HeadCell("Label", true),
                            HeadCell("Answer", true), HeadCell("Text", true)),
                     rows));
}

}  // namespace

std::string LabelsSection(const RecordedLabels& labels) {
  return labels.empty()
             ? std::string()
             : StrCat(Scores(labels), Confusion(labels.last), Mistakes(labels.last, labels.numbers));
}

}  // namespace pipeline
