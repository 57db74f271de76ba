// Tables of the stage types that this program knows. No type registers itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/reason.h"
#include "dag/records/barrier_stage.h"
#include "dag/records/counts.h"
#include "dag/records/job_stage.h"
#include "dag/records/partition_output.h"
#include "dag/records/reader_stage.h"
#include "dag/records/schema.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"
#include "dag/records/transform.h"
#include "storage/store.h"

namespace pipeline {

/// The kind of data on an edge of the graph.
enum class Flow : std::uint8_t {
  kFiles,     // whole files, which a Source opens
  kRecords,   // batches of records
  kArtifact,  // whole artifacts, from a Job or a publishing Sink
  kNothing,   // no input; as output: a published artifact that no stage reads
};

/// An artifact, or a file of the user, that a stage reads as a whole, beside its records.
struct ArtifactInput {
  std::shared_ptr<Store> directory;
  std::string file;   // in `directory`: the file that the user named; empty: an artifact
  Json facts;         // from the manifest of the artifact; null for a file
  std::string uri{};  // of `directory`, as the user wrote it, perhaps relative
  /// Named input of records only: the partition outputs in `directory`, by id. They have the columns of the
  /// incoming records.
  std::vector<PartitionOutput> outputs{};
};

/// A named input: a key, beside `input`, whose value names the stage that makes an artifact.
struct NamedInput {
  std::string_view name;
  bool or_file = false;  // the value may also be the path of a file
  bool required = true;
  std::string_view help = {};
  /// If the key is left out: the stage uses the input of this name of the nearest stage before it.
  bool inherited = false;
  /// kArtifact, or kRecords. With kRecords the given stage's records are kept, and read once all of them
  /// exist.
  Flow takes = Flow::kArtifact;
  bool many = false;  // the value may be a list; not with `inherited` or `or_file`
};

/// A file that is read in place or while it is downloaded: a path or a URL.
struct LocalInput {
  std::string path;
  std::string name;
  /// Expected checksum, in the syntax of base/checksum.h. It identifies the file, wherever the file is.
  /// Empty: no checksum is known.
  std::string checksum = {};
  std::vector<std::string> mirrors = {};  // other addresses of the same bytes; with a checksum only
  int connections = 0;                    // simultaneous, to one server; 0: the usual number for that server
  std::uint64_t rate = 0;           // bytes per second, shared by all inputs of the same rate; 0: no limit
  std::uint64_t least_rate = 4096;  // bytes per second; a slower transfer is given up and another tried
  int stall = 60;     // seconds over which `least_rate` is measured; also the longest silence of one transfer
  int silence = 900;  // seconds without a byte from any server, after which the download fails
  /// Only the beginning is read, so the checksum of the whole file cannot be checked.
  bool in_part = false;
  /// `path` is a pattern that stands for all matching objects of a bucket. A caller that can list the
  /// bucket expands it.
  bool is_pattern = false;
};

/// A file that the configuration names or implies and no stage makes, such as a dictionary.
struct StageFile {
  std::string name;  // for people, e.g. "dictionary ipadic/sys.dic"; unique in the stage
  std::string path;
  /// Belongs to the machine: a change is reported and causes no new run, as for libraries.
  bool of_machine = false;
};

/// A number that `expect` may bound, in addition to those of every stage.
struct Metric {
  std::string_view name;
  std::string_view help;                            // one sentence
  std::function<double(const StageCounts&)> value;  // of the stage, over the whole artifact
};

/// Facts that are known about an artifact before its stage runs.
struct Promise {
  std::string_view named_input;  // the named input of the reader
  std::string_view maker;        // type of the stage that makes it
  const Json& config;            // of that stage
  const Schema& schema;          // of the records that the maker reads
  Json facts;                    // from StageType::promises; an empty object: nothing is known
};

/// Arguments of a stage factory.
struct StageContext {
  std::string name;  // of the stage, for messages
  Json config;       // every key with its default filled in
  Schema schema;     // of the incoming records
  /// By name of the input; NAME[0], NAME[1] … for an input that takes many.
  std::map<std::string, ArtifactInput, std::less<>> artifacts = {};
};

using SourceFactory = std::function<Result<std::unique_ptr<SourceStage>>(const StageContext&)>;
using TransformFactory = std::function<Result<std::unique_ptr<Transform>>(const StageContext&)>;
using ReaderFactory = std::function<Result<std::unique_ptr<ReaderStage>>(const StageContext&)>;
using SinkFactory = std::function<Result<std::unique_ptr<SinkStage>>(const StageContext&)>;
using BarrierFactory = std::function<Result<std::unique_ptr<BarrierStage>>(const StageContext&)>;
using JobFactory = std::function<Result<std::unique_ptr<JobStage>>(const StageContext&)>;

/// Names of a stage's published objects, relative to the location of its artifact. `splits` are those of
/// the incoming records.
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

struct StageType {
  std::string_view name;      // as written after `type:`
  std::uint32_t version = 1;  // raised whenever the same input would give other bytes
  std::string_view help;      // one sentence
  std::vector<ConfigKey> keys;
  Flow takes = Flow::kRecords;  // through the key `input`; kNothing: the stage has no input
  Flow gives = Flow::kRecords;
  bool publishes = false;                    // takes the key `out`
  bool out_optional = false;                 // Job only: without `out` the artifact is in the work directory
  std::vector<std::string_view> reads = {};  // columns that the input must have
  std::vector<NamedInput> named_inputs =
      {};  // a stage without `input` has the columns of its named inputs of records
  /// Sink only: the keys that affect the first pass. All others affect the second pass alone.
  std::vector<std::string_view> first_pass_keys = {};
  /// Versions of the libraries that affect the bytes, e.g. {"icu", "72.1"}.
  std::map<std::string, std::string> libraries = {};
  /// Checks rules that the table of keys cannot express, and turns the incoming schema into the outgoing
  /// one. An error is shown at the stage's position. Empty: no rules, and the schema stays as it is.
  std::function<Status(const Json& config, Schema& schema)> check = {};
  /// Checks the keys against the connected named inputs; an input that takes many appears once per
  /// connection. Empty: always valid.
  std::function<Status(const Json& config, const std::vector<std::string_view>& named_inputs)>
      check_named_inputs = {};
  /// Returns the facts of the artifact's manifest that are known before the stage runs. `schema` is that of
  /// the incoming records. Empty: none are known.
  std::function<Json(const Json& config, const Schema& schema)> promises = {};
  /// Checks whether the stage can use the artifact at one of its named inputs, before hours are spent on
  /// making it. Empty: it can use any artifact.
  std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> check_promised = {};
  /// Source only: checks whether it can read files of these names, before a run starts anything. Empty: it
  /// can read any file.
  std::function<Status(const Json& config, const std::vector<std::string>& files)> check_inputs = {};
  /// Source only: returns the values that it takes from the name of each file; they enter the recipe.
  /// Empty, or an empty result: file names do not matter.
  std::function<std::vector<std::string>(const Json& config, const std::vector<std::string>& files)>
      taken_from_names = {};
  /// Checks that this machine has everything that the stage needs beside its inputs, before a run starts
  /// anything. Empty: the stage needs nothing.
  std::function<Status(const Json& config)> prepare = {};
  /// Replaces `prepare` in a dry run. `about` has the pipeline file and the stages that make the inputs.
  /// Empty: `prepare` is called.
  std::function<Status(const Json& config, const Json& about)> prepare_dry_run = {};
  /// Directory of the artifact below `out`, e.g. "NAME/VERSION". Empty: `out` itself.
  std::function<std::string(const Json& config)> location = {};
  /// The artifact is in OUT/runs/STAGE-RECIPE16 instead: each recipe has its own location and replaces no
  /// other, and stages may share `out`.
  bool location_of_recipe = false;
  /// Files whose digests enter the recipe. Empty: none.
  std::function<Result<std::vector<StageFile>>(const Json& config)> files = {};
  ObjectNames names = {};
  /// Returns whether the same input may give other bytes. Everything downstream of such a stage is made
  /// again when it runs again. Empty: the stage always gives the same bytes.
  std::function<bool(const Json& config)> varies = {};
  /// Bytes of memory for the stage's model, independent of the number of threads. Empty: none.
  std::function<std::uint64_t(const Json& config)> model_memory = {};
  /// Sink only: estimates partition_memory (dag/records/sink.h) while the Sink's inputs do not exist yet.
  /// Empty: 2 bytes per byte of text.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> partition_memory = {};
  /// For the forecast: approximate number of bytes that a Sink publishes for `text_bytes` of text. Empty:
  /// slightly more than `text_bytes`.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> published_bytes = {};
  bool outputs_as_published = false;  // partition outputs take about published_bytes, too
  std::vector<Metric> metrics = {};
  std::vector<Reason> reasons = {};  // every reason that the stage may count
  /// The files that a stage without records gives. No unit makes them.
  std::function<Result<std::vector<LocalInput>>(const Json& config)> local_inputs = {};

  std::variant<SourceFactory, TransformFactory, ReaderFactory, SinkFactory, BarrierFactory, JobFactory> make;

  bool is_source() const { return std::holds_alternative<SourceFactory>(make); }
  bool is_transform() const { return std::holds_alternative<TransformFactory>(make); }
  bool is_reader() const { return std::holds_alternative<ReaderFactory>(make); }
  bool is_sink() const { return std::holds_alternative<SinkFactory>(make); }
  bool is_barrier() const { return std::holds_alternative<BarrierFactory>(make); }
  bool is_job() const { return std::holds_alternative<JobFactory>(make); }
};

/// Directory between `out` and STAGE-RECIPE16 for StageType::location_of_recipe.
inline constexpr std::string_view kRunLocation = "runs/";

/// Immutable once built; outlives everything made from it.
class Registry {
 public:
  explicit Registry(std::vector<StageType> types) : types_(std::move(types)) {}
  /// Returns null if no stage type has that name.
  const StageType* Find(std::string_view name) const {
    for (const StageType& type : types_)
      if (type.name == name) return &type;
    return nullptr;
  }
  const std::vector<StageType>& types() const { return types_; }

 private:
  std::vector<StageType> types_;
};

}  // namespace pipeline
