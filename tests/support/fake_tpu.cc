#include "tests/support/fake_tpu.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/tpu/slice_type.h"
#include "storage/percent.h"

namespace pipeline {

namespace {

constexpr int kExhausted = 8;
constexpr std::int64_t kRefuses = 5;  // seconds until a creation without capacity is refused

FakeTpu::Answer Error(int status, const std::string& word, const std::string& message) {
  Json body;
  body["error"]["code"] = status;
  body["error"]["message"] = message;
  body["error"]["status"] = word;
  return {status, body.Dump()};
}

FakeTpu::Answer NotFound(const std::string& name) {
  return Error(404, "NOT_FOUND", StrCat("Resource '", name, "' was not found"));
}

FakeTpu::Answer Invalid(const std::string& why) { return Error(400, "INVALID_ARGUMENT", why); }

/// The first member of `value` that is not allowed; empty: there is none. `allowed` has "name" for a leaf or
/// "name{…}" for an object whose members are as in the braces; "name{*}": any texts.
using Fields = std::map<std::string, std::set<std::string>>;
const Fields& Allowed() {
  static const Fields kFields = {
      {"Node",
       {"acceleratorType", "runtimeVersion", "networkConfig", "labels", "metadata", "serviceAccount",
        "schedulingConfig", "description", "tags", "shieldedInstanceConfig"}},
      {"networkConfig", {"network", "subnetwork", "enableExternalIps", "canIpForward", "queueCount"}},
      {"serviceAccount", {"email", "scope"}},
      {"schedulingConfig", {"preemptible", "reserved", "spot"}},
      {"shieldedInstanceConfig", {"enableSecureBoot"}},
      {"QueuedResource", {"tpu", "spot", "guaranteed", "queueingPolicy", "reservationName"}},
      {"tpu", {"nodeSpec"}},
      {"nodeSpec", {"parent", "nodeId", "multisliceParams", "node"}},
      {"multisliceParams", {"nodeCount", "nodeIdPrefix"}},
      {"spot", {}},
      {"guaranteed", {"minDuration"}},
      {"queueingPolicy", {"validUntilDuration", "validUntilTime", "validAfterDuration", "validAfterTime"}},
  };
  return kFields;
}

/// Whether a member has the kind of value that its message says.
bool HasKind(const std::string& type, const std::string& name, const Json& member) {
  const bool flag = type == "schedulingConfig" || type == "shieldedInstanceConfig" ||
                    name == "enableExternalIps" || name == "canIpForward";
  if (flag) return member.is_bool();
  if (name == "nodeCount" || name == "queueCount") return member.is_int();
  if (name == "nodeSpec" || name == "tags" || name == "scope") return member.is_array();
  const bool object = Allowed().contains(name) || name == "node" || name == "labels" || name == "metadata";
  return object ? member.is_object() : member.is_string();
}

std::string Unknown(const Json& value, const std::string& type) {
  for (const auto& [name, member] : value.AsObject()) {
    if (!Allowed().at(type).contains(name))
      return StrCat("Invalid JSON payload received. Unknown name \"", name, "\" at '", type,
                    "': Cannot find field.");
    if (!HasKind(type, name, member)) return StrCat("Invalid value at '", type, ".", name, "'");
    const std::string inner = name == "node" ? "Node" : name;
    if (member.is_object() && Allowed().contains(inner))
      if (std::string found = Unknown(member, inner); !found.empty()) return found;
    for (const Json& element : member.AsArray())
      if (Allowed().contains(inner))
        if (std::string found = Unknown(element, inner); !found.empty()) return found;
  }
  return {};
}

bool IsId(const std::string& id) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !id.empty() && id.size() <= 63 && id.front() >= 'a' && id.front() <= 'z' && id.back() != '-' &&
         std::all_of(id.begin(), id.end(), fits);
}

bool IsLabel(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return text.size() <= 63 && std::all_of(text.begin(), text.end(), fits);
}

/// Why a node cannot be made; empty: it can.
std::string WhyNot(const Json& node) {
  std::string type(node["acceleratorType"].AsString());
  if (!ParseSliceType(type).ok() || type.starts_with("v5e"))
    return StrCat("The accelerator type '", type, "' does not exist in this zone.");
  if (node["runtimeVersion"].AsString() != ParseSliceType(type)->image)
    return StrCat("The runtime version '", node["runtimeVersion"].AsString(), "' does not exist.");
  for (const auto& [name, value] : node["labels"].AsObject())
    if (!IsLabel(name) || !IsLabel(std::string(value.AsString())))
      return StrCat("Label '", name, "' is malformed.");
  std::size_t metadata = 0;
  for (const auto& [name, value] : node["metadata"].AsObject())
    metadata += name.size() + value.AsString().size();
  return metadata > (256 << 10) ? "The metadata are larger than 256 KiB." : "";
}

/// The node that a machine asks for.
const Json& NodeIn(const FakeTpu::Machine& machine) {
  return machine.queued ? machine.body["tpu"]["nodeSpec"].AsArray().front()["node"] : machine.body;
}

int CountOf(const FakeTpu::Machine& machine) {
  if (!machine.queued) return 1;
  return static_cast<int>(
      machine.body["tpu"]["nodeSpec"].AsArray().front()["multisliceParams"]["nodeCount"].AsInt(1));
}

/// The name of a node of a machine.
std::string NameOfNode(const FakeTpu::Machine& machine, int number) {
  if (!machine.queued) return machine.id;
  const Json& spec = machine.body["tpu"]["nodeSpec"].AsArray().front();
  if (!spec.Has("multisliceParams")) return std::string(spec["nodeId"].AsString());
  return StrCat(spec["multisliceParams"]["nodeIdPrefix"].AsString(machine.id), "-", number);
}

std::int64_t WorkersOf(const std::string& type) {
  const std::int64_t number = ParseNumber<std::int64_t>(type.substr(type.rfind('-') + 1)).value_or(1);
  return std::max<std::int64_t>(1, number / 8);
}

std::string NameOf(const std::string& zone, const std::string& kind, const std::string& id) {
  return StrCat("projects/corpus/locations/", zone, "/", kind, "/", id);
}

}  // namespace

