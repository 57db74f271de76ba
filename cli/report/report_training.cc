#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "base/str.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"

namespace pipeline {

namespace {

constexpr double kLossWidth = 880, kLossHeight = 260;
constexpr double kLeft = 44, kRight = 130, kTop = 12, kBottom = 26;  // around the curve

using Score = RecordedTraining::Score;

/// The next of 1, 2, 5, 10, ... at or above `value`.
double RoundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double times : {1.0, 2.0, 5.0})
    if (value <= times * power) return times * power;
  return 10 * power;
}

/// The range of the values that are drawn, and their positions in the drawing.
class Frame {
 public:
  void Take(double step, double loss) {
    if (!std::isfinite(loss)) return;
    low_ = any_ ? std::min(low_, loss) : loss;
    high_ = any_ ? std::max(high_, loss) : loss;
    first_ = any_ ? std::min(first_, step) : step;
    last_ = any_ ? std::max(last_, step) : step;
    any_ = true;
  }
  /// Adds room around the values, and prevents a division by zero.
  void Close() {
    if (high_ - low_ < 1e-9) low_ -= 0.5, high_ += 0.5;
    const double room = 0.05 * (high_ - low_);
    low_ -= room, high_ += room;
    if (last_ - first_ < 1) last_ = first_ + 1;
  }
  bool any() const { return any_; }
  double first() const { return first_; }
  double last() const { return last_; }
  double low() const { return low_; }
  double high() const { return high_; }
  std::string X(double step) const {
    return Fixed(kLeft + (step - first_) / (last_ - first_) * (kLossWidth - kLeft - kRight), 1);
  }
  std::string Y(double loss) const {
    return Fixed(kTop + (high_ - loss) / (high_ - low_) * (kLossHeight - kTop - kBottom), 1);
  }

 private:
  bool any_ = false;
  double low_ = 0, high_ = 0, first_ = 0, last_ = 0;
};

std::string Label(std::string_view anchor, const std::string& x, const std::string& y,
                  std::string_view text) {
  return StrCat("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\">", HtmlText(text), "</text>");
}

std::string Grid(const Frame& frame) {
  std::string svg;
  const double right = kLossWidth - kRight;
  const double rise = RoundStep((frame.high() - frame.low()) / 5);
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(rise) + 1e-9)));
  for (double at = std::ceil(frame.low() / rise) * rise; at <= frame.high(); at += rise)
    svg += StrCat("<path class=\"grid\" d=\"M", Fixed(kLeft, 0), " ", frame.Y(at), "H", Fixed(right, 0),
                  "\"/>", Label("end", Fixed(kLeft - 6, 0), frame.Y(at), Fixed(at, digits)));
  const double stride = std::max(1.0, RoundStep((frame.last() - frame.first()) / 6));
  for (double at = std::ceil(frame.first() / stride) * stride; at <= frame.last(); at += stride)
    svg += Label("middle", frame.X(at), Fixed(kLossHeight - 8, 0), Grouped(static_cast<std::uint64_t>(at)));
  return svg;
}

template <class Points>
std::string Line(const Frame& frame, const Points& points, std::string_view look) {
  std::string path;
  bool pen_down = false;
  for (const auto& point : points) {
    if (!std::isfinite(point.loss)) {
      pen_down = false;  // a gap: nothing was measured there
      continue;
    }
    path += StrCat(pen_down ? "L" : "M", frame.X(static_cast<double>(point.step)), " ", frame.Y(point.loss));
    pen_down = true;
  }
  return path.empty() ? path : StrCat("<path class=\"line ", look, "\" d=\"", path, "\"/>");
}

