#include "cli/tpu/tpu_api.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/tpu/tpu_requests.h"
#include "storage/percent.h"

namespace pipeline {

namespace {

constexpr const char* kEndpoint = "https://tpu.googleapis.com";
constexpr const char* kOverride = "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU";
constexpr const char* kNodes = "nodes";
constexpr const char* kQueued = "queuedResources";
constexpr int kPage = 500;
constexpr int kMostPages = 10'000;
constexpr std::size_t kMostZone = 200;

bool IsNotThere(const Status& status) { return status.code() == Code::kNotFound; }

/// How far a state is from that of a slice that can train; the farthest node decides about several.
int Distance(SliceState state) {
  switch (state) {
    case SliceState::kReady: return 0;
    case SliceState::kComing: return 1;
    case SliceState::kQueued: return 2;
    case SliceState::kAbsent: return 3;
    case SliceState::kLeaving: return 4;
    case SliceState::kLost: return 5;
  }
  return 5;
}

/// A queued resource with the state of its nodes; the worst of them decides.
SliceView WithNodes(SliceView queued, const std::vector<SliceView>& nodes) {
  if (!nodes.empty() && nodes.front().age) queued.age = nodes.front().age;
  if (queued.state != SliceState::kReady) return queued;
  for (const SliceView& node : nodes) {
    if (Distance(node.state) > Distance(queued.state)) queued.state = node.state, queued.said = node.said;
    queued.addresses.insert(queued.addresses.end(), node.addresses.begin(), node.addresses.end());
  }
  // One that is active has lost a node that is not there.
  if (nodes.empty() || queued.state == SliceState::kAbsent)
    queued.state = SliceState::kLost, queued.said = "ACTIVE without its node";
  return queued;
}

class TpuApi final : public SliceCloud {
 public:
  explicit TpuApi(std::unique_ptr<GoogleApi> api) : api_(std::move(api)) {}

  Result<SliceRequest> Ask(const SliceOrder& order, const std::stop_token& stop) override {
    const std::string name = PercentEncode(order.name);
    const std::string path = order.type.queued ? StrCat("/", kQueued, "?queuedResourceId=", name)
                                               : StrCat("/", kNodes, "?nodeId=", name);
    Result<ApiAnswer> answer = api_->Send("POST", TpuParent(order.project, order.zone) + path,
                                          order.type.queued ? QueuedBody(order) : NodeBody(order), stop);
    if (!answer.ok()) return RefusalOf(answer.status(), order);
    if (answer->body.Has("error")) return FinalRefusalOf(answer->body["error"], order);
    return SliceRequest{std::string(answer->body["name"].AsString())};
  }

  Result<SliceView> Look(const SliceOrder& order, const SliceRequest& request,
                         const std::stop_token& stop) override {
    if (!order.type.queued) {
      ASSIGN_OR_RETURN(SliceView view, LookAtNode(order, order.name, stop));
      if (view.state == SliceState::kAbsent || view.state == SliceState::kComing)
        RETURN_IF_ERROR(CheckOperation(order, request, stop));
      return view;
    }
    ASSIGN_OR_RETURN(SliceView queued, LookAtQueued(order, stop));
    if (queued.state == SliceState::kAbsent) RETURN_IF_ERROR(CheckOperation(order, request, stop));
    if (queued.state != SliceState::kReady) return queued;
    std::vector<SliceView> nodes;
    for (int number = 0; number < order.type.slices; ++number) {
      const std::string name = order.type.slices == 1 ? order.name : StrCat(order.name, "-", number);
      ASSIGN_OR_RETURN(SliceView node, LookAtNode(order, name, stop));
      nodes.push_back(std::move(node));
    }
    return WithNodes(std::move(queued), nodes);
  }

  Status Remove(const SliceOrder& order, const std::stop_token& stop) override {
    const std::string parent = TpuParent(order.project, order.zone), name = PercentEncode(order.name);
    const std::string path = order.type.queued ? StrCat(parent, "/", kQueued, "/", name, "?force=true")
                                               : StrCat(parent, "/", kNodes, "/", name);
    const Result<ApiAnswer> answer = api_->Send("DELETE", path, Json(), stop);
    if (answer.ok() || IsNotThere(answer.status())) return {};
    // It is being deleted already, or created at this moment: the next try will find out.
    if (answer.status().code() == Code::kFailedPrecondition)
      return Status(Code::kUnavailable, std::string(answer.status().message()));
    return RefusalOf(answer.status(), order);
  }

