#include "cli/report/report_page.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/digest.h"
#include "base/str.h"
#include "cli/report/html.h"
#include "cli/report/length_loss.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostBytes =
    (2 << 20) - (64 << 10);                 // of all sections; the rest is for the page around them
constexpr std::size_t kListedStages = 200;  // rows of a table
constexpr std::size_t kReasons = 200;
constexpr std::size_t kNotes = 200;
constexpr std::size_t kFailures = 50;
constexpr std::size_t kTextBytes = 1000;  // of one message

/// Returns a message, cut to a length that people can read.
std::string Message(std::string_view text) { return HtmlFront(text, kTextBytes); }

const RecordedCounts* CountsOf(const RunRecord& record, const std::string& stage) {
  const auto found = record.counts.find(stage);
  return found == record.counts.end() ? nullptr : &found->second;
}

// ----------------------------------------------------------------------------------------- header

std::string Pill(const RunRecord& record) {
  const std::string outcome = record.end ? record.end->outcome : "unfinished";
  const std::string_view look = outcome == "done" ? "done" : outcome == "failed" ? "failed" : "other";
  const std::string_view said = outcome == "done"        ? "Done"
                                : outcome == "failed"    ? "Failed"
                                : outcome == "cancelled" ? "Stopped"
                                                         : "Unfinished";
  return StrCat("<span class=\"pill ", look, "\">", said, "</span>");
}

std::string Header(const RunRecord& record) {
  std::string started = Iso8601(record.begin.started);
  std::replace(started.begin(), started.end(), 'T', ' ');
  if (started.ends_with('Z')) started.replace(started.size() - 1, 1, " UTC");
  return StrCat("<header>\n<div class=\"title\"><h1>", Message(record.begin.pipeline), "</h1>", Pill(record),
                "</div>\n<p class=\"when\">", started, " &middot; ", Span(DurationOf(record)), " &middot; ",
                record.hosts.empty() ? GroupedCount(record.begin.threads, "thread")
                                     : GroupedCount(record.hosts.size(), "host"),
                " &middot; pipe ", Message(record.begin.version),
                "</p>\n<div class=\"command\"><pre><code id=\"command\">", Message(record.begin.command),
                "</code></pre><button id=\"copy\" type=\"button\" hidden>Copy</button></div>\n");
}

std::string Tile(std::string_view label, std::string_view value, std::string_view note) {
  // "74.7 MiB": the unit is smaller than the number.
  const std::size_t space = value.find(' ');
  const bool split = space != std::string_view::npos && value.find(' ', space + 1) == std::string_view::npos;
  const std::string number = split ? StrCat(HtmlText(value.substr(0, space)), " <small>",
                                            HtmlText(value.substr(space + 1)), "</small>")
                                   : HtmlText(value);
  return StrCat("<div><dt>", label, "</dt><dd>", number, "</dd><dd class=\"note\">", HtmlText(note),
                "</dd></div>\n");
}

/// Returns the exact number if it is easy to read, otherwise three digits of it.
std::string Figure(std::uint64_t number) { return number < 1'000'000 ? Grouped(number) : Short(number); }

/// Returns the records that left the stage; if it counted none that came or left, the records that it wrote.
std::uint64_t LeftOf(const RecordedCounts& counts) {
  if (counts.counts.records_out > 0 || counts.counts.records_in > 0) return counts.counts.records_out;
  std::uint64_t written = 0;
  for (const auto& [name, split] : counts.splits) written += split.records;
  return written;
}

/// Returns the sums of the whole run.
std::string Tiles(const RunRecord& record) {
  std::uint64_t published = 0, shards = 0, records = 0, text = 0, source_records = 0;
  for (const RecordedStage& stage : record.stages) {
    const RecordedCounts* counts = CountsOf(record, stage.name);
    if (counts == nullptr) continue;
    if (source_records == 0) source_records = counts->counts.records_in, text = counts->counts.bytes_out;
    if (const std::uint64_t left = LeftOf(*counts); left > 0)
      records = left;  // of the last stage that counts
    if (stage.location.empty()) continue;
    published += counts->shard_bytes;
    shards += counts->shards;
  }
  const double duration = DurationOf(record);
  const RecordedMoment last = record.moments.empty() ? RecordedMoment{} : record.moments.back();
  std::uint64_t peak = record.end ? record.end->peak_rss : 0;
  for (const RecordedMoment& moment : record.moments) peak = std::max(peak, moment.rss);
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(last.text) / duration);
  // The record of a run by workers has no samples of their processes.
  const std::string busy =
      record.hosts.empty()
          ? StrCat(
                Tile("Cores busy", Fixed(last.cpu / duration, 2),
                     StrCat("of ", record.begin.cores, last.child_cpu > 0 ? ", " : "",
                            last.child_cpu > 0 ? Percent(last.child_cpu, last.cpu) + " by child processes"
                                               : "")),
                Tile("Peak memory", HumanBytes(peak),
                     record.begin.memory_limit > 0 ? StrCat("limit ", HumanBytes(record.begin.memory_limit))
                                                   : std::string()))
          : Tile("Workers busy", Percent(Utilisation(record.hosts), 1),
                 StrCat("on ", GroupedCount(record.hosts.size(), "host")));
  return StrCat(
      "<dl class=\"tiles\">\n", Tile("Duration", Span(duration), GroupedCount(record.units.size(), "unit")),
      Tile("Records out", Figure(records), StrCat("of ", Figure(source_records), " read")),
      Tile("Text", HumanBytes(text), record.hosts.empty() ? StrCat(HumanBytes(rate), "/s in this run") : ""),
      Tile("Published", HumanBytes(published), GroupedCount(shards, "shard")), busy, "</dl>\n");
}

