// The report of one run: a self-contained HTML page without network requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/report/run_record.h"
#include "cli/report/training_record.h"

namespace pipeline {

/// Pure: the same record gives the same page. At most 2 MiB for any record: excess content is summarised or
/// left out, and the page says so. Nothing in the record is ever interpreted as markup or script.
std::string ReportPage(const RunRecord& record);

// Draws the stages of a run as a graph from left to right, with the amounts passed between them. A wide graph
// goes on below, like lines of text.

/// An <svg> with its own size; a graph that is wider than a phone is drawn twice, with the classes `broad`
/// and `narrow`, and the style shows one of the two. Each stage links to "#stage-N"; N is its index in the
/// record.
std::string GraphDrawing(const RunRecord& record);

// Report sections about the inputs of a run: the configuration, versions, seed, recipe and sources of each
// stage; and the differences to the previous run.

/// The HTML of the section; empty for old records, which lack these members.
std::string RecipeSection(const RunRecord& record);

/// As RecipeSection, for RunRecord::before.
std::string BeforeSection(const RunRecord& record);

// The style sheet and the small script of a report.

std::string_view ReportStyle();   // CSS
std::string_view ReportScript();  // JavaScript; the page is complete without it

// Report sections about text: records before and after each stage, and text statistics.

/// Sample pairs of every stage that changed or dropped records; empty: there are none.
std::string SampleSection(const RunRecord& record);

/// Lengths and character classes; empty: no text was sampled.
std::string ProfileSection(const RunRecord& record);

/// The characters of two texts that the other text lacks.
struct Differences {
  std::vector<bool> gone;   // per character of the first text
  std::vector<bool> added;  // per character of the second text
};
Differences Differ(const std::vector<char32_t>& before, const std::vector<char32_t>& after);

// The timeline of a run: the units of each stage, and curves of speed, processors, memory and disk over one
// axis.

/// The duration of the run as far as recorded; never 0.
double DurationOf(const RunRecord& record);

/// The content of the section; its size is bounded for any number of units. Includes a JSON script element,
/// with numbers only, for the page's script.
std::string TimeCharts(const RunRecord& record);

// The report section about trainings: the loss curve, evaluations beside baselines, the scores of labels, the
// documents with the least likely labels, samples of the model, and time by activity.

/// The content of the section; empty: there was no training.
std::string TrainingSection(const std::vector<RecordedTraining>& trainings);

// The tables of a run's units and hosts.

/// Duration, processor time and memory of each unit. The HTML of the section; empty: no unit ended. Its size
/// is bounded for any number of units.
std::string UnitSection(const RunRecord& record);

/// The hosts of a run by workers: their work, and what was done twice or lost. The HTML of the section;
/// empty: no workers did the run. Its size is bounded for any number of hosts.
std::string HostSection(const RunRecord& record);

}  // namespace pipeline
