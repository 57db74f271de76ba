"""`auto` chooses by memory, keeps its choice, and refuses: with compilers of the test, and with that of a CPU."""

import contextlib
import dataclasses
import io
import json
import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import session

import jax
import jax.numpy as jnp
from jax.extend.core import jaxprs_in_params

from pipe_trainer import exits, fit
from pipe_trainer.checkpoints import resume
from pipe_trainer.config import PRESETS, MeshShape
from pipe_trainer.model import model, sharding, t5
from pipe_trainer.objectives import registry
from pipe_trainer.run import candidates, compiled, devices, job, memory, search, slices, throughput
from pipe_trainer.run.memory import GIB, Figure
from pipe_trainer.run.setup import prepare

MIB = 1 << 20


def config_of(raw, seq_len=1024, vocab=32000):
    mistakes = []
    config = job.parse_config(raw, mistakes)
    if mistakes:
        raise exits.BadJob(mistakes)
    return fit.shaped(config, seq_len, vocab)


def compiler(factor, asked=None, limit=None):
    """A compiler that measures `factor` times the estimate."""
    def measure(config, candidate):
        if asked is not None:
            asked.append(candidate)
        return Figure(peak=int(candidates.bytes_of(config, candidate) * factor), arguments=1, temporaries=2, seconds=1.0)
    return lambda config: lambda candidate: measure(config, candidate)


class Keys(unittest.TestCase):
    def test_what_is_not_given_is_left_to_auto_and_has_the_values_of_before(self):
        config = job.parse_config({"preset": "ja-1b"}, [])
        self.assertEqual(set(config.auto), {("model", "remat"), ("batch", "micro"), ("mesh", "data"), ("mesh", "fsdp"),
                                            ("mesh", "tensor")})
        self.assertEqual((config.model.remat, config.batch.micro, config.mesh.data), ("dots", 1, None))

    def test_auto_by_name_is_the_same(self):
        named = job.parse_config({"model": {"remat": "auto"}, "batch": {"micro": "auto"}, "mesh": "auto"}, [])
        self.assertEqual(named, job.parse_config({}, []))

    def test_a_number_is_kept_and_one_axis_of_a_mesh_decides_about_the_others(self):
        config = job.parse_config({"batch": {"micro": 2}, "mesh": {"fsdp": 4}, "model": {"remat": "none"}}, [])
        self.assertEqual(config.auto, ())
        self.assertEqual((config.batch.micro, config.mesh.fsdp, config.mesh.data), (2, 4, None))
        self.assertEqual(job.parse_config({"mesh": {"fsdp": "auto", "tensor": 2}}, []).auto[-1], ("mesh", "fsdp"))

    def test_other_words_are_refused(self):
        for raw, part in (({"batch": {"micro": "many"}}, "config.batch.micro: wants a whole number or auto"),
                          ({"batch": {"micro": 0}}, "config.batch.micro: wants at least 1"),
                          ({"mesh": {"data": "all"}}, "config.mesh.data: wants a whole number or auto"),
                          ({"mesh": "none"}, "config.mesh: wants a map"),
                          ({"batch": {"rows": "auto"}}, "config.batch.rows: wants a whole number, and"),
                          ({"model": {"remat": "some"}}, "wants one of none, dots, full or auto")):
            with self.assertRaises(exits.BadJob) as refused:
                config_of(raw)
            self.assertIn(part, str(refused.exception))

    def test_a_config_goes_through_json(self):
        config = config_of({"preset": "ja-0.1b"})
        text = json.dumps(dataclasses.asdict(config))
        from pipe_trainer import config as configs
        self.assertEqual(configs.of_dict(json.loads(text)), config)