std::string Failures(const RunRecord& record) {
  if (!record.end || record.end->failures.empty()) return {};
  std::string html =
      StrCat("<div class=\"failures\" role=\"alert\"><h2>",
             GroupedCount(record.end->failures.size(), "failure"), "</h2><ul class=\"plain\">");
  for (std::size_t at = 0; at < std::min(record.end->failures.size(), kFailures); ++at) {
    const auto& [unit, why] = record.end->failures[at];
    html += StrCat("<li><code>", Message(unit), "</code> ", Message(why), "</li>");
  }
  if (record.end->failures.size() > kFailures)
    html +=
        StrCat("<li>and ", Grouped(record.end->failures.size() - kFailures), " more: see the run log</li>");
  return html + "</ul></div>\n";
}

// ----------------------------------------------------------------------------------------- tables

std::string Number(std::uint64_t number) {
  return StrCat(number == 0 ? "<td class=\"zero\">" : "<td>", Grouped(number), "</td>");
}

std::string WithBar(const std::string& said, double part) {
  return StrCat("<td>", said, "<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:",
                Fixed(100 * std::clamp(part, 0.0, 1.0), 1), "%\"></i></span></td>");
}

/// Seconds that each stage worked, over all threads.
std::map<std::string, double> BusyOf(const RunRecord& record) {
  std::map<std::string, double> busy;
  for (const RecordedUnit& unit : record.units)
    for (const auto& [stage, seconds] : unit.busy) busy[stage] += seconds;
  return busy;
}

/// Returns the share of the records that went on; a factor, if the stage makes several records of one.
std::string Kept(const StageCounts& sums) {
  const auto in = static_cast<double>(sums.records_in), out = static_cast<double>(sums.records_out);
  return out <= in ? Percent(out, in) : StrCat("&times; ", Fixed(out / in, 2));
}

std::string StageTable(const RunRecord& record) {
  const std::map<std::string, double> busy = BusyOf(record);
  double busiest = 0;
  for (const auto& [stage, seconds] : busy) busiest = std::max(busiest, seconds);
  std::string rows;
  for (std::size_t at = 0; at < std::min(record.stages.size(), kListedStages); ++at) {
    const RecordedStage& stage = record.stages[at];
    rows += StrCat("<tr id=\"stage-", at, "\"><th scope=\"row\"><b>", HtmlText(stage.name), "</b> <span>",
                   stage.type == stage.name ? "" : HtmlText(stage.type), "</span></th><td class=\"state\">",
                   HtmlText(StateOf(record, stage)), "</td>");
    const RecordedCounts* counts = CountsOf(record, stage.name);
    if (counts != nullptr && counts->counts.records_in > 0) {
      const StageCounts& sums = counts->counts;
      rows += Number(sums.records_in) + Number(sums.records_out);
      rows += StrCat("<td>", Kept(sums), "</td><td>", HumanBytes(sums.bytes_in), "</td><td>",
                     HumanBytes(sums.bytes_out), "</td>");
    } else {
      const std::uint64_t left = counts == nullptr ? 0 : LeftOf(*counts);
      rows += StrCat("<td></td>", left > 0 ? Number(left) : std::string("<td></td>"), "<td></td><td></td>");
      rows += StrCat("<td>", stage.file_bytes > 0 ? HumanBytes(stage.file_bytes) : std::string(), "</td>");
    }
    const auto spent = busy.find(stage.name);
    rows += spent == busy.end() || busiest <= 0 ? std::string("<td></td>")
                                                : WithBar(Span(spent->second), spent->second / busiest);
    rows += "</tr>\n";
  }
  const std::string heads =
      StrCat(HtmlHead("Stage"), HtmlHead("State", " class=\"state\""),
             HtmlHeads({"Records in", "Records out", "Kept", "Text in", "Text out", "Time spent"}));
  return HtmlTable("Stages in numbers", heads, rows) + "\n";
}

