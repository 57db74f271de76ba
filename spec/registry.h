// The kinds of stages that this program knows, as explicit tables: nothing registers itself.
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
#include "records/counts.h"
#include "records/gather_stage.h"
#include "records/job_stage.h"
#include "records/piece.h"
#include "records/reader_stage.h"
#include "records/schema.h"
#include "records/sink.h"
#include "records/source.h"
#include "records/transform.h"
#include "spec/config.h"
#include "spec/reason.h"
#include "storage/store.h"

namespace pipeline {

/// What flows along an edge of the graph.
enum class Flow : std::uint8_t {
  kFiles,     // whole files: what a Source opens
  kRecords,   // batches of records
  kArtifact,  // whole artifacts: what a Job or a publishing Sink left
  kNothing,   // no input; the end of a line: a published artifact that no stage reads
};

/// An artifact, or a file of the user's, that a stage reads as a whole beside its records.
struct ArtifactInput {
  std::shared_ptr<Store> directory;
  std::string file;   // in `directory`, where the user named a file; empty for the artifact of a stage
  Json facts;         // what the stage that made it says about it in its manifest; null for a file
  std::string uri{};  // of `directory`, as a person writes it, perhaps relative
  /// Of a port for records: the partitions in `directory`, by id; their columns are those that come in.
  std::vector<Piece> pieces{};
};

/// Where a stage takes an artifact beside `input`: a key of the stage whose value names another stage.
struct Port {
  std::string_view name;
  bool or_file = false;  // the value may also be the path of a file
  bool required = true;
  std::string_view help = {};
  /// Left out, it is what the nearest stage before on the line has at its port of this name.
  bool inherited = false;
  /// kArtifact, or kRecords: then what the stage gives is kept, and taken once all of it stands.
  Flow takes = Flow::kArtifact;
  bool many = false;  // its value may be a list; without `inherited`, and no files
};

/// A file that is read where it lies, or while it arrives: a path, or the URL of one that is elsewhere.
struct LocalInput {
  std::string path;
  std::string name;
  /// What its bytes must be, as base/checksum.h reads it: then it counts by that, wherever it lies. Empty:
  /// nobody said.
  std::string checksum = {};
  std::vector<std::string> mirrors = {};  // other addresses of the same bytes; with a checksum only
  int connections = 0;                    // to its server at once; 0: as many as are usual there
  std::uint64_t rate = 0;                 // bytes a second, with all others of this rate together; 0: any
  std::uint64_t least_rate = 4096;        // bytes a second of one transfer, below which another is tried
  int stall = 60;     // seconds over which that is measured, and a silent transfer is kept
  int silence = 900;  // seconds without a byte from anybody, after which it is given up
  /// Only its beginning is read, so that nothing can be held to the checksum of the whole.
  bool in_part = false;
  /// The path stands for all objects of a bucket that it describes; whoever can ask the bucket finds them.
  bool is_pattern = false;
};

/// A file that no stage makes and that a configuration names or implies, such as a dictionary.
struct StageFile {
  std::string name;  // for people, e.g. "dictionary ipadic/sys.dic"; unique in the stage
  std::string path;
  /// Comes with the machine: another one is reported and not acted on, like another library.
  bool of_machine = false;
};

/// A number that `expect` may bound, besides those that every stage has.
struct Metric {
  std::string_view name;
  std::string_view help;                            // one sentence
  std::function<double(const StageCounts&)> value;  // of the stage, over the whole artifact
};

/// What is known of an artifact before the stage that makes it has run.
struct Promise {
  std::string_view port;   // of its reader
  std::string_view maker;  // type of the stage that makes it
  const Json& config;      // of that stage
  const Schema& schema;    // of the records that come in there
  Json facts;              // as StageType::promises gives them; an empty object where nothing is known
};

/// What a stage is made from.
struct StageContext {
  std::string name;  // of the stage, for messages
  Json config;       // every key with its default filled in
  Schema schema;     // of the records that come in
  /// By the name of the port; NAME[0], NAME[1] … of one that takes many.
  std::map<std::string, ArtifactInput, std::less<>> artifacts = {};
};

using SourceFactory = std::function<Result<std::unique_ptr<SourceStage>>(const StageContext&)>;
using TransformFactory = std::function<Result<std::unique_ptr<Transform>>(const StageContext&)>;
using ReaderFactory = std::function<Result<std::unique_ptr<ReaderStage>>(const StageContext&)>;
using SinkFactory = std::function<Result<std::unique_ptr<SinkStage>>(const StageContext&)>;
using GatherFactory = std::function<Result<std::unique_ptr<GatherStage>>(const StageContext&)>;
using JobFactory = std::function<Result<std::unique_ptr<JobStage>>(const StageContext&)>;

/// How a stage that publishes names objects, relative to the place of its artifact. `splits` are those of the
/// records that come in.
struct ObjectNames {
  using Test = std::function<bool(const Json& config, const std::vector<std::string>& splits,
                                  std::string_view object)>;
  /// Whether a name has exactly the form of one of its own, whatever the number of shards. Empty: of none.
  Test own = {};
  /// Whether a pattern of names by which others read the artifact takes it in. Empty: they read by none.
  Test read = {};
};

struct StageType {
  std::string_view name;      // as written after `type:`
  std::uint32_t version = 1;  // raised whenever the same input would give other bytes
  std::string_view help;      // one sentence
  std::vector<ConfigKey> keys;
  Flow takes = Flow::kRecords;  // of the key `input`; kNothing: the stage has no input
  Flow gives = Flow::kRecords;
  bool publishes = false;                    // takes the key `out`
  bool out_optional = false;                 // of a Job: without `out` it lies in the work directory
  std::vector<std::string_view> reads = {};  // columns that must arrive
  std::vector<Port> ports = {};              // one without `input` whose ports take records has their columns
  /// Keys of a Sink that its first pass reads; the others have a say in the second pass only.
  std::vector<std::string_view> piece_keys = {};
  /// Versions of the libraries that have a say in the bytes, e.g. {"icu", "72.1"}.
  std::map<std::string, std::string> libraries = {};
  /// Checks what the table cannot say and turns the schema that comes in into the one that goes
  /// out. An error is shown at the stage's position; empty where the schema stays as it is.
  std::function<Status(const Json& config, Schema& schema)> check = {};
  /// Whether the keys fit the ports that something stands at; one that takes many comes as often. Empty: they
  /// always do.
  std::function<Status(const Json& config, const std::vector<std::string_view>& ports)> check_ports = {};
  /// What the facts in its artifact's manifest will say, as far as that is known before it runs; `schema` is
  /// that of the records that come in. Empty: nothing is.
  std::function<Json(const Json& config, const Schema& schema)> promises = {};
  /// Whether it can use what will stand at one of its ports: asked before hours are spent on making that.
  /// Empty: whatever it is.
  std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> check_promised = {};
  /// Of a Source: whether it can read files of these names; asked before a run starts anything. Empty: of
  /// any.
  std::function<Status(const Json& config, const std::vector<std::string>& files)> check_inputs = {};
  /// Of a Source: what it takes from the name of each file, which enters the recipe. Empty, or nothing given:
  /// files may have any names.
  std::function<std::vector<std::string>(const Json& config, const std::vector<std::string>& files)>
      taken_from_names = {};
  /// Whether this machine has what the stage needs beside its inputs; asked before a run starts anything.
  /// Empty: nothing is needed.
  std::function<Status(const Json& config)> prepare = {};
  /// Asked in its place where nothing is going to run: `about` has the file and what makes the inputs. Empty:
  /// as `prepare`.
  std::function<Status(const Json& config, const Json& about)> prepare_dry_run = {};
  /// Where below `out` the artifact lies, e.g. "NAME/VERSION"; empty means `out` itself.
  std::function<std::string(const Json& config)> place = {};
  /// The artifact lies in OUT/runs/STAGE-RECIPE16 instead: what is asked for differently has a place of its
  /// own and takes nothing away, and `out` may be shared.
  bool place_of_recipe = false;
  /// The files whose digests enter the recipe; empty where there are none.
  std::function<Result<std::vector<StageFile>>(const Json& config)> files = {};
  ObjectNames names = {};
  /// True where the same input may give other bytes; empty: never. What is made again behind it is not taken
  /// for what was there before.
  std::function<bool(const Json& config)> varies = {};
  /// Bytes of memory that its model takes, whatever the number of threads; empty for none.
  std::function<std::uint64_t(const Json& config)> model_memory = {};
  /// Of a Sink: what its partition_memory (records/sink.h) will say, asked while what it takes is still to be
  /// made; empty where that is no more than two bytes for each of text.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> partition_memory = {};
  /// For the forecast: about how many bytes a Sink publishes of so much text; empty: a little more than that.
  std::function<std::uint64_t(const Json& config, std::uint64_t text_bytes)> published_bytes = {};
  bool pieces_as_published = false;  // what its first pass leaves is about as much
  std::vector<Metric> metrics = {};
  std::vector<Reason> reasons = {};  // every name that it may count under
  /// The files that a stage without records gives: no unit makes them.
  std::function<Result<std::vector<LocalInput>>(const Json& config)> local_inputs = {};

  std::variant<SourceFactory, TransformFactory, ReaderFactory, SinkFactory, GatherFactory, JobFactory> make;

  bool is_source() const { return std::holds_alternative<SourceFactory>(make); }
  bool is_transform() const { return std::holds_alternative<TransformFactory>(make); }
  bool is_reader() const { return std::holds_alternative<ReaderFactory>(make); }
  bool is_sink() const { return std::holds_alternative<SinkFactory>(make); }
  bool is_gather() const { return std::holds_alternative<GatherFactory>(make); }
  bool is_job() const { return std::holds_alternative<JobFactory>(make); }
};

/// Comes between `out` and STAGE-RECIPE16 for StageType::place_of_recipe.
inline constexpr std::string_view kRunPlace = "runs/";

/// Immutable once built; outlives everything made from it.
class Registry {
 public:
  explicit Registry(std::vector<StageType> types) : types_(std::move(types)) {}
  /// Null where no stage has that name.
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
