// budget: flat table
#include "plugins/train/config/trainer_keys.h"

#include <string_view>

namespace pipeline {

namespace {

constexpr std::string_view kTrainerKeys = R"json({"sections": {
 "model": {
  "family": {"type": "text", "choices": ["llama", "lm1b", "bert", "t5"], "default": "llama"},
  "layers": {"type": "whole", "low": 1, "default": 2},
  "d": {"type": "whole", "low": 1, "default": 128},
  "heads": {"type": "whole", "low": 1, "default": 4},
  "kv_heads": {"type": "whole", "low": 1, "null": true, "default": null},
  "head_dim": {"type": "whole", "low": 2, "null": true, "default": null},
  "ff": {"type": "whole", "low": 1, "default": 352},
  "experts": {"type": "whole", "low": 0, "default": 0},
  "expert_every": {"type": "whole", "low": 1, "default": 4},
  "expert_top": {"type": "whole", "low": 1, "default": 2},
  "expert_capacity": {"type": "number", "above": 0.0, "default": 1.25},
  "expert_eval_capacity": {"type": "number", "above": 0.0, "default": 2.0},
  "vocab": {"type": "whole", "low": 2, "null": true, "default": null},
  "seq_len": {"type": "whole", "low": 1, "null": true, "default": null},
  "tied": {"type": "flag", "default": true},
  "rope_theta": {"type": "number", "above": 0.0, "default": 10000.0},
  "norm_eps": {"type": "number", "above": 0.0, "default": 1e-05},
  "exact_gelu": {"type": "flag", "default": false},
  "gated": {"type": "flag", "default": true},
  "next_sentence": {"type": "flag", "default": false},
  "classes": {"type": "whole", "low": 2, "null": true, "default": null},
  "init_std": {"type": "number", "above": 0.0, "default": 0.02},
  "compute": {"type": "text", "choices": ["auto", "float32", "bfloat16"], "default": "auto"},
  "gradients": {"type": "text", "choices": ["float32", "compute"], "default": "float32"},
  "attention": {"type": "text", "choices": ["auto", "reference", "dense", "splash", "cudnn"], "default": "auto"},
  "remat": {"type": "text", "choices": ["none", "dots", "full"], "auto": true, "default": "none"},
  "unroll": {"type": "whole", "low": 1, "null": true, "default": null},
  "loss_chunk": {"type": "whole", "low": 0, "null": true, "default": null},
  "eos": {"type": "whole", "low": 0, "default": 2},
  "begin": {"type": "whole", "low": 0, "null": true, "default": null}},
 "objective": {
  "name": {"type": "text", "choices": ["causal", "masked", "next_sentence", "spans", "prefix", "classes", "regression"], "default": "causal"},
  "random": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.1},
  "keep": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.1},
  "share": {"type": "number", "above": 0.0, "below": 1.0, "default": 0.15},
  "mask_id": {"type": "whole", "low": 0, "null": true, "default": null},
  "whole_words": {"type": "flag", "default": false},
  "span": {"type": "number", "low": 1.0, "default": 3.0},
  "sentinels": {"type": "whole", "low": 1, "null": true, "default": null},
  "sentinel": {"type": "whole", "low": 0, "null": true, "default": null},
  "start": {"type": "whole", "low": 0, "null": true, "default": null}},
 "optimizer": {
  "name": {"type": "text", "choices": ["adamw", "adafactor", "amos", "muon"], "default": "adamw"},
  "lr": {"type": "number", "above": 0.0, "default": 0.001},
  "b1": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.9},
  "b2": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.95},
  "eps": {"type": "number", "above": 0.0, "default": 1e-08},
  "weight_decay": {"type": "number", "low": 0.0, "default": 0.1},
  "clip": {"type": "number", "low": 0.0, "default": 1.0},
  "momentum": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0},
  "b2_exponent": {"type": "number", "above": 0.0, "default": 0.8},
  "threshold": {"type": "number", "above": 0.0, "default": 1.0},
  "parameter_scale": {"type": "flag", "default": false}},
 "regularizers": {
  "dropout": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0},
  "label_smoothing": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0},
  "z_loss": {"type": "number", "low": 0.0, "default": 0.0},
  "balance": {"type": "number", "low": 0.0, "default": 0.01},
  "router_z": {"type": "number", "low": 0.0, "default": 0.0001},
  "ema": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0}},
 "lora": {
  "rank": {"type": "whole", "low": 0, "default": 0},
  "alpha": {"type": "number", "above": 0.0, "default": 16.0},
  "targets": {"type": "names", "default": ["wq", "wk", "wv", "wo"]}},
 "pruning": {
  "share": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0},
  "begin": {"type": "number", "low": 0.0, "default": 0.2},
  "end": {"type": "number", "low": 0.0, "default": 0.6},
  "every": {"type": "whole", "low": 1, "default": 100}},
 "schedule": {
  "name": {"type": "text", "choices": ["wsd", "cosine", "linear", "rsqrt", "const"], "default": "wsd"},
  "warmup": {"type": "number", "low": 0.0, "default": 0.02},
  "decay": {"type": "number", "low": 0.0, "default": 0.2},
  "final": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.0}},
 "batch": {
  "rows": {"type": "whole", "low": 1, "default": 8},
  "micro": {"type": "whole", "low": 1, "auto": true, "default": 1}},
 "mesh": {
  "data": {"type": "whole", "low": 1, "auto": true, "null": true, "default": null},
  "fsdp": {"type": "whole", "low": 1, "auto": true, "default": 1},
  "tensor": {"type": "whole", "low": 1, "auto": true, "default": 1}},
 "data": {
  "native": {"type": "flag", "null": true, "default": null},
  "allow_change": {"type": "flag", "default": false}},
 "guard": {
  "window": {"type": "whole", "low": 8, "default": 128},
  "sigmas": {"type": "number", "low": 0.0, "default": 6.0},
  "max_skips": {"type": "whole", "low": 0, "default": 8},
  "max_rewinds": {"type": "whole", "low": 0, "default": 3},
  "lr_factor": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.5}},
 "eval": {
  "rows": {"type": "whole", "low": 0, "null": true, "default": null},
  "batch": {"type": "whole", "low": 1, "null": true, "default": null},
  "metric": {"type": "text", "choices": ["loss", "accuracy", "balanced_accuracy", "macro_f1", "matthews", "rmse", "mae", "pearson", "spearman"], "default": "loss"},
  "each_epoch": {"type": "flag", "default": false},
  "sample_tokens": {"type": "whole", "low": 0, "default": 64},
  "temperature": {"type": "number", "low": 0.0, "default": 0.8},
  "top_p": {"type": "number", "low": 0.0, "high": 1.0, "default": 0.95}},
 "export": {
  "prune": {"type": "number", "low": 0.0, "below": 1.0, "default": 0.0},
  "int8": {"type": "flag", "default": false},
  "gguf": {"type": "text", "choices": ["none", "f16", "q8_0", "both"], "default": "none"}}},
