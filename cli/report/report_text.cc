#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"

namespace pipeline {

namespace {

constexpr std::size_t kSampledStages = 24;  // stages whose samples are shown
constexpr std::size_t kPairsOfMany = 4;     // per stage, if many stages have pairs
constexpr std::size_t kFewStages = 8;
constexpr std::size_t kCharacters = 600;  // of one sample; the collector cuts samples to fewer

struct Character {
  char32_t code_point = 0;
  std::string_view bytes;
};

std::vector<Character> CharactersOf(std::string_view text) {
  std::vector<Character> characters;
  while (!text.empty() && characters.size() < kCharacters) {
    const std::string_view before = text;
    const char32_t code_point = TakeUtf8Character(text);
    characters.push_back({code_point, before.substr(0, before.size() - text.size())});
  }
  return characters;
}

std::vector<char32_t> CodePoints(const std::vector<Character>& characters) {
  std::vector<char32_t> code_points;
  for (const Character& character : characters) code_points.push_back(character.code_point);
  return code_points;
}

/// "U+200B"
std::string CodePointName(char32_t code_point) {
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "U+%04X", static_cast<unsigned>(code_point));
  return name.data();
}

/// Returns a visible form of the character; a character without a shape is shown by its number.
std::string Visible(const Character& character) {
  if (character.code_point == U'\n') return "<span class=\"cp\">&#9166;</span><br>";
  if (character.code_point == U'\t') return "<span class=\"cp\">&#8677;</span>";
  if (IsShapeless(character.code_point))
    return StrCat("<span class=\"cp\">", CodePointName(character.code_point), "</span>");
  return HtmlText(character.bytes);
}

/// `marked` tells which characters are in an element of the name `tag`.
std::string Shown(const Sample& sample, const std::vector<Character>& characters,
                  const std::vector<bool>& marked, std::string_view tag) {
  std::string html;
  bool open = false;
  std::size_t bytes = 0;
  auto mark = sample.marks.begin();
  for (std::size_t at = 0; at < characters.size(); ++at) {
    if (marked[at] != open) html += StrCat(open ? "</" : "<", tag, ">");
    open = marked[at];
    html += Visible(characters[at]);
    bytes += characters[at].bytes.size();
    while (mark != sample.marks.end() && *mark < bytes) ++mark;
    if (mark != sample.marks.end() && *mark == bytes && at + 1 < characters.size())
      html += "<wbr><span class=\"end\" aria-hidden=\"true\"></span>";
  }
  if (open) html += StrCat("</", tag, ">");
  return StrCat("<p class=\"sample\"", HtmlLanguage(sample.text), " dir=\"auto\">",
                sample.front ? "<span class=\"cp\">&hellip;</span>" : "", html,
                sample.back ? "<span class=\"cp\">&hellip;</span>" : "", "</p>");
}

std::string Shown(const SamplePair& pair) {
  const std::vector<Character> before = CharactersOf(pair.before.text);
  if (!pair.after) {
    return StrCat("<div class=\"pair\"><div>",
                  Shown(pair.before, before, std::vector<bool>(before.size()), "del"),
                  "</div><div><p class=\"none\">dropped</p></div></div>\n");
  }
  const std::vector<Character> after = CharactersOf(pair.after->text);
  const Differences differences = Differ(CodePoints(before), CodePoints(after));
  return StrCat("<div class=\"pair\"><div>", Shown(pair.before, before, differences.gone, "del"),
                "</div><div>", Shown(*pair.after, after, differences.added, "ins"), "</div></div>\n");
}

// --------------------------------------------------------------------------------- distributions

std::uint64_t Sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Returns the length below which the share `part` of the records lies, if they are spread evenly in a class.
std::uint64_t Quantile(const std::vector<std::uint64_t>& lengths, double part) {
  const double wanted = part * static_cast<double>(Sum(lengths));
  double passed = 0;
  for (std::size_t at = 0; at < lengths.size(); ++at) {
    const double here = static_cast<double>(lengths[at]);
    if (here > 0 && passed + here >= wanted) {
      const auto floor = static_cast<double>(LengthFloor(at)),
                 next = static_cast<double>(LengthFloor(at + 1));
      return static_cast<std::uint64_t>(floor + (next - floor) * (wanted - passed) / here);
    }
    passed += here;
  }
  return 0;
}

/// Returns the begin of a class on a logarithmic axis, in doublings; empty records are in front, at -1.
double PositionOf(std::size_t length_class) {
  return length_class == 0 ? -1 : std::log2(static_cast<double>(LengthFloor(length_class)));
}

struct TextChange {
  std::string stage;
  const TextProfile* profile = nullptr;
  const TextProfile* before = nullptr;  // of the first input that has one; null: none has
};

/// Returns the stages whose text differs from the text before them.
std::vector<TextChange> PointsOf(const RunRecord& record) {
  std::vector<TextChange> points;
  for (const RecordedStage& stage : record.stages) {
    const auto text = record.texts.find(stage.name);
    if (text == record.texts.end() || text->second.profile.records == 0) continue;
    const TextProfile* before = nullptr;
    for (const std::string& input : stage.inputs) {
      const auto found = record.texts.find(input);
      if (before == nullptr && found != record.texts.end() && found->second.profile.records > 0)
        before = &found->second.profile;
    }
    const TextProfile& now = text->second.profile;
    const bool same = before && before->lengths == now.lengths && before->characters == now.characters;
    if (!same && points.size() < kSampledStages) points.push_back({stage.name, &now, before});
  }
  return points;
}

/// Returns the share of records per doubling, so that classes of different width can be compared.
double Density(const TextProfile& profile, std::size_t at) {
  if (at >= profile.lengths.size() || profile.records == 0) return 0;
  const double share = static_cast<double>(profile.lengths[at]) / static_cast<double>(profile.records);
  return share / (PositionOf(at + 1) - PositionOf(at));
}

std::string Histogram(const TextChange& point, std::size_t first, std::size_t last) {
  double top = 1e-9;
  for (std::size_t at = first; at <= last; ++at) {
    top = std::max(top, Density(*point.profile, at));
    if (point.before) top = std::max(top, Density(*point.before, at));
  }
  const double origin = PositionOf(first), scale = 1000 / (PositionOf(last + 1) - origin);
  std::string bars, outline;
  for (std::size_t at = first; at <= last; ++at) {
    const double x = (PositionOf(at) - origin) * scale, width = (PositionOf(at + 1) - PositionOf(at)) * scale;
    const double height = 100 * Density(*point.profile, at) / top;
    bars += StrCat("M", Fixed(x + width * 0.06, 1), " 100v-", Fixed(height, 1), "h", Fixed(width * 0.88, 1),
                   "v", Fixed(height, 1), "z");
    if (point.before) {
      const std::string y = Fixed(100 - 100 * Density(*point.before, at) / top, 1);
      outline += StrCat(outline.empty() ? "M0 100V" : "V", y, "H", Fixed(x + width, 1));
    }
  }
  std::string html = "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  html += StrCat("<path class=\"bars\" d=\"", bars, "\"/>");
  if (!outline.empty()) html += StrCat("<path class=\"before\" d=\"", outline, "V100\"/>");
  return html + "</svg>";
}

