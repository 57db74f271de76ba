#include <algorithm>
#include <map>
#include <vector>

#include "base/str.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"

namespace pipeline {

namespace {

constexpr std::size_t kUnits = 100;         // units that are shown one by one
constexpr std::size_t kHosts = 200;         // the same of hosts
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

std::string Table(std::string_view label, std::string_view first, std::string_view rows) {
  return HtmlTable(
      label,
      StrCat(HtmlHead(first), HtmlHeads({"Time", "Processors", "of children", "Children's memory", "Records",
                                         "Read", "Children read / wrote"})),
      rows);
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
    std::string said = GroupedCount(of.units, "unit");
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
  return StrCat(Table("Stages with their time and memory", "Stage", rows), "\n", hint);
}

std::string HostRow(const std::string& name, const HostWork& host, std::int64_t inside_ms) {
  const double seconds = static_cast<double>(host.inside_ms) / 1000;
  const std::string rate =
      seconds > 0 && host.bytes > 0
          ? StrCat(HumanBytes(static_cast<std::uint64_t>(static_cast<double>(host.bytes) / seconds)), "/s")
          : std::string();
  return StrCat("<tr><th scope=\"row\"><b>", name, "</b></th>", HtmlCell(GroupedUnlessZero(host.workers)),
                HtmlCell(GroupedUnlessZero(host.units)), HtmlCell(Span(seconds)),
                HtmlCell(Percent(host.inside_ms, inside_ms)), HtmlCell(BytesUnlessZero(host.bytes)),
                HtmlCell(rate), HtmlCell(GroupedUnlessZero(host.twice)),
                HtmlCell(GroupedUnlessZero(host.lost)), "</tr>\n");
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
  return StrCat(StageSums(record), "<details><summary>", title, "</summary>\n", Table("Units", "Unit", rows),
                "</details>\n");
}

std::string HostSection(const RunRecord& record) {
  if (record.hosts.empty()) return {};
  HostWork all;
  for (const HostWork& host : record.hosts) {
    all.workers += host.workers;
    all.units += host.units;
    all.inside_ms += host.inside_ms;
    all.bytes += host.bytes;
    all.twice += host.twice;
    all.lost += host.lost;
  }
  std::string rows;
  for (std::size_t at = 0; at < std::min(record.hosts.size(), kHosts); ++at)
    rows += HostRow(HtmlText(record.hosts[at].host.substr(0, 200)), record.hosts[at], all.inside_ms);
  if (record.hosts.size() > 1) rows += HostRow("All hosts", all, all.inside_ms);
  std::string lead;
  if (const double share = Utilisation(record.hosts); share > 0)
    lead = StrCat("<p class=\"lead\">Workers spent ", Percent(share, 1), " of their time in units.</p>\n");
  std::string more;
  if (record.hosts.size() > kHosts)
    more = StrCat("<p class=\"hint\">and ", Grouped(record.hosts.size() - kHosts), " more hosts</p>\n");
  return StrCat(lead,
                HtmlTable("Hosts",
                          HtmlHeads({"Host", "Workers", "Units", "Time in units", "Share", "Written",
                                     "per second", "Done twice", "Lost"}),
                          rows),
                "\n", more,
                "<p class=\"hint\">Done twice: another worker had stored the result of a unit, or a part of "
                "it, before. Lost: the worker gave "
                "no sign of life, and another one took its unit. Times are by the clock of each host.</p>\n");
}

}  // namespace pipeline
