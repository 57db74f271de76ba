#include "storage/remote/gcs/gcs_checkup.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/random_name.h"
#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNearConnect{1'000}, kNearStall{3'000};
constexpr std::uint64_t kMaxAnswer = 64 << 10;
constexpr std::string_view kProbe = ".pipe/probe-";
constexpr std::string_view kCreate = "gcloud storage buckets create gs://";
constexpr std::string_view kUpdate = "gcloud storage buckets update gs://";

/// The account of ".../serviceAccounts/EMAIL:generateAccessToken".
std::string AccountOf(std::string_view impersonation_url) {
  const std::string_view name = impersonation_url.substr(impersonation_url.rfind('/') + 1);
  return std::string(name.substr(0, name.find(':')));
}

/// Who is granted something, as IAM writes it, and what this kind of credentials is called.
struct Identity {
  std::string member;
  std::string words;
};

Identity IdentityOf(const GcsCredentials& credentials) {
  if (const auto* key = std::get_if<ServiceAccountKey>(&credentials.kind))
    return {StrCat("serviceAccount:", key->email), StrCat("the key of service account ", key->email)};
  if (std::holds_alternative<AuthorizedUser>(credentials.kind)) return {"user:YOU", "a person's"};
  if (const auto* other = std::get_if<ImpersonatedAccount>(&credentials.kind)) {
    const std::string account = AccountOf(other->impersonation_url);
    return {StrCat("serviceAccount:", account), StrCat("service account ", account, ", impersonated")};
  }
  if (const auto* other = std::get_if<ExternalAccount>(&credentials.kind)) {
    if (other->impersonation_url.empty()) return {"MEMBER", "an external account"};
    const std::string account = AccountOf(other->impersonation_url);
    return {StrCat("serviceAccount:", account),
            StrCat("service account ", account, " by an external account")};
  }
  return {"MEMBER", "this machine's service account"};
}

/// Whether a machine of `region` is where a bucket of `location` is, in lower case: "us-central1", "us",
/// "nam4".
bool IsNear(const std::string& location, const std::string& region) {
  if (location == region) return true;
  const auto continent = [&](std::string_view begin, std::string_view of_region) {
    return location.starts_with(begin) && location.find('-') == std::string::npos &&
           region.starts_with(of_region);
  };
  return continent("us", "us-") || continent("nam", "us-") || continent("nam", "northamerica-") ||
         continent("eu", "europe-") || continent("asia", "asia-");
}

std::string DaysOf(std::string_view in_seconds) {
  const std::uint64_t number = ParseLength(in_seconds).value_or(0);
  return number < 86'400 ? StrCat(number, " seconds") : StrCat(number / 86'400, " days");
}

/// Asks the machine itself, which is near or not there.
std::unique_ptr<HttpClient> NearClient() {
  return NewHttpClient({.connect = kNearConnect, .stall = kNearStall});
}

std::string Bucket(const std::string& bucket) { return StrCat("gs://", bucket); }

/// Checks the credentials, then each bucket once, then the objects.
class GcsCheckup final : public Checkup {
 public:
  GcsCheckup(CheckTeller tell, std::stop_token stop) : tell_(std::move(tell)), stop_(std::move(stop)) {}

  void Check(const LocationUse& use) override { uses_.push_back(use); }
  void Finish() override {
    if (!CheckIdentity()) return;
    std::map<std::string, const LocationUse*> buckets;  // the location that it writes to, if there is one
    for (const LocationUse& use : uses_) {
      const LocationUse*& chosen = buckets[use.location.authority];
      if (chosen == nullptr || (use.writes && !chosen->writes)) chosen = &use;
    }
    for (const auto& [bucket, use] : buckets) {
      Uri location = use->location;
      if (use->is_object)
        location.path = location.path.substr(0, location.path.size() - location.LastPart().size());
      while (!location.path.empty() && location.path.back() == '/') location.path.pop_back();
      CheckBucket(location, use->writes);
    }
    for (const LocationUse& use : uses_)
      if (use.is_object && use.location.path.find_first_of("*?") == std::string::npos)
        CheckObject(use.location);
  }

