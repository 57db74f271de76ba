#include "cli/tpu/tpu_requests.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/tpu/watchdog_script.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

using Words = std::pair<std::string_view, SliceState>;

// Words that are not here mean kLost: a state that nobody knows is no state to pay for.
constexpr std::array<Words, 9> kNodeStates = {{
    {"CREATING", SliceState::kComing},
    {"STARTING", SliceState::kComing},
    {"RESTARTING", SliceState::kComing},
    {"REIMAGING", SliceState::kComing},
    {"REPAIRING", SliceState::kComing},
    {"UNHIDING", SliceState::kComing},
    {"STATE_UNSPECIFIED", SliceState::kComing},
    {"READY", SliceState::kReady},
    {"DELETING", SliceState::kLeaving},
}};
constexpr std::array<Words, 7> kQueuedStates = {{
    {"STATE_UNSPECIFIED", SliceState::kQueued},
    {"CREATING", SliceState::kQueued},
    {"ACCEPTED", SliceState::kQueued},
    {"WAITING_FOR_RESOURCES", SliceState::kQueued},
    {"PROVISIONING", SliceState::kComing},
    {"ACTIVE", SliceState::kReady},
    {"DELETING", SliceState::kLeaving},
}};
constexpr std::size_t kMostSaid = 300;  // bytes

SliceState StateIn(std::span<const Words> states, std::string_view word) {
  const auto found =
      std::find_if(states.begin(), states.end(), [word](const Words& known) { return known.first == word; });
  return found == states.end() ? SliceState::kLost : found->second;
}

/// The body of a node without the part about its tier, which a queued resource tells itself.
Json MachineBody(const SliceOrder& order) {
  Json node;
  node["acceleratorType"] = order.type.type;
  node["runtimeVersion"] = order.type.image;
  for (const auto& [name, value] : order.labels) node["labels"][name] = value;
  Json& network = node["networkConfig"];
  network["enableExternalIps"] = order.external_ips;
  if (!order.network.empty()) network["network"] = order.network;
  if (!order.subnetwork.empty()) network["subnetwork"] = order.subnetwork;
  if (!order.service_account.empty()) node["serviceAccount"]["email"] = order.service_account;
  node["metadata"]["startup-script"] = WatchdogScript(order);
  return node;
}

std::string LastPart(std::string_view name) { return std::string(name.substr(name.rfind('/') + 1)); }

/// "us-central1-a" of "projects/P/locations/us-central1-a/nodes/N".
std::string ZoneIn(std::string_view name) {
  constexpr std::string_view kLocations = "/locations/";
  const std::size_t at = name.find(kLocations);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + kLocations.size());
  return std::string(rest.substr(0, rest.find('/')));
}

std::map<std::string, std::string> LabelsOf(const Json& node) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : node["labels"].AsObject()) labels.emplace(name, value.AsString());
  return labels;
}

