"""The bundled trainer of pipe: language models in plain JAX."""

import os

# JAX reads settings from its variables. Those that decide what a program computes are the trainer's own: with another
# generator of random numbers, or with 64 bits, the same recipe would give other weights, or none.
PASSED = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE",
          "JAX_ENABLE_COMPILATION_CACHE", "JAX_RAISE_PERSISTENT_CACHE", "JAX_EXPLAIN_CACHE", "JAX_LOG", "JAX_DEBUG_LOG",
          "JAX_DUMP_IR", "JAX_COORDINATOR_BIND", "JAX_LOCAL_DEVICE_IDS", "JAX_SLICE_INDEX", "JAX_PARTITION_INDEX",
          "JAX_TRACEBACK_FILTERING", "JAX_CPU_COLLECTIVES",
          "JAX_CUDA_VISIBLE_DEVICES", "JAX_ROCM_VISIBLE_DEVICES", "JAX_NUM_CPU_DEVICES", "JAX_FORCE_TPU_INIT",
          "JAX_PJRT")
LEFT_OUT = sorted(name for name in os.environ if name.startswith("JAX_") and not name.startswith(PASSED))
for name in LEFT_OUT:
    del os.environ[name]