std::string Curve(const RecordedTraining& training) {
  Frame frame;
  for (const auto& step : training.steps) frame.Take(static_cast<double>(step.step), step.loss);
  for (const auto& score : training.evaluations) frame.Take(static_cast<double>(score.step), score.loss);
  if (!frame.any()) return "<p class=\"lead\">No loss was measured.</p>\n";
  const double middle = frame.first();
  for (const auto& score : training.baselines) frame.Take(middle, score.loss);
  frame.Close();
  std::string svg = Grid(frame);
  const double right = kLossWidth - kRight;
  for (const Score& score : training.baselines) {
    if (!std::isfinite(score.loss)) continue;
    svg +=
        StrCat("<path class=\"baseline\" d=\"M", Fixed(kLeft, 0), " ", frame.Y(score.loss), "H",
               Fixed(right, 0), "\"/>", Label("start", Fixed(right + 8, 0), frame.Y(score.loss), score.name));
  }
  svg += Line(frame, training.steps, "s0") + Line(frame, training.evaluations, "s1");
  for (const Score& score : training.evaluations)
    if (std::isfinite(score.loss))
      svg += StrCat("<circle cx=\"", frame.X(static_cast<double>(score.step)), "\" cy=\"",
                    frame.Y(score.loss), "\" r=\"3\"/>");
  const std::string width = Fixed(kLossWidth, 0), height = Fixed(kLossHeight, 0);
  return StrCat(HtmlWide("Loss", StrCat("<svg class=\"loss\" width=\"", width, "\" height=\"", height,
                                        "\" viewBox=\"0 0 ", width, " ", height,
                                        "\" role=\"img\" aria-label=\"Loss over steps\">", svg, "</svg>")),
                "\n<p class=\"key s0\">loss of a step, ",
                training.labels.numbers ? "mean squared error in deviations" : "nats per token", "</p>",
                "<p class=\"key s1\">held out</p>\n");
}

/// "step 1,234"
std::string StepText(std::int64_t step) { return StrCat("step ", Grouped(static_cast<std::uint64_t>(step))); }

std::string FixedCell(double value, int digits) {
  return HtmlCell(std::isfinite(value) ? Fixed(value, digits) : std::string());
}

std::string ScoreRow(std::string_view head, std::string_view name, std::string_view cells) {
  return StrCat("<tr><th scope=\"row\">", head, "</th>", HtmlTextCell(HtmlText(name)), cells, "</tr>\n");
}

/// The rows of baselines, then those of evaluations. `cells`: those of a score behind its name.
template <class Of>
std::string ScoreRows(const Of& training, const auto& cells) {
  std::string rows;
  for (const auto& score : training.baselines) rows += ScoreRow("baseline", score.name, cells(score));
  for (const auto& score : training.evaluations)
    rows += ScoreRow(StepText(score.step), score.name, cells(score));
  return rows;
}

std::string Scores(const RecordedTraining& training) {
  if (training.labels.numbers) return {};  // their loss has no nats
  if (training.evaluations.empty() && training.baselines.empty()) return {};
  const std::string rows = ScoreRows(training, [](const Score& score) {
    return StrCat(FixedCell(score.loss, 4), FixedCell(std::exp(score.loss), 2),
                  FixedCell(score.bits_per_byte, 4), FixedCell(score.bits_per_char, 4));
  });
  const std::string heads =
      StrCat(HtmlHead("Evaluation"), HtmlHead("Name", kHtmlLeft),
             HtmlHeads({"Nats per token", "Perplexity", "Bits per byte", "Bits per character"}));
  return HtmlTable("Evaluations", heads, rows) + "\n";
}

/// A number of any size.
std::string Figures(double value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 32> text;
  const auto [end, full] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return full == std::errc() ? std::string(text.data(), end) : std::string();
}

/// A measure of numbers, or of classes.
std::string MeasureCell(double value, bool numbers) {
  return numbers ? HtmlCell(Figures(value)) : FixedCell(value, 4);
}

std::string LabelScores(const RecordedLabels& labels) {
  const std::string rows = ScoreRows(labels, [&labels](const RecordedLabels::Score& score) {
    std::string cells;
    for (const double value : score.values) cells += MeasureCell(value, labels.numbers);
    return cells;
  });
  std::string heads = StrCat(HtmlHead("Evaluation"), HtmlHead("Name", kHtmlLeft));
  for (const LabelScore& score : labels.scores()) heads += HtmlHead(HtmlText(score.name));
  return HtmlTable("Scores of labels", heads, rows) + "\n";
}

