#include "stages/tokenizer/training_child.h"

#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "formats/coding.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

namespace {

constexpr std::size_t kPipeBufferBytes = 256 << 10;
constexpr std::uint32_t kEnd = 0xffffffff;
constexpr std::uint32_t kMaxReceivedBytes = 1 << 30;
constexpr std::string_view kWhy = "why: ";  // in front of the last line on stderr
constexpr std::chrono::seconds kGrace{1};

Result<std::map<std::string, std::string>> ReadOptions() {
  std::string line;
  for (int byte = std::getchar(); byte != '\n'; byte = std::getchar()) {
    if (byte == EOF || line.size() > (1 << 20)) return Status(Code::kInvalidArgument, "no options on stdin");
    line.push_back(static_cast<char>(byte));
  }
  ASSIGN_OR_RETURN(const Json json, Json::Parse(line));
  std::map<std::string, std::string> options;
  for (const auto& [name, value] : json.AsObject()) options.emplace(name, value.AsString());
  return options;
}

Result<bool> ReadSentence(std::string& sentence) {
  std::array<char, 4> bytes{};
  if (std::fread(bytes.data(), 1, bytes.size(), stdin) != bytes.size())
    return Status(Code::kDataLoss, "the sentences broke off");
  const std::uint32_t length = Decoder({bytes.data(), bytes.size()}).U32();
  if (length == kEnd) return false;
  if (length > kMaxReceivedBytes) return Status(Code::kDataLoss, "a sentence of more than 1 GiB");
  sentence.resize(length);
  if (std::fread(sentence.data(), 1, length, stdin) != length)
    return Status(Code::kDataLoss, "the sentences broke off");
  return true;
}

Result<std::string> TrainFromStdin() {
  ASSIGN_OR_RETURN(const auto options, ReadOptions());
  return TrainSentencePiece(options, ReadSentence);
}

}  // namespace

int RunTrainingChild() {
  const Result<std::string> model = TrainFromStdin();
  if (!model.ok()) {
    std::fprintf(stderr, "%.*s%s\n", static_cast<int>(kWhy.size()), kWhy.data(),
                 std::string(model.status().message()).c_str());
    return 1;
  }
  const bool written = std::fwrite(model->data(), 1, model->size(), stdout) == model->size();
  return std::fflush(stdout) == 0 && written ? 0 : 1;
}

Result<std::unique_ptr<TrainingChild>> TrainingChild::Start(const std::string& program,
                                                            const std::map<std::string, std::string>& options,
                                                            std::stop_token stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                   ChildProcess::Start({.argv = {program, std::string(kTrainingCommand)}}));
  std::unique_ptr<TrainingChild> training(new TrainingChild(std::move(child), std::move(stop)));
  Json json = Json::Object{};
  for (const auto& [name, value] : options) json[name] = value;
  training->buffer_ = json.Dump() + "\n";
  return training;
}

TrainingChild::TrainingChild(std::unique_ptr<ChildProcess> child, std::stop_token stop)
    : child_(std::move(child)), stop_(std::move(stop)) {}

Status TrainingChild::Add(std::string_view sentence) {
  PutU32(buffer_, static_cast<std::uint32_t>(sentence.size()));
  buffer_.append(sentence);
  return buffer_.size() < kPipeBufferBytes ? Status() : Flush();
}

Status TrainingChild::Flush() {
  Status status = child_->Write(buffer_, stop_);
  buffer_.clear();
  if (status.code() != Code::kUnavailable) return status;
  const Result<std::string> model = Collect();
  return model.ok() ? Status(Code::kInternal, "the training ended before it had all sentences")
                    : model.status();
}

Result<std::string> TrainingChild::Finish() {
  PutU32(buffer_, kEnd);
  RETURN_IF_ERROR(Flush());
  return Collect();
}

Result<std::string> TrainingChild::Collect() {
  child_->CloseInput();
  std::string model;
  std::array<char, 16 << 10> buffer;
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, child_->Read(buffer, stop_));
    if (got == 0) break;
    model.append(buffer.data(), got);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, child_->Wait(stop_, kGrace));
  if (exit.ok()) return model;
  const std::string said = child_->StderrTail();
  const std::size_t line = said.rfind('\n') == std::string::npos ? 0 : said.rfind('\n') + 1;
  const std::string_view last = std::string_view(said).substr(line);
  if (last.starts_with(kWhy)) return Status(Code::kFailedPrecondition, std::string(last.substr(kWhy.size())));
  if (exit.signal == SIGKILL)
    return Status(Code::kResourceExhausted,
                  "the system killed the training: there was not enough memory for it");
  return Status(Code::kInternal, StrCat("the training ", exit.Describe(), "; it said: ", said));
}

}  // namespace pipeline
