// A type of stages: its keys, its edges, its rules and its kind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/named_input.h"
#include "dag/pipeline_file/reason.h"
#include "dag/pipeline_file/stage_kinds.h"

namespace pipeline {

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

/// The keys and named inputs that the keys of a file stand for.
struct Expansion {
  Json config;                      // every key of the type's table that has a value
  std::vector<std::string> unread;  // named inputs that the stage does not read with these keys
  std::vector<std::string> notes;   // about the expansion, a line each, for people
};

struct StageType {
  std::string_view name;      // as written after `type:`
  std::uint32_t version = 1;  // raised whenever the same input would give other bytes
  std::string_view help;      // one sentence
  std::vector<ConfigKey> keys;
  Flow takes = Flow::kRecords;  // through the key `input`; kNothing: the stage has no input
  Flow gives = Flow::kRecords;
  std::vector<std::string_view> reads = {};  // columns that the input must have
  /// Without `input`, the schema comes from the named inputs of records.
  std::vector<NamedInput> named_inputs = {};
  /// Versions of the libraries that affect the bytes, e.g. {"icu", "72.1"}.
  std::map<std::string, std::string> libraries = {};
  /// More of them, where the configuration chooses. Empty: it does not.
  std::function<std::map<std::string, std::string>(const Json& config)> chosen_libraries = {};
  /// Replaces the keys of the file by those that they stand for, such as a preset; `named_inputs` are the
  /// given ones. An error is shown at the stage's position. Empty: the keys stand for themselves.
  std::function<Result<Expansion>(const Json& config, const std::vector<std::string>& named_inputs)> expand =
      {};
  /// Checks rules that the table of keys cannot express, and turns the incoming schema into the outgoing
  /// one. An error is shown at the stage's position. Empty: no rules, and the schema stays as it is.
  std::function<Status(const Json& config, Schema& schema)> check = {};
  /// Checks the keys against the connected named inputs; an input that takes many appears once per
  /// connection. Empty: always valid.
  std::function<Status(const Json& config, const std::vector<std::string_view>& named_inputs)>
      check_named_inputs = {};
  /// Checks whether the stage can use the artifact at one of its named inputs, before hours are spent on
  /// making it. Empty: it can use any artifact.
  std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> check_promised = {};
  /// Checks that this machine has everything that the stage needs beside its inputs, before a run starts
  /// anything. Empty: the stage needs nothing.
  std::function<Status(const Json& config)> prepare = {};
  /// Files whose digests enter the recipe. Empty: none.
  std::function<Result<std::vector<StageFile>>(const Json& config)> files = {};
  std::string_view newest_rules =
      {};  // "take …": how they differ from the first ones; empty: it has no rules
  std::vector<Metric> metrics = {};
  std::vector<Reason> reasons = {};  // every reason that the stage may count

  std::variant<TransformKind, FileListKind, SourceKind, ReaderKind, SinkKind, BarrierKind, JobKind> kind;

  /// Returns all libraries of a stage with this configuration.
  std::map<std::string, std::string> LibrariesOf(const Json& config) const {
    std::map<std::string, std::string> all = libraries;
    if (chosen_libraries) all.merge(chosen_libraries(config));
    return all;
  }

  // Null: the stage is of another kind.
  const FileListKind* file_list() const { return std::get_if<FileListKind>(&kind); }
  const SourceKind* source() const { return std::get_if<SourceKind>(&kind); }
  const TransformKind* transform() const { return std::get_if<TransformKind>(&kind); }
  const ReaderKind* reader() const { return std::get_if<ReaderKind>(&kind); }
  const SinkKind* sink() const { return std::get_if<SinkKind>(&kind); }
  const BarrierKind* barrier() const { return std::get_if<BarrierKind>(&kind); }
  const JobKind* job() const { return std::get_if<JobKind>(&kind); }

  /// True if the stage makes an artifact and takes the key `out`.
  bool publishes() const { return sink() != nullptr || job() != nullptr; }
  bool needs_out() const { return publishes() && (job() == nullptr || !job()->out_optional); }
  /// Names of the published objects. Null: the stage publishes none.
  const ObjectNames* names() const;
  /// Directory of the artifact below `out`; empty: `out` itself.
  std::string location(const Json& config) const;
  /// Facts of the artifact's manifest that are known before the stage runs, as JobKind::promises returns
  /// them; an empty object: none.
  Json promises(const Json& config, const Schema& schema) const;
  /// Bytes of memory for the stage's model.
  std::uint64_t model_memory(const Json& config) const;
};

/// Tables of the stage types that this program knows. No type registers itself. Immutable once built;
/// outlives everything made from it.
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