FakeTpu::FakeTpu(std::vector<std::string> zones) {
  for (std::string& zone : zones) capacity_[std::move(zone)] = 1000;
}

void FakeTpu::Advance(std::chrono::seconds by) {
  const Lock lock(mutex_);
  now_ += by.count();
  Settle();
}

std::int64_t FakeTpu::now() const {
  const Lock lock(mutex_);
  return now_;
}

void FakeTpu::SetCapacity(const std::string& zone, int machines) {
  const Lock lock(mutex_);
  capacity_[zone] = machines;
}

void FakeTpu::RefuseQuota(const std::string& zone) {
  const Lock lock(mutex_);
  no_quota_.insert(zone);
}

void FakeTpu::Fail(TpuFault fault) {
  const Lock lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FakeTpu::FailQueued(const std::string& zone, const std::string& error) {
  const Lock lock(mutex_);
  queue_errors_[zone] = *Json::Parse(error);
}

void FakeTpu::Preempt(const std::string& id) {
  const Lock lock(mutex_);
  if (Machine* const machine = Named(id); machine != nullptr && machine->begun) {
    if (machine->queued)
      machine->suspended = now_;
    else
      machine->state = "PREEMPTED";
  }
}

void FakeTpu::SetState(const std::string& id, const std::string& state) {
  const Lock lock(mutex_);
  if (Machine* const machine = Named(id)) machine->state = state;
}

void FakeTpu::Vanish(const std::string& id) {
  const Lock lock(mutex_);
  if (Machine* const machine = Named(id)) machine->gone = true;
}

void FakeTpu::AddPersonsNode(const std::string& zone, const std::string& id) {
  const Lock lock(mutex_);
  Machine machine;
  machine.zone = zone, machine.id = id, machine.persons = true;
  machine.asked = now_, machine.begun = now_;
  machine.body["acceleratorType"] = "v3-8";
  machine.body["labels"]["owner"] = "somebody";
  machines_.push_back(std::move(machine));
}

void FakeTpu::LagLists(std::int64_t seconds) {
  const Lock lock(mutex_);
  lag_ = seconds;
}

void FakeTpu::LeaveOut(const std::string& zone) {
  const Lock lock(mutex_);
  left_out_.insert(zone);
}

std::vector<FakeTpu::Machine> FakeTpu::Left() const {
  const Lock lock(mutex_);
  std::vector<Machine> left;
  for (const Machine& machine : machines_)
    if (!machine.gone && !machine.persons) left.push_back(machine);
  return left;
}

int FakeTpu::Creations(const std::string& id) const {
  const Lock lock(mutex_);
  return static_cast<int>(std::count_if(machines_.begin(), machines_.end(),
                                        [&](const Machine& machine) { return machine.id == id; }));
}

std::set<std::string> FakeTpu::Names() const {
  const Lock lock(mutex_);
  std::set<std::string> names;
  for (const Machine& machine : machines_)
    if (!machine.persons) names.insert(machine.id);
  return names;
}

int FakeTpu::PersonsLost() const {
  const Lock lock(mutex_);
  return static_cast<int>(std::count_if(machines_.begin(), machines_.end(), [](const Machine& machine) {
    return machine.persons && (machine.gone || machine.removed);
  }));
}

std::vector<std::string> FakeTpu::Requests() const {
  const Lock lock(mutex_);
  return requests_;
}

FakeTpu::Answer FakeTpu::Handle(const std::string& method, const std::string& target,
                                const std::string& body) {
  const Lock lock(mutex_);
  requests_.push_back(StrCat(method, " ", target, body.empty() ? "" : " ", body));
  Settle();
  const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const TpuFault& fault) {
    return fault.method == method && target.find(fault.part) != std::string::npos;
  });
  if (found == faults_.end()) return Do(method, target, body);
  const TpuFault fault = *found;
  if (--found->times == 0) faults_.erase(found);
  switch (fault.kind) {
    case TpuFault::Kind::kDropBefore: return {};
    case TpuFault::Kind::kDropAfter: Do(method, target, body); return {};
    case TpuFault::Kind::kDropLate: late_.push_back({now_ + fault.seconds, method, target, body}); return {};
    case TpuFault::Kind::kAnswer:
      return fault.body.empty() ? Error(fault.status, fault.word, fault.message)
                                : Answer{fault.status, fault.body};
    case TpuFault::Kind::kLie:
      return {200, R"({"name":"projects/corpus/locations/-/operations/none","done":true})"};
  }
  return {};
}

