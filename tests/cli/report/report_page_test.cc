#include "cli/report/report_page.h"

#include <gtest/gtest.h>

#include <string>

#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {
namespace {

constexpr std::size_t kMostBytes = 2 << 20;

std::size_t Occurrences(const std::string& page, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
  return found;
}

/// A finished run of stages that read one another in a line.
RunRecord LineOf(std::size_t stages) {
  RunRecord record;
  record.begin.pipeline = "tiny";
  record.begin.command = "pipe run tiny.yaml";
  record.begin.started = 1769860800000;
  record.begin.cores = record.begin.threads = 2;
  for (std::size_t at = 0; at < stages; ++at) {
    RecordedStage stage;
    stage.name = StrCat("stage", at);
    stage.type = "normalize";
    stage.state = "run";
    if (at > 0) stage.inputs.push_back(StrCat("stage", at - 1));
    record.counts[stage.name].counts = {1000, 900, 50'000, 45'000, {{"dropped_empty", 100}}};
    record.stages.push_back(std::move(stage));
  }
  for (unsigned at = 0; at <= 20; ++at)
    record.moments.push_back({at * 0.05, at * 10'000ULL, at * 50'000ULL, at * 45'000ULL, at * 0.09, 80 << 20,
                              std::uint64_t{1} << 40, 1});
  record.end = RecordedEnd{1.0, "done", 90 << 20, {}};
  return record;
}

Sample SampleOf(std::string text) { return {std::move(text), {}, false, false}; }

/// Returns a record with `evil` in each text that comes from others.
RunRecord RecordWith(const std::string& evil) {
  RunRecord record = LineOf(1);
  record.begin = {evil, evil, evil, evil, evil, 1769860800000, {{evil, evil}}, 2, 1, 1, 1};
  record.stages = {{evil, evil, {}, evil, evil, evil, evil, evil, evil, 1, 1, evil, evil},
                   {evil + "2", evil, {evil}, evil, evil, evil, evil, evil, "", 0, 0, ""}};
  for (const RecordedStage& stage : record.stages) {
    record.counts[stage.name].counts = {10, 9, 8, 7, {{evil, 3}}};
    record.counts[stage.name].splits[evil] = {1, 2, 3};
    record.examples.push_back({stage.name, evil, evil, true});
    StageText text;
    text.profile.Add(evil, 64);
    text.changed = 1;
    text.pairs = {{1, SampleOf(evil), SampleOf(evil + "x")}, {2, SampleOf(evil), std::nullopt}};
    record.texts[stage.name] = text;
  }
  record.units = {{evil + "/0000-*", 0, 1, 1, 1, 1, {{evil, 0.5}}, evil}};
  record.logged = {{evil + "/0000-00000", 0.5, 1, 1}};
  record.notes = {{0.1, evil}};
  record.end = RecordedEnd{1.0, evil, 1, {{evil, evil}}};
  return record;
}

TEST(ReportPageTest, NothingOfARecordIsTakenForMarkupOrScript) {
  const std::size_t elements = Occurrences(ReportPage(RecordWith("harmless")), "<script");
  for (const std::string evil :
       {"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)", "</style><b>",
        "--></title><svg onload=alert(1)>", "javascript:alert(1)", "\xE2\x80\xAE<i>\xFF\x00"}) {
    const std::string page = ReportPage(RecordWith(evil));
    EXPECT_EQ(Occurrences(page, "<script"), elements) << evil;
    EXPECT_EQ(Occurrences(page, "<img"), 0u) << evil;
    EXPECT_EQ(Occurrences(page, "<svg onload"), 0u) << evil;
    EXPECT_EQ(Occurrences(page, "' onload"), 0u) << evil;
    EXPECT_EQ(Occurrences(page, "</style"), 1u) << evil;
    EXPECT_EQ(Occurrences(page, "href=\"javascript:"), 0u) << evil;
    EXPECT_EQ(Occurrences(page, "\xE2\x80\xAE"), 0u) << "what turns the direction of text is let through";
  }
}

TEST(ReportPageTest, AsksForNothingOutsideItself) {
  const std::string page = ReportPage(LineOf(3));
  EXPECT_EQ(Occurrences(page, "http://"), 0u);
  EXPECT_EQ(Occurrences(page, "https://"), 0u);
  EXPECT_EQ(Occurrences(page, " src="), 0u);
  EXPECT_EQ(Occurrences(page, "default-src 'none'"), 1u);
}

TEST(ReportPageTest, EveryStageIsDrawnAndTold) {
  for (const std::size_t stages : {1u, 3u, 30u}) {
    const std::string page = ReportPage(LineOf(stages));
    const std::size_t drawings = stages > 2 ? 2 : 1;  // one of them for phones
    EXPECT_EQ(Occurrences(page, "<svg class=\"graph "), drawings);
    EXPECT_EQ(Occurrences(page, "<a href=\"#stage-"), drawings * stages);
    EXPECT_EQ(Occurrences(page, "<tr id=\"stage-"), stages);
    EXPECT_EQ(Occurrences(page, "<path class=\"edge\""), drawings * (stages - 1));
  }
}

TEST(ReportPageTest, LinesGoAroundStagesThatTheyPass) {
  RunRecord record = LineOf(4);
  record.stages.back().inputs.push_back("stage0");  // passes two columns
  const std::string page = ReportPage(record);
  EXPECT_EQ(Occurrences(page, "<path class=\"edge\""), 8u);  // four in each drawing
  EXPECT_GE(Occurrences(page, "H"), 2u);
}

TEST(ReportPageTest, RecordWithoutAnythingIsAPage) {
  const std::string page = ReportPage(RunRecord());
  EXPECT_EQ(Occurrences(page, "</html>"), 1u);
  EXPECT_EQ(Occurrences(page, ">Unfinished<"), 1u);
}

TEST(ReportPageTest, AHundredThousandUnitsFitTheBound) {
  RunRecord record = LineOf(3);
  for (int at = 0; at < 100'000; ++at) {
    const double begin = at * 0.01;
    record.units.push_back({StrCat("stage2/0000-", ZeroPadded(static_cast<std::uint64_t>(at), 5)),
                            begin,
                            begin + 0.1,
                            10,
                            10,
                            10,
                            {{"stage2", 0.1}},
                            at % 7 == 0 ? std::string(5000, 'x') : ""});
    record.logged.push_back({record.units.back().unit, begin, 1, 1});
    record.notes.push_back({begin, std::string(5000, 'y')});
    record.end->failures.emplace_back(record.units.back().unit, std::string(5000, 'z'));
  }
  const std::string page = ReportPage(record);
  EXPECT_LE(page.size(), kMostBytes);
  EXPECT_EQ(Occurrences(page, "100,000 units, 100,000 partitions, 14,286 failed, up to 10 at once"), 2u);
  EXPECT_EQ(Occurrences(page, "and 99,950 more: see the run log"), 1u);
}

TEST(ReportPageTest, ManySamplesFitTheBound) {
  RunRecord record = LineOf(30);
  std::string long_text;
  while (long_text.size() < 480) long_text += "\xE8\xA8\x80<";
  for (const RecordedStage& stage : record.stages) {
    StageText& text = record.texts[stage.name];
    text.profile.Add(long_text, 64);
    text.changed = 1;
    for (std::uint64_t at = 0; at < 8; ++at)
      text.pairs.push_back({at, SampleOf(long_text), SampleOf(std::string(480, '&'))});
  }
  EXPECT_LE(ReportPage(record).size(), kMostBytes);
}

TEST(ReportPageTest, SectionThatIsTooLargeSaysSo) {
  RunRecord record = LineOf(2);
  record.stages[1].name = std::string(3 << 20, 'x');
  const std::string page = ReportPage(record);
  EXPECT_LE(page.size(), kMostBytes);
  EXPECT_GE(Occurrences(page, "Too much for a page"), 1u);
  EXPECT_EQ(Occurrences(page, "id=\"versions\""), 1u);
}

TEST(ReportPageTest, FailuresAreNamedFirst) {
  RunRecord record = LineOf(2);
  record.end->outcome = "failed";
  record.end->failures = {{"stage1/0000-00003", "the disk is full"}};
  const std::string page = ReportPage(record);
  EXPECT_EQ(Occurrences(page, ">Failed<"), 1u);
  EXPECT_LT(page.find("the disk is full"), page.find("<section"));
  EXPECT_EQ(Occurrences(page, "class=\"stage failed\""), 1u);
}

TEST(ReportPageTest, InvisibleCharactersOfSamplesAreShown) {
  RunRecord record = LineOf(1);
  record.texts["stage0"].pairs = {{1,
                                   SampleOf("a\xE2\x80\x8B"
                                            "b\tc"),
                                   SampleOf("abc")}};
  const std::string page = ReportPage(record);
  EXPECT_EQ(Occurrences(page, "<del><span class=\"cp\">U+200B</span></del>"), 1u);
  EXPECT_EQ(Occurrences(page, "\xE2\x80\x8B"), 0u);
}

TEST(ReportPageTest, JapaneseSamplesSayTheirLanguage) {
  RunRecord record = LineOf(1);
  record.texts["stage0"].pairs = {{1, SampleOf("ｶﾀｶﾅ"), SampleOf("カタカナ")}};
  EXPECT_EQ(Occurrences(ReportPage(record), "<p class=\"sample\" lang=\"ja\""), 2u);
}

TEST(DifferTest, NamesWhatIsGoneAndWhatIsNew) {
  const Differences differences = Differ({U'a', U'b', U'c'}, {U'a', U'x', U'c', U'd'});
  EXPECT_EQ(differences.gone, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(differences.added, (std::vector<bool>{false, true, false, true}));
}

TEST(HtmlTest, NumbersAreShortAndExactWhereTheyCanBe) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(1'234'567), "1,234,567");
  EXPECT_EQ(Short(999), "999");
  EXPECT_EQ(Short(999'499), "999 k");
  EXPECT_EQ(Short(999'500), "1.00 M");
  EXPECT_EQ(Short(12'345'678), "12.3 M");
  EXPECT_EQ(Percent(1, 0), "");
  EXPECT_EQ(Percent(0, 5), "0 %");
  EXPECT_EQ(Percent(1, 100'000), "< 0.01 %");
  EXPECT_EQ(Percent(99'999, 100'000), "> 99.9 %");
  EXPECT_EQ(Percent(5, 5), "100 %");
  EXPECT_EQ(Span(0), "0 ms");
  EXPECT_EQ(Span(0.0004), "0.4 ms");
  EXPECT_EQ(Span(0.0841), "84 ms");
  EXPECT_EQ(Span(1.4649), "1.46 s");
  EXPECT_EQ(Span(125.4), "2 m 05 s");
  EXPECT_EQ(Span(12'000), "3 h 20 m");
  EXPECT_EQ(Span(200'000), "2 d 7 h");
}

TEST(ReportPageTest, SaysWhatATrainerDropsThatFiltersByLength) {
  RunRecord record = LineOf(1);
  RecordedStage& stage = record.stages.front();
  stage.name = "text", stage.type = "write_tfds", stage.location = "out/a <b>";
  record.counts["text"].counts = {1000, 1300, 0, 0, {{"split_long", 250}}};
  EXPECT_EQ(Occurrences(ReportPage(record), "a trainer that drops"), 0U) << "a record of old says no limit";
  stage.longest_line = "128";
  EXPECT_NE(
      ReportPage(record).find("<b>text</b>: a trainer that drops lines of more than 128 tokens drops none of "
                              "this data set. Lines that were longer, 250 of 1,000 (25.0 %), were split into "
                              "several: it would have dropped them."),
      std::string::npos);
  record.counts["text"].counts.reasons = {{"over_max_tokens", 2}};
  EXPECT_NE(ReportPage(record).find(
                "drops 2 parts of it, each a single character with more tokens. No line was longer."),
            std::string::npos);
  stage.longest_line = "any";
  EXPECT_NE(ReportPage(record).find(
                "<code>pipe verify out/a &lt;b&gt; --tokenizer MODEL --max-tokens N</code> says "
                "how much."),
            std::string::npos);
}

}  // namespace
}  // namespace pipeline
