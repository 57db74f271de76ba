#include "cli/report/report_hosts.h"

#include <algorithm>
#include <cstdint>

#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {

namespace {

constexpr std::size_t kHosts = 200;  // that are shown one by one

double InSeconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

std::string HostRow(const std::string& name, const HostWork& host, std::int64_t inside_ms) {
  const double seconds = InSeconds(host.inside_ms);
  const std::string rate =
      seconds > 0 && host.bytes > 0
          ? StrCat(HumanBytes(static_cast<std::uint64_t>(static_cast<double>(host.bytes) / seconds)), "/s")
          : std::string();
  return StrCat("<tr><th scope=\"row\"><b>", name, "</b></th>", HtmlCell(GroupedUnlessZero(host.workers)),
                HtmlCell(GroupedUnlessZero(host.units)), HtmlCell(Span(seconds)),
                HtmlCell(Percent(static_cast<double>(host.inside_ms), static_cast<double>(inside_ms))),
                HtmlCell(host.bytes > 0 ? HumanBytes(host.bytes) : std::string()), HtmlCell(rate),
                HtmlCell(GroupedUnlessZero(host.twice)), HtmlCell(GroupedUnlessZero(host.lost)), "</tr>\n");
}

}  // namespace

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
  std::string head;
  for (const std::string_view name :
       {"Host", "Workers", "Units", "Time in units", "Share", "Written", "per second", "Done twice", "Lost"})
    head += StrCat("<th scope=\"col\">", name, "</th>");
  std::string lead;
  if (const double share = Utilisation(record.hosts); share > 0)
    lead = StrCat("<p class=\"lead\">Workers spent ", Percent(share, 1), " of their time in units.</p>\n");
  std::string more;
  if (record.hosts.size() > kHosts)
    more = StrCat("<p class=\"hint\">and ", Grouped(record.hosts.size() - kHosts), " more hosts</p>\n");
  return StrCat(lead,
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Hosts\"><table><thead><tr>",
                head, "</tr></thead><tbody>\n", rows, "</tbody></table></div>\n", more,
                "<p class=\"hint\">Done twice: another worker had stored the result of a unit, or a part of "
                "it, before. Lost: the worker gave "
                "no sign of life, and another one took its unit. Times are by the clock of each host.</p>\n");
}

}  // namespace pipeline
