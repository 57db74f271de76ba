#include <algorithm>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"
#include "cli/report/run_record.h"
#include "dag/pipeline_file/typed_id.h"

namespace pipeline {

namespace {

constexpr int kStageWidth = 140, kStageHeight = 54;  // of a stage
constexpr int kGap = 82;                             // between columns; the counts are written there
constexpr int kRow = 78;                             // from one stage to the next in its column
constexpr int kThread = 30;                          // the same for a line that only passes the column
constexpr int kMargin = 14;                          // above and below
constexpr std::size_t kPageColumns = 5;              // fit on a page; the others go below, like lines of text
constexpr std::size_t kPhoneColumns = 2;             // the same on a phone
constexpr int kBandGap = 52;                         // between bands
constexpr int kTurn = 18;  // room at the sides for lines that go on in the next band

using StageId = TypedId<struct RecordedStage>;  // position in RunRecord::stages
using EdgeId = TypedId<struct Edge>;

/// An item that takes room in a column: a stage, or a line on its way to a later column.
struct Item {
  std::variant<StageId, EdgeId> drawn;
  StageId order;      // order of items at the same height: that of the file
  double wanted = 0;  // height of the item that it comes from
  double y = 0;       // of its middle

  const StageId* stage() const { return std::get_if<StageId>(&drawn); }
  EdgeId edge() const { return std::get<EdgeId>(drawn); }
};

struct Edge {
  StageId from, to;
  std::vector<double> passes;  // heights in the columns between
};

struct GraphPoint {
  double x = 0, y = 0;
};

/// Returns `text` cut to `columns` columns of a terminal; wide characters take two.
std::string Fitted(std::string_view text, int columns) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = TakeUtf8Character(text);
    columns -= c >= 0x1100 ? 2 : 1;
    if (columns < (text.empty() ? 0 : 1)) return out + "…";
    out += before.substr(0, before.size() - text.size());
  }
  return out;
}

class Drawing {
 public:
  /// `columns`: the most that fit beside each other.
  Drawing(const RunRecord& record, std::size_t columns) : record_(record) {
    for (std::size_t at = 0; at < record.stages.size(); ++at)
      ids_.emplace(record.stages[at].name, column_.push_back(0));
    MakeColumns();
    Arrange();
    Break(columns);
  }

  std::size_t columns() const { return items_.size(); }

  /// `kind`: its class beside `graph`.
  std::string Svg(std::string_view kind) const {
    const std::size_t across = std::min(items_.size(), per_band_);
    const std::string width = Num(2 * side_ + static_cast<double>(across) * (kStageWidth + kGap) - kGap);
    std::string svg = StrCat("<svg class=\"graph ", kind, "\" role=\"img\" width=\"", width, "\" height=\"",
                             Num(bottom_), "\" viewBox=\"0 0 ", width, " ", Num(bottom_), "\" aria-label=\"",
                             record_.stages.size(), " stages and their inputs\">\n");
    for (const Edge& edge : edges_) svg += Line(edge);
    for (const StageId at : column_.ids()) svg += Flow(at);
    for (const StageId at : column_.ids()) svg += Box(at);
    return svg + "</svg>\n";
  }

 private:
  static std::string Num(double value) { return Fixed(value, 0); }
  const RecordedStage& At(StageId stage) const { return record_.stages[stage.index()]; }
  std::size_t BandOf(std::size_t column) const { return column / per_band_; }
  double LeftOf(std::size_t column) const {
    return side_ + static_cast<double>(column % per_band_) * (kStageWidth + kGap);
  }
  double Left(StageId stage) const { return LeftOf(column_[stage]); }
  double Middle(StageId stage) const { return middle_[stage]; }
  bool EndsBand(std::size_t column) const { return column % per_band_ == per_band_ - 1; }

  void MakeColumns() {
    middle_ = IdVector<StageId, double>(column_.size());
    for (const StageId at : column_.ids()) {
      for (const std::string& input : At(at).inputs) {
        const auto from = ids_.find(input);
        // In our records an input comes before its readers; a record with another order is not ours.
        if (from == ids_.end() || from->second >= at) continue;
        column_[at] = std::max(column_[at], column_[from->second] + 1);
        edges_.push_back({from->second, at, {}});
      }
      items_.resize(std::max(items_.size(), column_[at] + 1));
      items_[column_[at]].push_back({at, at});
    }
    for (const EdgeId at : edges_.ids())
      for (std::size_t column = column_[edges_[at].from] + 1; column < column_[edges_[at].to]; ++column)
        items_[column].push_back({at, edges_[at].to});
  }