std::string Confusion(const RecordedLabels::Evaluation& last) {
  if (last.confusion.empty()) return {};
  std::string heads = HtmlHead("Label, by answer"), rows;
  for (const std::string& name : last.names) heads += HtmlHead(HtmlText(name));
  for (std::size_t at = 0; at < last.confusion.size(); ++at) {
    rows += StrCat("<tr><th scope=\"row\">", HtmlText(last.names[at]), "</th>");
    for (const std::uint64_t number : last.confusion[at]) rows += HtmlCell(Grouped(number));
    rows += StrCat(FixedCell(last.f1[at], 4), "</tr>\n");
  }
  return StrCat("<p class=\"lead\">Documents of ", StepText(last.step), ".</p>\n",
                HtmlTable("Confusion", heads + HtmlHead("F1"), rows), "\n");
}

std::string Mistakes(const RecordedLabels::Evaluation& last, bool numbers) {
  if (last.mistakes.empty()) return {};
  const std::string_view title =
      numbers ? "Documents with the greatest errors" : "Documents whose label was least likely";
  std::string rows;
  for (const RecordedLabels::Mistake& one : last.mistakes)
    rows += StrCat("<tr>", MeasureCell(one.measure, numbers), HtmlTextCell(HtmlText(one.label)),
                   HtmlTextCell(HtmlText(one.answer)), "<td class=\"text\"", HtmlLanguage(one.text), ">",
                   HtmlText(one.text), "</td></tr>\n");
  std::string heads = HtmlHead(numbers ? "Error" : "Nats");
  for (const std::string_view name : {"Label", "Answer", "Text"}) heads += HtmlHead(name, kHtmlLeft);
  return StrCat("<h3>", title, "</h3>\n", HtmlTable(title, heads, rows), "\n");
}

std::string Labels(const RecordedLabels& labels) {
  if (labels.empty()) return {};
  return StrCat(LabelScores(labels), Confusion(labels.last), Mistakes(labels.last, labels.numbers));
}

std::string Samples(const RecordedTraining& training) {
  std::string items;
  for (const RecordedTraining::Sample& sample : training.samples) {
    // A trainer may repeat the prompt in front of its own text.
    std::string_view text = sample.text;
    if (text.starts_with(sample.prompt)) text.remove_prefix(sample.prompt.size());
    items += StrCat("<li", HtmlLanguage(sample.prompt + sample.text), "><time>", StepText(sample.step),
                    "</time><span><b>", HtmlText(sample.prompt), "</b>", HtmlText(text), "</span></li>");
  }
  return items.empty() ? items : StrCat("<h3>Text of the model</h3><ol class=\"notes\">", items, "</ol>\n");
}

std::string Goodput(const RecordedTraining& training) {
  double all = 0;
  for (const auto& [name, value] : training.goodput) all += value;
  if (all <= 0) return {};
  std::string items;
  for (const auto& [name, value] : training.goodput)
    items += StrCat("<dt>", HtmlText(name), "</dt><dd>", HtmlText(Percent(value, all)), "</dd>\n");
  return StrCat("<h3>Where the time went</h3><dl class=\"facts\">\n", items, "</dl>\n");
}

std::string Speed(const RecordedTraining& training) {
  std::vector<double> speeds;
  for (const auto& step : training.steps)
    if (std::isfinite(step.tokens_per_s) && step.tokens_per_s > 0) speeds.push_back(step.tokens_per_s);
  if (speeds.empty()) return {};
  const auto middle = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  return StrCat("<p class=\"lead\">", Short(static_cast<std::uint64_t>(std::min(*middle, 1e15))),
                " tokens a second, by the median.</p>\n");
}

}  // namespace

std::string TrainingSection(const std::vector<RecordedTraining>& trainings) {
  std::string html;
  for (const RecordedTraining& training : trainings)
    html += StrCat("<h3>", HtmlText(training.stage), "</h3>\n", Speed(training), Curve(training),
                   Scores(training), Labels(training.labels), Samples(training), Goodput(training));
  return html;
}

}  // namespace pipeline