"presets": {
 "tiny": {"model": {"layers": 2, "d": 64, "heads": 4, "ff": 176}, "optimizer": {"lr": 0.004, "b2": 0.99}, "schedule": {"decay": 0.5}},
 "tiny-masked": {"model": {"family": "bert", "layers": 2, "d": 64, "heads": 4, "ff": 256}, "objective": {"name": "masked"}, "optimizer": {"name": "muon", "lr": 0.012, "b2": 0.99}, "schedule": {"decay": 0.5}},
 "tiny-spans": {"model": {"family": "t5", "layers": 2, "d": 64, "heads": 4, "ff": 176, "tied": false, "norm_eps": 1e-06}, "objective": {"name": "spans"}, "optimizer": {"name": "muon", "lr": 0.008, "b2": 0.99}, "schedule": {"decay": 0.5}},
 "quickstart": {"model": {"layers": 4, "d": 128, "heads": 4, "ff": 352}, "optimizer": {"lr": 0.004, "b2": 0.99}, "schedule": {"decay": 0.5}},
 "lm1b": {"model": {"family": "lm1b", "layers": 6, "d": 512, "heads": 8, "ff": 2048, "tied": false, "norm_eps": 1e-06}, "optimizer": {"lr": 0.0016, "b2": 0.98, "eps": 1e-09, "clip": 0.0}, "regularizers": {"dropout": 0.1}, "schedule": {"name": "rsqrt", "warmup": 1000}, "batch": {"rows": 256}},
 "bert-base": {"model": {"family": "bert", "layers": 12, "d": 768, "heads": 12, "ff": 3072, "norm_eps": 1e-12}, "objective": {"name": "masked"}, "optimizer": {"lr": 0.0001, "b2": 0.999, "eps": 1e-06, "weight_decay": 0.01}, "regularizers": {"dropout": 0.1}, "schedule": {"name": "linear", "warmup": 10000}, "batch": {"rows": 256}},
 "jestimator": {"model": {"family": "bert", "layers": 12, "d": 768, "heads": 12, "ff": 3072, "norm_eps": 1e-12}, "objective": {"name": "masked", "random": 0.0, "keep": 0.0}, "optimizer": {"name": "amos", "lr": 0.005, "b2": 0.999, "clip": 0.0}, "regularizers": {"dropout": 0.1}, "schedule": {"name": "const", "warmup": 10000}, "batch": {"rows": 256}},
 "t5-small": {"model": {"family": "t5", "layers": 8, "d": 512, "heads": 6, "head_dim": 64, "ff": 1024, "tied": false, "norm_eps": 1e-06}, "objective": {"name": "spans"}, "optimizer": {"name": "adafactor", "lr": 0.01, "weight_decay": 0.0, "clip": 0.0, "parameter_scale": true}, "schedule": {"name": "rsqrt", "warmup": 10000}, "batch": {"rows": 256}},
 "t5-base": {"model": {"family": "t5", "layers": 12, "d": 768, "heads": 12, "ff": 2048, "tied": false, "norm_eps": 1e-06}, "objective": {"name": "spans"}, "optimizer": {"name": "adafactor", "lr": 0.01, "weight_decay": 0.0, "clip": 0.0, "parameter_scale": true}, "schedule": {"name": "rsqrt", "warmup": 10000}, "batch": {"rows": 256}},
 "kc-moe": {"model": {"family": "t5", "layers": 12, "d": 768, "heads": 12, "ff": 2048, "tied": false, "norm_eps": 1e-06, "experts": 16}, "objective": {"name": "spans"}, "optimizer": {"name": "adafactor", "lr": 0.01, "weight_decay": 0.0, "clip": 0.0, "parameter_scale": true}, "schedule": {"name": "rsqrt", "warmup": 10000}, "batch": {"rows": 256}, "regularizers": {"z_loss": 0.0001}},
 "ja-0.1b": {"model": {"layers": 12, "d": 768, "heads": 6, "head_dim": 128, "ff": 2048}, "optimizer": {"lr": 0.0015}, "batch": {"rows": 256}},
 "ja-1b": {"model": {"layers": 20, "d": 2048, "heads": 16, "kv_heads": 4, "head_dim": 128, "ff": 5632, "remat": "dots"}, "optimizer": {"lr": 0.0006}, "batch": {"rows": 512}},
 "ja-3b": {"model": {"layers": 28, "d": 3072, "heads": 24, "kv_heads": 8, "head_dim": 128, "ff": 8192, "remat": "full"}, "optimizer": {"lr": 0.0004}, "batch": {"rows": 512}},
 "ja-7b": {"model": {"layers": 32, "d": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ff": 14336, "remat": "full"}, "optimizer": {"lr": 0.0003}, "batch": {"rows": 512}}},
"optimizers": {
 "adamw": ["b1", "b2", "eps", "weight_decay"],
 "adafactor": ["weight_decay", "momentum", "b2_exponent", "threshold", "parameter_scale"],
 "amos": ["b2", "momentum"],
 "muon": ["b1", "b2", "eps", "weight_decay", "momentum"]},
"own_defaults": {
 "amos": {"lr": 0.005, "b2": 0.999},
 "muon": {"momentum": 0.95}},
"families": {
 "llama": {"objectives": ["causal"], "experts": false},
 "lm1b": {"objectives": ["causal"], "experts": false},
 "bert": {"objectives": ["masked", "next_sentence", "classes", "regression"], "experts": false},
 "t5": {"objectives": ["spans", "prefix"], "experts": true}},
"model_types": {
 "llama": "llama",
 "bert": "bert",
 "t5": "t5",
 "pipe_t5_experts": "t5"}})json";

}  // namespace

const Json& TrainerKeys() {
  static const Json keys = Json::Parse(kTrainerKeys).value();
  return keys;
}

}  // namespace pipeline