  /// Sets the heights, column by column. Each item is as near as possible to the height of the item that it
  /// comes from: lines stay straight, and branches go below.
  void Arrange() {
    for (std::vector<Item>& column : items_) {
      for (Item& item : column) item.wanted = Wanted(item);
      std::stable_sort(column.begin(), column.end(), [](const Item& a, const Item& b) {
        return a.wanted != b.wanted ? a.wanted < b.wanted : a.order < b.order;
      });
      double free = 0;
      for (Item& item : column) {
        const double half = (item.stage() ? kRow : kThread) / 2.0;
        item.y = std::max(item.wanted, free + half);
        free = item.y + half;
        if (const StageId* const stage = item.stage())
          middle_[*stage] = item.y;
        else
          edges_[item.edge()].passes.push_back(item.y);
      }
    }
  }

  /// Cuts the columns into bands, one below the other.
  void Break(std::size_t most) {
    const std::size_t bands = std::max<std::size_t>(1, (items_.size() + most - 1) / most);
    per_band_ = std::max<std::size_t>(1, (items_.size() + bands - 1) / bands);
    side_ = bands > 1 ? kTurn : 1;
    for (const Edge& edge : edges_)
      for (std::size_t column = column_[edge.from]; column < column_[edge.to]; ++column)
        if (EndsBand(column)) crossings_[BandOf(column) + 1].insert(edge.from);
    double top = kMargin;
    for (std::size_t band = 0; band < bands; ++band) {
      const std::size_t begin = band * per_band_;
      const std::size_t end = std::min(begin + per_band_, items_.size());
      double highest = 1e9, lowest = 0;
      for (std::size_t column = begin; column < end; ++column) {
        for (const Item& item : items_[column]) {
          const double half = item.stage() ? kStageHeight / 2.0 : 0;
          highest = std::min(highest, item.y - half);
          lowest = std::max(lowest, item.y + half);
        }
      }
      for (std::size_t column = begin; column < end; ++column)
        for (const Item& item : items_[column]) Shift(item, column, top - highest);
      tops_.push_back(top);
      top += std::max(0.0, lowest - highest) + kBandGap;
    }
    bottom_ = top - kBandGap + kMargin;
  }

  void Shift(const Item& item, std::size_t column, double by) {
    if (const StageId* const stage = item.stage()) {
      middle_[*stage] += by;
      return;
    }
    Edge& edge = edges_[item.edge()];
    edge.passes[column - column_[edge.from] - 1] += by;
  }

  double Wanted(const Item& item) const {
    const StageId* const stage = item.stage();
    if (stage == nullptr) {
      const Edge& edge = edges_[item.edge()];
      return edge.passes.empty() ? Middle(edge.from) : edge.passes.back();
    }
    double highest = -1;
    for (const Edge& edge : edges_) {
      if (edge.to != *stage) continue;
      const double y = edge.passes.empty() ? Middle(edge.from) : edge.passes.back();
      highest = highest < 0 ? y : std::min(highest, y);
    }
    return highest < 0 ? kRow / 2.0 : highest;
  }

  std::string Line(const Edge& edge) const {
    double x = Left(edge.from) + kStageWidth, y = Middle(edge.from);
    std::string path = StrCat("M", Num(x), " ", Num(y));
    std::size_t column = column_[edge.from];
    const auto go_to = [&](double to_y, double short_of) {
      const double to_x = LeftOf(column + 1) - short_of;
      path += EndsBand(column) ? Turn(edge.from, BandOf(column) + 1, {x, y}, {to_x, to_y})
                               : Bend(x, y, to_x, to_y);
      x = to_x, y = to_y, ++column;
    };
    for (const double pass : edge.passes) {
      go_to(pass, 0);
      x += kStageWidth;
      path += StrCat("H", Num(x));
    }
    go_to(Middle(edge.to), 5);
    return StrCat("<path class=\"edge\" d=\"", path, "\"/><path class=\"tip\" d=\"M", Num(x - 1), " ",
                  Num(y - 4), "l6 4l-6 4z\"/>\n");
  }

  static std::string Bend(double x, double y, double to_x, double to_y) {
    const std::string half = Num((x + to_x) / 2);
    return StrCat("C", half, " ", Num(y), " ", half, " ", Num(to_y), " ", Num(to_x), " ", Num(to_y));
  }

