"""Attention of other people's making: splash on a TPU, cuDNN on a GPU. Both move about between versions of JAX."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from . import families
from .sharding import ROWS

LANES = 128  # width of a TPU's registers: heads are filled up to it, rows are cut by it
BLOCK = 512  # positions that a kernel takes at a time
FLOAT32_ALONE = ("TPU v2", "TPU v3")  # Mosaic has no product of matrices in bfloat16 for them (E2001)
KEPT = "attention"  # name of what splash keeps of its own for the gradient


class NotHere(Exception):
    """A kernel that this JAX, this device or this shape does not have."""


def splash(config, mesh, interpret=False, kind=None):
    """Pallas' kernel for a TPU, on each device's rows and heads. `interpret`: slowly, on any device; `kind`: as if the
    devices were of it."""
    try:
        from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel
        from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks
    except ImportError as error:
        raise NotHere(f"this JAX has no splash attention ({error})") from None
    length = config.seq_len
    block = next((size for size in (BLOCK, BLOCK // 2, LANES) if length % size == 0), None)
    if block is None:
        raise NotHere(f"rows of {length} ids are no multiple of {LANES}")
    heads = config.heads // mesh.shape["tensor"]
    seen = masks.CausalMask if families.of(config).causal else masks.FullMask
    mask = masks.MultiHeadMask([seen((length, length))] * heads)
    sizes = kernel.BlockSizes(block_q=block, block_kv=block, block_kv_compute=block, block_q_dkv=block,
                              block_kv_dkv=block, block_kv_dkv_compute=block, block_q_dq=block, block_kv_dq=block)

    wide = (kind or mesh.devices.flat[0].device_kind).startswith(FLOAT32_ALONE)

    # The gradient keeps q, k and v as they come: not in float32, not filled up.
    @partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(KEPT))
    def local(q, k, v, segments):
        attend = kernel.make_splash_mha(mask, block_sizes=sizes, head_shards=1, q_seq_shards=1, interpret=interpret,
                                        residual_checkpoint_name=KEPT)

        def row(q, k, v, segments):
            return attend(q, k, v, segment_ids=kernel.SegmentIds(segments, segments))
        given, width = q.dtype, q.shape[-1]
        inside = jnp.float32 if wide else given
        q, k, v = (filled(x.astype(inside).swapaxes(1, 2)) for x in (q * width ** -0.5, k, v))
        return jax.vmap(row)(q, k, v, segments)[..., :width].swapaxes(1, 2).astype(given)

    part = P(ROWS, None, "tensor", None)
    return jax.shard_map(local, mesh=mesh, in_specs=(part, part, part, P(ROWS, None)), out_specs=part, check_vma=False)


def filled(x):
    """Heads as wide as registers, with zeros behind."""
    return jnp.pad(x, ((0, 0),) * (x.ndim - 1) + ((0, -x.shape[-1] % LANES),))


def cudnn(compute, allowed):
    """NVIDIA's kernel, with documents as a mask: it knows no segments."""
    if jax.default_backend() != "gpu":
        raise NotHere("there is no GPU")
    if compute == jnp.float32:
        raise NotHere("it computes in 16 bits, and config.model.compute is float32")

    def attend(q, k, v, segments):
        return jax.nn.dot_product_attention(q, k, v, mask=allowed(segments)[:, None], implementation="cudnn")
    return attend