  Result<std::vector<SliceView>> List(const std::string& project, std::vector<std::string>& left_out,
                                      const std::stop_token& stop) override {
    std::vector<SliceView> all;
    std::map<std::string, std::vector<SliceView>> nodes;  // of queued resources, by their full names
    RETURN_IF_ERROR(EachOf(project, kNodes, left_out, stop, [&](const Json& node, const auto& now) {
      const std::string of(node["queuedResource"].AsString());
      (of.empty() ? all : nodes[of]).push_back(ViewOfNode(node, now));
    }));
    RETURN_IF_ERROR(EachOf(project, kQueued, left_out, stop, [&](const Json& queued, const auto& now) {
      const auto found = nodes.find(std::string(queued["name"].AsString()));
      const std::vector<SliceView> none;
      all.push_back(
          WithNodes(ViewOfQueued(queued, now, project), found == nodes.end() ? none : found->second));
    }));
    std::erase_if(all, [](const SliceView& view) { return !HasOurMarks(view); });
    std::sort(left_out.begin(), left_out.end());
    left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
    return all;
  }

 private:
  using Visit = std::function<void(const Json& item, std::optional<std::int64_t> now)>;

  Result<SliceView> LookAtNode(const SliceOrder& order, const std::string& name,
                               const std::stop_token& stop) const {
    const Result<ApiAnswer> answer =
        api_->Get(StrCat(TpuParent(order.project, order.zone), "/", kNodes, "/", PercentEncode(name)), stop);
    if (answer.ok()) return ViewOfNode(answer->body, answer->now);
    return IsNotThere(answer.status()) ? Result<SliceView>(SliceView{}) : RefusalOf(answer.status(), order);
  }

  Result<SliceView> LookAtQueued(const SliceOrder& order, const std::stop_token& stop) const {
    const Result<ApiAnswer> answer = api_->Get(
        StrCat(TpuParent(order.project, order.zone), "/", kQueued, "/", PercentEncode(order.name)), stop);
    if (answer.ok()) return ViewOfQueued(answer->body, answer->now, order.project);
    return IsNotThere(answer.status()) ? Result<SliceView>(SliceView{}) : RefusalOf(answer.status(), order);
  }

  /// A machine that is not there may have been refused meanwhile.
  Status CheckOperation(const SliceOrder& order, const SliceRequest& request,
                        const std::stop_token& stop) const {
    if (request.operation.empty()) return {};
    const Result<ApiAnswer> answer = api_->Get(StrCat("/v2/", request.operation), stop);
    if (IsNotThere(answer.status())) return {};  // operations are forgotten
    if (!answer.ok()) return RefusalOf(answer.status(), order);
    const bool failed = answer->body["done"].AsBool() && answer->body.Has("error");
    return failed ? FinalRefusalOf(answer->body["error"], order) : Status();
  }

  /// Visits each page of a list over all zones.
  Status EachOf(const std::string& project, const char* kind, std::vector<std::string>& left_out,
                const std::stop_token& stop, const Visit& visit) const {
    std::string page;
    for (int pages = 0; pages < kMostPages; ++pages) {
      const Result<ApiAnswer> answer =
          api_->Get(StrCat(TpuParent(project, "-"), "/", kind, "?pageSize=", kPage,
                           page.empty() ? "" : StrCat("&pageToken=", PercentEncode(page))),
                    stop);
      if (!answer.ok()) {
        SliceOrder every;
        every.project = project, every.zone = "-", every.type.type = "TPUs";
        return RefusalOf(answer.status(), every);
      }
      for (const Json& item : answer->body[kind].AsArray()) visit(item, answer->now);
      for (const Json& zone : answer->body["unreachable"].AsArray()) {
        const std::string_view name = zone.AsString();
        left_out.push_back(Readable(name.substr(name.rfind('/') + 1), kMostZone));
      }
      page = answer->body["nextPageToken"].AsString();
      if (page.empty()) return {};
    }
    return Status(Code::kInternal, StrCat("the list of ", kind, " has no end"));
  }

  const std::unique_ptr<GoogleApi> api_;
};

}  // namespace

std::unique_ptr<SliceCloud> NewTpuApi(std::unique_ptr<GoogleApi> api) {
  return std::make_unique<TpuApi>(std::move(api));
}

Result<std::unique_ptr<SliceCloud>> OpenTpuApi(const EnvironmentLookup& environment) {
  ASSIGN_OR_RETURN(std::unique_ptr<GoogleApi> api, GoogleApi::Open(kEndpoint, kOverride, environment));
  return NewTpuApi(std::move(api));
}

}  // namespace pipeline