void FakeTpu::Settle() {
  for (std::size_t at = 0; at < late_.size();) {
    if (late_[at].at > now_) {
      ++at;
      continue;
    }
    const Late late = late_[at];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(at));
    Do(late.method, late.target, late.body);
  }
  constexpr std::int64_t kSuspends = 30;
  for (Machine& machine : machines_) {
    if (machine.gone) continue;
    if (machine.removed && now_ - *machine.removed >= times_.remove) machine.gone = true;
    if (machine.queued && !machine.begun && !machine.removed && StateOf(machine) != "FAILED" &&
        TakeCapacity(machine.zone, CountOf(machine)))
      machine.begun = now_;
    if (machine.suspended && now_ - *machine.suspended >= kSuspends && machine.state.empty())
      machine.state = "SUSPENDED";
  }
}

bool FakeTpu::TakeCapacity(const std::string& zone, int machines) {
  int& left = capacity_[zone];
  if (left < machines) return false;
  left -= machines;
  return true;
}

FakeTpu::Machine* FakeTpu::Find(const std::string& zone, const std::string& id) {
  const auto found = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& machine) {
    return !machine.gone && machine.zone == zone && machine.id == id;
  });
  return found == machines_.end() ? nullptr : &*found;
}

FakeTpu::Machine* FakeTpu::Named(const std::string& id) {
  const auto found = std::find_if(machines_.begin(), machines_.end(),
                                  [&](const Machine& machine) { return !machine.gone && machine.id == id; });
  return found == machines_.end() ? nullptr : &*found;
}