std::string Examples(const RunRecord& record, const std::string& stage, const std::string& reason) {
  std::string items;
  for (const RecordedExample& example : record.examples) {
    if (example.stage != stage || example.reason != reason) continue;
    items += StrCat("<li", HtmlLanguage(example.text), ">",
                    example.text.empty() ? "<span class=\"cp\">empty</span>" : Message(example.text),
                    example.cut ? "<span class=\"cp\">&hellip;</span>" : "", "</li>");
  }
  return items.empty() ? items : StrCat("<ul class=\"examples\">", items, "</ul>");
}

/// Returns the count's share of the records that came in. Empty: ids, files or lines are counted.
std::string ShareOf(std::string_view fate, std::uint64_t count, std::uint64_t records) {
  if (fate == "tally" || count > records) return {};
  return Percent(count, records);
}

/// Returns the counts of records with the fate `wanted` ("dropped"). If `wanted` is empty: the counts of all
/// fates but "dropped".
std::string ReasonTable(const RunRecord& record, std::string_view wanted, std::string_view without) {
  std::string rows;
  std::size_t shown = 0, all = 0;
  for (const RecordedStage& stage : record.stages) {
    const RecordedCounts* counts = CountsOf(record, stage.name);
    if (counts == nullptr) continue;
    for (const auto& [reason, count] : counts->counts.reasons) {
      const std::string_view fate = FateOf(stage, reason);
      if (count == 0 || (wanted.empty() ? fate == "dropped" : fate != wanted) || ++all > kReasons) continue;
      ++shown;
      rows +=
          StrCat("<tr><th scope=\"row\"><b>", HtmlText(stage.name), "</b></th><td class=\"text\"><code>",
                 HtmlText(reason), "</code>", Examples(record, stage.name, reason), "</td>", Number(count),
                 "<td>", HtmlText(ShareOf(fate, count, counts->counts.records_in)), "</td></tr>\n");
    }
  }
  if (rows.empty()) return without.empty() ? std::string() : StrCat("<p class=\"lead\">", without, "</p>\n");
  if (all > shown) rows += StrCat("<tr><td>and ", Grouped(all - shown), " more reasons</td></tr>");
  const std::string heads =
      StrCat(HtmlHead("Stage"), HtmlHead("Reason, with records as they came in", kHtmlLeft),
             HtmlHeads({"Count", "Share of records in"}));
  return HtmlTable("Reasons", heads, rows, " class=\"reasons\"") + "\n";
}

/// Returns `text` as a link to the relative path `link`, which has no scheme. Without a path: only the text.
std::string Linked(const std::string& link, const std::string& text) {
  if (link.empty()) return HtmlText(text);
  std::string href;
  for (const char c : link) {  // as part of a URL
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("-_.~/").find(c) != std::string_view::npos) {
      href.push_back(c);
    } else {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      href += StrCat("%", kDigits[byte >> 4], kDigits[byte & 15]);
    }
  }
  return StrCat("<a href=\"", href, "\">", HtmlText(text), "</a>");
}

std::string Outputs(const RunRecord& record) {
  std::string rows;
  for (const RecordedStage& stage : record.stages) {
    if (stage.location.empty()) continue;
    const RecordedCounts* counts = CountsOf(record, stage.name);
    const RecordedCounts none;
    const RecordedCounts& sums = counts ? *counts : none;
    rows +=
        StrCat("<tr><th scope=\"row\"><b>", HtmlText(stage.name), "</b></th><td class=\"text\">",
               Linked(stage.link.empty() ? "" : stage.link + "/", stage.location), "</td><td></td><td></td>",
               Number(sums.shards), "<td>", HumanBytes(sums.shard_bytes), "</td></tr>\n");
    std::size_t shown = 0;
    for (const auto& [name, split] : sums.splits)
      if (++shown <= 20)
        rows += StrCat("<tr><td></td><td class=\"text soft\">split ", HtmlText(name), "</td>",
                       Number(split.documents), Number(split.records), "<td></td><td>",
                       HumanBytes(split.bytes), "</td></tr>\n");
  }
  if (rows.empty()) return "<p class=\"lead\">This pipeline publishes nothing.</p>\n";
  const std::string heads = StrCat(HtmlHead("Stage"), HtmlHead("Location", kHtmlLeft),
                                   HtmlHeads({"Documents", "Records", "Shards", "Size"}));
  return HtmlTable("Outputs", heads, rows) + "\n";
}

