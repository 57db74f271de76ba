"""The family `t5` as T5ForConditionalGeneration of transformers: names of its tensors, and its config. With experts it
has a form of its own, whose other tensors keep T5's names; `torch_model` reads it."""

from dataclasses import fields

from .. import config as configs
from ..model import experts, t5
from ..model.families import FAMILIES
from .form import Form, Unreadable, special_ids

ATTENTION = {"wq": "q", "wk": "k", "wv": "v", "wo": "o"}
MLP = {True: {"w_gate": "wi_0", "w_up": "wi_1", "w_down": "wo"}, False: {"w_up": "wi", "w_down": "wo"}}  # by `gated`
KINDS = {"gated-gelu": True, "relu": False}  # whether the MLP is gated, by feed_forward_proj
EXPERT = {"experts_gate": "wi_0", "experts_up": "wi_1", "experts_down": "wo"}
# T5Config of transformers accepts neither as its own: T5 itself would leave the experts out.
WITH_EXPERTS, MLPS = FAMILIES["t5"].model_types[-1], "experts-gated-gelu"
OF_EXPERTS = [part for part in fields(configs.Model) if part.name.startswith("expert")]


class T5(Form):
    FAMILY = "t5"
    READABLE = {"relative_attention_num_buckets": t5.BUCKETS, "relative_attention_max_distance": t5.FARTHEST}

    def names(self, config):
        yield ("embed",), None, "shared.weight"
        for stack, last in (("encoder", 1), ("decoder", 2)):
            for layer in range(config.layers):
                at = f"{stack}.block.{layer}.layer."
                for name, theirs in ATTENTION.items():
                    yield (stack, name), layer, f"{at}0.SelfAttention.{theirs}.weight"
                if layer == 0:
                    yield ("distances", f"{stack}_bias"), None, f"{at}0.SelfAttention.relative_attention_bias.weight"
                yield (stack, "attn_norm"), layer, f"{at}0.layer_norm.weight"
                if stack == "decoder":
                    for name, theirs in ATTENTION.items():
                        yield (stack, "cross", name), layer, f"{at}1.EncDecAttention.{theirs}.weight"
                    yield (stack, "cross", "attn_norm"), layer, f"{at}1.layer_norm.weight"
                for name, theirs in MLP[config.gated].items():
                    yield (stack, name), layer, f"{at}{last}.DenseReluDense.{theirs}.weight"
                yield (stack, "mlp_norm"), layer, f"{at}{last}.layer_norm.weight"
            for group in range(experts.groups(config)):
                at = f"{stack}.block.{(group + 1) * config.expert_every - 1}.experts."
                yield (stack, "experts", "experts_norm"), group, f"{at}layer_norm.weight"
                yield (stack, "experts", "router"), group, f"{at}router.weight"
                for expert in range(config.experts):
                    for name, theirs in EXPERT.items():
                        yield (stack, "experts", name), (group, expert), f"{at}expert.{expert}.{theirs}.weight"
            final = "final_norm" if stack == "decoder" else "final_encoder_norm"
            yield (final,), None, f"{stack}.final_layer_norm.weight"
        if not config.tied:
            yield ("head",), None, "lm_head.weight"

    def settings(self, config, tokenizer, start):
        """Returns config.json. `start`: the first input of the decoder."""
        ids = special_ids(tokenizer)
        mixed = config.experts > 0
        return {
            "architectures": ["T5WithExperts" if mixed else "T5ForConditionalGeneration"],
            "model_type": WITH_EXPERTS if mixed else "t5", "is_encoder_decoder": True,
            "vocab_size": config.vocab, "d_model": config.d, "d_kv": config.head_dim, "d_ff": config.ff,
            "num_layers": config.layers, "num_decoder_layers": config.layers, "num_heads": config.heads,
            "relative_attention_num_buckets": t5.BUCKETS, "relative_attention_max_distance": t5.FARTHEST,
            "feed_forward_proj": MLPS if mixed else "gated-gelu" if config.gated else "relu", "dropout_rate": 0.0,
            "layer_norm_epsilon": config.norm_eps,
            "initializer_factor": 1.0, "tie_word_embeddings": config.tied, "n_positions": config.seq_len,
            **ids, "pad_token_id": start if ids["pad_token_id"] is None else ids["pad_token_id"],
            "decoder_start_token_id": start, "torch_dtype": "float32", "use_cache": True,
            **({part.name: getattr(config, part.name) for part in OF_EXPERTS} if mixed else {}),
        }

    def shape_of(self, settings):
        """Returns the config.Model of a config.json. `seq_len`: the longest text that an export of ours learned; T5
        itself knows no longest one."""
        layers = settings["num_layers"]
        if settings.get("num_decoder_layers", layers) != layers:
            raise Unreadable(f"{settings['num_decoder_layers']} layers in the decoder, and {layers} in the encoder; "
                             f"this trainer has as many in both")
        mixed = settings["model_type"] == WITH_EXPERTS
        kind = settings.get("feed_forward_proj", "relu")
        if kind != MLPS if mixed else kind not in KINDS:
            raise Unreadable(f"feed_forward_proj is {kind}, and this trainer knows "
                             + (f"{MLPS}, as it writes it" if mixed else "gated-gelu, as T5 1.1 has it, and relu"))
        shape = configs.Model(
            family="t5", layers=layers, d=settings["d_model"], heads=settings["num_heads"], head_dim=settings["d_kv"],
            ff=settings["d_ff"], vocab=settings["vocab_size"], seq_len=settings.get("n_positions"),
            norm_eps=settings["layer_norm_epsilon"], gated=mixed or KINDS[kind],
            tied=settings.get("tie_word_embeddings", True),
            **({part.name: settings[part.name] for part in OF_EXPERTS} if mixed else {})).complete()
        for part in OF_EXPERTS:
            value = getattr(shape, part.name)
            if configs.misfit(part, value) or mixed and not value:
                raise Unreadable(f"{part.name} is {value}, which no model with experts has")
        for wrong in shape.disagreements() if mixed else ():
            raise Unreadable(wrong.removeprefix("config.model."))
        return shape
