#include "storage/remote/gcs/gcs_auth.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include <map>
#include <thread>

#include "base/log.h"
#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/gcs/jwt.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_tokens.h"
#include "tests/support/no_pause.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// A secret goes nowhere by accident.
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
template <class T>
concept Joins = requires(T secret) {
  str_internal::Piece(secret);
};
static_assert(!Joins<Secret> && Joins<std::string>);
template <class T>
concept Prints = requires(std::ostream& out, T secret) {
  out << secret;
};
static_assert(!Prints<Secret>);

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using RsaKey = std::unique_ptr<EVP_PKEY, FreeKey>;

std::string PemOf(EVP_PKEY* key) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string FromBase64Url(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  unsigned bits = 0, held = 0;
  for (const char c : text) {
    held = (held << 6) | static_cast<unsigned>(kDigits.find(c));
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(held >> bits));
  }
  return bytes;
}

/// Collects what is logged while it lives.
class Warnings {
 public:
  Warnings()
      : before_(SetLogSink([this](Level, std::string_view message) { text_.append(message).append("\n"); })) {
  }
  ~Warnings() { SetLogSink(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

/// A clock that began long ago: not everything may be compared with 0.
class LateClock final : public FakeClock {
 public:
  LateClock() { Advance(std::chrono::hours(24 * 365 * 56)); }
};

class GcsAuthTest : public testing::Test {
 protected:
  GcsTokenTools Tools() {
    GcsTokenTools tools{servers_.Client(), servers_.Client()};
    tools.means.clock = &clock_;
    tools.means.pause = &pause_;
    return tools;
  }
  EnvironmentLookup Environment() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  Result<GcsCredentials> Find(const GcsEndpoint& endpoint = {}) {
    return FindGcsCredentials(Environment(), endpoint, Tools(), {}, directory_ / "product_name");
  }
  std::string Key(const std::string& name, const Json& content) {
    std::string path = directory_ / name;
    WriteFile(path, content.DumpPretty());
    chmod(path.c_str(), 0600);
    return path;
  }
  Json User() {
    Json file;
    file["type"] = "authorized_user";
    file["client_id"] = "the-client";
    file["client_secret"] = "the-client-secret";
    file["refresh_token"] = "the-refresh-token";
    return file;
  }
  GcsCredentials Parsed(const Json& file) {
    Result<GcsCredentials> credentials = ParseGcsCredentials(file.Dump(), "key.json");
    EXPECT_TRUE(credentials.ok()) << credentials.status().message();
    return credentials.ok() ? std::move(credentials).value() : GcsCredentials{};
  }
  std::string TokenOf(GcsAuth& auth) {
    const Result<std::optional<Secret>> token = auth.Token({});
    if (!token.ok()) return std::string(token.status().message());
    return *token ? (*token)->Reveal() : "none";
  }

  TempDir directory_;
  FakeTokens servers_;
  LateClock clock_;
  NoPause pause_;
  std::map<std::string, std::string> environment_;
};

TEST_F(GcsAuthTest, FindsTheFileThatIsNamedFirst) {
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Key("named.json", User());
  environment_["CLOUDSDK_CONFIG"] = directory_.path();
  Key("application_default_credentials.json", Json(Json::Object{}));
  const Result<GcsCredentials> found = Find();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->origin, directory_ / "named.json");
}

TEST_F(GcsAuthTest, ANamedFileMustBeGood) {
  environment_["CLOUDSDK_CONFIG"] = directory_.path();
  Key("application_default_credentials.json", User());
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = directory_ / "absent.json";
  EXPECT_EQ(Find().status().code(), Code::kNotFound);
  Json user = User();
  user.Remove("refresh_token");
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Key("half.json", user);
  const Status half = Find().status();
  EXPECT_EQ(half.code(), Code::kInvalidArgument);
  EXPECT_NE(half.message().find("'refresh_token' is missing"), std::string::npos) << half.message();
  EXPECT_NE(half.message().find("gcloud auth application-default login"), std::string::npos);
  EXPECT_EQ(half.message().find("the-client-secret"), std::string::npos);
}

TEST_F(GcsAuthTest, FindsWhatGcloudLeft) {
  environment_["HOME"] = directory_.path();
  std::filesystem::create_directories(directory_ / ".config/gcloud");
  Key(".config/gcloud/application_default_credentials.json", User());
  const Result<GcsCredentials> found = Find();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(std::holds_alternative<AuthorizedUser>(found->kind));
}

TEST_F(GcsAuthTest, FindsTheMetadataServerLast) {
  environment_["HOME"] = directory_.path();
  environment_["GCE_METADATA_IP"] = servers_.host();
  const Result<GcsCredentials> found = Find();
  ASSERT_TRUE(found.ok()) << found.status().message();
  GcsAuth auth(*found, Tools());
  EXPECT_EQ(TokenOf(auth), "fake-metadata-1");
  EXPECT_EQ(servers_.requests("ping"), 1);
}

TEST_F(GcsAuthTest, BelievesTheMachinesNameWithoutAsking) {
  WriteFile(directory_ / "product_name", "Google Compute Engine\n");
  const Result<GcsCredentials> found = Find();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(servers_.requests("ping"), 0);
  GcsAuth auth(*found, Tools());
  EXPECT_EQ(TokenOf(auth), "fake-metadata-1");
}

TEST_F(GcsAuthTest, NamesTheCommandWhereThereIsNothing) {
  environment_["NO_GCE_CHECK"] = "true";
  const Status none = Find().status();
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_NE(none.message().find("run: gcloud auth application-default login"), std::string::npos);
  EXPECT_NE(none.message().find("gcloud auth login alone does not"), std::string::npos);
}

TEST_F(GcsAuthTest, AsksNobodyAtAnEmulator) {
  environment_["STORAGE_EMULATOR_HOST"] = "localhost:9000";
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = directory_ / "absent.json";
  const Result<GcsEndpoint> endpoint = FindGcsEndpoint(Environment());
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->url, "http://localhost:9000");
  const Result<GcsCredentials> found = Find(*endpoint);
  ASSERT_TRUE(found.ok());
  GcsAuth auth(*found, Tools());
  EXPECT_EQ(TokenOf(auth), "none");
}

TEST_F(GcsAuthTest, SendsNoTokenForAllToRead) {
  environment_["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = "http://127.0.0.1:9000/storage/v1/";
  EXPECT_EQ(FindGcsEndpoint(Environment())->url, "http://127.0.0.1:9000");
  environment_["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = "https://storage.example/storage/v1/";
  EXPECT_EQ(FindGcsEndpoint(Environment())->url, "https://storage.example");
  for (const char* elsewhere : {"http://storage.example/", "http://127.evil.example@storage.example",
                                "http://localhost.example/", "ftp://127.0.0.1/"}) {
    environment_["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = elsewhere;
    EXPECT_EQ(FindGcsEndpoint(Environment()).status().code(), Code::kInvalidArgument) << elsewhere;
  }
}

TEST_F(GcsAuthTest, WarnsOfAKeyThatEverybodyCanRead) {
  const std::string path = Key("open.json", User());
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = path;
  {
    const Warnings warnings;
    EXPECT_TRUE(Find().ok());
    EXPECT_EQ(warnings.text(), "");
  }
  chmod(path.c_str(), 0644);
  const Warnings warnings;
  EXPECT_TRUE(Find().ok());
  EXPECT_NE(warnings.text().find("chmod 600 " + path), std::string::npos) << warnings.text();
}

TEST_F(GcsAuthTest, SignsForAServiceAccountByItself) {
  const RsaKey key(EVP_RSA_gen(2048));
  Json file;
  file["type"] = "service_account";
  file["client_email"] = "shards@project.iam.gserviceaccount.com";
  file["private_key_id"] = "key-7";
  file["private_key"] = PemOf(key.get());
  GcsAuth auth(Parsed(file), Tools());
  const std::string token = TokenOf(auth);
  const std::size_t first = token.find('.'), second = token.rfind('.');
  ASSERT_LT(first, second);
  const Result<Json> header = Json::Parse(FromBase64Url(token.substr(0, first)));
  const Result<Json> claims = Json::Parse(FromBase64Url(token.substr(first + 1, second - first - 1)));
  ASSERT_TRUE(header.ok() && claims.ok());
  EXPECT_EQ((*header)["alg"], Json("RS256"));
  EXPECT_EQ((*header)["kid"], Json("key-7"));
  EXPECT_EQ((*claims)["iss"], Json("shards@project.iam.gserviceaccount.com"));
  EXPECT_EQ((*claims)["sub"], (*claims)["iss"]);
  EXPECT_EQ((*claims)["scope"], Json("https://www.googleapis.com/auth/cloud-platform"));
  EXPECT_FALSE(claims->Has("aud"));
  EXPECT_EQ((*claims)["iat"].AsInt(), clock_.UnixMillis() / 1000);
  EXPECT_EQ((*claims)["exp"].AsInt() - (*claims)["iat"].AsInt(), 3600);

  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const std::string signature = FromBase64Url(token.substr(second + 1));
  EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key.get());
  EXPECT_EQ(EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                             signature.size(), reinterpret_cast<const unsigned char*>(token.data()), second),
            1);
  EVP_MD_CTX_free(context);
}

TEST_F(GcsAuthTest, AMalformedKeyIsNamedAndNotShown) {
  const RsaKey curve(EVP_EC_gen("P-256"));
  for (const std::string& key : {std::string("very-secret-text"), PemOf(curve.get())}) {
    const Result<Secret> token = SignJwt(Json(Json::Object{}), Json(Json::Object{}), Secret(key));
    EXPECT_EQ(token.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(token.status().message().find(key.substr(0, 20)), std::string::npos);
  }
}

TEST_F(GcsAuthTest, RefreshesAUsersTokenAheadOfItsEnd) {
  GcsAuth auth(Parsed(User()), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-oauth-1");
  EXPECT_EQ(servers_.last_body("oauth"),
            "grant_type=refresh_token&client_id=the-client&client_secret=the-client-secret"
            "&refresh_token=the-refresh-token");
  clock_.Advance(minutes(56));
  EXPECT_EQ(TokenOf(auth), "fake-oauth-1");
  clock_.Advance(seconds(16));  // 3 min 44 s are left
  EXPECT_EQ(TokenOf(auth), "fake-oauth-2");
}

TEST_F(GcsAuthTest, GoesOnWithWhatIsGoodWhileNobodyAnswers) {
  GcsAuth auth(Parsed(User()), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-oauth-1");
  clock_.Advance(minutes(58));
  servers_.Fail("oauth", 503, 1000);
  EXPECT_EQ(TokenOf(auth), "fake-oauth-1");
  clock_.Advance(minutes(3));
  EXPECT_NE(TokenOf(auth).find("answered with status 503"), std::string::npos);
  EXPECT_EQ(auth.Token({}).status().code(), Code::kUnavailable);
}

TEST_F(GcsAuthTest, TakesAFailureThatPassesForOne) {
  servers_.Fail("oauth", 503, 2);
  GcsAuth auth(Parsed(User()), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-oauth-3");
  EXPECT_EQ(pause_.waits().size(), 2u);
}

TEST_F(GcsAuthTest, ManyAskForOneToken) {
  servers_.Hold("oauth");
  GcsAuth auth(Parsed(User()), Tools());
  std::vector<std::string> tokens(8);
  std::vector<std::thread> threads;
  for (std::string& token : tokens) threads.emplace_back([&] { token = TokenOf(auth); });
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(auth.Token(stop.get_token()).status().code(), Code::kCancelled);
  servers_.Release();
  for (std::thread& thread : threads) thread.join();
  // Whoever came first may have been the one that was stopped: then another asked in its place.
  for (const std::string& token : tokens) EXPECT_EQ(token, tokens[0]);
  EXPECT_LE(servers_.requests("oauth"), 2);
}

TEST_F(GcsAuthTest, ARejectedTokenIsNotUsedAgain) {
  GcsAuth auth(Parsed(User()), Tools());
  const Secret first = **auth.Token({});
  auth.Reject(first);
  EXPECT_EQ(TokenOf(auth), "fake-oauth-2");
  auth.Reject(first);  // by somebody who was slow: the second is good
  EXPECT_EQ(TokenOf(auth), "fake-oauth-2");
}

TEST_F(GcsAuthTest, TellsWhoeverMustSignInAgain) {
  servers_.Fail("oauth", 400, 1, "invalid_grant");
  GcsAuth auth(Parsed(User()), Tools());
  const Status refused = auth.Token({}).status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find("invalid_grant"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("gcloud auth application-default login"), std::string::npos);
  EXPECT_EQ(refused.message().find("the-refresh-token"), std::string::npos);
}

TEST_F(GcsAuthTest, AMetadataServersShortTokenIsUsed) {
  servers_.SetLifetime(seconds(100));
  GcsAuth auth({MetadataAccount{servers_.host()}, "metadata server"}, Tools());
  EXPECT_EQ(TokenOf(auth), "fake-metadata-1");
  clock_.Advance(seconds(40));
  EXPECT_EQ(TokenOf(auth), "fake-metadata-1") << "asks at every request";
  clock_.Advance(seconds(20));
  EXPECT_EQ(TokenOf(auth), "fake-metadata-2");
}

TEST_F(GcsAuthTest, SaysWhatAMetadataServerLacks) {
  GcsAuth auth({MetadataAccount{servers_.host()}, "metadata server"}, Tools());
  servers_.Fail("metadata", 404, 1);
  EXPECT_NE(TokenOf(auth).find("has no service account"), std::string::npos);
  servers_.ForgetFlavor();
  EXPECT_NE(TokenOf(auth).find("is no metadata server"), std::string::npos);
}

TEST_F(GcsAuthTest, ASlowMetadataServerIsWaitedForAndCanBeLeft) {
  servers_.Hold("metadata");
  GcsAuth auth({MetadataAccount{servers_.host()}, "metadata server"}, Tools());
  std::stop_source stop;
  std::thread waits([&] { EXPECT_EQ(auth.Token(stop.get_token()).status().code(), Code::kCancelled); });
  while (servers_.requests("metadata") == 0) std::this_thread::yield();
  stop.request_stop();
  waits.join();
  std::string token;
  std::thread waits_again([&] { token = TokenOf(auth); });
  servers_.Release();
  waits_again.join();
  EXPECT_TRUE(servers_.Knows(token)) << token;
}

Json External(const Json& source) {
  Json file;
  file["type"] = "external_account";
  file["audience"] = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";
  file["subject_token_type"] = "urn:ietf:params:oauth:token-type:jwt";
  file["token_url"] = "https://sts.googleapis.com/v1/token";
  file["credential_source"] = source;
  return file;
}

TEST_F(GcsAuthTest, ExchangesATokenFromAFileThatIsRenewed) {
  WriteFile(directory_ / "subject", "first-subject\n");
  Json source;
  source["file"] = directory_ / "subject";
  GcsAuth auth(Parsed(External(source)), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-sts-1");
  EXPECT_NE(servers_.last_body("sts").find("subject_token=first-subject&"), std::string::npos);
  WriteFile(directory_ / "subject", "second-subject\n");
  clock_.Advance(minutes(59));
  EXPECT_EQ(TokenOf(auth), "fake-sts-2");
  EXPECT_NE(servers_.last_body("sts").find("subject_token=second-subject&"), std::string::npos);
}

TEST_F(GcsAuthTest, ExchangesATokenFromAServerAndImpersonates) {
  Json source;
  source["url"] = servers_.url() + "/subject";
  source["headers"]["X-Mine"] = "yes";
  source["format"]["type"] = "json";
  source["format"]["subject_token_field_name"] = "value";
  Json file = External(source);
  file["service_account_impersonation_url"] =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken";
  GcsAuth auth(Parsed(file), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-impersonate-1");
  EXPECT_NE(servers_.last_body("sts").find("subject_token=fake-subject-1&"), std::string::npos);
  EXPECT_EQ(servers_.last_authorization("impersonate"), "Bearer fake-sts-1");
}

TEST_F(GcsAuthTest, ImpersonatesWithDelegates) {
  Json file;
  file["type"] = "impersonated_service_account";
  file["service_account_impersonation_url"] =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken";
  file["delegates"].Append("projects/-/serviceAccounts/c@d");
  file["source_credentials"] = User();
  GcsAuth auth(Parsed(file), Tools());
  EXPECT_EQ(TokenOf(auth), "fake-impersonate-1");
  EXPECT_EQ(servers_.last_authorization("impersonate"), "Bearer fake-oauth-1");
  EXPECT_NE(servers_.last_body("impersonate").find("projects/-/serviceAccounts/c@d"), std::string::npos);
  servers_.Fail("impersonate", 403, 1);
  auth.Reject(Secret("fake-impersonate-1"));
  EXPECT_NE(TokenOf(auth).find("roles/iam.serviceAccountTokenCreator"), std::string::npos);
}

TEST_F(GcsAuthTest, SendsSecretsToGoogleOnly) {
  Json source;
  source["file"] = "/nowhere";
  for (const char* url :
       {"http://sts.googleapis.com/v1/token", "https://sts.googleapis.com.evil.example/",
        "https://evil.example/sts.googleapis.com", "https://x@sts.googleapis.com/",
        "https://sts.googleapis.com:8443/", "https://googleapis.com/", "https://.googleapis.com"}) {
    EXPECT_FALSE(IsGoogleUrl(url) && std::string_view(url) != "https://.googleapis.com") << url;
    Json file = External(source);
    file["token_url"] = url;
    if (IsGoogleUrl(url)) continue;
    const Status refused = ParseGcsCredentials(file.Dump(), "key.json").status();
    EXPECT_NE(refused.message().find("'token_url' leads to a server that is not Google's"),
              std::string::npos);
  }
}

TEST_F(GcsAuthTest, SaysWhatAFileIsInstead) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"installed\": {}}", "identifier of an OAuth client"},
      {"{\"type\": \"gdch_service_account\"}", "not supported"},
      {"{}", "'type' is missing"},
      {"[]", "is no JSON object"},
      {"{\"private_key\": \"-----BEGIN", "is no JSON"},
      {"", "is no JSON"},
      {"{\"type\":\"external_account\",\"audience\":\"a\",\"subject_token_type\":\"t\",\"token_url\":"
       "\"https://sts.googleapis.com/v1/token\",\"credential_source\":{\"executable\":{\"command\":\"x\"}}}",
       "programs, certificates"}};
  for (const auto& [text, expected] : cases) {
    const Status refused = ParseGcsCredentials(text, "key.json").status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_NE(refused.message().find(expected), std::string::npos) << refused.message();
    EXPECT_EQ(refused.message().find("BEGIN"), std::string::npos);
  }
}

TEST_F(GcsAuthTest, DatesTokensByTheServersWhereOurClockIsWrong) {
  const RsaKey key(EVP_RSA_gen(2048));
  Json file;
  file["type"] = "service_account";
  file["client_email"] = "a@b";
  file["private_key_id"] = "k";
  file["private_key"] = PemOf(key.get());
  GcsAuth auth(Parsed(file), Tools());
  const std::int64_t now = clock_.UnixMillis() / 1000;
  const Warnings warnings;
  EXPECT_FALSE(auth.NoteServerTime(now + 200));
  EXPECT_TRUE(auth.NoteServerTime(now + 600));
  EXPECT_TRUE(auth.NoteServerTime(now + 601));
  EXPECT_EQ(warnings.text(),
            "this machine's clock is 600 seconds behind that of Google Cloud Storage; set it, for "
            "example with: timedatectl set-ntp true\n");
  const std::string token = TokenOf(auth);
  const std::size_t first = token.find('.');
  const Result<Json> claims =
      Json::Parse(FromBase64Url(token.substr(first + 1, token.rfind('.') - first - 1)));
  ASSERT_TRUE(claims.ok());
  EXPECT_EQ((*claims)["iat"].AsInt(), now + 600);
}

}  // namespace
}  // namespace pipeline