std::string FakeTpu::StateOf(const Machine& machine) const {
  if (machine.removed) return "DELETING";
  if (!machine.state.empty()) return machine.state;
  if (machine.suspended) return "SUSPENDING";
  const bool made = machine.begun && now_ - *machine.begun >= times_.create;
  if (!machine.queued) return machine.persons || made ? "READY" : "CREATING";
  if (queue_errors_.contains(machine.zone)) return "FAILED";
  if (machine.begun) return made ? "ACTIVE" : "PROVISIONING";
  std::string until(machine.body["queueingPolicy"]["validUntilDuration"].AsString());
  if (until.ends_with('s')) until.pop_back();
  if (const auto seconds = ParseNumber<std::int64_t>(until); seconds && now_ - machine.asked > *seconds)
    return "FAILED";
  return now_ == machine.asked ? "ACCEPTED" : "WAITING_FOR_RESOURCES";
}

std::vector<Json> FakeTpu::NodesOf(const Machine& machine) const {
  std::vector<Json> nodes;
  const std::string whole = StateOf(machine);
  if (!machine.begun || whole == "SUSPENDED" || whole == "FAILED") return nodes;
  const int count = CountOf(machine);
  for (int number = 0; number < count; ++number) {
    Json node = NodeIn(machine);
    node["name"] = NameOf(machine.zone, "nodes", NameOfNode(machine, number));
    node["id"] = std::to_string(1000 + number);
    if (!node["networkConfig"].Has("network")) node["networkConfig"]["network"] = "default";
    node["state"] = !machine.queued           ? whole
                    : whole == "ACTIVE"       ? std::string("READY")
                    : whole == "SUSPENDING"   ? std::string("PREEMPTED")
                    : whole == "PROVISIONING" ? std::string("CREATING")
                                              : whole;
    if (node["state"].AsString() == "READY") {
      node["health"] = "HEALTHY";
      for (std::int64_t worker = 0; worker < WorkersOf(std::string(node["acceleratorType"].AsString()));
           ++worker) {
        Json endpoint;
        endpoint["ipAddress"] = StrCat("10.", number, ".0.", worker + 2);
        endpoint["port"] = 8470;
        node["networkEndpoints"].Append(std::move(endpoint));
      }
    }
    node["createTime"] = Iso8601(*machine.begun * 1000);
    node["apiVersion"] = "V2";
    if (machine.queued) {
      node["queuedResource"] = NameOf(machine.zone, "queuedResources", machine.id);
      node["schedulingConfig"]["spot"] = machine.body.Has("spot");
    }
    if (count > 1) node["multisliceNode"] = true;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Json FakeTpu::QueuedOf(const Machine& machine) const {
  Json queued = machine.body;
  queued["name"] = NameOf(machine.zone, "queuedResources", machine.id);
  queued["createTime"] = Iso8601(machine.asked * 1000);
  queued["state"]["state"] = StateOf(machine);
  if (StateOf(machine) != "FAILED") return queued;
  Json& error = queued["state"]["failedData"]["error"];
  if (const auto told = queue_errors_.find(machine.zone); told != queue_errors_.end()) {
    error = told->second;
  } else {
    error["code"] = 4;
    error["message"] = "The request was not fulfilled in its time.";
  }
  return queued;
}

FakeTpu::Answer FakeTpu::Operated(const std::string& zone, const std::string& target, std::int64_t seconds,
                                  std::optional<std::pair<int, std::string>> error) {
  Operation operation;
  operation.name = NameOf(zone, "operations", StrCat("operation-", operations_.size()));
  operation.target = target;
  operation.done = now_ + seconds;
  operation.error = std::move(error);
  const Json body = OperationOf(operation);
  operations_[operation.name] = std::move(operation);
  return {200, body.Dump()};
}

Json FakeTpu::OperationOf(const Operation& operation) const {
  Json body;
  body["name"] = operation.name;
  body["metadata"]["@type"] = "type.googleapis.com/google.cloud.tpu.v2.OperationMetadata";
  body["metadata"]["target"] = operation.target;
  body["done"] = now_ >= operation.done;
  if (now_ < operation.done) return body;
  if (operation.error) {
    body["error"]["code"] = operation.error->first;
    body["error"]["message"] = operation.error->second;
  } else {
    body["response"]["@type"] = "type.googleapis.com/google.protobuf.Empty";
  }
  return body;
}

FakeTpu::Answer FakeTpu::Create(const std::string& zone, const std::string& kind, const std::string& id,
                                const std::string& body) {
  const Result<Json> parsed = Json::Parse(body);
  if (!parsed.ok()) return Invalid("The body is no JSON.");
  Machine machine;
  machine.queued = kind == "queuedResources";
  if (std::string why = Unknown(*parsed, machine.queued ? "QueuedResource" : "Node"); !why.empty())
    return Invalid(why);
  if (!IsId(id)) return Invalid(StrCat("'", id, "' is no valid id."));
  machine.zone = zone, machine.id = id, machine.body = *parsed, machine.asked = now_;
  if (machine.body.Has("spot") && machine.body.Has("guaranteed"))
    return Invalid("oneof field 'tier' is already set.");
  if (machine.queued && machine.body["tpu"]["nodeSpec"].AsArray().size() != 1)
    return Invalid("nodeSpec is missing.");
  if (machine.queued && machine.body["tpu"]["nodeSpec"].AsArray().front()["parent"].AsString() !=
                            StrCat("projects/corpus/locations/", zone))
    return Invalid("nodeSpec.parent is another one.");
  if (std::string why = WhyNot(NodeIn(machine)); !why.empty()) return Invalid(why);
  if (Find(zone, id) != nullptr)
    return Error(409, "ALREADY_EXISTS", StrCat("Resource '", NameOf(zone, kind, id), "' already exists"));
  if (no_quota_.contains(zone))
    return Error(
        429, "RESOURCE_EXHAUSTED",
        StrCat(
            "Quota limit 'TPUV3sPreemptiblePerProjectPerZoneForTPUAPI' has been exceeded. Limit: 0 in zone ",
            zone, "."));
  if (!machine.queued) {
    if (!TakeCapacity(zone, 1))
      return Operated(
          zone, NameOf(zone, kind, id), kRefuses,
          std::pair(kExhausted,
                    StrCat("There is no more capacity in the zone \"", zone,
                           "\"; you can try in another zone where Cloud TPU Nodes are offered.")));
    machine.begun = now_;
  }
  machines_.push_back(std::move(machine));
  return Operated(zone, NameOf(zone, kind, id), times_.create, std::nullopt);
}

FakeTpu::Answer FakeTpu::Show(const std::string& zone, const std::string& kind, const std::string& id) {
  if (kind == "operations") {
    const auto found = operations_.find(NameOf(zone, kind, id));
    if (found == operations_.end()) return NotFound(NameOf(zone, kind, id));
    return {200, OperationOf(found->second).Dump()};
  }
  for (const Machine& machine : machines_) {
    if (machine.gone || machine.zone != zone) continue;
    if (kind == "queuedResources" && machine.queued && machine.id == id)
      return {200, QueuedOf(machine).Dump()};
    if (kind != "nodes") continue;
    for (const Json& node : NodesOf(machine))
      if (node["name"].AsString() == NameOf(zone, kind, id)) return {200, node.Dump()};
  }
  return NotFound(NameOf(zone, kind, id));
}

FakeTpu::Answer FakeTpu::Remove(const std::string& zone, const std::string& kind, const std::string& id,
                                bool force) {
  Machine* const machine = Find(zone, id);
  if (machine == nullptr || machine->queued != (kind == "queuedResources"))
    return NotFound(NameOf(zone, kind, id));
  if (machine->removed)
    return Error(400, "FAILED_PRECONDITION",
                 StrCat("Resource '", NameOf(zone, kind, id), "' is being deleted."));
  const std::string state = StateOf(*machine);
  if (machine->queued && !force && machine->begun && state != "SUSPENDED" && state != "FAILED")
    return Error(400, "FAILED_PRECONDITION",
                 "The queued resource has nodes; delete them first, or set force.");
  machine->removed = now_;
  return Operated(zone, NameOf(zone, kind, id), times_.remove, std::nullopt);
}

FakeTpu::Answer FakeTpu::List(const std::string& zone, const std::string& kind, std::size_t from,
                              std::size_t most) {
  Json body;
  std::vector<Json> all;
  for (const Machine& machine : machines_) {
    if (zone != "-" && machine.zone != zone) continue;
    if (zone == "-" && left_out_.contains(machine.zone)) continue;
    const bool was_gone =
        machine.gone && (!machine.removed || now_ - *machine.removed - times_.remove >= lag_);
    if (was_gone || machine.asked > now_ - lag_) continue;
    if (kind == "queuedResources" && machine.queued) all.push_back(QueuedOf(machine));
    if (kind == "nodes")
      for (Json& node : NodesOf(machine)) all.push_back(std::move(node));
  }
  if (zone == "-")
    for (const std::string& out : left_out_)
      body["unreachable"].Append(StrCat("projects/corpus/locations/", out));
  for (std::size_t at = from; at < std::min(from + most, all.size()); ++at) body[kind].Append(all[at]);
  if (from + most < all.size()) body["nextPageToken"] = std::to_string(from + most);
  return {200, body.is_null() ? "{}" : body.Dump()};
}

FakeTpu::Answer FakeTpu::Do(const std::string& method, const std::string& target, const std::string& body) {
  const std::string path = target.substr(0, target.find('?'));
  std::map<std::string, std::string> query;
  for (std::size_t at = path.size() + 1; at < target.size();) {
    const std::size_t end = std::min(target.find('&', at), target.size()), equals = target.find('=', at);
    query[PercentDecode(target.substr(at, equals - at)).value_or("")] =
        PercentDecode(target.substr(equals + 1, end - equals - 1)).value_or("");
    at = end + 1;
  }
  static const std::set<std::string> kArguments = {
      "nodeId", "queuedResourceId", "force", "pageSize", "pageToken", "$alt", "alt"};
  for (const auto& [name, value] : query)
    if (!kArguments.contains(name))
      return Invalid(StrCat("Unknown name \"", name, "\": Cannot bind query parameter."));
  constexpr std::string_view kParent = "/v2/projects/corpus/locations/";
  if (!path.starts_with(kParent)) return Error(403, "PERMISSION_DENIED", "Permission denied on the project.");
  std::vector<std::string> parts;
  for (std::size_t at = kParent.size(); at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() < 2 || parts.size() > 3) return NotFound(path);
  const std::string &zone = parts[0], &kind = parts[1];
  if (zone != "-" && !capacity_.contains(zone))
    return Error(403, "PERMISSION_DENIED",
                 StrCat("Permission denied on 'locations/", zone, "' (or it may not exist)."));
  if (method == "GET" && parts.size() == 3) return Show(zone, kind, parts[2]);
  if (method == "GET")
    return List(zone, kind, ParseNumber<std::size_t>(query["pageToken"]).value_or(0),
                ParseNumber<std::size_t>(query["pageSize"]).value_or(100));
  if (method == "DELETE" && parts.size() == 3)
    return Remove(zone, kind, parts[2], query["force"] == "true" || query["force"] == "True");
  if (method == "POST" && parts.size() == 2)
    return Create(zone, kind, query[kind == "nodes" ? "nodeId" : "queuedResourceId"], body);
  return NotFound(path);
}

std::string HttpDate(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

namespace {

class TpuExchange final : public HttpExchange {
 public:
  TpuExchange(HttpResponse response, std::string body)
      : response_(std::move(response)), body_(std::move(body)) {}
  const HttpResponse& response() const override { return response_; }
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t size = std::min(out.size(), body_.size() - at_);
    std::copy_n(body_.data() + at_, size, out.data());
    at_ += size;
    return size;
  }

 private:
  const HttpResponse response_;
  const std::string body_;
  std::size_t at_ = 0;
};

class TpuClient final : public HttpClient {
 public:
  explicit TpuClient(FakeTpu& fake) : fake_(fake) {}
  Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    const std::size_t host = request.url.find("://") + 3;
    FakeTpu::Answer answer =
        fake_.Handle(request.method, request.url.substr(request.url.find('/', host)), request.body);
    if (answer.status == 0) return Status(Code::kUnavailable, "the connection was reset");
    HttpResponse response;
    response.status = answer.status;
    response.url = request.url;
    response.headers = {{"date", HttpDate(fake_.now())}};
    return std::make_unique<TpuExchange>(std::move(response), std::move(answer.body));
  }

 private:
  FakeTpu& fake_;
};

}  // namespace

std::unique_ptr<HttpClient> NewFakeTpuClient(FakeTpu& fake) { return std::make_unique<TpuClient>(fake); }

}  // namespace pipeline
