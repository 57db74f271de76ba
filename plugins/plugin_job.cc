#include "plugins/plugin_job.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/child_ledger.h"
#include "base/crc32c.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "base/wait.h"
#include "dag/books/manifest.h"
#include "plugins/native/storage.h"
#include "plugins/verified_input.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kConfirmTime{20};
constexpr std::size_t kLongestLine = 400;  // of what is shown while a job runs

/// A child of the plugin, running or ended: our ledger lists it for `owner`.
void TakeProcess(const Json& event, const std::string& owner) {
  const std::int64_t id = event["pid"].AsInt();
  if (id <= 1 || id > std::numeric_limits<pid_t>::max()) return;
  if (!event["ended"].AsBool()) return ChildLedger::Get().Began(static_cast<pid_t>(id), owner);
  ProcessUse use;
  use.cpu = std::clamp(event["cpu"].AsDouble(), 0.0, 1e12);
  use.read = event["read"].AsCount();
  use.written = event["written"].AsCount();
  ChildLedger::Get().Ended(static_cast<pid_t>(id), use);
}

/// A location in the form for plugins: an absolute path or a URL.
std::string Absolute(const std::string& location) {
  const Result<Uri> uri = Uri::Parse(location);
  if (!uri.ok() || !uri->is_local()) return location;
  std::error_code none;
  const std::filesystem::path path = std::filesystem::absolute(uri->path, none);
  return none ? uri->path : path.lexically_normal().string();
}

/// The name of `uri` below `root`; empty: it is elsewhere.
std::string_view Below(std::string_view root, std::string_view uri) {
  if (!uri.starts_with(root) || uri.size() <= root.size() + 1 || uri[root.size()] != '/') return {};
  return uri.substr(root.size() + 1);
}

/// Reads an object that the plugin wrote without us, for its entry in a manifest.
Result<StoredObject> Measure(Store& store, const std::string& name, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store.Open(name));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, stop));
  StoredObject object;
  object.name = name;
  Hasher hasher;
  std::vector<char> buffer(1 << 20);
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(buffer));
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), got);
    hasher.Update(bytes);
    object.crc32c = Crc32c(bytes, object.crc32c);
    object.bytes += got;
  }
  object.digest = hasher.Finish();
  return object;
}

/// The objects that one run of a job has committed and removed below `out`, by name.
class Commits {
 public:
  void Remove(std::string_view name) {
    const Lock lock(mutex_);
    objects_.erase(std::string(name));
    removed_.emplace(name);
  }
  bool Removed(std::string_view name) const {
    const Lock lock(mutex_);
    return removed_.contains(name);
  }
  void Add(std::string_view name, StoredObject object) {
    object.name = name;
    const Lock lock(mutex_);
    objects_.insert_or_assign(std::string(name), std::move(object));
  }
  std::optional<StoredObject> Find(const std::string& name) const {
    const Lock lock(mutex_);
    const auto found = objects_.find(name);
    return found != objects_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, StoredObject, std::less<>> objects_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> removed_ GUARDED_BY(mutex_);
};

class PluginJob final : public JobStage {
 public:
  PluginJob(std::shared_ptr<const Plugin> plugin, const StageType& type, const StageContext& context,
            const PluginHost& host)
      : plugin_(std::move(plugin)),
        request_(PluginRequest(type, context.config)),
        stage_(context.name),
        artifacts_(context.artifacts),
        host_(host) {
    const auto verified = plugin_->description().verified_inputs.find(type.name);
    if (verified != plugin_->description().verified_inputs.end()) verified_inputs_ = verified->second;
  }

  Result<std::uint64_t> Memory(const ArtifactTotals&) const override {
    const PluginServices services = {.log = host_.log};
    Result<Json> answer = plugin_->Forecast(request_, services);
    if (!answer.ok()) return Where(std::move(answer).status());
    const std::int64_t memory = (*answer)["memory"].AsInt();
    if (memory < 0) return Wrong("its forecast: 'memory' is negative");
    return static_cast<std::uint64_t>(memory);
  }

  Result<JobOutput> Run(const JobRequest& request) const override {
    // The leader verifies the inputs.
    if (!request.position.follows()) RETURN_IF_ERROR(VerifyInputs(request));
    const std::string out = Absolute(request.out_uri);
    Commits commits;
    StorageRules rules = {.open_store = host_.open_store};
    rules.condition = [&](const std::string& uri) -> std::optional<Condition> {
      const std::string_view name = Below(out, uri);
      if (name.empty() || !request.condition) return std::nullopt;
      // A job may replace its own object.
      if (const auto own = commits.Find(std::string(name)))
        if (const auto now = request.out->Stat(name); now.ok() && *now && own->IsAt(**now))
          return Condition::ReplaceUnlessSame((*now)->version);
      // The known version is gone together with the object.
      return commits.Removed(name) ? Condition::CreateOnly() : request.condition(std::string(name));
    };
    rules.committed = [&](const std::string& uri, const StoredObject& object) {
      if (const std::string_view name = Below(out, uri); !name.empty()) commits.Add(name, object);
    };
    rules.confirm = [&](const std::string& uri) -> Status {
      if (Below(out, uri).empty() || !request.confirm) return {};
      const TimeLimit limit(kConfirmTime, {});  // a job also writes after a stop
      return request.confirm(limit.token());
    };
    rules.removed = [&](const std::string& uri) {
      if (const std::string_view name = Below(out, uri); !name.empty()) commits.Remove(name);
    };
    const PluginStorage storage(std::move(rules), request.stop);
    PluginServices services = {.log = host_.log, .storage = &storage, .metadata = host_.metadata};
    services.stop = request.stop;
    services.withdraw = request.withdraw;
    services.forced = request.forced;
    services.event = [&, owner = ChildOwner::Current()](const Json& event) {
      if (event["kind"].AsString() == "process") return TakeProcess(event, owner);
      Tell(event, request);
    };
    Result<Json> answer = plugin_->Run(Asked(request, out), services);
    if (!answer.ok()) return Where(std::move(answer).status());
    if (request.position.follows()) return JobOutput();
    return Output(*answer, request, commits);
  }

