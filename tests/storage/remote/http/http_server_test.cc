// The test's own server speaks to a plain socket here, so that what the client is tested against is tested
// itself.
#include "tests/support/http_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "base/str.h"

namespace pipeline {
namespace {

/// A client that knows nothing of HTTP.
class PlainClient {
 public:
  explicit PlainClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  void Send(std::string_view bytes) {
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Until `end` has been read, or the connection ends.
  std::string ReadTo(std::string_view end) {
    std::string read;
    char byte = 0;
    while (read.size() < end.size() || read.substr(read.size() - end.size()) != end) {
      last_ = recv(socket_.get(), &byte, 1, 0);
      if (last_ <= 0) break;
      read.push_back(byte);
    }
    return read;
  }
  std::string ReadToEnd() { return ReadTo(std::string(1 << 20, 'x')); }
  bool was_reset() const { return last_ < 0; }

 private:
  FileDescriptor socket_;
  ssize_t last_ = 0;
};

void Echo(ServedExchange& exchange) {
  std::string body;
  if (!exchange.ReadWholeBody(body)) return;
  const ServedRequest& request = exchange.request();
  exchange.Answer(200, {{"X-Name", request.Argument("name").value_or("none")}},
                  StrCat(request.method, " ", request.path, " ", body));
}

TEST(HttpServerTest, AnswersOneRequestAfterAnotherOnOneConnection) {
  const auto server = HttpServer::Start(Echo);
  PlainClient client(server->port());
  client.Send("GET /a%20b?x=1&name=c%2Fd+e HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.ReadTo("/a%20b "),
            "HTTP/1.1 200 Said So\r\nX-Name: c/d e\r\nContent-Length: 11\r\n\r\nGET /a%20b ");
  client.Send(
      "POST /p HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyPOST /q HTTP/1.1\r\ntransfer-encoding: "
      "chunked\r\n\r\n");
  EXPECT_NE(client.ReadTo("POST /p body").find("200"), std::string::npos);
  client.Send("3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n");
  EXPECT_NE(client.ReadTo("POST /q abc0123456789").find("200"), std::string::npos);
  EXPECT_EQ(server->connections(), 1);
}

TEST(HttpServerTest, AsksForTheBodyWhenTheClientWaitsToBeAsked) {
  const auto server = HttpServer::Start(Echo);
  PlainClient client(server->port());
  client.Send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_NE(client.ReadTo("PUT / ok").find("200"), std::string::npos);
}

TEST(HttpServerTest, ABodyOfUnknownLengthGoesOutInChunks) {
  const auto server = HttpServer::Start([](ServedExchange& exchange) {
    exchange.Begin(200, {}, std::nullopt);
    exchange.Write("0123456789abcdefg");
    exchange.Write("end");
  });
  PlainClient client(server->port());
  client.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.ReadTo("0\r\n\r\n"),
            "HTTP/1.1 200 Said So\r\nTransfer-Encoding: chunked\r\n\r\n"
            "11\r\n0123456789abcdefg\r\n3\r\nend\r\n0\r\n\r\n");
}

TEST(HttpServerTest, SendsNoBodyWhereThereIsNone) {
  const auto server = HttpServer::Start([](ServedExchange& exchange) {
    exchange.Begin(103, {{"Link", "x"}}, std::nullopt);
    exchange.Answer(exchange.request().method == "HEAD" ? 200 : 204, {}, "unseen");
  });
  PlainClient client(server->port());
  client.Send("HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.ReadToEnd(),
            "HTTP/1.1 103 Said So\r\nLink: x\r\n\r\nHTTP/1.1 200 Said So\r\nContent-Length: 6\r\n\r\n"
            "HTTP/1.1 103 Said So\r\nLink: x\r\n\r\nHTTP/1.1 204 Said So\r\n\r\n");
}

TEST(HttpServerTest, BreaksAsItIsTold) {
  const auto server = HttpServer::Start([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path == "/raw") {
      exchange.WriteRaw("HTTP/9 what\r\n\r\n");
      return;
    }
    exchange.Begin(200, {}, 100);
    exchange.Write("half");
    if (path == "/reset") exchange.Reset();
    EXPECT_NE(exchange.Write("more"), path == "/reset");
  });
  const auto answer_to = [&](std::string_view path) {
    PlainClient client(server->port());
    client.Send(StrCat("GET ", path, " HTTP/1.1\r\n\r\n"));
    const std::string answer = client.ReadToEnd();
    EXPECT_EQ(client.was_reset(), path == "/reset");
    return answer;
  };
  EXPECT_EQ(answer_to("/raw"), "HTTP/9 what\r\n\r\n");
  EXPECT_EQ(answer_to("/short").substr(45), "halfmore");
  answer_to("/reset");
}

TEST(HttpServerTest, RefusesWhatIsTooLargeOrNoRequest) {
  const auto server = HttpServer::Start(Echo);
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n")}) {
    PlainClient client(server->port());
    client.Send(request);
    EXPECT_EQ(client.ReadToEnd().substr(0, 12), "HTTP/1.1 400") << request;
  }
  PlainClient client(server->port());
  client.Send(std::string(100 << 10, 'x'));
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST(HttpServerTest, EndsWhileAHandlerStallsAndAClientWaits) {
  std::unique_ptr<PlainClient> client;
  {
    const auto server = HttpServer::Start([](ServedExchange& exchange) {
      exchange.Begin(200, {}, 1);
      exchange.Stall(std::chrono::hours(1));
    });
    client = std::make_unique<PlainClient>(server->port());
    client->Send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_NE(client->ReadTo("\r\n\r\n"), "");
  }
  EXPECT_EQ(client->ReadToEnd(), "");
}

}  // namespace
}  // namespace pipeline