 private:
  /// Checks that credentials exist and give a token. False: the buckets need no check.
  bool CheckIdentity() {
    const auto wrong = [this](std::string_view what, const Status& why) {
      tell_(CheckLevel::kWrong, StrCat(what, ": ", why.message()));
      return false;
    };
    GcsSettings settings;
    Result<GcsEndpoint> endpoint = FindGcsEndpoint(environment_);
    if (!endpoint.ok()) return wrong("credentials", endpoint.status());
    settings.endpoint = std::move(endpoint).value();
    settings.means.policy = kCheckupPolicy;
    settings.user_project = environment_(kUserProjectName).value_or("");
    const std::shared_ptr<HttpClient> http = NewHttpClient(
        {.connect = kCheckupConnect, .stall = kCheckupStall, .ca_file = FindCaFile(environment_)});
    GcsTokenTools tools{http, NearClient()};
    tools.means.policy = kCheckupPolicy;
    Result<GcsCredentials> credentials = FindGcsCredentials(environment_, settings.endpoint, tools, stop_);
    if (!credentials.ok() && credentials.status().Detail<NoCredentials>() != nullptr) {
      tell_(CheckLevel::kWarning, StrCat("credentials: ", credentials.status().message(),
                                         "; without them only what is public can be read"));
      credentials = GcsCredentials{AnonymousAccess{}, "anonymous"};
    } else if (!credentials.ok()) {
      return wrong("credentials", credentials.status());
    } else if (settings.endpoint.emulator) {
      tell_(CheckLevel::kOk,
            StrCat("credentials: none are sent: STORAGE_EMULATOR_HOST names ", settings.endpoint.url));
    } else {
      Identity identity = IdentityOf(*credentials);
      if (const auto* machine = std::get_if<MetadataAccount>(&credentials->kind))
        metadata_host_ = machine->host;
      else
        metadata_host_ = FindMetadataHost(environment_, tools, stop_);
      if (std::holds_alternative<MetadataAccount>(credentials->kind)) {
        const std::string email = AskMachine("service-accounts/default/email").value_or("");
        identity.member = email.empty() ? "MEMBER" : StrCat("serviceAccount:", email);
        if (!email.empty()) identity.words += StrCat(", ", email);
      }
      member_ = std::move(identity.member);
      tell_(CheckLevel::kOk, StrCat("credentials: ", identity.words, " (", credentials->origin, ")"));
    }
    if (const std::string zone = metadata_host_ ? AskMachine("zone").value_or("") : ""; !zone.empty()) {
      const std::string name = zone.substr(zone.rfind('/') + 1);  // projects/NUMBER/zones/us-central1-a
      region_ = name.substr(0, name.rfind('-'));
    }
    auto auth = std::make_shared<GcsAuth>(std::move(credentials).value(), tools);
    if (!auth->anonymous()) {
      const Result<std::optional<Secret>> token = auth->Token(stop_);
      if (!token.ok()) return wrong("access token", token.status());
      tell_(CheckLevel::kOk, "access token: can be had");
    }
    client_ = std::make_shared<GcsClient>(std::move(settings), http, std::move(auth));
    return true;
  }

  /// Checks existence, region, the cost of removing objects, and reading. If it writes there, it also
  /// creates an object below `location` and removes it.
  void CheckBucket(const Uri& location, bool writes) {
    if (!CheckProperties(location.authority)) return;
    CheckListing(location, writes);
    if (writes) CheckWriting(location);
  }

  void CheckObject(const Uri& location) {
    const Result<std::optional<GcsObject>> object =
        StatGcsObject({client_, location.authority, location.path}, stop_);
    if (!object.ok())
      tell_(CheckLevel::kWrong, std::string(object.status().message()));
    else if (!*object)
      tell_(CheckLevel::kWrong,
            StrCat(location.ToString(), ": there is no such object; see what there is: pipe ls ",
                   Bucket(location.authority)));
    else
      tell_(CheckLevel::kOk, StrCat(location.ToString(), ": ", HumanBytes((*object)->size)));
  }