std::string Notes(const RunRecord& record) {
  std::string items;
  for (const RecordedStage& stage : record.stages)
    if (!stage.vanished.empty())
      items += StrCat("<li><time></time><span>", HtmlText(stage.name),
                      " used the log of an earlier run: ", Message(stage.vanished), "</span></li>");
  for (std::size_t at = 0; at < std::min(record.notes.size(), kNotes); ++at)
    items += StrCat("<li><time>", Span(record.notes[at].at), "</time><span>", Message(record.notes[at].text),
                    "</span></li>");
  if (record.notes.size() > kNotes)
    items +=
        StrCat("<li><time></time><span>and ", Grouped(record.notes.size() - kNotes), " more</span></li>");
  return items.empty() ? items : StrCat("<ol class=\"notes\">", items, "</ol>\n");
}

std::string Facts(const RunRecord& record) {
  const RecordedBegin& begin = record.begin;
  std::string libraries;
  for (const auto& [name, version] : begin.libraries)
    libraries += StrCat(libraries.empty() ? "" : ", ", HtmlText(name), " ", HtmlText(version));
  std::string machine =
      StrCat(GroupedCount(begin.cores, "core"), ", ", HumanBytes(begin.memory), " of memory");
  if (!begin.system.empty()) machine += StrCat(", ", HtmlText(begin.system));
  return StrCat(
      "<dl class=\"facts\">\n", HtmlFact("pipe", HtmlText(begin.version)), HtmlFact("Libraries", libraries),
      HtmlFact("Machine", machine), HtmlFact("Run", StrCat("<code>", HtmlText(begin.id), "</code>")),
      HtmlFact(
          "Files",
          "<a href=\"events.jsonl\">events.jsonl</a> has the data of this page; "
          "<a href=\"../../run.log\">run.log</a> lists the finished units; records that were set aside are "
          "in <a href=\"../../quarantine/\">quarantine</a>"),
      "</dl>\n");
}

struct Section {
  std::string_view id, title;
  std::string html;
};

}  // namespace

std::string ReportPage(const RunRecord& record) {
  const std::string head = Header(record), failures = Failures(record);
  const std::vector<Section> sections = {
      {"stages", "Stages",
       record.stages.empty() ? std::string() : HtmlWide("Graph of stages", GraphDrawing(record)) + "\n"},
      {"over-time", "Over time", TimeCharts(record)},
      {"training", "Training", TrainingSection(record.trainings)},
      {"numbers", "Stages in numbers", record.stages.empty() ? std::string() : StageTable(record)},
      {"hosts", "Hosts", HostSection(record)},
      {"took", "Time and memory", UnitSection(record)},
      {"dropped", "Dropped", ReasonTable(record, "dropped", "No stage dropped a record.")},
      {"set-aside", "Altered, set aside and counted", ReasonTable(record, "", {})},
      {"samples", "Before and after", SampleSection(record)},
      {"text", "Lengths and characters of the text", ProfileSection(record)},
      {"outputs", "Outputs", Outputs(record) + LengthLossHtml(record)},
      {"made-of", "How it was made", RecipeSection(record)},
      {"before", "The run before", BeforeSection(record)},
      {"notes", "Notes", Notes(record)},
      {"versions", "Versions and files", Facts(record)},
  };
  std::string nav, body;
  for (const Section& section : sections) {
    if (section.html.empty()) continue;
    const bool fits = body.size() + section.html.size() <= kMostBytes - head.size() - failures.size();
    const std::string html =
        fits ? section.html : std::string("<p class=\"lead\">Too much for a page: see events.jsonl.</p>\n");
    nav += StrCat("<a href=\"#", section.id, "\">", section.title, "</a>\n");
    body += StrCat("<section class=\"long\" id=\"", section.id, "\">\n<h2>", section.title, "</h2>\n", html,
                   "</section>\n");
  }
  const std::string main = StrCat("<main>\n", head, "<nav aria-label=\"Sections\">\n", nav, "</nav>\n",
                                  Tiles(record), failures, "</header>\n", body, "</main>\n");
  // A browser runs only a script with this nonce. It is a digest of all text of the page, so the text cannot
  // contain it.
  const std::string nonce = DigestOf(main).ToHex();
  return StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'nonce-",
      nonce,
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
      Message(record.begin.pipeline), " &middot; pipe run</title>\n<style>", ReportStyle(),
      "</style>\n</head>\n<body>\n", main, "<script nonce=\"", nonce, "\">", ReportScript(),
      "</script>\n</body>\n</html>\n");
}

}  // namespace pipeline