 private:
  Status VerifyInputs(const JobRequest& request) const {
    for (const std::string_view named_input : verified_inputs_) {
      const auto found = artifacts_.find(named_input);
      if (found == artifacts_.end() || !found->second.file.empty()) continue;
      const ArtifactInput& input = found->second;
      const auto note = [this](std::string_view text) {
        if (host_.note) host_.note(stage_, text);
      };
      RETURN_IF_ERROR(VerifyInput(named_input, *input.directory, Absolute(input.uri), request, note));
    }
    return {};
  }

  Json Asked(const JobRequest& request, const std::string& out) const {
    Json asked = request_;
    asked["stage"] = stage_;
    asked["recipe"] = request.recipe.ToHex();
    asked["out"]["uri"] = out;
    asked["scratch"] = Absolute(request.scratch);
    if (!request.kept.empty()) asked["kept"] = Absolute(StrCat(request.kept, "/", plugin_->name()));
    if (!request.position.answer.is_null()) asked["position"] = request.position.answer;
    asked["memory"] = request.memory_bytes;
    asked["threads"] = request.threads;
    Json inputs{Json::Object{}};
    for (const auto& [named_input, artifact] : artifacts_) {
      const std::string uri = Absolute(artifact.uri);
      Json& input = inputs[named_input];
      input["uri"] = artifact.file.empty() ? uri : StrCat(uri, "/", artifact.file);
      if (!artifact.file.empty()) continue;
      input["manifest"] = StrCat(uri, "/", kManifestName);
      input["facts"] = artifact.facts.is_object() ? artifact.facts : Json(Json::Object{});
    }
    asked["inputs"] = std::move(inputs);
    return asked;
  }

  void Tell(const Json& event, const JobRequest& request) const {
    const std::string_view kind = event["kind"].AsString();
    const std::int64_t done = event["done"].AsInt(-1), of = event["of"].AsInt();
    if (kind == "progress" && done >= 0 && of >= 0 && request.progress)
      request.progress(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(of));
    if (kind == "progress" && event["text"].is_string() && request.say)
      request.say(Readable(event["text"].AsString(), kLongestLine));
    if (kind == "note" && host_.note) host_.note(stage_, event["text"].AsString());
    if (host_.event) host_.event(stage_, event);
  }

  Result<JobOutput> Output(const Json& answer, const JobRequest& request, const Commits& commits) const {
    if (!answer["objects"].is_array() || answer["objects"].AsArray().empty())
      return Wrong("its answer names no 'objects'");
    if (answer.Has("facts") && !answer["facts"].is_object()) return Wrong("its answer: 'facts' is no object");
    JobOutput output;
    output.facts = answer.Has("facts") ? answer["facts"] : Json(Json::Object{});
    std::set<std::string_view> seen;
    for (const Json& element : answer["objects"].AsArray()) {
      const std::string name(element.AsString());
      if (name.empty() || !seen.insert(element.AsString()).second)
        return Wrong("its answer: 'objects' are texts, each once");
      std::optional<StoredObject> object = commits.Find(name);
      if (!object) {
        Result<StoredObject> measured = Measure(*request.out, name, request.stop);
        if (!measured.ok() && measured.status().code() == Code::kNotFound)
          return Wrong(StrCat("its answer names the object '", name, "', which is not there"));
        if (!measured.ok()) return Where(std::move(measured).status());
        object = std::move(*measured);
      }
      output.objects.push_back(std::move(*object));
    }
    return output;
  }

  Status Wrong(std::string_view what) const {
    return Where(Status(Code::kInternal, StrCat(what, "; see plugins/ABI.md, section 7")));
  }

  Status Where(Status status) const {
    if (status.code() == Code::kCancelled) return status;
    return std::move(status).Annotate(StrCat("plugin '", plugin_->name(), "'"));
  }

  const std::shared_ptr<const Plugin> plugin_;
  const Json request_;
  const std::string stage_;
  const std::map<std::string, ArtifactInput, std::less<>> artifacts_;
  std::vector<std::string_view> verified_inputs_;
  const PluginHost& host_;
};

}  // namespace

Json PluginRequest(const StageType& type, const Json& config) {
  return Json::Object{
      {"type", type.name.substr(type.name.find('.') + 1)}, {"version", type.version}, {"config", config}};
}

std::unique_ptr<JobStage> MakePluginJob(std::shared_ptr<const Plugin> plugin, const StageType& type,
                                        const StageContext& context, const PluginHost& host) {
  return std::make_unique<PluginJob>(std::move(plugin), type, context, host);
}

}  // namespace pipeline