  /// False: further checks of the bucket are pointless.
  bool CheckProperties(const std::string& bucket) {
    GcsOperation operation(*client_, Bucket(bucket), stop_);
    const std::string url = client_->BucketUrl(
        bucket,
        StrCat("fields=", PercentEncode("location,locationType,storageClass,softDeletePolicy,retentionPolicy,"
                                        "billing")));
    const Result<GcsOperation::Answer> answer = operation.Send({.url = url});
    if (!answer.ok()) {
      tell_(CheckLevel::kWrong, std::string(answer.status().message()));
      return false;
    }
    NoteTime(answer->response);
    if (answer->status == 403) {
      tell_(CheckLevel::kWarning,
            StrCat(Bucket(bucket),
                   ": its properties may not be seen: where it is and whether it keeps what is "
                   "removed was not checked; run: ",
                   GrantCommand(bucket, "roles/storage.legacyBucketReader")));
      return true;
    }
    if (answer->status == 404) {
      tell_(CheckLevel::kWrong, StrCat(Bucket(bucket), ": no such bucket; run: ", kCreate, bucket,
                                       region_.empty() ? "" : StrCat(" --location=", region_)));
      return false;
    }
    const Result<Json> properties = Json::Parse(answer->body);
    if (answer->status >= 300 || !properties.ok()) {
      tell_(CheckLevel::kWrong, std::string(operation.Failure(answer->error).message()));
      return false;
    }
    const std::string location = Lower((*properties)["location"].AsString());
    CheckRegion(bucket, location);
    const std::string_view soft = (*properties)["softDeletePolicy"]["retentionDurationSeconds"].AsString("0");
    if (soft != "0")
      tell_(CheckLevel::kWarning,
            StrCat(Bucket(bucket), ": soft delete keeps what is replaced or removed for ", DaysOf(soft),
                   " and bills for it, old checkpoints included; run: ", kUpdate, bucket,
                   " --clear-soft-delete"));
    if (properties->Has("retentionPolicy"))
      tell_(CheckLevel::kWarning,
            StrCat(Bucket(bucket), ": a retention policy forbids to replace and remove objects for ",
                   DaysOf((*properties)["retentionPolicy"]["retentionPeriod"].AsString("0")),
                   ", old checkpoints included; run: ", kUpdate, bucket, " --clear-retention-period"));
    if ((*properties)["billing"]["requesterPays"].AsBool())
      tell_(CheckLevel::kOk, StrCat(Bucket(bucket), ": requests are billed to the project ",
                                    client_->settings().user_project));
    return true;
  }

  void CheckRegion(const std::string& bucket, const std::string& location) {
    const std::string is = StrCat(Bucket(bucket), ": is there, in ", location.empty() ? "?" : location);
    if (region_.empty() || location.empty())
      return tell_(CheckLevel::kOk, StrCat(is, "; this machine is in no region that is known"));
    if (IsNear(location, region_))
      return tell_(CheckLevel::kOk, StrCat(is, ", as is this machine in ", region_));
    tell_(CheckLevel::kWarning,
          StrCat(is, ", and this machine in ", region_,
                 ": what goes from one to the other is slower and billed; work in a bucket that is here: ",
                 kCreate, "NAME --location=", region_));
  }

  void CheckListing(const Uri& location, bool writes) {
    GcsOperation operation(*client_, Bucket(location.authority), stop_);
    const std::string url = client_->ObjectUrl(
        location.authority, "",
        StrCat("maxResults=1&fields=items(name)&prefix=",
               PercentEncode(location.path.empty() ? std::string() : StrCat(location.path, "/"))));
    const Result<GcsOperation::Answer> answer = operation.Send({.url = url});
    if (!answer.ok()) return tell_(CheckLevel::kWrong, std::string(answer.status().message()));
    if (answer->status < 300) return tell_(CheckLevel::kOk, StrCat(location.ToString(), ": can be listed"));
    TellRefusal(operation, answer->error, writes ? "roles/storage.objectUser" : "roles/storage.objectViewer");
  }