std::optional<std::int64_t> AgeOf(std::string_view created, std::optional<std::int64_t> now) {
  const std::optional<std::int64_t> then = ParseTimestamp(created);
  if (!then || !now) return std::nullopt;
  return std::max<std::int64_t>(*now - *then, 0);
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string TpuParent(const std::string& project, const std::string& zone) {
  return StrCat("/v2/projects/", project, "/locations/", zone);
}

Json NodeBody(const SliceOrder& order) {
  Json node = MachineBody(order);
  node["schedulingConfig"]["spot"] = order.spot;
  return node;
}

Json QueuedBody(const SliceOrder& order) {
  Json spec;
  spec["parent"] = TpuParent(order.project, order.zone).substr(std::string_view("/v2/").size());
  if (order.type.slices == 1) {
    spec["nodeId"] = order.name;
  } else {
    spec["multisliceParams"]["nodeCount"] = order.type.slices;
    spec["multisliceParams"]["nodeIdPrefix"] = order.name;
  }
  spec["node"] = MachineBody(order);
  Json queued;
  queued["tpu"]["nodeSpec"].Append(std::move(spec));
  if (order.spot) queued["spot"] = Json(Json::Object{});
  queued["queueingPolicy"]["validUntilDuration"] = StrCat(order.wait_seconds, "s");
  return queued;
}

SliceView ViewOfNode(const Json& node, std::optional<std::int64_t> now) {
  SliceView view;
  view.said = Readable(node["state"].AsString("STATE_UNSPECIFIED"), kMostSaid);
  view.state = StateIn(kNodeStates, view.said);
  if (const std::string_view health = node["health"].AsString();
      Has(health, "UNHEALTHY") || health == "TIMEOUT")
    view.said += StrCat(", ", Readable(health, kMostSaid));
  view.name = LastPart(node["name"].AsString());
  view.zone = ZoneIn(node["name"].AsString());
  view.type = node["acceleratorType"].AsString();
  view.spot = node["schedulingConfig"]["spot"].AsBool() || node["schedulingConfig"]["preemptible"].AsBool();
  for (const Json& endpoint : node["networkEndpoints"].AsArray())
    if (const std::string_view address = endpoint["ipAddress"].AsString(); !address.empty())
      view.addresses.emplace_back(address);
  // READY comes before the addresses of all workers.
  if (view.state == SliceState::kReady &&
      (view.addresses.empty() || view.addresses.size() < node["networkEndpoints"].AsArray().size()))
    view.state = SliceState::kComing;
  view.labels = LabelsOf(node);
  view.age = AgeOf(node["createTime"].AsString(), now);
  return view;
}

SliceView ViewOfQueued(const Json& queued, std::optional<std::int64_t> now, const std::string& project) {
  SliceView view;
  const Json& state = queued["state"];
  view.said = Readable(state["state"].AsString("STATE_UNSPECIFIED"), kMostSaid);
  view.state = StateIn(kQueuedStates, view.said);
  const Json& error = state["failedData"]["error"];
  if (const std::string_view why = error["message"].AsString(); !why.empty())
    view.said += StrCat(": ", Readable(why, kMostSaid));
  view.name = LastPart(queued["name"].AsString());
  view.zone = ZoneIn(queued["name"].AsString());
  const Json::Array& specs = queued["tpu"]["nodeSpec"].AsArray();
  if (!specs.empty()) {
    view.type = specs.front()["node"]["acceleratorType"].AsString();
    view.labels = LabelsOf(specs.front()["node"]);
  }
  view.spot = queued.Has("spot");
  view.queued = true;
  if (state["state"].AsString() == "FAILED") {
    SliceOrder order;
    order.project = project, order.zone = view.zone, order.type.type = view.type;
    view.failure = FinalRefusalOf(error, order);
  }
  view.age = AgeOf(queued["createTime"].AsString(), now);
  return view;
}

Status FinalRefusalOf(const Json& error, const SliceOrder& order) {
  const Status refused =
      RefusalOf(FailureOf(ParseApiError(0, error), StrCat(order.zone, ": ", order.type.type)), order);
  if (refused.Detail<SliceRefusal>() != nullptr) return refused;
  return Status(Code::kResourceExhausted, std::string(refused.message()))
      .With(std::make_shared<SliceRefusal>(SliceRefusal::Why::kCapacity));
}

Status RefusalOf(Status failure, const SliceOrder& order) {
  const ApiError* const error = failure.Detail<ApiError>();
  if (error == nullptr || failure.code() == Code::kUnavailable) return failure;
  using Why = SliceRefusal::Why;
  const auto refused = [&](Why why, std::string_view remedy) {
    const bool waits = why == Why::kCapacity;
    return Status(waits ? Code::kResourceExhausted : failure.code(), StrCat(failure.message(), remedy))
        .With(std::make_shared<SliceRefusal>(why));
  };
  const std::string_view said = error->message;
  switch (failure.code()) {
    case Code::kResourceExhausted:
      if (Has(said, "uota"))
        return refused(Why::kQuota, StrCat("; ask for more quota of ", order.type.type, " in ", order.zone,
                                           ": https://console.cloud.google.com/iam-admin/quotas?project=",
                                           order.project, ", or name other zones or --on-demand"));
      return refused(Why::kCapacity, "");
    case Code::kAlreadyExists: return refused(Why::kTaken, "");
    case Code::kPermissionDenied:
      return refused(Why::kRight,
                     StrCat("; the API must be on (gcloud services enable tpu.googleapis.com --project ",
                            order.project, "), and this account needs the role roles/tpu.admin there"));
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kNotFound:
      return refused(Why::kArgument, StrCat("; a zone has some types and images alone: gcloud compute tpus "
                                            "accelerator-types list --zone ",
                                            order.zone, " --project ", order.project));
    default: return failure;
  }
}

}  // namespace pipeline
