// budget: flat table
#include "plugins/train/external/preset_flags.h"

#include <array>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

// A table has these lines:
//   form ...                          of a word of the command
//   source FILE KIND NAME=PREFIX...   the file of the repository that defines the next flags, for
//                                     tests/plugins/train/external/preset_sources.py; by_hand: not for it
//   NAME TYPE [required] [= DEFAULT]  a flag; a default that is no literal, or is long, is left out
// Repositories and commits are those of presets.cc.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTables = {{
    {"transformer-lm-japanese", R"table(
form --NAME=VALUE
source transformer_lm/main.py absl
source transformer_lm/configs/japanese_0.1b_v1.py config config=config.
workdir text required
config text required = "configs/default.py"
config.vocab_path fixed
config.vocab_size int = 30000
config.max_corpus_chars int = 400000000
config.spm_train_options text = "--character_coverage=0.9995 --byte_fallback=true"
config.dataset_name text required = "wiki40b/ja"
config.train_split text required = "train"
config.eval_dataset_name text required = "wiki40b/ja"
config.eval_split text required = "validation"
config.per_device_batch_size int = 32
config.eval_per_device_batch_size int = 32
config.sampling_temperature float = 0.6
config.sampling_top_k int = 20
config.num_train_steps int = 500000
config.num_eval_steps int = 2000
config.num_predict_steps int = -1
config.learning_rate float = 0.0016
config.warmup_steps int = 1000
config.label_smoothing float = 0.0
config.weight_decay float = 0.1
config.max_target_length int = 256
config.max_eval_target_length int = 512
config.max_predict_length int = 512
config.logits_via_embedding bool = false
config.num_layers int = 12
config.qkv_dim int = 768
config.emb_dim int = 768
config.mlp_dim int = 3072
config.num_heads int = 12
config.dropout_rate float = 0.1
config.attention_dropout_rate float = 0.1
config.save_checkpoints bool = true
config.restore_checkpoints bool = true
config.checkpoint_every_steps int = 10000
config.eval_every_steps int = 5000
config.use_bfloat16 bool = true
config.seed int = 0
config.prompts text = "昔々あるところに"
)table"},
    {"bert", R"table(
form --NAME=VALUE
source run_pretraining.py absl
bert_config_file text required
input_file text required
output_dir text required
init_checkpoint text
max_seq_length int = 128
max_predictions_per_seq int = 20
do_train bool required = false
do_eval bool = false
train_batch_size int = 32
eval_batch_size int = 8
learning_rate float = 5e-05
num_train_steps int = 100000
num_warmup_steps int = 10000
save_checkpoints_steps int = 1000
iterations_per_loop int = 1000
max_eval_steps int = 100
use_tpu bool = false
tpu_name text
tpu_zone text
gcp_project text
master text
num_tpu_cores int = 8
)table"},
    {"jestimator", R"table(
form --NAME=VALUE
source jestimator/estimator.py absl
source jestimator/models/bert/pretrain.py config module_config=module_config.
source jestimator/models/bert/pretrain.py config opt_config=module_config.opt_config.
source jestimator/models/bert/modeling.py dataclass ModelConfig=module_config.model_config.
module_imp text required
model_dir text required
checkpoint_path text
mode choice:train|eval_once|eval_wait|predict
dry_run bool = false
max_train_steps int required
random_seed int
train_epochs int
train_pattern list required
valid_pattern list
train_batch_size int = 64
valid_batch_size int = 64
num_valid_examples int = -1
train_shuffle_buf int
train_consecutive int
train_load_step bool = false
check_every_steps int = 1000
max_ckpt int = 10
max_save int = 3
save_every_steps int
profiler_port int
eval_pattern list
eval_batch_size int = 256
num_eval_examples int = -1
eval_label text = "eval"
check_ckpt_every_secs int = 60
save_high list = []
save_low list = []
pred_pattern list
pred_batch_size int = 256
num_pred_examples int = -1
num_partitions int = 1
model_parallel_submesh text
module_config text required
module_config.mask_token_id int required
module_config.mask_rate float = 0.15
module_config.opt_config.optimizer text = "adamw"
module_config.opt_config.learning_rate float = 0.0001
module_config.opt_config.warmup_steps int = 10000
module_config.opt_config.linear_decay_to_step int
module_config.opt_config.momentum float = 0.9
module_config.opt_config.beta float = 0.999
module_config.opt_config.weight_decay float = 0.01
module_config.model_config.max_length int = 512
module_config.model_config.hidden_size int = 768
module_config.model_config.num_heads int = 12
module_config.model_config.num_layers int = 12
module_config.model_config.mlp_act text = "gelu"
module_config.model_config.mlp_size int = 3072
module_config.model_config.initializer_range float = 0.02
module_config.model_config.attention_dropout_rate float = 0.1
module_config.model_config.hidden_dropout_rate float = 0.1
module_config.model_config.layer_norm_eps float = 1e-12
module_config.model_config.vocab_size int required = -1
module_config.model_config.num_segments int = 1
module_config.model_config.num_labels int = -1
module_config.model_config.num_special_tokens int = 0
)table"},
    {"ttt", R"table(
form --NAME=VALUE
source ttt/args.py argparse
model_select text required = "t5-small"
data_path text required = "data/glue/sst2"
dataset_name text = ""
task text required = "t2t"
per_device_train_batch_size int = 8
eval_batch_size int = 32
num_epochs_train int = 6
log_steps int = 400
max_seq_length int = 128
max_src_length int = 128
max_tgt_length int = 20
source_field_name text = "text"
target_field_name text = "label"
lr float = 0.001
warmup_ratio float = 0.1
patience int = 20
scheduler text = "constant"
seed int = 122
eval_on text = "acc"
keep_ck_num int = 3
ck_index_select int = 0
do_train switch required = false
do_eval switch = false
do_test switch = false
use_gpu switch = false
use_tpu switch = false
use_tb switch = false
tpu_address text = "x.x.x.x"
default_store switch = false
)table"},
    {"kc-moe", R"table(
form --NAME=VALUE
source t5x/train.py by_hand
source config/run/base_pretrain.gin by_hand
source config/task/pretrain_default.gin by_hand
gin_file list required
gin_bindings list = []
gin_search_paths list required = ["."]
tfds_data_dir text required
seqio_additional_cache_dirs list = []
multiprocess_gpu bool = false
coordinator_address text
process_count int
process_index int
initialization_timeout int
gin.MODEL_DIR gin required
gin.TRAIN_STEPS int required = 1000000
gin.BATCH_SIZE int = 256
gin.NUM_MODEL_PARTITIONS int = 2
gin.INITIAL_CHECKPOINT_PATH gin
gin.MIXTURE_OR_TASK_NAME gin = "kcbert_cleaned"
gin.DROPOUT_RATE float = 0.0
gin.USE_CACHED_TASKS bool = false
)table"},
    {"maxtext", R"table(
form NAME=VALUE lists as JSON
source src/maxtext/configs/types.py pydantic MaxTextConfig=
source src/maxtext/configs/base.yml yaml
dpo any
lora any
base_config any
run_name text required = ""
model_name any = "default"
override_model_config bool = false
override_logical_axis_rules bool = false
log_config bool = true
debug_sharding bool = false
base_output_directory any required = ""
sharding_strategy any
convert_checkpoint_if_possible bool = false
load_parameters_path any = ""
lora_input_adapters_path any = ""
hf_lora_adapter_path any = ""
load_full_state_path any = ""
enable_checkpointing bool = true
load_checkpoint_only_once bool = false
async_checkpointing bool = true
checkpoint_period int = 10000
max_num_checkpoints_to_keep int
enable_single_replica_ckpt_restoring bool = false
checkpoint_todelete_subdir text
checkpoint_todelete_full_path text
force_unroll bool = false
checkpoint_is_quantized bool = false
save_quantized_params_path any = ""
enable_orbax_v1 bool = false
checkpoint_conversion_fn any = "none"
source_checkpoint_layout any = "orbax"
save_checkpoint_on_start bool = true
save_checkpoint_on_completion bool = true
enable_continuous_checkpointing bool = false
colocated_python_checkpointing bool = false
enable_autocheckpoint bool = false
checkpoint_storage_target_data_file_size_bytes int = 2147483648
checkpoint_storage_use_ocdbt bool = true
checkpoint_storage_use_zarr3 bool = true
checkpoint_storage_concurrent_gb int = 96
enable_multi_tier_checkpointing bool = false
local_checkpoint_directory any = ""
local_checkpoint_period any = 0
multi_tier_checkpointing_backup_interval_minutes any
multi_tier_checkpointing_backup_interval_steps any
mtc_data_parallelism int = 0
enable_emergency_checkpoint bool = false
use_replicator_service bool = false
replicator_backup_interval_minutes any = 0
elastic_enabled bool = false
elastic_backup_kind text = "snapshot"
elastic_timeout_seconds int = 300
elastic_max_retries int = 10
elastic_min_slice_count int = -1
dtype any = "bfloat16"
grad_dtype any = "float32"
weight_dtype any = "float32"
matmul_precision any = "default"
activations_in_float32 bool = false
dtype_mm text = "float32"
quantization any = ""
replicate_quant_scale bool = false
quant_cfg_path any = ""
quantize_kvcache bool = false
kv_quant_axis any = "heads_and_dkv"
kv_quant_dtype any = "int8"
quantization_local_shard_count int = -1
use_qwix_quantization bool = false
use_manual_quantization bool = false
weight_quantization_calibration_method text = "absmax"
act_quantization_calibration_method text = "absmax"
bwd_quantization_calibration_method text = "absmax"
weight_sparsity_n int
weight_sparsity_m int
weight_sparsity_update_step int = 10
weight_sparsity_start_step int = 50
te_comm_gemm_overlap text = "disabled"
decoder_block any = "llama2"
global_parameter_scale int = 1
base_emb_dim int = 2048
base_num_query_heads int = 16
base_num_kv_heads int = 16
base_mlp_dim int = 7168
dense_init_scale float = 1.0
base_num_decoder_layers int = 16
head_dim int = 128
attention_output_dim int = -1
global_head_dim int = 0
mlp_activations list = ["silu", "linear"]
mlp_activations_limit float = -1.0
normalization_layer_epsilon float = 1e-05
fused_qkv bool = false
attention_bias bool = false
fused_mlp bool = false
qk_norm_with_scale bool = true
v_norm_with_scale bool = true
engram_layers any = []
engram_num_heads int = 8
engram_head_dim int = 1280
engram_vocab_bases any = []
engram_max_ngram_size int = 3
engram_kernel_size int = 4
engram_seed int = 0
mtp_num_layers any = 0
mtp_loss_scaling_factor any = 0.1
mtp_eval_target_module any = 0
logits_via_embedding bool = false
normalize_embedding_logits bool = true
logits_dot_in_fp32 bool = false
cast_logits_to_fp32 bool = true
final_logits_soft_cap any = 0.0
z_loss_multiplier float = 0.0
num_vocab_tiling int = 1
vocab_tiling_ag_once bool = false
attention text = "autoselected"
attention_type any = "global"
share_kv_projections bool = false
global_num_kv_heads int = 0
hidden_size_per_layer_input any = 0
vocab_size_per_layer_input any = 0
num_kv_shared_layers any = 0
use_double_wide_mlp bool = false
attention_sink bool = false
float32_qk_product bool = false
float32_logits bool = false
sliding_window_size any = 0
chunk_attn_window_size any = 0
causal_block_size any = 32
attn_logits_soft_cap any = 0.0
use_post_attn_norm bool = false
use_post_ffw_norm bool = false
use_ragged_attention bool = false
ragged_block_size int = 256
enable_padding_causal_mask bool = true
use_tokamax_splash bool = false
use_jax_splash bool = false
force_q_layout bool = false
use_qk_clip bool = false
qk_clip_threshold float = 100.0
mla_qk_head_chunk_size int = 0
mla_naive_kvcache bool = true
q_lora_rank any = 0
kv_lora_rank any = 512
qk_nope_head_dim any = 128
qk_rope_head_dim any = 64
v_head_dim any = 128
use_sliced_mla_proj bool = false
o_lora_rank any = 0
o_groups any = 0
compress_ratios any = []
compressed_rope_max_timescale int = 160000
moba bool = false
moba_chunk_size int = 1024
moba_topk int = 8
use_indexer bool = false
indexer_head_dim any = 128
indexer_n_heads any = 64
indexer_topk any = 2048
indexer_sparse_training bool = false
indexer_loss_scaling_factor float = 0.0
indexer_use_approx_top_k bool = false
indexer_approx_top_k_recall float = 0.95
indexer_mask_exact_topk bool = true
use_qk_norm bool = false
temperature_tuning bool = false
sa_block_q int = 512
sa_block_kv int = 512
sa_block_kv_compute int = 512
sa_block_q_dkv int = 512
sa_block_kv_dkv int = 512
sa_block_kv_dkv_compute int = 512
sa_block_q_dq int = 512
sa_block_kv_dq int = 512
sa_use_fused_bwd_kernel bool = false
sa_bwd_dkv_megacore bool = false
sa_q_layout text = "HEAD_DIM_MINOR"
sa_k_layout text = "HEAD_DIM_MINOR"
sa_v_layout text = "HEAD_DIM_MINOR"
use_splash_scheduler bool = false
ring_scan_unroll any = 1
sa_fuse_reciprocal bool = true
sa_use_base2_exp bool = true
local_sa_block_q int
local_sa_block_kv int
local_sa_block_kv_compute int
local_sa_block_q_dkv int
local_sa_block_kv_dkv int
local_sa_block_kv_dkv_compute int
local_sa_block_q_dq int
local_sa_block_kv_dq int
local_sa_use_fused_bwd_kernel bool
local_sa_q_layout text
local_sa_k_layout text
local_sa_v_layout text
local_use_splash_scheduler bool
local_sa_fuse_reciprocal bool
local_sa_use_base2_exp bool
experimental_sa_quant_q_fp8 bool = false
experimental_sa_quant_k_fp8 bool = false
use_max_logit_estimate int = -1
cost_estimate_flops_fwd int = -1
cost_estimate_flops_bwd int = -1
dq_reduction_steps int = 0
num_experts any = 1
num_experts_per_tok any = 1
capacity_factor float = -1.0
ragged_buffer_factor float = -1.0
num_moe_token_chunks any = 1
moe_chunk_barrier bool = false
moe_expert_input_dim int = -1
base_moe_mlp_dim int = -1
padded_base_moe_mlp_dim int
load_balance_loss_weight any = 0.0
use_custom_sort_vjp bool = true
use_ring_of_experts bool = false
moe_dispatch_no_expert_sharding bool = false
use_ragged_sort bool = false
ragged_sort_use_single_sparsecore bool = false
use_gather_mosaic_kernel bool = false
ragged_gather_fallback bool = false
ragged_gather_reduce_fallback bool = false
ragged_gather_cost_estimate_flops int = -1
ragged_gather_reduce_cost_estimate_flops int = -1
ragged_gather_cost_estimate_bytes_accessed int = -1
ragged_gather_reduce_cost_estimate_bytes_accessed int = -1
use_random_routing bool = false
interleave_moe_layer_step int = 1
moe_fsdp_use_two_stage_all_gather bool = false
shard_exp_on_fsdp bool = false
use_2d_fsdp_sharding bool = false
norm_topk_prob bool = false
float32_weight_sum bool = true
float32_gate_logits bool = false
prefuse_moe_weights bool = false
fuse_expert_scales bool = false
megablox bool = true
sparse_matmul bool = true
wi_tile_fwd_batch_seq int = 512
wi_tile_fwd_embed_dim int = 1024
wi_tile_fwd_mlp_dim int = 1024
wi_tile_dlhs_batch_seq int = 512
wi_tile_dlhs_embed_dim int = 1024
wi_tile_dlhs_mlp_dim int = 1024
wi_tile_drhs_batch_seq int = 512
wi_tile_drhs_embed_dim int = 1024
wi_tile_drhs_mlp_dim int = 1024
wo_tile_fwd_batch_seq int = 512
wo_tile_fwd_embed_dim int = 1024
wo_tile_fwd_mlp_dim int = 1024
wo_tile_dlhs_batch_seq int = 512
wo_tile_dlhs_embed_dim int = 1024
wo_tile_dlhs_mlp_dim int = 1024
wo_tile_drhs_batch_seq int = 512
wo_tile_drhs_embed_dim int = 1024
wo_tile_drhs_mlp_dim int = 1024
merge_gating_gmm bool = false
num_moe_emb_chunks int = 0
use_tokamax_gmm bool = false
use_gmm_v2 bool = false
first_num_dense_layers any = 0
shared_experts any = 0
routed_scaling_factor float = 1.0
routed_score_func text = ""
routed_bias bool = false
routed_bias_update_rate float = 0.0
log_moe_bias_norms bool = false
mlp_bias bool = false
n_routing_groups int = -1
first_num_hash_layers int = 0
topk_routing_group int = -1
use_batch_split_schedule bool = false
batch_split_factor int = 1
gdn_conv_kernel_dim int = 4
gdn_key_head_dim int = 128
gdn_value_head_dim int = 128
gdn_num_key_heads int = 16
gdn_num_value_heads int = 32
gdn_chunk_size int = 64
use_qk_norm_in_gdn bool = true
partial_rotary_factor float = 1.0
hardware any = "tpu"
num_slices int = -1
mesh_axes list
shard_mode any = "auto"
inhomogeneous_layer_cycle_interval int = 1
scan_layers bool = true
param_scan_axis int = 1
context_parallel_load_balance bool = true
context_parallel_strategy text = "all_gather"
context_parallel_reorder_strategy any = "auto"
custom_mesh text = ""
custom_mesh_and_rule any = ""
custom_mesh_and_rule_for_eval any = ""
allow_split_physical_axes bool = false
enable_nnx bool = true
optimize_mesh_for_tpu_v6e bool = false
shardy bool = true
pure_nnx_decoder bool = true
pure_nnx bool = true
remove_size_one_mesh_axis_from_type bool = true
logical_axis_rules any
logical_axis_rules_for_eval any = []
data_sharding any
context_sharding text = "context"
ulysses_context_sharding text = "context_usp_ulysses"
input_data_sharding_logical_axes list = ["activation_embed_and_logits_batch", "activation_norm_length"]
sharding_tolerance float = 0.02
check_vma bool = false
shard_optimizer_over_data bool = false
dense_fsdp_use_two_stage_all_gather bool = false
internal_compile bool = false
internal_compile_num_devices int = -1
compile_xla_flags text = ""
dcn_diloco_parallelism int = 1
dcn_data_parallelism int = -1
dcn_fsdp_parallelism int = 1
dcn_fsdp_transpose_parallelism int = 1
dcn_sequence_parallelism int = 1
dcn_context_parallelism int = 1
dcn_context_usp_ulysses_parallelism int = 1
dcn_context_autoregressive_parallelism int = 1
dcn_tensor_parallelism int = 1
dcn_tensor_sequence_parallelism int = 1
dcn_pipeline_parallelism int = 1
dcn_expert_parallelism int = 1
dcn_autoregressive_parallelism int = 1
ici_diloco_parallelism int = 1
ici_data_parallelism int = 1
ici_fsdp_parallelism int = -1
ici_fsdp_transpose_parallelism int = 1
ici_sequence_parallelism int = 1
ici_context_parallelism int = 1
ici_context_usp_ulysses_parallelism int = 1
ici_context_autoregressive_parallelism int = 1
ici_tensor_parallelism int = 1
ici_tensor_sequence_parallelism int = 1
ici_autoregressive_parallelism int = 1
ici_pipeline_parallelism int = 1
ici_expert_parallelism int = 1
pipeline_fsdp_ag_per_repeat bool = false
num_layers_per_pipeline_stage int = 1
num_pipeline_repeats int = -1
pipeline_parallel_layers int = -1
num_pipeline_microbatches int = -1
pipeline_delay_activation_forwarding bool = false
pipeline_fsdp_ag_once bool = false
scan_pipeline_iterations bool = true
scan_pipeline_repeats bool = false
scan_layers_per_stage bool = false
set_remat_policy_on_pipeline_iterations bool = true
set_remat_policy_on_layers_per_stage bool = false
remat_policy text = "full"
remat_policy_for_vit text = "minimal"
decoder_layer_input any = "device"
indexer_cutoff_threshold any = "remat"
context any = "remat"
mlpwi any = "remat"
mlpwi_0 any = "remat"
mlpwi_1 any = "remat"
mlpwo any = "remat"
moe_mlpwi_0 any = "remat"
moe_mlpwi_1 any = "remat"
moe_mlpwo any = "remat"
query_proj any = "remat"
key_proj any = "remat"
value_proj any = "remat"
kv_proj any = "remat"
query_wa_proj any = "remat"
kv_wa_proj any = "remat"
qkv_proj any = "remat"
out_proj any = "remat"
mla_q any = "remat"
mla_kv any = "remat"
attention_out any = "remat"
engram any = "remat"
optimizer_memory_host_offload bool = false
parameter_memory_host_offload bool = false
training_objective any = "causal_lm"
block_diffusion_mask_id int = -1
block_diffusion_min_noise float = 0.001
block_diffusion_logit_alignment any = "same_position"
block_diffusion_canvas_policy any = "all_masked"
steps int = 150001
log_period int = 100
eval_start_step int = 0
eval_interval int = -1
eval_steps int = -1
target_eval_loss float = 0.0
abort_on_nan_loss bool = true
abort_on_inf_loss bool = true
enable_dropout bool = true
dropout_rate float = 0.0
enable_data_shuffling bool = true
data_shuffle_seed int = 0
init_weights_seed int = 0
max_inflight_computations int = 2
mhc_expansion_rate any = 1
sinkhorn_iterations any = 20
enable_mhc_lite bool = false
use_mhc_pallas_kernel bool = false
mhc_pallas_kernel_fwd_block_size int = 256
mhc_pallas_kernel_bwd_block_size int = 128
enable_diloco bool = false
diloco_sync_period int = 36
diloco_outer_lr float = 0.3
diloco_outer_momentum float = 0.9
dcn_bandwidth_limit text = ""
dcn_bandwidth_burst text = "10mb"
dcn_bandwidth_latency text = "50ms"
dcn_bandwidth_interface text = "eth0"
enable_streaming_diloco bool = false
num_diloco_fragments int
use_sequential_layers bool = false
num_communication_overlapping_steps any = 0
communication_overlapping_alpha float = 0.0
opt_type any = "adamw"
skip_step_on_spikes bool = false
skip_step_interval any = 128
skip_step_scaling_factor float = 6.0
gradient_accumulation_steps any = 1
use_tunix_gradient_accumulation bool = false
gradient_clipping_threshold any = 1.0
learning_rate any = 3e-05
lr_schedule_type any = "cosine"
learning_rate_final_fraction float = 0.1
wsd_decay_steps_fraction float = 0.1
wsd_decay_style any = "linear"
warmup_steps_fraction float = 0.1
learning_rate_schedule_steps int = -1
trainable_parameters_mask list = []
adam_b1 float = 0.9
adam_b2 float = 0.95
adam_eps float = 1e-08
adam_eps_root float = 0.0
adam_weight_decay float = 0.1
adamw_mask list = []
mu_dtype text = ""
muon_beta float = 0.95
muon_weight_decay float = 0
muon_consistent_rms float
use_dpo bool = false
use_sft bool = false
sft_train_on_completion_only bool = false
formatting_func_path text = ""
formatting_func_kwargs any
use_grpo any
student_overrides any
teacher_overrides any
offline_data_dir text
distill_alpha float = 0.5
distill_temperature float = 1.0
distill_beta float = 0.0
distill_feature_loss_type any = "cosine"
distill_layer_indices any
distill_alpha_end float
distill_alpha_schedule any = "constant"
distill_temperature_end float
distill_temperature_schedule any = "constant"
distill_beta_end float
distill_beta_schedule any = "constant"
learn_to_init_mode bool = false
lti_use_general_linear_map bool = false
distill_weights_copy_map any
distill_student_weights_share_map any
attn_module_name text
lti_layer_indices any
student_params_to_update any
kv_cache_buffer int = 256
hbm_utilization_vllm float = 0.72
swap_space_vllm_gb int = 2
enable_dp_attention bool = false
enable_expert_parallel bool = false
async_scheduling bool = false
max_num_batched_tokens int
max_num_seqs int
stop_strings list
vllm_additional_config any = {}
vllm_hf_overrides any = {}
vllm_hf_config_path text = ""
use_standalone_converter bool = false
use_weight_converter bool = false
weight_sync_debug bool = false
log_weight_sync_time bool = false
vllm_load_format text = "dummy"
debug_converter bool = false
gcs_debug_path text = ""
use_iota_embed bool = false
use_untrainable_positional_embedding bool = false
trainable_position_size int = -1
nope_layer_interval int = -1
rope_type any = "default"
rope_use_scale bool = true
rope_min_timescale int = 1
rope_max_timescale int = 10000
rope_linear_scaling_factor float = 1.0
local_rope_max_timescale int = -1
global_rope_max_timescale int = -1
global_rope_proportion float = 0.25
local_rope_proportion float = 1.0
max_position_embeddings int = 163840
original_max_position_embeddings int = 4096
rope_factor int = 40
beta_fast int = 32
beta_slow int = 1
mscale float = 1.0
rope_interleave bool = true
rope_truncate bool = true
rope_attention_scaling bool = false
rope_pairwise bool = false
dataset_type any = "tfds"
per_device_batch_size any = 12.0
eval_per_device_batch_size any = 0.0
max_corpus_chars int = 10000000
train_data_columns list = ["text"]
train_image_column any = "image"
eval_data_columns list = ["text"]
eval_image_column any = "image"
default_prompt text = ""
packing bool = true
grain_packing_type any = "first_fit"
max_segments_per_seq int = -1
num_epoch int = 1
expansion_factor_real_data float = -1.0
reuse_example_batch int = 0
generate_padding_batch_train bool = false
generate_padding_batch_eval bool = false
enable_rampup_batch_size bool = false
per_device_batch_size_start float = 4.0
per_device_batch_size_increment float = 2.0
global_rampup_samples int = 500
colocated_python_data_input bool = false
dataset_path any = ""
dataset_name text = "c4/en:3.1.0"
eval_dataset_name text = "c4/en:3.1.0"
train_split text = "train"
eval_split text = "validation"
hf_path text = ""
hf_name any = ""
hf_data_dir any = ""
hf_train_files any = ""
hf_eval_split any = ""
hf_eval_files any = ""
hf_access_token any = ""
grain_train_files any = ""
grain_eval_files any = ""
grain_train_mixture_config_path any = ""
grain_file_type text = "arrayrecord"
grain_use_elastic_iterator bool = false
grain_worker_count int = 1
grain_per_worker_buffer_size int = 1
grain_worker_count_eval int = 1
grain_per_worker_buffer_size_eval int = 1
grain_ram_budget_mb int = 1024
grain_num_threads int = 16
grain_prefetch_buffer_size int = 500
grain_num_threads_eval int = 16
grain_prefetch_buffer_size_eval int = 500
grain_data_source_max_workers int = 16
grain_index_storage_option any
grain_shuffle_buffer_size int = 100
olmo_index_path any = ""
olmo_path_remap_from any = ""
olmo_path_remap_to any = ""
olmo_apply_ngram_filter bool = true
vocab_size int = 32000
tokenizer_path any = ""
tokenizer_type any = "sentencepiece"
use_chat_template bool = false
chat_template_path text = ""
chat_template text = ""
data_template_path text = ""
tokenize_train_data bool = true
tokenize_eval_data bool = true
add_bos bool = true
add_eos bool = true
use_truncation bool = true
max_target_length int = 2048
max_prefill_predict_length int = 64
prompt text = "I love to"
system_prompt text = ""
load_from_prefill_dir bool = false
prefill_cache_dir any = ""
autoregressive_decode_assert text = ""
model_call_mode text = ""
use_chunked_prefill bool = false
prefill_chunk_size int = 256
enable_model_warmup bool = false
enable_llm_inference_pool bool = false
multi_sampling bool = false
return_log_prob bool = false
decode_sampling_strategy any = "greedy"
decode_sampling_nucleus_p any = -1
decode_sampling_top_k int = 0
decode_sampling_temperature float = 1.0
stack_prefill_result_cache bool = false
prefill_cache_axis_order text = "1,2,0,3"
ar_cache_axis_order text = "1,2,0,3"
compute_axis_order text = "0,1,2,3"
reshape_q bool = false
inference_server text = "MaxtextInterleavedServer"
prefill_slice text = "v5e-16"
generate_slice text = "v5e-16"
inference_microbenchmark_prefill_lengths text = "64,128,256,512,1024"
inference_microbenchmark_stages text = "prefill,generate"
inference_microbenchmark_loop_iters int = 10
inference_microbenchmark_log_file_path any = ""
inference_microbenchmark_num_samples any = [1, 2, 3, 4, 5]
inference_metadata_file any = ""
inference_benchmark_test bool = false
enable_prefix_caching bool = false
prefix_caching_hbm_byte int = 10000000000
prefix_caching_dram_byte int = 100000000000
compiled_trainstep_file any = ""
compile_topology text = ""
compile_topology_num_slices int = -1
write_estimator_result bool = false
constant_bound_config any = ""
jax_cache_dir any = "~/jax_cache"
jax_distributed_initialization_timeout int = 300
jax_debug_log_modules text = ""
skip_jax_distributed_system bool = false
enable_single_controller bool = false
subslice_shape text = ""
max_checkify bool = false
profiler any = ""
upload_all_profiler_results bool = false
skip_first_n_steps_for_profiler int = 1
profiler_steps int = 5
profile_cleanly bool = true
profile_periodically_period int = -1
hide_profiler_step_metric bool = false
enable_jax_profiler bool = false
jax_profiler_port int = 9999
enable_tpu_profiling_options bool = false
tpu_num_chips_to_profile_per_task int = 1
tpu_num_sparse_cores_to_trace int = 2
tpu_num_sparse_core_tiles_to_trace int = 1
xprof_tpu_power_trace_level any = 0
xprof_e2e_enable_fw_throttle_event bool = false
xprof_e2e_enable_fw_power_level_event bool = false
xprof_e2e_enable_fw_thermal_event bool = false
profile_power_events bool = false
dump_hlo bool = false
dump_step int = -1
dump_hlo_local_dir any = "/tmp/xla_dump/"
dump_hlo_delete_local_after bool = true
dump_hlo_gcs_dir any = ""
dump_hlo_module_name text = "jit_train_step"
dump_hlo_local_module_name text = "jit_train_step"
dump_hlo_xla_flags text = ""
dump_hlo_upload_all bool = false
dump_jaxpr bool = false
dump_jaxpr_local_dir any = "/tmp/jaxpr_dump/"
dump_jaxpr_delete_local_after bool = true
dump_jaxpr_gcs_dir any = ""
metrics_file any = ""
gcs_metrics bool = false
save_config_to_gcs bool = false
record_internal_nn_metrics int = 0
prometheus_port int = 0
enable_checkpoint_cloud_logger bool = false
enable_wandb bool = false
wandb_project_name text = "maxtext"
wandb_run_name text = ""
enable_goodput_recording bool = false
monitor_goodput bool = false
goodput_upload_interval_seconds int = 30
enable_pathways_goodput bool = false
monitor_step_time_deviation bool = true
step_deviation_interval_seconds int = 30
enable_gcp_goodput_metrics bool = true
enable_gcp_step_deviation_metrics bool = true
report_heartbeat_metric_for_gcp_monitoring bool = false
heartbeat_reporting_interval_in_seconds int = 5
report_performance_metric_for_gcp_monitoring bool = false
enable_tensorboard bool = true
use_vertex_tensorboard bool = false
vertex_tensorboard_project text = ""
vertex_tensorboard_region text = ""
managed_mldiagnostics bool = false
managed_mldiagnostics_on_demand_profiling bool = true
managed_mldiagnostics_run_group text = ""
managed_mldiagnostics_region text = ""
managed_mldiagnostics_storage_path text = ""
use_multimodal bool = false
attention_for_vit text = "dot_product"
vision_encoder_block any
freeze_vision_encoder_params bool = true
freeze_audio_encoder_params bool = true
use_audio bool = false
image_size_for_vit any = 896
image_path any = ""
image_placeholder text = "<|image|>"
posemb_type_for_vit text = "learn"
max_num_images_per_example int = -1
video_path any = ""
audio_path any = ""
video_placeholder text = "<|video|>"
audio_placeholder text = "<|audio|>"
use_audio_in_video bool = false
use_mrope bool = false
mrope_section any = [24, 20, 20]
position_id_per_seconds int = 25
video_max_grid_t int
video_max_grid_h int
video_max_grid_w int
hidden_size_for_vit int = 1408
intermediate_size_for_vit int = 5632
num_attention_heads_for_vit int = 16
num_channels_for_vit int = 3
tile_size_for_vit int = 336
patch_size_for_vit int = 14
conv_stride_for_vit int = 14
num_hidden_layers_for_vit int = 34
rope_theta_for_vit int = 10000
vision_output_dim_for_vit int = 4096
spatial_merge_size_for_vit int = 2
out_hidden_size_for_vit int = 512
temporal_patch_size_for_vit int = 2
num_position_embeddings_for_vit int = 1024
deepstack_visual_indexes_for_vit any = []
vision_output_length int = -1
projector_input_dim_for_vit int = 4096
projector_output_dim_for_vit int = 4096
pixel_shuffle_ratio_for_vit float = 0.5
projector_dropout_for_vit float = 0.0
vision_projector_type text = "default"
vision_connector_num_layers int = 2
vision_connector_hidden_size int = 0
vision_connector_activation text = "gelu"
vision_connector_use_bias bool = true
d_model_for_audio int = 256
encoder_attention_heads_for_audio int = 4
encoder_ffn_dim_for_audio int = 512
encoder_layers_for_audio int = 2
attention_dropout_for_audio float = 0.0
activation_dropout_for_audio float = 0.0
activation_function_for_audio text = "gelu"
num_mel_bins_for_audio int = 128
max_source_positions_for_audio int = 1500
scale_embedding_for_audio bool = true
n_window_for_audio int = 50
n_window_infer_for_audio int = 800
conv_chunksize_for_audio int = 500
downsample_hidden_size_for_audio int = 256
output_dim_for_audio int = 512
num_conv_layers_for_audio int = 3
max_timescale_for_audio float = 10000.0
max_sample_len_for_audio int = 10000
emb_dim any
mlp_dim any
moe_mlp_dim any
num_decoder_layers any
num_kv_heads any
num_query_heads any
num_diloco_replicas any
ici_parallelism any
dcn_parallelism any
using_pipeline_parallelism any
num_target_devices any
global_batch_size_to_train_on any
global_batch_size_to_eval_on any
global_batch_size_to_load any
global_batch_size_to_load_eval any
micro_batch_size_to_train_on any
micro_batch_size_to_eval_on any
checkpoint_dir any
metrics_dir any
tensorboard_dir any
managed_mldiagnostics_dir any
rampup_end_step any
tensors_on_device any
tensors_to_offload any
global_batch_size_to_load_start any
global_batch_size_to_load_increment any
rampup_samples_per_increment_to_load any
)table"},
    {"levanter", R"table(
form --NAME=VALUE lists as JSON
source src/levanter/main/train_lm.py dataclass TrainLmConfig=
source src/levanter/trainer.py dataclass TrainerConfig=trainer.
source src/levanter/checkpoint.py dataclass CheckpointerConfig=trainer.checkpointer.
source src/levanter/data/text.py dataclass LMTaskConfig=data. UrlDatasetSourceConfig=data.
source src/levanter/data/text.py dataclass LmDatasetSourceConfigBase=data.
source src/levanter/models/llama.py dataclass LlamaConfig=model.
source src/levanter/optim/config.py dataclass OptimizerConfig=optimizer. AdamConfig=optimizer.
data any
trainer any
model any
optimizer any
initialize_from_hf any = false
use_hf_model_config bool = false
z_loss_weight float = 0.0
hf_save_path text
hf_upload text
hf_save_steps int = 10000
hf_save_dtype text
data_seed int
initialize_from_checkpoint_path text
epoch int = 0
eval_harness any
eval_harness_steps int = 10000
log_entropy bool = false
trainer.seed int = 0
trainer.mp any
trainer.quantization any
trainer.model_averaging any
trainer.wandb any
trainer.log_dir any
trainer.id text
trainer.tracker any
trainer.watch any
trainer.profiler bool = false
trainer.profiler_start_step int = 5
trainer.profiler_num_steps int = 100
trainer.profiler_perfetto_link bool = false
trainer.log_jaxprs bool = true
trainer.log_xla_hlo bool = true
trainer.crash_on_nan bool = true
trainer.crash_on_inf bool = true
trainer.batch_axis text = "batch"
trainer.fsdp_axis any = "embed"
trainer.tensor_parallel_axes list
trainer.axis_resources any
trainer.parameter_axis_resources any
trainer.replica_ici_axis_size int = 1
trainer.model_axis_size int = 1
trainer.replica_dcn_axis_size int = 1
trainer.train_batch_size any = 512
trainer.per_device_parallelism int = -1
trainer.per_device_eval_parallelism int = -1
trainer.allow_nondivisible_batch_size bool = false
trainer.num_train_steps int = 400000
trainer.steps_per_eval int = 1000
trainer.max_eval_batches int
trainer.checkpointer any
trainer.load_checkpoint bool
trainer.load_checkpoint_path text
trainer.initialize_from text
trainer.allow_partial_checkpoint bool = false
trainer.jax_config any
trainer.jax_compilation_cache_dir text
trainer.distributed any
trainer.ray any
trainer.require_accelerator bool
trainer.shutdown_at_exit any = false
trainer.checkpointer.base_path text = "checkpoints/"
trainer.checkpointer.save_interval any
trainer.checkpointer.keep any
trainer.checkpointer.append_run_id_to_base_path bool = true
trainer.checkpointer.delete_old_temp_checkpoints bool = true
data.train_urls list required = []
data.validation_urls list = []
data.tokenizer text required = "gpt2"
data.vocab_size int
data.cache_dir text
data.cache_options any
data.enforce_eos bool = true
data.chat_template text
data.ignore_token_id int
data.shuffle any = false
data.permutation_type any
data.tags list
data.format any
model.seq_len int = 2048
model.hidden_dim int = 4096
model.intermediate_dim int = 11008
model.num_layers int = 32
model.num_heads int = 32
model.head_dim int
model.num_kv_heads int = 32
model.activation_function any
model.initializer_range float = 0.02
model.layer_norm_epsilon float = 1e-05
model.tie_word_embeddings bool = false
model.hybrid_norm bool = false
model.input_embedding_norm bool = false
model.upcast_attn bool = false
model.attn_backend any
model.flash_attention_block_size int
model.gradient_checkpointing any = true
model.scan_layers bool = true
model.use_bias bool = false
model.use_layer_norm_weight bool = true
model.rope any
model.reference_checkpoint text = "NousResearch/Llama-2-7b-hf"
model.tokenizer text
optimizer.learning_rate float = 0.0006
optimizer.weight_decay float = 0.1
optimizer.min_lr_ratio float = 0.1
optimizer.warmup any = 0.01
optimizer.decay any
optimizer.rewarmup any = 0.0
optimizer.cooldown float
optimizer.cycle_length any
optimizer.cycles any
optimizer.lr_schedule any = "cosine"
optimizer.haps any
optimizer.weight_decay_modules list
optimizer.default_weight_decay_mask bool
optimizer.beta1 float = 0.9
optimizer.beta2 float = 0.95
optimizer.epsilon float = 1e-08
optimizer.max_grad_norm float = 1.0
optimizer.nesterov bool = false
optimizer.update_rms_clipping float
optimizer.clip_update_norm any
optimizer.skip_bad_steps any = false
optimizer.adamc_weight_decay bool = false
source src/levanter/tracker/tracker.py by_hand
trainer.tracker.type text
source src/levanter/models/lm_model.py by_hand
model.type text
source src/levanter/optim/config.py by_hand
optimizer.type text
)table"},
}};