  /// Returns the path from the end of a band around to the beginning of the next one. Lines from one stage
  /// share it.
  std::string Turn(StageId from, std::size_t band, GraphPoint at, GraphPoint to) const {
    const std::set<StageId>& crossing = crossings_.at(band);
    const auto rank = static_cast<double>(std::distance(crossing.begin(), crossing.find(from)));
    const double lane = (rank + 0.5) / static_cast<double>(crossing.size()) - 0.5;  // -1/2 to 1/2
    const double channel = tops_[band] - kBandGap * (0.35 - 0.3 * lane);
    const double right = at.x + kTurn / 2.0 - lane * (kTurn - 4),
                 left = side_ - kTurn / 2.0 - lane * (kTurn - 4);
    constexpr double kRound = 4;
    const auto corner = [](GraphPoint turn, GraphPoint end) {
      return StrCat("Q", Num(turn.x), " ", Num(turn.y), " ", Num(end.x), " ", Num(end.y));
    };
    return StrCat(corner({right, at.y}, {right, at.y + kRound}), "V", Num(channel - kRound),
                  corner({right, channel}, {right - kRound, channel}), "H", Num(left + kRound),
                  corner({left, channel}, {left, channel + kRound}), "V", Num(to.y - kRound),
                  corner({left, to.y}, to));
  }

  /// Returns the counts that left the stage, once for all its readers.
  std::string Flow(StageId at) const {
    const RecordedStage& stage = At(at);
    const bool read =
        std::any_of(edges_.begin(), edges_.end(), [at](const Edge& edge) { return edge.from == at; });
    if (!read) return {};
    std::string above, below;
    const auto counts = record_.counts.find(stage.name);
    if (stage.files > 0) {
      above = GroupedCount(stage.files, "file");
      below = HumanBytes(stage.file_bytes);
    } else if (counts != record_.counts.end() && counts->second.counts.records_out > 0) {
      above = Short(counts->second.counts.records_out);
      below = HumanBytes(counts->second.counts.bytes_out);
    }
    if (above.empty()) return {};
    if (EndsBand(column_[at]))  // there is no room beside it
      return StrCat("<text class=\"flow\" x=\"", Num(Left(at) + kStageWidth / 2.0), "\" y=\"",
                    Num(Middle(at) + kStageHeight / 2.0 + 16), "\">", above, " <tspan class=\"soft\">", below,
                    "</tspan></text>\n");
    const std::string x = Num(Left(at) + kStageWidth + kGap / 2.0 - 2);
    return StrCat("<text class=\"flow\" x=\"", x, "\" y=\"", Num(Middle(at) - 7), "\">", above,
                  "</text><text class=\"flow soft\" x=\"", x, "\" y=\"", Num(Middle(at) + 16), "\">", below,
                  "</text>\n");
  }

  std::string Box(StageId at) const {
    const RecordedStage& stage = At(at);
    const std::string state = StateOf(record_, stage);
    const bool existed = state == "up to date" || state == "not selected" || state == "not reached";
    std::string kind = state == "failed" ? "failed" : existed ? "stood" : "ran";
    if (!stage.location.empty()) kind += " out";
    const std::string x = Num(Left(at)), y = Num(Middle(at) - kStageHeight / 2.0);
    return StrCat("<a href=\"#stage-", at.index(), "\"><g class=\"stage ", kind, "\" transform=\"translate(",
                  x, " ", y, ")\"><title>", HtmlText(stage.name), ": ", HtmlText(stage.type), ", ",
                  HtmlText(state), "</title><rect width=\"", kStageWidth, "\" height=\"", kStageHeight,
                  "\" rx=\"7\"/>", "<text class=\"name\" x=\"13\" y=\"23\">",
                  HtmlText(Fitted(stage.name, 15)), "</text><text class=\"type\" x=\"13\" y=\"41\">",
                  HtmlText(Fitted(stage.type, 19)), "</text></g></a>\n");
  }

  const RunRecord& record_;
  std::map<std::string, StageId> ids_;
  IdVector<StageId, std::size_t> column_;
  IdVector<StageId, double> middle_;
  std::vector<std::vector<Item>> items_;  // by column
  IdVector<EdgeId, Edge> edges_;
  std::size_t per_band_ = 1;
  int side_ = 1;              // room left and right of all
  std::vector<double> tops_;  // of the bands
  /// For each band, the stages whose lines come into it from the band above.
  std::map<std::size_t, std::set<StageId>> crossings_;
  double bottom_ = 0;
};

}  // namespace

std::string GraphDrawing(const RunRecord& record) {
  if (record.stages.empty()) return {};
  const Drawing page(record, kPageColumns);
  if (page.columns() <= kPhoneColumns) return page.Svg("small");
  return page.Svg("broad") + Drawing(record, kPhoneColumns).Svg("narrow");
}

}  // namespace pipeline