std::string LengthAxis(std::size_t first, std::size_t last) {
  std::string axis;
  const double origin = PositionOf(first), width = PositionOf(last + 1) - origin;
  for (const std::uint64_t tick : {1U, 10U, 100U, 1'000U, 10'000U, 100'000U, 1'000'000U}) {
    const double part = (std::log2(static_cast<double>(tick)) - origin) / width;
    if (part >= 0 && part <= 1)
      axis += StrCat("<span style=\"left:", Fixed(100 * part, 2), "%\">", Grouped(tick), "</span>");
  }
  return axis;
}

std::string Lengths(const std::vector<TextChange>& points) {
  std::size_t first = 1000, last = 0;
  for (const TextChange& point : points) {
    for (std::size_t at = 0; at < point.profile->lengths.size(); ++at) {
      if (point.profile->lengths[at] == 0) continue;
      first = std::min(first, at);
      last = std::max(last, at);
    }
  }
  if (first > last) return {};
  std::string html = "<h3>Length of records, in characters</h3>\n<div class=\"histograms\">\n";
  for (const TextChange& point : points) {
    const std::vector<std::uint64_t>& lengths = point.profile->lengths;
    const std::string said =
        StrCat("median ", Grouped(Quantile(lengths, 0.5)), ", 99 % below ", Grouped(Quantile(lengths, 0.99)));
    html += StrCat("<figure class=\"histogram\"><figcaption><b>after ", HtmlText(point.stage), "</b><span>",
                   said, "</span></figcaption><div class=\"plot\" role=\"img\" aria-label=\"", said, "\">",
                   Histogram(point, first, last), "</div><div class=\"axis\" aria-hidden=\"true\">",
                   LengthAxis(first, last), "</div></figure>\n");
  }
  html += "</div>\n";
  if (std::any_of(points.begin(), points.end(),
                  [](const TextChange& point) { return point.before != nullptr; }))
    html +=
        "<p class=\"hint\"><span class=\"swatch before\"></span>before the stage "
        "<span class=\"swatch after\"></span>after it</p>\n";
  return html;
}

double CharactersIn(const TextProfile& profile) {
  return std::accumulate(profile.characters.begin(), profile.characters.end(), 0.0);
}

std::string Classes(const std::vector<TextChange>& points) {
  std::vector<std::size_t> shown;
  for (std::size_t at = 0; at < kProfileClasses.size(); ++at)
    if (std::any_of(points.begin(), points.end(),
                    [at](const TextChange& point) { return point.profile->characters[at] > 0; }))
      shown.push_back(at);
  std::string bars, heads = HtmlHead("Class"), rows;
  for (const TextChange& point : points) {
    const double all = CharactersIn(*point.profile);
    std::string bar;
    for (const std::size_t at : shown)
      if (all > 0)
        bar += StrCat("<i class=\"c", at, "\" style=\"width:",
                      Fixed(100 * static_cast<double>(point.profile->characters[at]) / all, 3),
                      "%\" title=\"", kProfileClasses[at], " ",
                      HtmlText(Percent(static_cast<double>(point.profile->characters[at]), all)), "\"></i>");
    bars += StrCat("<div class=\"mix\"><span>after ", HtmlText(point.stage),
                   "</span><div aria-hidden=\"true\">", bar, "</div></div>\n");
    heads += HtmlHead(StrCat("after ", HtmlText(point.stage)));
  }
  for (const std::size_t at : shown) {
    rows += StrCat("<tr><th scope=\"row\"><span class=\"swatch c", at, "\"></span>", kProfileClasses[at],
                   "</th>");
    for (const TextChange& point : points)
      rows += HtmlCell(HtmlText(
          Percent(static_cast<double>(point.profile->characters[at]), CharactersIn(*point.profile))));
    rows += "</tr>\n";
  }
  return StrCat("<h3>Kinds of characters</h3>\n", bars,
                HtmlTable("Kinds of characters", heads, rows, " class=\"numbers\""), "\n");
}

}  // namespace