struct Table {
  bool dashes = true;       // --NAME=VALUE; false: NAME=VALUE
  bool json_lists = false;  // false: with commas between
  std::vector<PresetFlag> flags;
};

/// Takes what is before `end` from `text`, and `end` itself.
std::string_view Take(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return taken;
}

Table Parse(std::string_view text) {
  Table table;
  while (!text.empty()) {
    std::string_view line = Take(text, "\n");
    if (line.empty() || line.starts_with("source ")) continue;
    if (line.starts_with("form ")) {
      table.dashes = line.starts_with("form --");
      table.json_lists = line.ends_with(" lists as JSON");
      continue;
    }
    PresetFlag flag;
    std::string_view words = Take(line, " = ");
    flag.fallback = line;
    flag.name = Take(words, " ");
    flag.type = Take(words, " ");
    flag.required = words == "required";
    table.flags.push_back(flag);
  }
  return table;
}

const Table& TableOf(std::string_view preset) {
  static const std::vector<std::pair<std::string_view, Table>> tables = [] {
    std::vector<std::pair<std::string_view, Table>> parsed;
    for (const auto& [name, text] : kTables) parsed.emplace_back(name, Parse(text));
    return parsed;
  }();
  static const Table none;
  for (const auto& [name, table] : tables)
    if (name == preset) return table;
  return none;
}

