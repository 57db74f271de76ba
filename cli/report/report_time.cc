#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"
#include "dag/books/unit_id.h"

namespace pipeline {

namespace {

constexpr std::size_t kCurveBins = 240;
constexpr double kRateWindow = 1.0 / 60;  // of the run: the time over which a rate is taken
constexpr std::size_t kLoadBins = 240;
constexpr std::size_t kBars = 300;  // units of one stage that are drawn one by one
constexpr std::size_t kLanes = 8;
constexpr std::size_t kMarks = 150;  // commits of one stage that are drawn one by one
constexpr int kLaneHeight = 13;

using Values = std::vector<double>;

/// "64 MiB" rather than "64.0 MiB".
std::string Bytes(double value) {
  std::string text = HumanBytes(static_cast<std::uint64_t>(std::clamp(value, 0.0, 1e18)));
  for (const std::string_view zeros : {".00 ", ".0 "})
    if (const std::size_t at = text.find(zeros); at != std::string::npos) text.erase(at, zeros.size() - 1);
  return text;
}

/// The next of 1, 1.5, 2, 3, 4, 6, 8, ...: halves and thirds of it are round in bytes.
double RoundAbove(double value) {
  if (value <= 0) return 1;
  const double power = std::exp2(std::floor(std::log2(value)));
  return value <= power ? power : value <= 1.5 * power ? 1.5 * power : 2 * power;
}

// ------------------------------------------------------------------------------------------- axis

struct Tick {
  double at = 0;
  std::string label;
};

double StepOf(double duration) {
  constexpr std::array kSteps = {0.001, 0.002, 0.005, 0.01,  0.02,   0.05,   0.1,    0.2,     0.5,
                                 1.0,   2.0,   5.0,   10.0,  15.0,   30.0,   60.0,   120.0,   300.0,
                                 600.0, 900.0, 1800., 3600., 7200.0, 10800., 21600., 43200.0, 86400.0};
  for (const double step : kSteps)
    if (duration / step <= 8) return step;
  return 86400 * std::ceil(duration / 86400 / 8);
}

std::string TickLabel(double at, double step) {
  if (at == 0) return "0";
  if (step < 0.0995) return StrCat(static_cast<std::uint64_t>(at * 1000 + 0.5), " ms");
  if (step < 1) return Fixed(at, 1) + " s";
  const auto whole = static_cast<std::uint64_t>(at + 0.5);
  if (step < 60 && whole < 60) return StrCat(whole, " s");
  if (step < 60) return StrCat(whole / 60, ":", ZeroPadded(whole % 60, 2));
  if (step < 3600 && whole < 3600) return StrCat(whole / 60, " m");
  if (step < 86400)
    return StrCat(whole / 3600, step < 3600 ? StrCat(":", ZeroPadded(whole / 60 % 60, 2)) : "", " h");
  return StrCat(whole / 86400, " d");
}

std::vector<Tick> TicksOf(double duration) {
  const double step = StepOf(duration);
  std::vector<Tick> ticks;
  for (int at = 0; at * step <= duration * 1.0001; ++at)
    ticks.push_back({at * step, TickLabel(at * step, step)});
  return ticks;
}

// ----------------------------------------------------------------------------------------- curves

/// A quantity over time, computed from its samples.
class Sampled {
 public:
  template <class T>
  Sampled(const RunRecord& record, T RecordedMoment::*member) {
    for (const RecordedMoment& moment : record.moments)
      points_.emplace_back(moment.at, static_cast<double>(moment.*member));
  }

  double At(double time) const {
    const auto after = std::lower_bound(points_.begin(), points_.end(), time,
                                        [](const auto& point, double at) { return point.first < at; });
    if (after == points_.begin()) return points_.front().second;
    if (after == points_.end()) return points_.back().second;
    const auto before = after - 1;
    const double part = (time - before->first) / (after->first - before->first);
    return before->second + part * (after->second - before->second);
  }

  /// Returns rates per second of a quantity that only grows. Each is taken over a little more than its bin,
  /// because growth in batches would look like noise.
  Values Rates(double duration, std::size_t bins) const {
    Values rates;
    const double width = duration / static_cast<double>(bins);
    const double half = std::max(1.5 * width, duration * kRateWindow / 2);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double middle = (static_cast<double>(bin) + 0.5) * width;
      const double begin = std::max(0.0, middle - half), end = std::min(duration, middle + half);
      rates.push_back(std::max(0.0, At(end) - At(begin)) / (end - begin));
    }
    return rates;
  }

