// The fake TPU API over HTTP on loopback. Prints {"url": …}; ends at SIGTERM, with {"left": […], "requests":
// N}.
//
//   fake_tpu [--speed F]      simulated seconds for each real one (1)
//
// POST /fake/fault {"method","part","kind","seconds","status","word","message","times"}; GET
// /fake/preempt?id=, /fake/state?id=&state=, /fake/capacity?zone=&machines=, /fake/person?zone=&id=,
// /fake/quota?zone=, /fake/requests,
// /fake/tokens
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/words.h"
#include "tests/support/fake_tpu.h"
#include "tests/support/http_server.h"

namespace pipeline {
namespace {

TpuFault FaultOf(const Json& told) {
  TpuFault fault;
  fault.method = told["method"].AsString();
  fault.part = told["part"].AsString();
  const std::string_view kind = told["kind"].AsString();
  fault.kind = kind == "drop_after"  ? TpuFault::Kind::kDropAfter
               : kind == "drop_late" ? TpuFault::Kind::kDropLate
               : kind == "answer"    ? TpuFault::Kind::kAnswer
               : kind == "lie"       ? TpuFault::Kind::kLie
                                     : TpuFault::Kind::kDropBefore;
  fault.seconds = told["seconds"].AsInt();
  fault.status = static_cast<int>(told["status"].AsInt());
  fault.word = told["word"].AsString();
  fault.message = told["message"].AsString();
  fault.times = static_cast<int>(told["times"].AsInt(1));
  return fault;
}

/// "DELETE Bearer …": what came with each request that had a token. Guarded by `told_mutex`.
std::vector<std::string> told_tokens;
std::mutex told_mutex;

std::string Control(FakeTpu& fake, const ServedRequest& request, const std::string& body) {
  const auto argument = [&](const char* name) { return request.Argument(name).value_or(""); };
  const std::string& path = request.path;
  if (path == "/fake/fault") fake.Fail(FaultOf(*Json::Parse(body)));
  if (path == "/fake/preempt") fake.Preempt(argument("id"));
  if (path == "/fake/state") fake.SetState(argument("id"), argument("state"));
  if (path == "/fake/person") fake.AddPersonsNode(argument("zone"), argument("id"));
  if (path == "/fake/quota") fake.RefuseQuota(argument("zone"));
  if (path == "/fake/capacity")
    fake.SetCapacity(argument("zone"), ParseNumber<int>(argument("machines")).value_or(0));
  Json answer{Json::Array{}};
  if (path == "/fake/requests")
    for (const std::string& one : fake.Requests()) answer.Append(one);
  const std::scoped_lock lock(told_mutex);
  if (path == "/fake/tokens")
    for (const std::string& one : told_tokens) answer.Append(one);
  return answer.Dump();
}

void Serve(FakeTpu& fake, ServedExchange& exchange) {
  const ServedRequest& request = exchange.request();
  std::string body;
  if (!exchange.ReadWholeBody(body)) return;
  if (request.path.starts_with("/fake/")) {
    exchange.Answer(200, {}, Control(fake, request, body));
    return;
  }
  if (const std::string_view token = request.Header("authorization"); !token.empty()) {
    const std::scoped_lock lock(told_mutex);
    told_tokens.push_back(request.method + " " + std::string(token));
  }
  const FakeTpu::Answer answer = fake.Handle(
      request.method, request.query.empty() ? request.path : request.path + "?" + request.query, body);
  if (answer.status == 0) return exchange.Reset();
  exchange.Answer(answer.status, {{"Content-Type", "application/json"}, {"Date", HttpDate(fake.now())}},
                  answer.body);
}

}  // namespace
}  // namespace pipeline

int main(int argc, char** argv) {
  using namespace pipeline;
  double speed = 1;
  for (int at = 1; at + 1 < argc; at += 2)
    if (std::string_view(argv[at]) == "--speed") speed = std::atof(argv[at + 1]);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  FakeTpu fake;
  std::jthread time([&](const std::stop_token& stop) {
    const auto began = std::chrono::steady_clock::now();
    std::int64_t passed = 0;
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::chrono::duration<double> real = std::chrono::steady_clock::now() - began;
      const auto now = static_cast<std::int64_t>(real.count() * speed);
      if (now > passed) fake.Advance(std::chrono::seconds(now - passed));
      passed = now;
    }
  });
  const auto server = HttpServer::Start([&](ServedExchange& exchange) { Serve(fake, exchange); });
  Json told;
  told["url"] = server->url();
  std::printf("%s\n", told.Dump().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  Json over;
  over["left"] = Json(Json::Array{});
  for (const FakeTpu::Machine& machine : fake.Left()) over["left"].Append(machine.id);
  over["persons_lost"] = fake.PersonsLost();
  std::printf("%s\n", over.Dump().c_str());
  return 0;
}