Differences Differ(const std::vector<char32_t>& before, const std::vector<char32_t>& after) {
  // Longest common subsequence; samples are a few hundred characters, so the table is small.
  const std::size_t rows = before.size() + 1, columns = after.size() + 1;
  std::vector<std::uint16_t> longest(rows * columns);
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      const std::size_t at = i * columns + j;
      longest[at] = before[i] == after[j] ? static_cast<std::uint16_t>(longest[at + columns + 1] + 1)
                                          : std::max(longest[at + columns], longest[at + 1]);
    }
  }
  Differences differences{std::vector<bool>(before.size()), std::vector<bool>(after.size())};
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      ++i, ++j;
    } else if (j == after.size() ||
               (i < before.size() && longest[(i + 1) * columns + j] >= longest[i * columns + j + 1])) {
      differences.gone[i++] = true;
    } else {
      differences.added[j++] = true;
    }
  }
  return differences;
}

std::string SampleSection(const RunRecord& record) {
  std::vector<const RecordedStage*> stages;
  for (const RecordedStage& stage : record.stages) {
    const auto text = record.texts.find(stage.name);
    if (text != record.texts.end() && !text->second.pairs.empty() && stages.size() < kSampledStages)
      stages.push_back(&stage);
  }
  std::string html;
  for (const RecordedStage* stage : stages) {
    const StageText& text = record.texts.at(stage->name);
    const double before = static_cast<double>(text.profile.records) + static_cast<double>(text.dropped);
    std::string said;
    if (text.changed > 0)
      said = StrCat("changed about ", Percent(static_cast<double>(text.changed), before), " of the records");
    if (text.dropped > 0)
      said += StrCat(said.empty() ? "" : ", ", "dropped about ",
                     Percent(static_cast<double>(text.dropped), before));
    html += StrCat("<h3>", HtmlText(stage->name), " <small>", HtmlText(said),
                   "</small></h3>\n<div class=\"pairs\">\n",
                   "<div class=\"pair head\" aria-hidden=\"true\"><div>before</div><div>after</div></div>\n");
    const std::size_t shown = stages.size() > kFewStages ? kPairsOfMany : text.pairs.size();
    for (std::size_t at = 0; at < std::min(shown, text.pairs.size()); ++at) html += Shown(text.pairs[at]);
    html += "</div>\n";
  }
  return html;
}

std::string ProfileSection(const RunRecord& record) {
  const std::vector<TextChange> points = PointsOf(record);
  if (points.empty()) return {};
  std::uint64_t sampled = 0;
  for (const TextChange& point : points) sampled = std::max(sampled, point.profile->sampled);
  return StrCat("<p class=\"lead\">From ", Grouped(sampled),
                " records, picked by their place in the sources; stages that changed "
                "none of them are left out.</p>\n",
                Lengths(points), Classes(points));
}

}  // namespace pipeline