  /// Returns the highest value of each bin, so that no peak is lost.
  Values Levels(double duration, std::size_t bins) const {
    Values levels;
    const double width = duration / static_cast<double>(bins);
    for (std::size_t bin = 0; bin < bins; ++bin)
      levels.push_back(At((static_cast<double>(bin) + 0.5) * width));
    for (const auto& [at, value] : points_) {
      const auto bin = std::min(static_cast<std::size_t>(at / width), bins - 1);
      levels[bin] = std::max(levels[bin], value);
    }
    return levels;
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

enum class Unit : std::uint8_t { kBytes, kBytesPerSecond, kCores };

std::string Said(double value, Unit unit) {
  switch (unit) {
    case Unit::kBytes: return Bytes(value);
    case Unit::kBytesPerSecond: return Bytes(value) + "/s";
    case Unit::kCores: break;
  }
  return Fixed(value, value == std::floor(value) ? 0 : 2);
}

struct Series {
  std::string name;
  Values values;
  std::string summary;  // shown while the pointer is at no moment
};

struct Chart {
  std::string title;
  Unit unit = Unit::kBytes;
  std::vector<Series> series;
  double least_top = 0;  // least value at the top of the axis
};

std::string Path(const Values& values, double top) {
  std::string path;
  const double step = 1000.0 / static_cast<double>(values.size());
  const auto point = [&](double x, double value) {
    path += StrCat(path.empty() ? "M" : "L", Fixed(x, 1), " ",
                   Fixed(100 - 100 * std::clamp(value / top, 0.0, 1.0), 1));
  };
  point(0, values.front());
  for (std::size_t at = 0; at < values.size(); ++at)
    point((static_cast<double>(at) + 0.5) * step, values[at]);
  point(1000, values.back());
  return path;
}

std::string Grid(const std::vector<Tick>& ticks, double duration) {
  std::string path;
  for (const Tick& tick : ticks)
    if (tick.at > 0) path += StrCat("M", Fixed(1000 * tick.at / duration, 1), " 0V100");
  return StrCat("<path class=\"grid\" d=\"", path, "\"/>");
}

std::string Drawn(const Chart& chart, const std::vector<Tick>& ticks, double duration,
                  std::size_t first_series) {
  double highest = chart.least_top;
  for (const Series& series : chart.series)
    highest = std::max(highest, *std::max_element(series.values.begin(), series.values.end()));
  // Some room for the label at the top.
  const double top = RoundAbove(chart.unit == Unit::kCores ? highest : highest * 1.04);
  std::string label = chart.title, legend, lines;
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const Series& series = chart.series[at];
    const std::string path = Path(series.values, top);
    if (at == 0) lines += StrCat("<path class=\"area s0\" d=\"", path, "L1000 100L0 100Z\"/>");
    lines += StrCat("<path class=\"line s", at, "\" d=\"", path, "\"/>");
    label += StrCat("; ", series.name, ": ", series.summary);
    legend += StrCat("<div class=\"key s", at, "\"><span>", series.name, "</span><output data-series=\"",
                     first_series + at, "\">", series.summary, "</output></div>");
  }
  return StrCat("<div class=\"row\"><div class=\"side\"><h3>", chart.title, "</h3>", legend,
                "</div><div class=\"plot curve\" role=\"img\" aria-label=\"", HtmlText(label),
                "\"><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                Grid(ticks, duration), "<path class=\"grid\" d=\"M0 0H1000M0 50H1000M0 100H1000\"/>", lines,
                "</svg><span class=\"y\" style=\"top:0\">", Said(top, chart.unit),
                "</span><span class=\"y\" style=\"top:50%\">", Said(top / 2, chart.unit),
                "</span></div></div>\n");
}

double Mean(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<Chart> ChartsOf(const RunRecord& record, double duration) {
  const std::size_t bins = std::clamp<std::size_t>(record.moments.size() - 1, 1, kCurveBins);
  const auto rates = [&](auto member) { return Sampled(record, member).Rates(duration, bins); };
  const auto levels = [&](auto member) { return Sampled(record, member).Levels(duration, bins); };
  const RecordedMoment& last = record.moments.back();
  const bool children = last.child_cpu > 0;
  std::vector<Chart> charts;
  Chart& speed = charts.emplace_back(Chart{"Throughput", Unit::kBytesPerSecond, {}, 0});
  speed.series = {{"text", rates(&RecordedMoment::text), {}}, {"read", rates(&RecordedMoment::read), {}}};
  for (Series& series : speed.series) series.summary = Said(Mean(series.values), Unit::kBytesPerSecond);

  Chart& cores =
      charts.emplace_back(Chart{"Cores", Unit::kCores, {}, static_cast<double>(record.begin.cores)});
  cores.series.push_back({"busy", rates(&RecordedMoment::cpu), {}});
  if (children) cores.series.push_back({"children", rates(&RecordedMoment::child_cpu), {}});
  for (Series& series : cores.series) series.summary = Fixed(Mean(series.values), 2);

  Chart& memory = charts.emplace_back(Chart{"Memory", Unit::kBytes, {}, 0});
  memory.series.push_back({"resident", levels(&RecordedMoment::rss), {}});
  if (children) memory.series.push_back({"children", levels(&RecordedMoment::child_rss), {}});
  for (Series& series : memory.series)
    series.summary = Bytes(*std::max_element(series.values.begin(), series.values.end()));

  // The free space of the disk is not shown, because other programs write there, too.
  Chart& disk = charts.emplace_back(Chart{"Written", Unit::kBytes, {}, 1 << 20});
  disk.series.push_back({"committed", levels(&RecordedMoment::written), {}});
  if (last.to_disk > 0) disk.series.push_back({"to disks", levels(&RecordedMoment::to_disk), {}});
  for (Series& series : disk.series) series.summary = Bytes(series.values.back());
  return charts;
}

// ------------------------------------------------------------------------------------------ units

/// The units and commits of one stage.
struct StageUnits {
  std::string stage;
  std::vector<const RecordedUnit*> units;  // by begin
  std::vector<double> marks;               // commits
  std::uint64_t partitions = 0;
  std::uint64_t shards = 0;
};

std::vector<StageUnits> RowsOf(const RunRecord& record) {
  std::vector<StageUnits> rows;
  std::map<std::string, std::size_t, std::less<>> of;
  for (const RecordedStage& stage : record.stages)
    if (of.emplace(stage.name, rows.size()).second) rows.push_back({stage.name, {}, {}, 0, 0});
  const auto row_of = [&](std::string_view unit) -> StageUnits* {
    const auto found = of.find(unit.substr(0, unit.find('/')));
    return found == of.end() ? nullptr : &rows[found->second];
  };
  for (const RecordedUnit& unit : record.units)
    if (StageUnits* row = row_of(unit.unit)) row->units.push_back(&unit);
  for (const RecordedLogging& logged : record.logged) {
    StageUnits* row = row_of(logged.unit);
    if (row == nullptr) continue;
    row->marks.push_back(logged.at);
    const std::optional<UnitId> id = ParseUnitId(logged.unit);
    if (id && std::holds_alternative<PartitionId>(id->part)) ++row->partitions;
    if (id && std::holds_alternative<ShardId>(id->part)) ++row->shards;
  }
  std::erase_if(rows, [](const StageUnits& row) { return row.units.empty(); });
  for (StageUnits& row : rows)
    std::stable_sort(row.units.begin(), row.units.end(),
                     [](const RecordedUnit* a, const RecordedUnit* b) { return a->begin < b->begin; });
  return rows;
}

std::string Share(double part, double whole) {
  return Fixed(100 * std::clamp(part / whole, 0.0, 1.0), 2) + "%";
}

std::string Bar(const RecordedUnit& unit, std::size_t lane, double duration) {
  std::string title = StrCat(unit.unit, ": ", Span(unit.end - unit.begin), " from ", Span(unit.begin));
  if (unit.records > 0) title += StrCat(", ", GroupedCount(unit.records, "record"));
  if (!unit.failed.empty()) title += ", failed";
  if (unit.stopped) title += ", stopped";
  return StrCat("<i", unit.failed.empty() ? "" : " class=\"failed\"",
                " style=\"left:", Share(unit.begin, duration),
                ";width:", Share(unit.end - unit.begin, duration), ";top:", lane * kLaneHeight,
                "px\" title=\"", HtmlText(title), "\"></i>");
}

/// Returns for each unit the first lane that is free when it begins. Absent: that takes too many lanes.
std::optional<std::vector<std::size_t>> LanesOf(const StageUnits& row) {
  if (row.units.size() > kBars) return std::nullopt;
  std::vector<std::size_t> lanes;
  std::vector<double> free_from;
  for (const RecordedUnit* unit : row.units) {
    const auto free =
        std::find_if(free_from.begin(), free_from.end(), [&](double at) { return at <= unit->begin; });
    const auto lane = static_cast<std::size_t>(free - free_from.begin());
    if (lane == kLanes) return std::nullopt;
    if (free == free_from.end()) free_from.push_back(0);
    free_from[lane] = unit->end;
    lanes.push_back(lane);
  }
  return lanes;
}

/// Returns the curve of the number of units that ran at once, if they are too many to be drawn, and its top.
std::pair<std::string, double> Load(const StageUnits& row, double duration) {
  Values load(kLoadBins);
  const double width = duration / kLoadBins;
  for (const RecordedUnit* unit : row.units) {
    const auto first = std::min(static_cast<std::size_t>(unit->begin / width), kLoadBins - 1);
    const auto last = std::min(static_cast<std::size_t>(unit->end / width), kLoadBins - 1);
    for (std::size_t bin = first; bin <= last; ++bin) {
      const double begin = std::max(unit->begin, static_cast<double>(bin) * width);
      load[bin] += std::max(0.0, std::min(unit->end, static_cast<double>(bin + 1) * width) - begin) / width;
    }
  }
  const double top = std::max(1.0, *std::max_element(load.begin(), load.end()));
  return {StrCat("<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path "
                 "class=\"load\" d=\"",
                 Path(load, top), "L1000 100L0 100Z\"/></svg>"),
          top};
}

std::string Drawn(const StageUnits& row, double duration) {
  std::string what = GroupedCount(row.units.size(), "unit");
  if (row.partitions > 0) what += StrCat(", ", GroupedCount(row.partitions, "partition"));
  if (row.shards > 0) what += StrCat(", ", GroupedCount(row.shards, "shard"));
  const auto failed = static_cast<std::uint64_t>(std::count_if(
      row.units.begin(), row.units.end(), [](const RecordedUnit* unit) { return !unit->failed.empty(); }));
  if (failed > 0) what += StrCat(", ", Grouped(failed), " failed");
  std::string drawing;
  std::size_t lanes = 3;
  if (const auto lane_of = LanesOf(row)) {
    lanes = *std::max_element(lane_of->begin(), lane_of->end()) + 1;
    for (std::size_t at = 0; at < row.units.size(); ++at)
      drawing += Bar(*row.units[at], (*lane_of)[at], duration);
    if (row.marks.size() > row.units.size() && row.marks.size() <= kMarks)
      for (const double at : row.marks) drawing += StrCat("<b style=\"left:", Share(at, duration), "\"></b>");
  } else {
    const auto [load, top] = Load(row, duration);
    drawing = load;
    what += StrCat(", up to ", Fixed(std::ceil(top - 1e-9), 0), " at once");
  }
  return StrCat("<div class=\"row units\"><div class=\"side\"><h3>", HtmlText(row.stage), "</h3><p>", what,
                "</p></div><div class=\"plot\" role=\"img\" aria-label=\"", HtmlText(row.stage), ": ", what,
                "\" style=\"height:", lanes * kLaneHeight - 3, "px\">", drawing, "</div></div>\n");
}

}  // namespace

double DurationOf(const RunRecord& record) {
  double duration = 0.001;
  if (record.end) duration = std::max(duration, record.end->at);
  for (const RecordedUnit& unit : record.units) duration = std::max(duration, unit.end);
  for (const RecordedLogging& logged : record.logged) duration = std::max(duration, logged.at);
  if (!record.moments.empty()) duration = std::max(duration, record.moments.back().at);
  return duration;
}

std::string TimeCharts(const RunRecord& record) {
  const double duration = DurationOf(record);
  const std::vector<Tick> ticks = TicksOf(duration);
  std::string rows;
  for (const StageUnits& row : RowsOf(record)) rows += Drawn(row, duration);
  Json data;
  data["duration"] = duration;
  data["series"] = Json(Json::Array{});
  if (record.moments.size() >= 2) {
    std::size_t series = 0;
    for (const Chart& chart : ChartsOf(record, duration)) {
      rows += Drawn(chart, ticks, duration, series);
      series += chart.series.size();
      for (const Series& one : chart.series) {
        Json values;
        for (const double value : one.values)
          values.Append(chart.unit == Unit::kCores ? Json(std::round(value * 100) / 100)
                                                   : Json(static_cast<std::int64_t>(std::min(value, 1e18))));
        Json entry;
        entry["unit"] = chart.unit == Unit::kCores ? "" : chart.unit == Unit::kBytes ? "B" : "B/s";
        entry["values"] = std::move(values);
        data["series"].Append(std::move(entry));
      }
    }
  }
  std::string axis;
  for (const Tick& tick : ticks)
    axis += StrCat("<span style=\"left:", Share(tick.at, duration), "\">", tick.label, "</span>");
  return StrCat(
      "<div class=\"time\" id=\"charts\" tabindex=\"0\" role=\"group\" aria-label=\"Charts over time; left "
      "and right arrow keys move along them\">\n",
      rows,
      "<div class=\"row axis\"><div class=\"side\"><output id=\"moment\"></output></div><div class=\"plot\">",
      axis, "</div></div>\n<div class=\"cursor\" id=\"cursor\" hidden></div></div>\n",
      "<script type=\"application/json\" id=\"chart-data\">", data.Dump(), "</script>\n");
}

}  // namespace pipeline
