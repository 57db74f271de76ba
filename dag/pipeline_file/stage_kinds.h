// The kinds of stages: the factory of each, and the hooks that no other kind has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/stage_context.h"
#include "dag/records/job_position.h"
#include "storage/local_input.h"

namespace pipeline {

class BarrierStage;
class JobStage;
class ReaderStage;
class SinkStage;
class SourceStage;
class Transform;

template <class Stage>
using StageFactory = std::function<Result<std::unique_ptr<Stage>>(const StageContext&)>;

/// Names of a stage's published objects, relative to the location of its artifact. `splits` are those of the
/// incoming records.
struct ObjectNames {
  using Test = std::function<bool(const Json& config, const std::vector<std::string>& splits,
                                  std::string_view object)>;
  /// Returns whether `object` has exactly the form of the stage's own names, for any number of shards.
  /// Empty: no name has.
  Test own = {};
  /// Returns whether `object` matches a pattern by which other programs find the artifact's objects. Empty:
  /// they use no pattern.
  Test read = {};
};

/// Lists the files that a Source reads. It has no records, and no unit runs it.
struct FileListKind {
  std::function<Result<std::vector<LocalInput>>(const Json& config)> local_inputs;
};

/// Opens the files that a FileListKind lists, and gives their records.
struct SourceKind {
  StageFactory<SourceStage> make = {};
  /// Checks whether it can read files of these names, before a run starts anything. Empty: it can read any
  /// file.
  std::function<Status(const Json& config, const std::vector<std::string>& files)> check_inputs = {};
  /// Returns the values that it takes from the name of each file; they enter the recipe. Empty, or an empty
  /// result: file names do not matter.
  std::function<std::vector<std::string>(const Json& config, const std::vector<std::string>& files)>
      taken_from_names = {};
};

struct TransformKind {
  StageFactory<Transform> make = {};
  /// Bytes of memory for the stage's model, independent of the number of threads. Empty: none.
  std::function<std::uint64_t(const Json& config)> model_memory = {};
};

struct ReaderKind {
  StageFactory<ReaderStage> make = {};
  /// Returns whether the same input may give other bytes. Everything downstream of such a stage is made
  /// again when it runs again. Empty: the stage always gives the same bytes.
  std::function<bool(const Json& config)> varies = {};
};

struct SinkKind {
  StageFactory<SinkStage> make = {};
  /// The keys that affect the first pass. All others affect the second pass alone.
  std::vector<std::string_view> first_pass_keys = {};
  /// Adds to `first_pass`, the keys above, what others of `config` mean for the first pass. Empty: nothing.
  std::function<void(const Json& config, Json& first_pass)> first_pass_of = {};
  /// Directory of the artifact below `out`, e.g. "NAME/VERSION". Empty: `out` itself.
  std::function<std::string(const Json& config)> location = {};
  ObjectNames names = {};
  /// As TransformKind::model_memory.
  std::function<std::uint64_t(const Json& config)> model_memory = {};
  /// Estimates partition_memory (dag/records/sink.h) while the Sink's inputs do not exist yet. Empty: 2 bytes
  /// per byte of text.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> partition_memory = {};
  /// For the forecast: approximate number of bytes that the Sink publishes for `text_bytes` of text. Empty:
  /// slightly more than `text_bytes`.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> published_bytes = {};
  bool outputs_as_published = false;  // partition outputs take about published_bytes, too
};

struct BarrierKind {
  StageFactory<BarrierStage> make = {};
};

struct JobKind {
  StageFactory<JobStage> make = {};
  bool out_optional = false;  // without `out` the artifact is in the work directory
  /// The artifact is in OUT/runs/STAGE-RECIPE16: each recipe has its own location and replaces no other, and
  /// stages may share `out`.
  bool location_of_recipe = false;
  /// The stage calls JobRequest::withdraw before it changes an object of a finished artifact that it
  /// replaces. Else the run withdraws that artifact before the stage begins.
  bool withdraws = false;
  ObjectNames names = {};
  /// Returns the facts of the artifact's manifest that are known before the stage runs. `schema` is that of
  /// the incoming records. Empty: none are known.
  std::function<Json(const Json& config, const Schema& schema)> promises = {};
  /// Replaces StageType::prepare before a run or, with `dry_run`, in a dry run. `about` has the pipeline file
  /// and the stages that make the inputs. Empty: `prepare` is called.
  std::function<Status(const Json& config, const Json& about, bool dry_run)> prepare_run = {};
  /// Finds the number of this machine among those that run the Job together, before the run takes a lease.
  /// Empty: one machine runs it.
  std::function<Result<JobPosition>(const Json& config)> find_position = {};
};

/// Directory between `out` and STAGE-RECIPE16 for JobKind::location_of_recipe.
inline constexpr std::string_view kRunLocation = "runs/";

}  // namespace pipeline
