#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/str.h"
#include "cli/report/html.h"
#include "cli/report/report_page.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecipeStages = 200;
constexpr std::size_t kSources = 50;  // of one stage
constexpr std::size_t kKeys = 100;    // of one stage
constexpr std::size_t kValueBytes = 600;
constexpr std::size_t kDifferences = 100;

std::string Cut(std::string_view text) { return HtmlFront(text, kValueBytes); }

std::string ValueText(const Json& value) {
  return value.is_string() ? std::string(value.AsString()) : value.Dump();
}

/// Adds the value of each key `seed`, at any depth of `config`.
void FindSeeds(const Json& config, std::vector<std::string>& seeds) {
  for (const auto& [name, value] : config.AsObject()) {
    if (name == "seed" && !value.is_object() && !value.is_array()) seeds.push_back(ValueText(value));
    FindSeeds(value, seeds);
  }
}

std::string Made(const RecordedStage& stage) {
  std::string facts, libraries, sources, keys;
  std::vector<std::string> seeds;
  FindSeeds(stage.config, seeds);
  std::string seed;
  for (const std::string& one : seeds) seed += StrCat(seed.empty() ? "" : ", ", Cut(one));
  for (const auto& [name, version] : stage.libraries)
    libraries += StrCat(libraries.empty() ? "" : ", ", Cut(name), " ", Cut(version));
  for (std::size_t at = 0; at < std::min(stage.sources.size(), kSources); ++at)
    sources += StrCat(at == 0 ? "" : "<br>", Cut(stage.sources[at].first), " <code>",
                      Cut(stage.sources[at].second), "</code>");
  if (stage.sources.size() > kSources)
    sources += StrCat("<br>and ", Grouped(stage.sources.size() - kSources), " more");
  std::size_t shown = 0;
  for (const auto& [name, value] : stage.config.AsObject())
    if (++shown <= kKeys)
      keys += StrCat(keys.empty() ? "" : "<br>", "<code>", Cut(name), ": ", Cut(ValueText(value)), "</code>");
  facts =
      StrCat(HtmlFact("Version of the type", Grouped(stage.version)), HtmlFact("Seed", seed),
             HtmlFact("Recipe",
                      stage.recipe.empty() ? std::string() : StrCat("<code>", Cut(stage.recipe), "</code>")),
             HtmlFact("Libraries", libraries), HtmlFact("Sources", sources), HtmlFact("Configuration", keys));
  return StrCat("<details><summary><b>", HtmlText(stage.name), "</b> <span class=\"soft\">",
                HtmlText(stage.type), seed.empty() ? "" : ", seed ", seed,
                "</span></summary><dl class=\"facts\">\n", facts, "</dl></details>\n");
}

}  // namespace

std::string RecipeSection(const RunRecord& record) {
  std::string html;
  std::size_t shown = 0;
  for (const RecordedStage& stage : record.stages)
    if (!stage.config.is_null() && ++shown <= kRecipeStages) html += Made(stage);
  return html;
}

std::string BeforeSection(const RunRecord& record) {
  if (!record.before) return {};
  const RunBefore& before = *record.before;
  std::string items;
  for (std::size_t at = 0; at < std::min(before.differences.size(), kDifferences); ++at)
    items += StrCat("<li>", Cut(before.differences[at]), "</li>");
  if (before.differences.size() > kDifferences)
    items += StrCat("<li>and ", Grouped(before.differences.size() - kDifferences), " more</li>");
  const std::string id = HtmlText(before.id);
  // Our ids have only digits and a dash; any other id gets no link.
  const bool plain = before.id.find_first_not_of("0123456789-") == std::string::npos;
  std::string took = before.duration > 0 ? Span(before.duration) : std::string();
  if (before.cpu > 0) took += StrCat(", ", Span(before.cpu), " of processor time");
  if (before.peak_rss > 0) took += StrCat(", ", HumanBytes(before.peak_rss), " of memory at most");
  return StrCat(
      "<dl class=\"facts\">\n",
      HtmlFact("Run", before.has_page && plain ? StrCat("<a href=\"../", id, "/report.html\">", id, "</a>")
                                               : StrCat("<code>", id, "</code>")),
      HtmlFact("Began", HtmlText(Iso8601(before.started))),
      HtmlFact("Command", StrCat("<code>", Cut(before.command), "</code>")),
      HtmlFact("Outcome", HtmlText(before.outcome.empty()          ? "killed"
                                   : before.outcome == "cancelled" ? "stopped"
                                                                   : before.outcome)),
      HtmlFact("Took", took), "</dl>\n<h3>Differences</h3>\n",
      items.empty() ? "<p class=\"lead\">None: the stages and all that makes them are the same.</p>\n"
                    : StrCat("<ul class=\"plain differences\">", items, "</ul>\n"));
}

}  // namespace pipeline
