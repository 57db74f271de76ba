// Everything that is collected from disk and network before planning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/status.h"
#include "dag/books/lineage.h"
#include "dag/books/manifest.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/source_file.h"

namespace pipeline {

/// Plain data.
struct Snapshot {
  struct Files {
    struct Wanted {
      std::string name;
      bool is_pattern = false;       // `name` is a pattern that no file matches
      std::optional<Digest> digest;  // of a file that exists or is pinned; absent: unknown
    };
    std::vector<SourceFile> files;  // empty if some are missing
    Status missing;                 // not OK: why the source is not on this machine
    std::vector<Wanted> wanted;     // if some are missing: all files, in their order
  };
  std::map<std::string, Files> files;  // by the stage that gives them
  bool offline = false;                // no server was asked: a kUnavailable file may exist all the same
  /// A file that a stage reads and no stage makes: at a named input, or from StageType::files.
  struct SideFile {
    std::string name;  // of the named input, or StageFile::name
    std::string file;  // the last part of its path
    Digest digest;     // of its bytes, and of those of the files that belong to it
    bool at_named_input = false;
    bool of_machine = false;
    Status missing;                   // not OK: why it is not on this machine
    std::vector<SourceFile> found{};  // the file and those that belong to it, as they were hashed; if one is
                                      // missing, those before it
  };
  std::map<std::string, std::vector<SideFile>> side_files;  // by stage; named inputs first, in table order
  /// The state of the location of a stage that makes an artifact; the defaults: nothing is there.
  struct Published {
    std::optional<Manifest> manifest;
    std::string manifest_version;  // as in ObjectInfo
    bool whole = true;             // every object of the manifest exists
    std::string missing;           // the first object that does not
    Status damaged;                // not OK: why the manifest that is there cannot be used
    bool foreign = false;          // no manifest or marker, but objects of others
    std::string marker_recipe;     // of the unfinished artifact, in hexadecimal; empty: unknown
    /// Objects of others: the artifact would overwrite them, or include them for its readers.
    std::vector<std::string> in_the_way;
  };
  /// By stage. Absent: the stage has no `out`, or the name of its location has the recipe.
  std::map<std::string, Published> published;
  /// The artifact of a publishing stage at an earlier location: where the log last saw it published, if
  /// that is not the location now.
  struct Elsewhere {
    std::string location;
    Manifest manifest;
  };
  std::map<std::string, Elsewhere> elsewhere;  // by stage; only complete artifacts
  /// The last logged lineage of each stage, for explanations and for sources that are gone.
  std::map<std::string, Lineage> logged;
  std::map<std::string, std::int64_t> logged_when;  // milliseconds since 1970; absent: unknown
  /// The recipes of all stages in the lineages that the log, manifests and markers hold.
  std::set<Digest> recipes;
  /// The last finished Job of a stage in the log: its recipe and, as JSON, the keys that say how far it
  /// went.
  struct LastJob {
    Digest recipe;
    std::string continues;
  };
  std::map<std::string, LastJob> jobs;  // by stage
  /// By OutputKeys::stage: the last run made all partition outputs, and did not accept them as a whole.
  std::set<std::string> refused;
};

/// Returns the digest and size of a source's bytes, by reading them or in another way.
using HashFile = std::function<Result<SourceFile>(const LocalInput& file)>;

/// Returns the files that match a pattern.
using FindFiles = std::function<Result<std::vector<LocalInput>>(const LocalInput& pattern)>;

/// Collects the sources (hashed unless a cache knows them), the published artifacts, and the last log lines
/// of each stage. `environment` outlives the snapshot.
Result<Snapshot> CollectSnapshot(const Graph& graph, const Environment& environment, const HashFile& hash,
                                 const FindFiles& find);

}  // namespace pipeline