class Candidates(unittest.TestCase):
    def test_rows_of_a_step_never_change_and_always_come_out_even(self):
        config = config_of({"preset": "ja-0.1b"})
        for one in candidates.every(config, 8):
            self.assertEqual(one.of(config).batch.rows, 256)
            self.assertEqual(256 // one.micro % (one.data * one.fsdp), 0)
            self.assertEqual(one.data * one.fsdp * one.tensor, 8)

    def test_a_ladder_goes_from_fast_to_small(self):
        for preset in PRESETS:
            rungs = candidates.ladder(config_of({"preset": preset}), 8)
            config = config_of({"preset": preset})
            parted = max(candidates.every(config, 8), key=lambda one: (one.fsdp * one.tensor, one.micro, one.remat == "full"))
            self.assertIn(parted, rungs)
            if candidates.bytes_of(config, rungs[-1]) > candidates.bytes_of(config, rungs[-2]):
                self.assertEqual(rungs.pop(), parted)
            taken = [candidates.bytes_of(config, rung) for rung in rungs]
            costs = [candidates.cost(config, rung) for rung in rungs]
            self.assertEqual(taken, sorted(taken, reverse=True))
            self.assertEqual(costs, sorted(costs))

    def test_a_small_model_that_fits_is_trained_as_before(self):
        first = candidates.ladder(config_of({"preset": "tiny", "batch": {"rows": 16}}), 8)[0]
        self.assertEqual(first, candidates.Candidate(1, "none", 8, 1, 1))

    def test_numbers_are_kept(self):
        config = config_of({"preset": "ja-0.1b", "batch": {"micro": 4}, "mesh": {"tensor": 2, "fsdp": "auto"}})
        found = candidates.every(config, 8)
        self.assertEqual({(one.micro, one.tensor) for one in found}, {(4, 2)})
        self.assertEqual({one.fsdp for one in found}, {1, 2, 4})

    def test_auto_beside_a_number_that_does_not_divide(self):
        for mesh in ({"data": 3, "fsdp": "auto"}, {"tensor": 16, "data": "auto"}, {"data": 4, "tensor": 4, "fsdp": "auto"}):
            with self.assertRaises(exits.BadJob) as refused:
                candidates.every(config_of({"mesh": mesh}), 8)
            self.assertEqual(len(str(refused.exception).splitlines()), 1)
            self.assertIn("beside auto, and there are 8 devices", str(refused.exception))

    def test_estimates_are_near_what_was_compiled(self):
        """Each figure comes from libtpu; the constants were fitted to these figures alone."""
        kept = json.loads((Path(__file__).parent / "fit_figures.json").read_text(encoding="utf-8"))
        off = {}
        for one in kept["figures"]:
            config = config_of(one["config"], one["seq_len"], one["vocab"])
            candidate = candidates.Candidate(**one["candidate"])
            estimate = candidates.bytes_of(config, candidate)
            off[f"{one['config']} of {one['seq_len']} on {one['slice']}, {candidate}"] = estimate / GIB / one["peak_gib"]
        wrong = {name: ratio for name, ratio in off.items() if not 0.85 < ratio < 1.3}
        self.assertEqual(wrong, {})
        near = [ratio for ratio in off.values() if 0.9 < ratio < 1.1]
        self.assertGreaterEqual(len(near), 0.8 * len(off))


class Operations(unittest.TestCase):
    def test_auto_counts_them_as_the_plan_of_a_run_does(self):
        for preset in PRESETS:
            config = config_of({"preset": preset}, seq_len=512)
            self.assertEqual(candidates.operations(config)[0], throughput.flops_per_token(config)[0] * config.batch.rows * 512)

    def test_those_of_a_pair_are_in_its_program(self):
        """The decoder's keys and values of what was read are made once for each position that is read."""
        config = config_of({"preset": "t5-small"}, seq_len=512)
        shape, slots = config.model, registry.of(config).places

        def forward(params, read, given):
            return jnp.matmul(*model.readout(params, shape, t5.forward(params, shape, read, read, given, given)[0]))
        ids = (jax.ShapeDtypeStruct((1, length), jnp.int32) for length in (512, slots))
        program = jax.make_jaxpr(forward)(model.shapes(shape), *ids).jaxpr
        self.assertAlmostEqual(products(program) * 3 / (512 * throughput.flops_per_token(config)[0]), 1, delta=0.005)


def products(program, times=1):
    """Returns the operations of all products of matrices in a program."""
    found = 0
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            (summed, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            found += 2 * times * math.prod(equation.outvars[0].aval.shape) * math.prod(shape[axis] for axis in summed)
        inner = times * equation.params["length"] if equation.primitive.name == "scan" else times
        found += sum(products(held, inner) for held in jaxprs_in_params(equation.params))
    return found


class Walk(unittest.TestCase):
    def walk(self, factor, gib=15.75, raw=None, measure=None):
        config, asked = config_of(raw or {"preset": "ja-0.1b"}), []
        found = search.walk(config, 8, int(gib * GIB), measure or compiler(factor, asked)(config))
        return config, found, asked

    def test_where_the_estimate_is_right_two_programs_are_compiled(self):
        config, found, asked = self.walk(1.0, gib=12)
        self.assertEqual(len(asked), 2)
        self.assertEqual(found.rungs.index(asked[1]), found.best - 1)  # the next larger
        self.assertFalse(found.figures[found.best - 1].fits(found.usable))

    def test_where_the_fastest_fits_one_is(self):
        _, found, asked = self.walk(1.0, raw={"preset": "tiny"})
        self.assertEqual((found.best, len(asked)), (0, 1))

    def test_wrong_estimates_are_walked_from(self):
        for factor in (0.3, 0.7, 1.4, 3.0, 8.0):
            config, found, asked = self.walk(factor)
            self.assertLessEqual(len(asked), search.MOST_COMPILES)
            self.assertEqual(len(set(asked)), len(asked))
            if found.best is not None:
                self.assertTrue(found.figures[found.best].fits(found.usable))
            smallest = candidates.bytes_of(config, found.rungs[-1]) * factor
            self.assertEqual(found.best is not None, smallest <= found.usable * memory.SHARE)

    def test_what_fits_nothing_is_refused_with_what_would_hold_it(self):
        config, found, _ = self.walk(1.0, gib=7.48, raw={"preset": "ja-7b"})
        self.assertIsNone(found.best)
        error = search.refusal(config, found, "TPU v2 x 8", slices.parse("v2-8"))
        self.assertEqual(error.code, exits.BAD_JOB)
        text = str(error)
        self.assertEqual(len(text.splitlines()), 1)
        self.assertRegex(text, r"fit no TPU v2 x 8: .* takes [\d.]+ GiB of 7.18; by estimate v2-\d+ (or \S+ )?holds it")

    def test_rows_longer_than_any_slice_holds(self):
        config = config_of({"preset": "ja-7b"}, seq_len=1 << 22)
        self.assertIn("no slice holds it", search.advice(config, slices.parse("v2-8")))

    def test_a_compiler_that_dies_once_leaves_the_next_smaller_candidate(self):
        config, asked = config_of({"preset": "ja-0.1b"}), []

        def measure(candidate):
            asked.append(candidate)
            return Figure(error="the compiler crashed with signal 11", died=True) if len(asked) == 1 else Figure(peak=GIB)
        found = search.walk(config, 8, 15 * GIB, measure)
        self.assertEqual(found.best, found.rungs.index(asked[1]))
        self.assertEqual(found.rungs.index(asked[1]), found.rungs.index(asked[0]) + 1)

    def test_a_compiler_that_always_dies_is_told_after_two(self):
        config, found, asked = self.walk(None, measure=lambda candidate: Figure(error="the compiler crashed", died=True))
        self.assertEqual(len(found.figures), search.MOST_DEATHS)
        error = search.refusal(config, found, "TPU v4 x 4", slices.parse("v4-8"))
        self.assertEqual(error.code, exits.ENVIRONMENT)
        self.assertIn("the compiler crashed, at each of 2 candidates", str(error))
        self.assertIn("set batch.micro", str(error))

    def test_a_kernel_that_the_chip_does_not_have(self):
        config, found, _ = self.walk(None, measure=lambda candidate: Figure(error="INTERNAL: Mosaic failed"))
        error = search.refusal(config, found, "TPU v2 x 8", slices.parse("v2-8"))
        self.assertEqual(error.code, exits.BAD_JOB)
        self.assertIn("does not compile for TPU v2 x 8: INTERNAL: Mosaic failed", str(error))


class Child(unittest.TestCase):
    def test_each_end_of_a_compiler_is_told(self):
        for code, out, err, part in ((-9, "", "", "killed, as where the memory of this machine is full"),
                                     (-11, "", "Fatal Python error", "crashed with signal 11"),
                                     (1, "", "a\nMemoryError\n", "ended with 1: MemoryError"),
                                     (0, "no json", "", "ended with 0"),
                                     (0, "[1]", "x", "ended with 0: x")):
            figure = Figure(**compiled.outcome(code, out, err, 2.0))
            self.assertTrue(figure.died)
            self.assertIn(part, figure.error)

    def test_an_answer_is_a_figure(self):
        figure = Figure(peak=5, arguments=2, temporaries=3, flops=1.5, seconds=1.0)
        self.assertEqual(Figure(**compiled.outcome(0, "noise\n" + json.dumps(dataclasses.asdict(figure)), "", 2.0)), figure)
        with self.assertRaises(compiled.NoTopology):
            compiled.outcome(0, '{"no_topology": "v9"}', "", 0.0)

    def test_what_a_compiler_says_of_memory(self):
        for text, gib in (("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 14.50G of 7.48G hbm.", 14.5),
                          ("Used 512.00M of 7.48G hbm", 0.5),
                          ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.", 2.0),
                          ("RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (7.95G) "
                           "exceeds available HBM (7.48G).", 7.95),
                          ("INTERNAL: something else", None)):
            self.assertEqual(memory.taken(text), gib and int(gib * GIB))

    def test_whose_memory_is_full(self):
        for text, device in (("Ran out of memory in memory space vmem", True), ("exceeds available HBM (7.48G)", True),
                             ("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes", False), ("std::bad_alloc", False)):
            self.assertEqual(memory.is_of_device(text), device, text)


class Names(unittest.TestCase):
    def test_slices(self):
        for name, topology, devices, hosts in (("v2-8", "v2:2x2", 8, 1), ("v2-32", "v2:4x4", 32, 4), ("v3-8", "v3:2x2", 8, 1),
                                               ("v4-8", "v4:2x2x1", 4, 1), ("v4-32", "v4:2x2x4", 16, 4),
                                               ("v5e-8", "v5e:2x4", 8, 1), ("v5litepod-64", "v5e:8x8", 64, 8),
                                               ("v5p-8", "v5p:2x2x1", 4, 1), ("v6e-8", "v6e:2x4", 8, 1)):
            one = slices.parse(name)
            self.assertEqual((one.topology, one.devices, one.hosts), (topology, devices, hosts))
            self.assertEqual(slices.of_devices(slices.GENERATIONS[one.generation].kind, devices), one)

    def test_several_slices(self):
        two = slices.parse("2xv5litepod-16")
        self.assertEqual((two.name, two.topology, two.devices, two.hosts), ("2xv5e-16", "v5e:4x4", 32, 4))
        self.assertEqual(two.options, {"num_slices": 2})
        self.assertEqual(slices.of_devices("TPU v5 lite", 32, 2), two)
        self.assertEqual(slices.of_devices("TPU v5 lite", 32), slices.parse("v5e-32"))
        self.assertIsNone(slices.of_devices("TPU v5 lite", 33, 2))
        self.assertEqual(slices.parse("1xv3-8"), slices.parse("v3-8"))

    def test_what_is_no_slice(self):
        for name in ("v3", "v3-7", "v9-8", "v5e-3", "", "v3-0", "v3-99999999", "gpu-8", "0xv3-8", "xv3-8", "2xv3-7"):
            with self.assertRaises(exits.BadJob):
                slices.parse(name)

    def test_kinds_of_devices(self):
        for kind, generation in (("TPU v2", "v2"), ("TPU v5 lite", "v5e"), ("TPU v5", "v5p"), ("TPU v5p", "v5p"),
                                 ("TPU v6 lite", "v6e"), ("TPU v6e", "v6e"), ("cpu", None), ("NVIDIA H100", None)):
            self.assertEqual(slices.generation_of(kind), generation)

    def test_memory_of_a_device(self):
        def device(platform, kind, stats):
            return mock.Mock(platform=platform, device_kind=kind, memory_stats=stats)
        self.assertIsNone(memory.of_device(device("cpu", "cpu", dict)))
        self.assertEqual(memory.of_device(device("gpu", "NVIDIA H100", lambda: {"bytes_limit": 7})), 7)
        self.assertEqual(memory.of_device(device("tpu", "TPU v3", lambda: None)), int(15.48 * GIB))
        self.assertEqual(memory.of_device(device("tpu", "TPU v3", mock.Mock(side_effect=RuntimeError))), int(15.48 * GIB))
        self.assertIsNone(memory.of_device(device("tpu", "TPU v99", lambda: None)))


@dataclasses.dataclass(frozen=True)
class Chip:
    """A device of JAX, as far as a mesh asks."""
    id: int
    slice_index: int
    platform: str = "tpu"
    device_kind: str = "TPU v5 lite"
    process_index: int = 0


class SeveralSlices(unittest.TestCase):
    # In the order of two hosts in each slice, the hosts of the slices in turn.
    chips = [Chip(slice_ * 100 + host * 2 + chip, slice_) for host in range(2) for slice_ in range(2) for chip in range(2)]

    def mesh(self, **axes):
        return sharding.make_mesh(MeshShape(**axes), self.chips)

    def test_only_data_goes_from_one_slice_to_the_other(self):
        for axes in ({}, {"fsdp": 2}, {"fsdp": 2, "tensor": 2}, {"fsdp": 4}, {"tensor": 4}):
            mesh = self.mesh(**axes)
            for row in range(mesh.shape["data"]):
                held = {chip.slice_index for chip in mesh.devices[row].flat}
                self.assertEqual(held, {row * 2 // mesh.shape["data"]}, axes)
        self.assertEqual([chip.id for chip in self.mesh(fsdp=4).devices.flat], [0, 1, 2, 3, 100, 101, 102, 103])

    def test_a_mesh_that_would_part_a_model_over_slices_is_refused(self):
        for axes in ({"fsdp": 8}, {"tensor": 8}, {"fsdp": 4, "tensor": 2}, {"data": 1, "fsdp": 8}):
            with self.assertRaisesRegex(exits.BadJob, "^config.mesh: fsdp . x tensor . do not divide the 4 devices of "
                                                      "each of 2 slices"):
                self.mesh(**axes)

    def test_auto_takes_no_such_mesh(self):
        config = config_of({"preset": "ja-0.1b"})
        self.assertEqual({one.data % 2 for one in candidates.every(config, 8, 2)}, {0})
        self.assertIn(1, {one.data for one in candidates.every(config, 8)})
        with self.assertRaisesRegex(exits.BadJob, "mesh.data is a multiple of 2, the number of slices"):
            candidates.every(config_of({"mesh": {"fsdp": 8, "data": "auto"}}), 8, 2)

    def test_fewer_micro_batches_are_worth_more(self):
        """Each micro-batch sends its gradients over the network between the slices."""
        config = config_of({"preset": "ja-0.1b"})
        one, two = (candidates.Candidate(micro, "full", 8, 1, 1) for micro in (1, 2))
        more = [candidates.cost(config, two, number) - candidates.cost(config, one, number) for number in (1, 2)]
        self.assertGreater(more[1], more[0])

    def test_slices_of_different_sizes_are_refused(self):
        with self.assertRaisesRegex(exits.BadJob, "the slices have 4, 2 devices"):
            sharding.make_mesh(MeshShape(), self.chips[:6])

    def test_hosts_without_a_fast_network_are_no_slices(self):
        """JAX may number the hosts of GPUs as if each were a slice."""
        gpus = [Chip(number, number // 4, "gpu") for number in range(8)]
        self.assertEqual(sharding.make_mesh(MeshShape(fsdp=8), gpus).shape["fsdp"], 8)

    def test_the_choice_is_that_of_the_slices_here(self):
        asked = []

        def elsewhere(config, slice_):
            asked.append(slice_.name)
            return Figure(peak=1, arguments=1, temporaries=1)
        with mock.patch.object(compiled, "elsewhere", elsewhere), mock.patch.object(search, "agreed", lambda one: one), \
                tempfile.TemporaryDirectory() as place, mock.patch.object(memory, "of_device", lambda chip: 16 * GIB):
            config, fit_ = search.resolve(config_of({"preset": "ja-0.1b"}), self.chips, place)
        self.assertEqual(asked, ["2xv5e-4"])
        self.assertEqual((config.mesh.data % 2, fit_["devices"]), (0, "TPU v5 lite x 8 in 2 slices"))


class Members(unittest.TestCase):
    def check(self, index, count, environ):
        with mock.patch.object(jax, "process_index", lambda: index), mock.patch.object(jax, "process_count", lambda: count):
            devices.check_number(environ)

    def test_a_process_whose_devices_have_another_number_is_refused(self):
        environ = {"PIPE_HOST_COUNT": "4", "PIPE_WORKER_COUNT": "4", "PIPE_WORKER_INDEX": "2"}
        self.check(2, 4, environ)
        self.check(1, 1, {})
        with self.assertRaisesRegex(exits.Ended, "process 3 of 4, and the stage for 2 of 4") as refused:
            self.check(3, 4, environ)
        self.assertEqual(refused.exception.code, exits.BAD_JOB)
        with self.assertRaisesRegex(exits.Ended, "process 2 of 8, .*MEGASCALE_NUM_SLICES"):
            self.check(2, 8, environ)


class Command(unittest.TestCase):
    """`python -m pipe_trainer.fit`, with a compiler of the test."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def asked(self, question, *words, factor=1.0):
        """(exit code, standard output, standard error)."""
        def measure(config, slice_):
            if factor is None:
                raise compiled.NoTopology("v3-8: no libtpu")
            candidate = candidates.Candidate(config.batch.micro, config.model.remat, config.mesh.data, config.mesh.fsdp,
                                             config.mesh.tensor)
            return Figure(int(candidates.bytes_of(config, candidate) * factor), 2, 3, 1.0, 7.0)
        file = self.place / "question.json"
        file.write_text(question if isinstance(question, str) else json.dumps(question))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.object(fit.answer, "__defaults__", (measure,)):
            code = fit.main([str(file), *words])
        return code, out.getvalue(), err.getvalue()

    GOOD = {"config": {"preset": "ja-0.1b"}, "seq_len": 1024, "vocab": 32000, "steps": 20000}

    def test_what_fits_is_told_with_time_and_cost(self):
        code, out, _ = self.asked(self.GOOD, "--on", "v2-8", "--price", "4.5")
        self.assertEqual(code, 0)
        for part in ("v2-8 (8 devices on 1 machine, 7.48 GiB each): 109.", "256 rows of 1024 ids a step", "choice      micro",
                     "GiB a device: ", "TFLOP a step", "if it reaches 34% of the published 23 TFLOP/s a device",
                     "h for 20,000 steps", "for 20,000 steps, at 4.5 an hour", "also tried", "compiled    2 programs in 14 s"):
            self.assertIn(part, out)

    def test_time_is_that_of_the_arithmetic(self):
        found = json.loads(self.asked(self.GOOD, "--on", "v3-8", "--json")[1])
        flops = 256 * 1024 * 6 * (found["params_m"] * 1e6) + 6 * 12 * 768 * 1024 * 256 * 1024
        self.assertAlmostEqual(found["step_tflop"] / (flops / 1e12), 1.0, delta=0.01)
        again = 1.0 if "remat none" in found["shown"] else 1.4
        least = found["step_tflop"] / (8 * 61.5 * 0.34)
        self.assertTrue(least * 0.999 <= found["step_seconds"] <= least * again, found)

    def test_a_small_step_has_a_floor_and_a_figure_that_nothing_measured_is_marked(self):
        tiny = {"config": {"preset": "tiny"}, "seq_len": 1024, "vocab": 32000, "steps": 1000}
        found = json.loads(self.asked(tiny, "--on", "v6e-8", "--json")[1])
        self.assertEqual(found["step_seconds"], fit.LEAST_SECONDS)
        self.assertLess(found["tokens_per_s"], 10e6)
        for question, slice_, why in ((tiny, "v6e-8", "no step takes less than 0.002 s"),
                                      ({**tiny, "config": {"preset": "ja-0.1b"}}, "v5e-8", "nothing was measured on v5e")):
            self.assertIn(f"(extrapolated: {why})", self.asked(question, "--on", slice_)[1])
        self.assertNotIn("extrapolated", self.asked(self.GOOD, "--on", "v3-8")[1])

    def test_slices_with_a_network_between_them(self):
        code, out, _ = self.asked(self.GOOD, "--on", "2xv5e-16")
        self.assertEqual(code, 0)
        for part in ("2xv5e-16 (32 devices on 4 machines, ", ", without the network between the slices"):
            self.assertIn(part, out)

    def test_several_slices_and_one_that_is_too_small(self):
        code, out, err = self.asked({**self.GOOD, "config": {"preset": "ja-7b"}}, "--on", "v2-8,v5e-64")
        self.assertEqual(code, fit.NOT_FITTING)
        self.assertIn("v2-8 (8 devices", out)
        self.assertIn("by estimate v2-", out)
        self.assertIn("v5e-64 (64 devices on 8 machines", out)
        self.assertEqual(err, "it does not fit v2-8\n")

    def test_answers_are_kept_beside_those_of_other_slices_with_the_same_mark(self):
        kept = self.place / "fit" / "kept.json"
        for slice_, mark in (("v3-8", "a"), ("v5e-8", "a")):
            self.asked(self.GOOD, "--on", slice_, "--keep", str(kept), "--mark", mark)
        answers = json.loads(kept.read_text())["answers"]
        self.assertEqual(sorted(answers), ["v3-8", "v5e-8"])
        self.assertRegex(answers["v3-8"], r"^fits v3-8: [\d.]+ of 15.48 GiB a device, with micro ")
        self.asked(self.GOOD, "--on", "v4-8", "--keep", str(kept), "--mark", "b")
        self.assertEqual(list(json.loads(kept.read_text())["answers"]), ["v4-8"])
        kept.write_text("[")
        self.asked(self.GOOD, "--on", "v4-8", "--keep", str(kept), "--mark", "b")
        self.assertEqual(list(json.loads(kept.read_text())["answers"]), ["v4-8"])

    def test_questions_that_are_none(self):
        for question, part in (("{", "is not JSON"), ("[1]", "neither a job nor a question"), ("[" * 100_000, "is not JSON"),
                               ({}, "question.seq_len: wants"), ({**self.GOOD, "vocab": True}, "question.vocab: wants"),
                               ({**self.GOOD, "steps": 0}, "question.steps"), ({**self.GOOD, "stepz": 1}, "did you mean steps?"),
                               ({**self.GOOD, "seq_len": 1 << 40}, "question.seq_len"),
                               ({**self.GOOD, "config": {"preset": "ja-2b"}}, "config.preset"),
                               ({**self.GOOD, "config": {"model": {"vocab": 7}}}, "config.model.vocab: 7"),
                               ({**self.GOOD, "config": {"model": {"seq_len": 8}}}, "config.model.seq_len: 8"),
                               ({**self.GOOD, "config": {"mesh": {"data": 3, "fsdp": "auto"}}}, "beside auto"),
                               ({"pipe_job": 2}, "another trainer")):
            code, _, err = self.asked(question, "--on", "v3-8")
            self.assertEqual(code, exits.BAD_JOB, question)
            self.assertIn(part, err)
        for words in (("--on", "v3"), ("--price", "much", "--on", "v3-8"), ("--price", "-1"), ("--nonsense",)):
            self.assertEqual(self.asked(self.GOOD, *words)[0], exits.BAD_JOB, words)

    def test_a_job_without_its_rows(self):
        job_of_none = {"pipe_job": 1, "run_dir": "run", "data": {"dir": "/nowhere", "train": "t", "validation": "v"}}
        code, _, err = self.asked(job_of_none, "--on", "v2-8")
        self.assertEqual((code, err.count("\n")), (exits.BAD_DATA, 1), err)
        self.assertIn("/nowhere/MANIFEST.json: cannot be read", err)

    def test_without_libtpu(self):
        code, _, err = self.asked(self.GOOD, "--on", "v3-8", factor=None)
        self.assertEqual(code, exits.ENVIRONMENT)
        self.assertIn("pipe trainer setup --dir .pipe/trainer-tpu --extra tpu", err)

    def test_rows_that_do_not_come_out_even(self):
        code, out, _ = self.asked({**self.GOOD, "config": {"preset": "tiny", "batch": {"rows": 3}, "mesh": {"tensor": 1}}},
                                  "--on", "v3-8")
        self.assertEqual(code, fit.NOT_FITTING)
        self.assertIn("3 rows do not come out even over 8 devices", out)


class Runs(unittest.TestCase):
    """Runs on a CPU; where a test says so, its memory has a limit."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.rows = session.random_rows()
        self.compiled, self.figure = [], None

    def prepared(self, mib=None, config=None, **members):
        def measured(config, devices):
            self.compiled.append(config)
            return self.figure or compiled.figure_of(config, devices)
        bound = None if mib is None else int(mib * MIB / memory.SHARE)
        with mock.patch.object(memory, "of_device", lambda device: bound), \
                mock.patch.object(search, "measured", measured):
            return prepare(session.small_job(self.place / "run", config, **members), self.rows, self.rows)

    def test_a_cpu_compiles_nothing_and_trains_as_before(self):
        setup = self.prepared()
        self.assertEqual(self.compiled, [])
        self.assertEqual((setup.config.batch.micro, setup.config.model.remat, setup.config.mesh.data), (1, "none", 1))
        self.assertFalse((self.place / "run").exists())
        fixed = {"batch": {"rows": 8, "micro": 1}, "model": {**session.SMALL["model"], "remat": "none"},
                 "mesh": {"data": 1, "fsdp": 1, "tensor": 1}}
        one = session.trained(session.small_job(self.place / "auto", steps=3), self.rows)
        other = session.trained(session.small_job(self.place / "fixed", fixed, steps=3), self.rows)
        self.assertEqual(one.events.losses(), other.events.losses())

    def test_what_is_chosen_is_told_and_kept_and_not_searched_again(self):
        first = self.prepared(1000)
        self.assertEqual(len(self.compiled), 1)
        self.assertEqual(first.fit["chosen"]["batch.micro"], 1)
        self.assertGreater(first.fit["peak_gib"], 0)
        second = self.prepared(1000)
        self.assertEqual(len(self.compiled), 1)
        self.assertTrue(second.fit["kept"])
        self.assertEqual(second.config, first.config)
        self.assertEqual({**first.fit, "kept": True}, second.fit)

    def test_a_kept_figure_of_something_else_or_damaged_is_searched_anew(self):
        self.figure = Figure(peak=5 * MIB, arguments=1, temporaries=2)
        self.prepared(1000)
        path = self.place / "run" / search.KEPT
        good = json.loads(path.read_text())
        damaged = [{**good, "versions": {**good["versions"], "jax": "0.0.1"}}, {**good, "devices": "TPU v3 x 8"},
                   {**good, "config": "0" * 32}, {**good, "candidate": {**good["candidate"], "micro": 3}},
                   {**good, "candidate": {**good["candidate"], "micro": True}}, {**good, "candidate": []},
                   {**good, "figure": {"peak_gib": "much"}}, {**good, "pipe_fit": 2}, [], None, 7, {}]
        for number, one in enumerate([*map(json.dumps, damaged), "", "{", "[" * 100_000, "\0", '{"pipe_fit": 1e999}']):
            path.write_text(one)
            self.assertFalse(self.prepared(1000).fit["kept"], one[:80])
            self.assertEqual(len(self.compiled), number + 2, one[:80])
        path.write_bytes(b"\xff\xfe")
        self.assertFalse(self.prepared(1000).fit["kept"])

    def test_less_memory_gives_smaller_pieces_and_the_same_loss(self):
        wide = session.trained(session.small_job(self.place / "wide", steps=3), self.rows)
        whole = compiled.figure_of(self.prepared().config, jax.devices()[:1])
        setup = self.prepared(whole.peak / MIB * 0.97)
        self.assertNotEqual((setup.config.batch.micro, setup.config.model.remat), (1, "none"))
        self.assertLess(setup.fit["peak_gib"], whole.peak / GIB)
        fixed = {"batch": {"rows": 8, "micro": setup.config.batch.micro},
                 "model": {**session.SMALL["model"], "remat": setup.config.model.remat}}
        narrow = session.trained(session.small_job(self.place / "narrow", fixed, steps=3), self.rows)
        for step, loss in wide.events.losses().items():
            self.assertAlmostEqual(narrow.events.losses()[step] / loss, 1.0, delta=1e-5)

    def test_a_checkpoint_of_one_choice_is_gone_on_with_by_another(self):
        wide, narrow = self.prepared(), self.prepared(config={"batch": {"rows": 8, "micro": 4},
                                                              "model": {**session.SMALL["model"], "remat": "full"}})
        resume.check(narrow, "checkpoints/4", resume.facts_of(wide))
        resume.check(wide, "checkpoints/4", resume.facts_of(narrow))

    def test_nothing_fits(self):
        with self.assertRaises(exits.BadJob) as refused:
            self.prepared(0.01)
        self.assertEqual(refused.exception.code, 64)
        self.assertIn("is the smallest that was tried", str(refused.exception))
        self.assertFalse((self.place / "run" / search.KEPT).exists())

    def test_each_compilation_is_told_before_it_begins(self):
        told = []
        with mock.patch.object(memory, "of_device", lambda device: GIB), \
                mock.patch.object(search, "measured", lambda config, devices: Figure(peak=5)):
            prepare(session.small_job(self.place / "run"), self.rows, self.rows, tell=told.append)
        self.assertEqual(len(told), 1)
        self.assertIn("compiles micro 1, remat none", told[0])


if __name__ == "__main__":
    unittest.main()