  void CheckWriting(const Uri& location) {
    const std::unique_ptr<Store> store =
        NewGcsStore(client_, location.authority, location.path,
                    GcsWriterOptions{.spool = OwnSpool(environment_), .is_own = true});
    const std::string name = StrCat(kProbe, RandomName(24));
    const std::string shown = StrCat(location.ToString(), "/", name);
    const std::string grant = GrantCommand(location.authority, "roles/storage.objectUser");
    const Result<ObjectInfo> made = WriteObject(*store, name, "pipe doctor", Condition::CreateOnly());
    if (!made.ok()) {
      const bool denied = made.status().code() == Code::kPermissionDenied;
      return tell_(CheckLevel::kWrong,
                   denied ? StrCat(location.ToString(), ": cannot be written to; run: ", grant)
                          : StrCat(location.ToString(), ": cannot be written to: ", made.status().message()));
    }
    const Status removed = store->Remove(name);
    if (removed.ok())
      return tell_(CheckLevel::kOk,
                   StrCat(location.ToString(), ": can be written to, and what was written removed"));
    const bool denied = removed.code() == Code::kPermissionDenied;
    tell_(CheckLevel::kWrong, StrCat(shown, ": could be written and not be removed, and is left there; run: ",
                                     denied ? grant : StrCat("gcloud storage rm ", shown)));
  }

  /// Reports an error response.
  void TellRefusal(const GcsOperation& operation, const GcsError& error, std::string_view role) {
    const std::string bucket = operation.where().substr(5);
    tell_(CheckLevel::kWrong,
          error.status == 403
              ? StrCat(operation.where(), ": permission denied; run: ", GrantCommand(bucket, role))
              : std::string(operation.Failure(error).message()));
  }

  std::string GrantCommand(const std::string& bucket, std::string_view role) const {
    return StrCat("gcloud storage buckets add-iam-policy-binding gs://", bucket,
                  " --member=", member_.empty() ? "MEMBER" : std::string_view(member_), " --role=", role);
  }

  std::optional<std::string> AskMachine(std::string_view what) const {
    const HttpRequest request =
        MetadataRequest(*metadata_host_, StrCat("computeMetadata/v1/instance/", what));
    Result<HttpAnswer> answer = Fetch(*NearClient(), request, kMaxAnswer, stop_);
    if (!answer.ok() || answer->response.status != 200) return std::nullopt;
    const auto printable = [](unsigned char c) { return c > ' ' && c < 127; };
    if (!std::all_of(answer->body.begin(), answer->body.end(), printable)) return std::nullopt;
    return std::move(answer->body);
  }

  /// Passes the Date header on, so that a clock that is wrong by minutes is reported.
  void NoteTime(const HttpResponse& response) const {
    const auto date = response.Header("date");
    const auto now = date ? ParseHttpDate(*date) : std::nullopt;
    if (now) client_->auth().NoteServerTime(*now);
  }

  const EnvironmentLookup environment_ = ProcessEnvironment();
  const CheckTeller tell_;
  const std::stop_token stop_;
  std::vector<LocationUse> uses_;
  std::shared_ptr<GcsClient> client_;  // shared with stores; null until CheckIdentity succeeded
  std::optional<std::string> metadata_host_;
  std::string region_;  // of this machine; empty: unknown
  std::string member_;  // whom IAM commands grant roles to, in IAM's notation
};

}  // namespace

std::unique_ptr<Checkup> NewGcsCheckup(CheckTeller tell, std::stop_token stop) {
  return std::make_unique<GcsCheckup>(std::move(tell), std::move(stop));
}

}  // namespace pipeline
