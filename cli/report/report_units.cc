#include "cli/report/report_units.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {

namespace {

constexpr std::size_t kUnits = 100;         // units that are shown one by one
constexpr std::size_t kSummedStages = 200;  // stages whose sums are shown

/// The sums of the units of one stage.
struct Sums {
  std::uint64_t units = 0, failed = 0, stopped = 0;
  RecordedUnit all;  // `end` is the sum of their times
};

Sums Add(Sums sums, const RecordedUnit& unit) {
  ++sums.units;
  sums.failed += unit.failed.empty() ? 0 : 1;
  sums.stopped += unit.stopped ? 1 : 0;
  sums.all.end += unit.end - unit.begin;
  sums.all.records += unit.records;
  sums.all.read += unit.read;
  sums.all.cpu += unit.cpu;
  sums.all.child_cpu += unit.child_cpu;
  sums.all.child_rss = std::max(sums.all.child_rss, unit.child_rss);
  sums.all.child_read += unit.child_read;
  sums.all.child_written += unit.child_written;
  return sums;
}

std::string SpanUnlessZero(double seconds) { return seconds > 0 ? Span(seconds) : std::string(); }
std::string BytesUnlessZero(std::uint64_t bytes) { return bytes > 0 ? HumanBytes(bytes) : std::string(); }

std::string Cells(const RecordedUnit& unit) {
  return StrCat(HtmlCell(Span(unit.end - unit.begin)), HtmlCell(SpanUnlessZero(unit.cpu + unit.child_cpu)),
                HtmlCell(SpanUnlessZero(unit.child_cpu)), HtmlCell(BytesUnlessZero(unit.child_rss)),
                HtmlCell(GroupedUnlessZero(unit.records)), HtmlCell(BytesUnlessZero(unit.read)),
                HtmlCell(unit.child_read + unit.child_written == 0
                             ? std::string()
                             : StrCat(HumanBytes(unit.child_read), " / ", HumanBytes(unit.child_written))));
}

std::string TableHead(std::string_view first, std::string_view label) {
  std::string head = StrCat("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", label,
                            "\"><table><thead><tr><th scope=\"col\">", first, "</th>");
  for (const std::string_view name :
       {"Time", "Processors", "of children", "Children's memory", "Records", "Read", "Children read / wrote"})
    head += StrCat("<th scope=\"col\">", name, "</th>");
  return head + "</tr></thead><tbody>\n";
}

std::string StageSums(const RunRecord& record) {
  std::map<std::string, Sums> sums;
  double cpu = 0;
  for (const RecordedUnit& unit : record.units) {
    Sums& stage = sums[unit.unit.substr(0, unit.unit.find('/'))];
    stage = Add(stage, unit);
    cpu += unit.cpu + unit.child_cpu;
  }
  std::string rows;
  std::size_t shown = 0;
  for (const RecordedStage& stage : record.stages) {
    const auto found = sums.find(stage.name);
    if (found == sums.end() || ++shown > kSummedStages) continue;
    const Sums& of = found->second;
    std::string said = StrCat(Grouped(of.units), of.units == 1 ? " unit" : " units");
    if (of.failed > 0) said += StrCat(", ", Grouped(of.failed), " failed");
    if (of.stopped > 0) said += StrCat(", ", Grouped(of.stopped), " stopped");
    rows += StrCat("<tr><th scope=\"row\"><b>", HtmlText(stage.name), "</b> <span>", said, "</span></th>",
                   Cells(of.all), "</tr>\n");
  }
  const double all = record.moments.empty() ? 0 : record.moments.back().cpu;
  if (all > 0)
    rows += StrCat("<tr><th scope=\"row\"><b>The whole run</b></th><td></td>", HtmlCell(Span(all)),
                   HtmlCell(SpanUnlessZero(record.moments.back().child_cpu)),
                   "<td></td><td></td><td></td><td></td></tr>\n");
  std::string hint;
  if (all > cpu + 0.01)
    hint =
        StrCat("<p class=\"hint\">", Span(all - cpu),
               " of the whole run went to threads that belong to no unit: decoding, reading ahead, planning "
               "shards, this record.</p>\n");
  return StrCat(TableHead("Stage", "Stages with their time and memory"), rows, "</tbody></table></div>\n",
                hint);
}

}  // namespace

std::string UnitSection(const RunRecord& record) {
  if (record.units.empty()) return {};
  std::vector<const RecordedUnit*> longest;
  for (const RecordedUnit& unit : record.units) longest.push_back(&unit);
  const std::size_t shown = std::min(longest.size(), kUnits);
  std::partial_sort(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(shown), longest.end(),
                    [](const RecordedUnit* a, const RecordedUnit* b) {
                      const double one = a->end - a->begin, other = b->end - b->begin;
                      return one != other ? one > other : a->unit < b->unit;
                    });
  std::string rows;
  for (std::size_t at = 0; at < shown; ++at) {
    const RecordedUnit& unit = *longest[at];
    std::string became = !unit.failed.empty() ? "failed" : unit.stopped ? "stopped" : "";
    if (!unit.host.empty())
      became += StrCat(became.empty() ? "at " : ", at ", HtmlText(unit.host.substr(0, 200)));
    std::string name = unit.unit.substr(0, 200);
    rows += StrCat("<tr><th scope=\"row\"><code>", HtmlText(name), "</code> <span>", became, "</span></th>",
                   Cells(unit), "</tr>\n");
  }
  std::string title = longest.size() > shown
                          ? StrCat("The longest ", shown, " of ", Grouped(longest.size()), " units")
                          : std::string("Units, the longest first");
  return StrCat(StageSums(record), "<details><summary>", title, "</summary>\n", TableHead("Unit", "Units"),
                rows, "</tbody></table></div></details>\n");
}

}  // namespace pipeline
