"""What decides which model a run makes: dataclasses, their bounds, presets.

Every field can be set by the `config` of a job. A field without a value there takes that of the preset, then
the default written here. Fields that another object knows (vocabulary, length of a row) are None until
`complete`. Fields that `auto` chooses (`Config.auto` names them) hold the values that they have where the memory of
no device bounds them.
"""

import math
import operator
import types
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace

from .model.families import FAMILIES
from .objectives.registry import METRICS, OBJECTIVES

VOCAB_MULTIPLE = 128  # tiles of an accelerator; the logits of the padding are masked
AUTO = "auto"


def amount(steps_or_share, steps):
    """Returns a number of steps that a key gives as such, or as a share of all when below 1."""
    return steps_or_share * steps if steps_or_share < 1 else steps_or_share


def at_least(low, default):
    return field(default=default, metadata={"low": low})


def above(low, default):
    return field(default=default, metadata={"above": low})


def share(default):
    return field(default=default, metadata={"low": 0.0, "high": 1.0})


def part(default):
    return field(default=default, metadata={"low": 0.0, "below": 1.0})


def inside(default):
    return field(default=default, metadata={"above": 0.0, "below": 1.0})


def one_of(*choices, auto=False):
    return field(default=choices[0], metadata={"choices": choices, "auto": auto})


def chosen(low, default):
    """A number that may also be left to `auto`."""
    return field(default=default, metadata={"low": low, "auto": True})


