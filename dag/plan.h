// What a run would do and why. Made from facts that were gathered before; no I/O here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/lineage.h"
#include "dag/manifest.h"
#include "dag/pieces.h"
#include "spec/graph.h"

namespace pipeline {

/// One file that a Source reads.
struct SourceFile {
  LocalInput input;
  std::uint64_t size = 0;
  Digest digest;           // of its bytes
  std::string identity{};  // Environment::file_identity when it was hashed; empty where nobody looked
};

/// What is true of the world before a run.
struct Facts {
  struct Files {
    struct Wanted {
      std::string name;
      bool is_pattern = false;       // all files whose names it matches; none is there
      std::optional<Digest> digest;  // of a file that is there
    };
    std::vector<SourceFile> files;  // empty where some are missing
    Status missing;                 // not OK: the source is not on this machine, and why
    std::vector<Wanted> wanted;     // where some are missing: all, in their order
  };
  std::map<std::string, Files> files;  // by the stage that gives them
  bool offline = false;                // nobody was asked: what is kUnavailable may be there all the same
  /// A file that a stage takes and no stage makes: at a port, or by StageType::files.
  struct TakenFile {
    std::string name;  // of the port, or StageFile::name
    std::string file;  // the last part of its path
    Digest digest;
    bool at_port = false;
    bool of_machine = false;
    Status missing;  // not OK: it is not on this machine, and why
  };
  std::map<std::string, std::vector<TakenFile>> taken;  // by stage; ports first, in the order of the table
  /// What stands at the place of a stage that makes an artifact; absent where nothing does, and where the
  /// place has the recipe in its name.
  struct Published {
    std::optional<Manifest> manifest;
    std::string manifest_version;  // as ObjectInfo has it
    bool whole = true;             // every shard is there with the size that the manifest says
    std::string missing;           // the first that is not
    Status damaged;                // not OK: a manifest is there that cannot be used, and why
    bool foreign = false;          // no manifest of ours, but objects that we did not write
    std::string claim_recipe;      // of what is unfinished there, in hexadecimal; empty: nothing is told
    std::vector<std::string> in_the_way;  // objects of somebody's that the artifact cannot stand beside
  };
  std::map<std::string, Published> published;  // by stage; of those with an `out`
  /// The artifact of a publishing stage at the place where the log last saw it published, where that
  /// is not its place now.
  struct Elsewhere {
    std::string place;
    Manifest manifest;
  };
  std::map<std::string, Elsewhere> elsewhere;  // by stage; only whole artifacts
  /// The lineage that the log last had for a stage, for explanations and for sources that are gone.
  std::map<std::string, Lineage> logged;
  std::map<std::string, std::int64_t> logged_when;  // milliseconds since 1970; of those whose day is known
  /// Where the log last saw the Job of a stage done, and the keys that say how far it went, as JSON.
  struct LastJob {
    Digest recipe;
    std::string continues;
  };
  std::map<std::string, LastJob> jobs;  // by stage
  /// What stands at a place that only planning can name: see PlaceOf. May look at the disk.
  std::function<Result<Published>(const std::string& place)> at_place;
  /// Pieces that stand for a stage whose pieces have this lineage. May look at the disk's listing.
  std::function<Result<Pieces>(const PieceKeys& keys, const std::string& directory)> pieces;
};

struct Selection {
  std::string from, only, until, force;  // names of stages; empty where not given
  bool from_log = false;                 // what the log says of a source that is gone may be published anew
  bool strict = false;                   // libraries of another version count
  /// Not empty (`pipe retry`): only segments that end in one of these stages, and what they need.
  std::vector<std::string> failed;
};

/// A chain of stages that runs fused, or a Job, and what of it is wanted.
struct PlannedSegment {
  enum class State : std::uint8_t { kUpToDate, kWanted, kNotSelected };
  /// An artifact at a port of a stage of the chain, or at the `input` of a Job.
  struct Taken {
    int reader = -1;   // node
    std::string port;  // or kInputPort
    int segment =
        -1;  // the planned segment that makes it; -1: a file, or a stage whose artifact is not there
    std::string file;  // its path, where it is one
  };

  int node = -1;           // the last stage
  std::vector<int> chain;  // from the Source, or the first reader of partition files, to `node`
  int origin = -1;         // the planned segment whose partition files it reads; -1: files
  int files = -1;          // the node that gives its files; -1 where it reads none
  int gather = -1;         // the planned segment that took in what the Gather stage at the front of the
                           // chain gives; -1 also where it has all its pieces
  std::vector<Taken> taken;
  bool publishes = false;  // it makes an artifact at `place`, a Sink's or a Job's; else it leaves pieces
  bool job = false;        // `chain` is one Job
  bool takes_in = false;   // its last stage is a Gather stage, which takes records in
  bool varies = false;     // what it leaves may come out different when it is made again
  State state = State::kWanted;
  bool forced = false;
  std::string damaged;           // why what stands at the place cannot be used and is left; empty otherwise
  bool replaces = false;         // what stands at the place goes first: manifest, then the rest
  std::string manifest_version;  // of the manifest that stands at the place; empty: there was none

  Lineage lineage;        // from the source to the last stage
  Lineage piece_lineage;  // the same with the last stage's keys that the first pass reads
  Lineage chain_lineage;  // the part of piece_lineage that `chain` is
  PieceKeys keys;
  std::string continues;             // of a Job: how far it shall go, as UnitLine::continues
  std::string directory;             // of its pieces, below artifacts/: STAGE-RECIPE16
  std::string place;                 // of the artifact that it makes: see OpenPlace (dag/environment.h)
  std::string copy_from;             // place of an artifact with the same recipe: copied, not made again
  Pieces pieces;                     // that stand now; empty for a segment that is up to date by manifest
  std::vector<std::string> because;  // why it runs, or how it was found to be up to date

  const Digest& recipe() const { return lineage.back().recipe; }
};

struct Plan {
  std::vector<PlannedSegment> segments;         // origins before their readers
  std::vector<std::string> reports;             // differences that are told and not acted on
  std::map<std::string, std::string> vanished;  // by stage: what of its files is gone, and what stands in
  std::vector<std::string> refusals;            // not empty: nothing may run (exit 2)
  /// Stages that should run and do not, and why: the rest may run, and the run ends as a failure.
  std::vector<std::string> left_out;

  bool nothing_to_do() const;
};

/// PlannedSegment::Taken::port of what a Job has as its `input`.
inline constexpr std::string_view kInputPort = "input";

/// Begins the place of an artifact that lies below artifacts/ of the work directory.
inline constexpr std::string_view kWorkPlace = "work:";

/// URI of the artifact of a stage that publishes; empty for one without `out`, and for one whose place has
/// the recipe in its name.
std::string PlaceOfStage(const StageSpec& spec);

/// Every planned segment that `segment` needs before it: origin, gather, artifacts.
std::vector<int> NeedsOf(const PlannedSegment& segment);

/// `graph` outlives the plan.
Result<Plan> MakePlan(const Graph& graph, const Facts& facts, const Selection& selection);

}  // namespace pipeline