Status WrongFlag(std::string_view flag, std::string why) {
  return Status(Code::kInvalidArgument, StrCat(flag, ": ", why));
}

/// A text as a number: a variable of the pipeline file in quotes is one.
Json Number(const Json& value) {
  if (!value.is_string()) return value;
  const Result<Json> parsed = Json::Parse(value.AsString());
  return parsed.ok() && parsed->is_number() ? *parsed : value;
}

bool IsPlaceholder(const Json& value) {
  const std::string_view text = value.AsString();
  return text.size() > 2 && text.front() == '{' && text.back() == '}';
}

/// True if the choices A|B|C have `value`.
bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty())
    if (Take(choices, "|") == value) return true;
  return false;
}

std::string Text(const Json& value) {
  if (value.is_string()) return std::string(value.AsString());
  std::string text = value.Dump();
  if (!value.is_object()) return text;
  // Its braces are no placeholders.
  for (std::size_t at = 0; (at = text.find_first_of("{}", at)) != std::string::npos; at += 2)
    text.insert(at, 1, text[at]);
  return text;
}

/// The value as the program reads it; kInvalidArgument: it is none of the type.
Result<std::string> ValueText(const PresetFlag& flag, const Table& table, const Json& given) {
  const bool number = flag.type == "int" || flag.type == "float";
  const Json value = number ? Number(given) : given;
  const auto of_type = [&](std::string_view what) {
    return WrongFlag(flag.name, StrCat("must be ", what, ", and is ", given.Dump()));
  };
  if (flag.type == "fixed") return WrongFlag(flag.name, "the program takes no value for it from a command");
  if (IsPlaceholder(value) && (number || flag.type == "text" || flag.type == "any")) return Text(value);
  if (flag.type == "int" && !value.is_int()) return of_type("a whole number");
  if (flag.type == "float" && !value.is_number()) return of_type("a number");
  if (flag.type == "bool" && !value.is_bool()) return of_type("true or false");
  if (flag.type == "text" && !value.is_string() && !value.is_number()) return of_type("a text");
  if (flag.type == "gin" && !value.is_string()) return of_type("a text");
  if (flag.type == "gin") return StrCat("\"", value.AsString(), "\"");
  if (flag.type.starts_with("choice:") && !IsChoice(flag.type.substr(7), value.AsString()))
    return of_type(StrCat("one of ", flag.type.substr(7)));
  if (flag.type != "list" && flag.type != "any") return Text(value);
  if (flag.type == "list" && !value.is_array() && !value.is_string()) return of_type("a list");
  if (!value.is_array()) return Text(value);
  if (table.json_lists) return value.Dump();
  std::string all;
  for (const Json& item : value.AsArray()) all += StrCat(all.empty() ? "" : ",", Text(item));
  return all;
}

}  // namespace

const std::vector<PresetFlag>& FlagsOf(std::string_view preset) { return TableOf(preset).flags; }

Result<std::string> FlagWord(std::string_view preset, std::string_view name, const Json& value) {
  const Table& table = TableOf(preset);
  std::vector<std::string_view> names;
  for (const PresetFlag& flag : table.flags) {
    names.push_back(flag.name);
    if (flag.name != name) continue;
    if (flag.type == "switch" && !value.is_bool())
      return WrongFlag(name, StrCat("must be true or false, and is ", value.Dump()));
    if (flag.type == "switch") return value.AsBool() ? StrCat("--", name) : std::string();
    ASSIGN_OR_RETURN(const std::string text, ValueText(flag, table, value));
    return StrCat(table.dashes ? "--" : "", name, "=", text);
  }
  const std::string_view meant = NearestWord(name, names);
  return WrongFlag(name, StrCat("the program has no such flag",
                                meant.empty() ? std::string() : StrCat("; did you mean ", meant, "?")));
}

}  // namespace pipeline