@dataclass(frozen=True)
class Model:
    family: str = one_of(*FAMILIES)
    layers: int = at_least(1, 2)
    d: int = at_least(1, 128)
    heads: int = at_least(1, 4)
    kv_heads: int | None = at_least(1, None)  # None: as many as heads
    head_dim: int | None = at_least(2, None)  # None: d / heads
    ff: int = at_least(1, 352)
    experts: int = at_least(0, 0)             # MLPs of `ff` that a router chooses from; 0: there are none
    expert_every: int = at_least(1, 4)        # layers; each last one of so many has experts
    expert_top: int = at_least(1, 2)          # experts that a position chooses
    expert_capacity: float = above(0.0, 1.25)  # places of an expert in training, in shares of positions / experts
    expert_eval_capacity: float = above(0.0, 2.0)
    vocab: int | None = at_least(2, None)     # None: that of the tokenizer
    seq_len: int | None = at_least(1, None)   # None: that of the rows
    tied: bool = True
    rope_theta: float = above(0.0, 10000.0)
    norm_eps: float = above(0.0, 1e-5)
    exact_gelu: bool = False                  # bert: not the approximation by tanh
    gated: bool = True                        # t5: GELU with a gate, as T5 1.1 has it; false: ReLU, as the first T5
    next_sentence: bool = False               # bert: two segments, and a head that tells whether they follow
    classes: int | None = at_least(2, None)   # labels of a head over them; None: it is over ids; 1: it gives a number
    init_std: float = above(0.0, 0.02)
    compute: str = one_of("auto", "float32", "bfloat16")  # auto: bfloat16 where the device has it in hardware
    gradients: str = one_of("float32", "compute")  # the type in which they are summed, over devices as well
    attention: str = one_of("auto", "reference", "dense", "splash", "cudnn")
    remat: str = one_of("none", "dots", "full", auto=True)  # what is computed again for the gradient
    unroll: int | None = at_least(1, None)    # layers in one piece of program; None: all up to 4, else 1
    loss_chunk: int | None = at_least(0, None)  # positions of a row whose logits exist at a time; 0: all
    eos: int = at_least(0, 2)                 # ends a document; that of the tokenizer
    begin: int | None = at_least(0, None)     # begins a document; None: the eos of the one before does

    @property
    def padded_vocab(self):
        return -(-self.vocab // VOCAB_MULTIPLE) * VOCAB_MULTIPLE

    @property
    def scored(self):
        """The number of ids, or of labels, that the head scores, with padding."""
        return replace(self, vocab=self.classes).padded_vocab if self.classes else self.padded_vocab

    def complete(self):
        """With everything filled in that follows from other fields."""
        return replace(self,
                       kv_heads=self.kv_heads or self.heads,
                       head_dim=self.head_dim or max(self.d // self.heads, 1),
                       unroll=self.unroll or (self.layers if self.layers <= 4 else 1))

    @property
    def additions(self):
        """The parts that not every model of the family has, in the words of messages."""
        return " with experts" if self.experts else ""

    @property
    def exports(self):
        """The programs that read an export. That of a model with experts has its own loader for torch."""
        return ("torch",) if self.experts else FAMILIES[self.family].exports

    def disagreements(self):
        """Yields the combinations of fields that are not allowed though each field is. The model is complete."""
        yield from self.disagreements_of_sizes()
        yield from self._disagreements_of_experts()
        if not self.gated and (self.family != "t5" or self.experts):
            yield ("config.model.gated: false is for a t5 without experts, whose MLP is that of the first T5; leave it "
                   "out")

    def disagreements_of_sizes(self):
        """Those that hold whatever model a training begins with."""
        if self.heads % self.kv_heads:
            yield f"config.model.kv_heads: {self.kv_heads} does not divide heads {self.heads}"
        if self.d % self.heads and self.head_dim == self.d // self.heads:
            yield f"config.model.heads: {self.heads} does not divide d {self.d}; say head_dim as well"
        if self.head_dim % 2:
            yield f"config.model.head_dim: {self.head_dim} is odd; rotary positions take halves of it"
        if self.family == "bert" and (self.kv_heads != self.heads or not self.tied):
            yield "config.model.family: bert has as many kv_heads as heads, and its head is the embedding"
        if self.family == "t5" and (self.kv_heads != self.heads or self.attention not in ("auto", "reference")):
            yield "config.model.family: t5 has as many kv_heads as heads, and only the form of attention `reference`"
        if self.family == "lm1b" and (self.kv_heads != self.heads or self.tied or self.d % 2):
            yield "config.model.family: lm1b has as many kv_heads as heads, a head of its own and an even d"

    def _disagreements_of_experts(self):
        if self.experts and not FAMILIES[self.family].experts:
            able = [name for name, family in FAMILIES.items() if family.experts]
            yield f"config.model.experts: a model of family {self.family} has none; {', '.join(able)} may have them"
        elif self.experts:
            if self.layers % self.expert_every:
                yield f"config.model.expert_every: {self.expert_every} does not divide layers {self.layers}"
            if self.expert_top > self.experts:
                yield f"config.model.expert_top: {self.expert_top}, and there are {self.experts} experts"
        else:
            for part in fields(self):
                if part.name.startswith("expert_") and getattr(self, part.name) != part.default:
                    yield f"config.model.{part.name}: there are no experts; say config.model.experts, or leave it out"


# The fields of Model that decide how it is computed, and do not change it.
FREE = ("attention", "compute", "gradients", "remat", "unroll", "loss_chunk")
# The fields that a training decides: these, those of the rows and the tokenizer, those that are read with experts
# alone. The model that a training begins with decides all others, and SHAPE_OF_EXPERTS if it has experts.
OF_TRAINING = (*FREE, "seq_len", "eos", "begin", "classes", "next_sentence", "init_std", "expert_every", "expert_top",
               "expert_capacity", "expert_eval_capacity")
SHAPE = tuple(part.name for part in fields(Model) if part.name not in OF_TRAINING)
SHAPE_OF_EXPERTS = ("expert_every", "expert_top")


@dataclass(frozen=True)
class ObjectiveKeys:
    # the targets of a row: `objectives`
    name: str = one_of(*OBJECTIVES)
    random: float = share(0.1)               # masked: of the hidden ids, any id is in their place
    keep: float = share(0.1)                 # of the hidden ids: they stay
    share: float = inside(0.15)              # masked, spans: of the ids of a row, they are hidden
    mask_id: int | None = at_least(0, None)  # in the place of all others; None: see `masked.mask_id`
    whole_words: bool = False                # hides all ids of a word or none
    span: float = at_least(1.0, 3.0)         # spans: their mean length
    sentinels: int | None = at_least(1, None)  # number of those; None: the tokenizer's, else 100
    sentinel: int | None = at_least(0, None)   # the first, from which the others go down; None: see `spans.sentinels`
    start: int | None = at_least(0, None)      # first input of a decoder; None: padding, without such an id eos


@dataclass(frozen=True)
class Optimizer:
    name: str = one_of("adamw", "adafactor", "amos", "muon")
    lr: float = above(0.0, 1e-3)
    b1: float = share(0.9)
    b2: float = share(0.95)
    eps: float = above(0.0, 1e-8)
    weight_decay: float = at_least(0.0, 0.1)  # of matrices; norms and biases have none
    clip: float = at_least(0.0, 1.0)          # greatest norm of the gradient; 0: any
    momentum: float = part(0.0)               # decay of an average of gradients or updates
    b2_exponent: float = above(0.0, 0.8)      # of the step: 1 - step ** -b2_exponent takes the place of b2
    threshold: float = above(0.0, 1.0)        # greatest root mean square of the update of a matrix
    parameter_scale: bool = False             # the root mean square of a matrix multiplies its update


# The keys that each optimiser reads beside `name`, `lr` and `clip`, and its defaults in place of those of the preset,
# which are for AdamW.
READ_KEYS = {
    "adamw": ("b1", "b2", "eps", "weight_decay"),
    "adafactor": ("weight_decay", "momentum", "b2_exponent", "threshold", "parameter_scale"),
    "amos": ("b2", "momentum"),
    "muon": ("b1", "b2", "eps", "weight_decay", "momentum"),
}
OWN_DEFAULTS = {"amos": {"lr": 5e-3, "b2": 0.999}, "muon": {"momentum": 0.95}}


@dataclass(frozen=True)
class Regularizers:
    dropout: float = part(0.0)          # of embeddings and of what each half of a layer adds, in training alone
    label_smoothing: float = part(0.0)  # of a target's chance, for all other ids
    z_loss: float = at_least(0.0, 0.0)  # times the square of the logarithm of the softmax's normaliser
    balance: float = at_least(0.0, 0.01)   # with experts: times a loss that is least if all are chosen alike
    router_z: float = at_least(0.0, 1e-4)  # with experts: as z_loss, for the router
    ema: float = part(0.0)              # decay of a moving average of the weights, which is evaluated and exported


@dataclass(frozen=True)
class Lora:
    rank: int = at_least(0, 0)       # of the adapters that are learned in place of the model; 0: none, all of it is
    alpha: float = above(0.0, 16.0)  # alpha / rank multiplies them
    targets: tuple = ("wq", "wk", "wv", "wo")  # names of the matrices that get one: families.matrices

    def __post_init__(self):  # JSON has lists
        object.__setattr__(self, "targets", tuple(self.targets))


@dataclass(frozen=True)
class Pruning:
    share: float = part(0.0)         # of the weights of a layer's matrix that are 0 at the end; 0: nothing is pruned
    begin: float = at_least(0.0, 0.2)  # steps before the first pruning, or a share of all when below 1
    end: float = at_least(0.0, 0.6)    # steps before the last one, likewise
    every: int = at_least(1, 100)      # steps between two

    def span(self, steps):
        """Returns the numbers of the updates, from 0, before which the first and the last pruning come."""
        return tuple(math.ceil(amount(one, steps)) for one in (self.begin, self.end))


@dataclass(frozen=True)
class Schedule:
    name: str = one_of("wsd", "cosine", "linear", "rsqrt", "const")
    warmup: float = at_least(0.0, 0.02)  # steps, or a share of them when below 1
    decay: float = at_least(0.0, 0.2)    # wsd: the last steps, or their share when below 1
    final: float = share(0.0)            # of lr, at the last step (cosine, linear, wsd)


@dataclass(frozen=True)
class BatchSize:
    rows: int = at_least(1, 8)   # of one step, over all devices
    micro: int = chosen(1, 1)    # pieces that a step is computed in, one after the other


@dataclass(frozen=True)
class MeshShape:
    data: int | None = chosen(1, None)  # None: the devices that the other two leave
    fsdp: int = chosen(1, 1)
    tensor: int = chosen(1, 1)


@dataclass(frozen=True)
class DataUse:
    native: bool | None = None   # None: the reader in C where it loads
    allow_change: bool = False   # goes on with other rows than those of the checkpoint


@dataclass(frozen=True)
class Guard:
    window: int = at_least(8, 128)     # steps that a spike is measured against
    sigmas: float = at_least(0.0, 6.0)  # a loss or gradient so far above the mean is a spike; 0: none is
    max_skips: int = at_least(0, 8)    # updates left out within the window before going back
    max_rewinds: int = at_least(0, 3)  # before the run counts as diverged
    lr_factor: float = share(0.5)      # of lr after each going back


@dataclass(frozen=True)
class Eval:
    rows: int | None = at_least(0, None)   # of the validation split; 0: all; None: eval.portion
    batch: int | None = at_least(1, None)  # rows at a time; None: those of a micro-batch
    metric: str = one_of("loss", *METRICS)  # decides which evaluation is the best
    each_epoch: bool = False          # also when all rows have been read once more
    sample_tokens: int = at_least(0, 64)
    temperature: float = at_least(0.0, 0.8)
    top_p: float = share(0.95)


@dataclass(frozen=True)
class Export:
    prune: float = part(0.0)  # share of the weights of a layer's matrix that become 0: those of least magnitude
    int8: bool = False        # one more file, with 8 bits for a weight
    gguf: str = one_of("none", "f16", "q8_0", "both")  # files for llama.cpp


@dataclass(frozen=True)
class Config:
    model: Model = Model()
    objective: ObjectiveKeys = ObjectiveKeys()
    optimizer: Optimizer = Optimizer()
    regularizers: Regularizers = Regularizers()
    lora: Lora = Lora()
    pruning: Pruning = Pruning()
    schedule: Schedule = Schedule()
    batch: BatchSize = BatchSize()
    mesh: MeshShape = MeshShape()
    data: DataUse = DataUse()
    guard: Guard = Guard()
    eval: Eval = Eval()
    export: Export = Export()
    auto: tuple = ()  # keys that are chosen by the memory of the devices, as (section, name)


SECTIONS = {part.name: part.type for part in fields(Config) if is_dataclass(part.type)}
CHOSEN = {name: tuple(part.name for part in fields(kind) if part.metadata.get("auto"))
          for name, kind in SECTIONS.items()}
LATER = ("export", "lora", "pruning")  # sections that earlier versions did not have


def as_dict(config):
    """Returns dataclasses.asdict, without a later section that asks for nothing: such a run is told as by earlier
    versions."""
    return {name: value for name, value in asdict(config).items()
            if name not in LATER or getattr(config, name) != SECTIONS[name]()}


def of_dict(values):
    """The inverse of as_dict, also after a way through JSON."""
    return Config(**{name: kind(**values.get(name, {})) for name, kind in SECTIONS.items()},
                  auto=tuple(tuple(key) for key in values.get("auto", ())))


def misfit(part, value):
    """Returns the requirement of a field that the value does not meet; None if it does."""
    kinds = part.type.__args__ if isinstance(part.type, types.UnionType) else (part.type,)
    if value is None and type(None) in kinds:
        return None
    bounds = part.metadata
    free = f" or {AUTO}" if bounds.get("auto") else ""
    if "choices" in bounds:
        return None if value in bounds["choices"] else f"wants one of {', '.join(bounds['choices'])}{free}"
    kind = kinds[0]
    if not is_a(value, kind):
        return f"wants {NAMES[kind]}{free}"
    return next((f"wants {words} {bounds[name]}" for name, (meets, words) in BOUNDS.items()
                 if name in bounds and not meets(value, bounds[name])), None)


BOUNDS = {"low": (operator.ge, "at least"), "below": (operator.lt, "less than"), "above": (operator.gt, "more than"),
          "high": (operator.le, "at most")}
NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", tuple: "a list of names"}


def is_a(value, kind):
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    if kind is tuple:
        return isinstance(value, list) and len(value) > 0 and all(isinstance(one, str) for one in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


# The recipe of T5's pre-training.
T5_TRAINING = {
    "objective": {"name": "spans"},
    "optimizer": {"name": "adafactor", "lr": 0.01, "weight_decay": 0.0, "clip": 0.0, "parameter_scale": True},
    "schedule": {"name": "rsqrt", "warmup": 10000},
    "batch": {"rows": 256},
}
T5_BASE = {"family": "t5", "layers": 12, "d": 768, "heads": 12, "ff": 2048, "tied": False, "norm_eps": 1e-6}
BERT_BASE = {"family": "bert", "layers": 12, "d": 768, "heads": 12, "ff": 3072, "norm_eps": 1e-12}
PRESETS = {
    "tiny": {
        "model": {"layers": 2, "d": 64, "heads": 4, "ff": 176},
        "optimizer": {"lr": 4e-3, "b2": 0.99}, "schedule": {"decay": 0.5},
    },
    # These two learn from order within a thousand steps, where AdamW still counts words.
    "tiny-masked": {
        "model": {"family": "bert", "layers": 2, "d": 64, "heads": 4, "ff": 256},
        "objective": {"name": "masked"}, "optimizer": {"name": "muon", "lr": 0.012, "b2": 0.99},
        "schedule": {"decay": 0.5},
    },
    "tiny-spans": {
        "model": {"family": "t5", "layers": 2, "d": 64, "heads": 4, "ff": 176, "tied": False, "norm_eps": 1e-6},
        "objective": {"name": "spans"}, "optimizer": {"name": "muon", "lr": 0.008, "b2": 0.99},
        "schedule": {"decay": 0.5},
    },
    "quickstart": {
        "model": {"layers": 4, "d": 128, "heads": 4, "ff": 352},
        "optimizer": {"lr": 4e-3, "b2": 0.99}, "schedule": {"decay": 0.5},
    },
    # The shape of transformer-lm-japanese and of flax's lm1b example, to compare with them.
    "lm1b": {
        "model": {"family": "lm1b", "layers": 6, "d": 512, "heads": 8, "ff": 2048, "tied": False, "norm_eps": 1e-6},
        "optimizer": {"lr": 1.6e-3, "b2": 0.98, "eps": 1e-9, "clip": 0.0}, "regularizers": {"dropout": 0.1},
        "schedule": {"name": "rsqrt", "warmup": 1000}, "batch": {"rows": 256},
    },
    # The shape of BERT's base model, and the recipe of its paper.
    "bert-base": {
        "model": BERT_BASE,
        "objective": {"name": "masked"}, "optimizer": {"lr": 1e-4, "b2": 0.999, "eps": 1e-6, "weight_decay": 0.01},
        "regularizers": {"dropout": 0.1}, "schedule": {"name": "linear", "warmup": 10000}, "batch": {"rows": 256},
    },
    # The same shape as JEstimator trains it: every hidden id becomes the mask.
    "jestimator": {
        "model": BERT_BASE,
        "objective": {"name": "masked", "random": 0.0, "keep": 0.0},
        "optimizer": {"name": "amos", "lr": 5e-3, "b2": 0.999, "clip": 0.0}, "regularizers": {"dropout": 0.1},
        "schedule": {"name": "const", "warmup": 10000}, "batch": {"rows": 256},
    },
    # The shapes of T5 1.1, which has no dropout in its pre-training.
    "t5-small": {"model": {"family": "t5", "layers": 8, "d": 512, "heads": 6, "head_dim": 64, "ff": 1024, "tied": False,
                           "norm_eps": 1e-6}, **T5_TRAINING},
    "t5-base": {"model": T5_BASE, **T5_TRAINING},
    # The base model of Kc-MoE, which is that of ST-MoE.
    "kc-moe": {"model": {**T5_BASE, "experts": 16}, **T5_TRAINING, "regularizers": {"z_loss": 1e-4}},
    # Heads of 128: narrower ones are filled up to that on a TPU.
    "ja-0.1b": {
        "model": {"layers": 12, "d": 768, "heads": 6, "head_dim": 128, "ff": 2048},
        "optimizer": {"lr": 1.5e-3}, "batch": {"rows": 256},
    },
    "ja-1b": {
        "model": {"layers": 20, "d": 2048, "heads": 16, "kv_heads": 4, "head_dim": 128, "ff": 5632, "remat": "dots"},
        "optimizer": {"lr": 6e-4}, "batch": {"rows": 512},
    },
    # For v4-32, v5e-64 and larger.
    "ja-3b": {
        "model": {"layers": 28, "d": 3072, "heads": 24, "kv_heads": 8, "head_dim": 128, "ff": 8192, "remat": "full"},
        "optimizer": {"lr": 4e-4}, "batch": {"rows": 512},
    },
    "ja-7b": {
        "model": {"layers": 32, "d": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ff": 14336, "remat": "full"},
        "optimizer": {"lr": 3e-4}, "batch": {"rows": 512},
    },
}
