"""Engines under one interface: opfuse and those that a user would pick instead.

An engine is made from a model's path, the feeds of one run (name → array) and a number of threads; `run()` runs once, `results()`
gives the outputs of the last run. Making it raises where the engine does not take the model. `disk` is the size of what it loads,
where it writes anything."""
import ctypes as C
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}
NUMBERS = {np.dtype(v): k for k, v in DTYPES.items()}


class Array(C.Structure):
    pass


Array._fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("rank", C.c_int), ("dims", C.POINTER(C.c_int64)), ("data", C.c_void_p), ("kind", C.c_int),
                  ("n_items", C.c_size_t), ("items", C.POINTER(Array))]


class Message(C.Structure):
    _fields_ = [("severity", C.c_int), ("code", C.c_char_p), ("text", C.c_char_p), ("file", C.c_char_p), ("node", C.c_char_p),
                ("op", C.c_char_p), ("message", C.c_char_p), ("hint", C.c_char_p), ("node_index", C.c_int)]


class Opfuse:
    """A session of the C API."""

    policy = "best"

    def __init__(self, path, feeds, threads):
        library = os.environ["OPFUSE_LIBRARY"]
        self.lib = C.CDLL(library)
        self.lib.opf_context_new.restype = C.c_void_p
        self.lib.opf_context_message.restype = Message
        self.lib.opf_context_messages.restype = C.c_size_t
        self.context = C.c_void_p(self.lib.opf_context_new())
        for option, value in [("fuse", self.policy), ("threads", str(threads))]:
            self.check(self.lib.opf_context_set(self.context, option.encode(), value.encode()))
        self.model, self.session = C.c_void_p(), C.c_void_p()
        self.check(self.lib.opf_model_load(C.byref(self.model), self.context, path.encode()))
        self.check(self.lib.opf_session_new(C.byref(self.session), self.model))
        self.outputs = (Array * 64)()
        begun = time.perf_counter()
        names = [p.name for p in onnx.load(path, load_external_data=False).graph.input if p.name in feeds]
        self.apart = time.perf_counter() - begun  # the order of the inputs, found by another library: no part of getting ready
        self.keep = [np.ascontiguousarray(feeds[n]) for n in names]
        self.inputs = (Array * max(1, len(names)))()
        for slot, a in zip(self.inputs, self.keep):
            slot.dtype, slot.rank, slot.data = NUMBERS[a.dtype], a.ndim, a.ctypes.data
            slot.dims = (C.c_int64 * max(1, a.ndim))(*a.shape)

    def check(self, status):
        if status:
            n = self.lib.opf_context_messages(self.context)
            raise RuntimeError("\n".join(self.lib.opf_context_message(self.context, C.c_size_t(i)).text.decode() for i in range(n)))

    def run(self):
        self.check(self.lib.opf_session_run(self.session, self.inputs, self.outputs))

    def results(self, count):
        out = []
        for slot in self.outputs[:count]:
            shape, dtype = tuple(slot.dims[i] for i in range(slot.rank)), np.dtype(DTYPES[slot.dtype])
            out.append(np.frombuffer(C.string_at(slot.data, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize), dtype).reshape(shape).copy())
        return out


class Unfused(Opfuse):
    policy = "none"


class Ort:
    level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL

    def __init__(self, path, feeds, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
        options.graph_optimization_level = self.level
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # an idle engine's threads must not take the cores
        self.session, self.feeds = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]), feeds

    def run(self):
        self.last = self.session.run(None, self.feeds)

    def results(self, count):
        return self.last[:count]


class OrtOff(Ort):
    level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL


class OpenVino:
    def __init__(self, path, feeds, threads):
        import openvino as ov
        core = ov.Core()
        model = core.read_model(path)
        model.reshape({name: list(a.shape) for name, a in feeds.items()})
        self.compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                          "INFERENCE_PRECISION_HINT": "f32"})
        self.request, self.feeds = self.compiled.create_infer_request(), feeds

    def run(self):
        self.request.infer(self.feeds)

    def results(self, count):
        return [np.array(self.request.get_output_tensor(i).data) for i in range(count)]


def tool(name, *arguments):
    done = subprocess.run([os.path.join(os.path.dirname(sys.executable), name), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[0] if (done.stderr or done.stdout).strip() else f"{name} failed")


def with_fixed_shapes(path, feeds, folder):
    """The model with the feeds' shapes, for compilers that want them."""
    model = onnx.load(path)
    for port in model.graph.input:
        if port.name in feeds:
            for dim, size in zip(port.type.tensor_type.shape.dim, feeds[port.name].shape):
                dim.dim_value = size
    out = os.path.join(folder, "fixed.onnx")
    onnx.save(model, out)
    return out


class Iree:
    def __init__(self, path, feeds, threads):
        import iree.runtime as rt
        self.folder = tempfile.TemporaryDirectory()
        fixed, mlir, module = with_fixed_shapes(path, feeds, self.folder.name), self.folder.name + "/m.mlir", self.folder.name + "/m.vmfb"
        tool("iree-import-onnx", fixed, "--opset-version", "17", "-o", mlir)
        tool("iree-compile", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
             "--iree-opt-level=O3", mlir, "-o", module)
        self.disk = os.path.getsize(module)
        config = rt.Config("local-sync" if threads == 1 else "local-task")
        vm = rt.load_vm_flatbuffer_file(module, driver="local-sync" if threads == 1 else "local-task")
        name = re.search(r"func\.func @([\w.$-]+)\(", open(mlir, encoding="utf-8").read()).group(1)
        self.function = vm[name]
        self.inputs = [rt.asdevicearray(config.device, a) for a in feeds.values()]

    def run(self):
        self.last = self.function(*self.inputs)

    def results(self, count):
        last = self.last if isinstance(self.last, (list, tuple)) else [self.last]
        return [np.asarray(a) for a in last][:count]


class Emx:
    """emx-onnx-cgen's readable C, compiled by gcc -O3. One thread."""

    def __init__(self, path, feeds, threads):
        if threads != 1:
            raise RuntimeError("one thread only")
        self.folder = tempfile.TemporaryDirectory()
        fixed, source, library = with_fixed_shapes(path, feeds, self.folder.name), self.folder.name + "/m.c", self.folder.name + "/m.so"
        tool("emx-onnx-cgen", "compile", fixed, source, "--model-name", "m")
        subprocess.run(["gcc", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-w", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True, capture_output=True)
        self.disk = os.path.getsize(library) + sum(os.path.getsize(f) for f in glob.glob(self.folder.name + "/*.bin"))
        self.lib = C.CDLL(library)
        weights = glob.glob(self.folder.name + "/*.bin")
        if weights and not self.lib.m_load(weights[0].encode()):
            raise RuntimeError("its weights cannot be read")
        graph = onnx.shape_inference.infer_shapes(onnx.load(fixed)).graph
        self.outs = []
        for port in graph.output:
            shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
            self.outs.append(np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)))
        ordered = [np.ascontiguousarray(feeds[p.name]) for p in graph.input if p.name in feeds]
        self.keep = ordered
        self.arguments = [a.ctypes.data_as(C.c_void_p) for a in ordered + self.outs]

    def run(self):
        self.lib.m(*self.arguments)

    def results(self, count):
        return [a.copy() for a in self.outs[:count]]


# ---- who is right ----

# Operators that multiply bytes, and where their weights and those's zero points stand.
BYTE_WEIGHTS = {"MatMulInteger": [(1, 3)], "ConvInteger": [(1, 3)], "QLinearMatMul": [(3, 5)], "QLinearConv": [(3, 5)], "DynamicQuantizeMatMul": [(1, 3)],
                "MatMulIntegerToFloat": [(1, 5)], "DynamicQuantizeLSTM": [(1, 9), (2, 11)]}


def multiplies_bytes(path):
    return any(n.op_type in BYTE_WEIGHTS for n in onnx.load(path, load_external_data=False).graph.node)


def lift_weights(graph, node, weights, zeros):
    """The same numbers as uint8: 128 more, and so is their zero point."""
    stored = {t.name: t for t in graph.initializer}
    given = [node.input[k] if k < len(node.input) else "" for k in (weights, zeros)]
    if given[0] not in stored or stored[given[0]].data_type != onnx.TensorProto.INT8:
        return
    names = [f"{given[0]}, {node.name or node.output[0]} {k}" for k in ("lifted", "zero")]
    values = [numpy_helper.to_array(stored[n]).astype(np.int16) if n else np.int16(0) for n in given]
    graph.initializer.extend(numpy_helper.from_array((v + 128).astype(np.uint8), n) for v, n in zip(values, names))
    node.input.extend([""] * (zeros + 1 - len(node.input)))
    node.input[weights], node.input[zeros] = names


class Exact(Ort):
    """ONNX Runtime without optimisation, weights of bytes made uint8: on processors with AVX2 and without VNNI its kernels of uint8 by int8 add two
    products in 16 bits (vpmaddubsw), where they saturate; those of uint8 by uint8 are exact everywhere."""
    level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL

    def __init__(self, path, feeds, threads):
        model = onnx.load(path)
        for node in model.graph.node:
            for weights, zeros in BYTE_WEIGHTS.get(node.op_type, []):
                lift_weights(model.graph, node, weights, zeros)
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, os.path.join(folder, "exact.onnx"))
            super().__init__(os.path.join(folder, "exact.onnx"), feeds, threads)


ENGINES = {"opfuse": Opfuse, "unfused": Unfused, "ort": Ort, "ort_off": OrtOff, "openvino": OpenVino, "iree": Iree, "emx": Emx}
PEERS = ("ort", "openvino", "iree", "emx")  # what a user would pick instead; ort_off is the measure of the unfused build


# ---- inputs ----

def stored_feeds(ports, path):
    """The first data set that belongs to a model: beside it, in a folder of its name, or in test/models."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    places = [folder, os.path.join(folder, stem), os.path.join(HERE, "..", "test", "models", os.path.basename(folder))]
    for place in places:
        data = os.path.join(place, "test_data_set_0")
        if os.path.isdir(data) and (stem == "model") == (place != places[1]):
            feeds = {}
            for k, port in enumerate(ports):
                tensor = onnx.TensorProto()
                with open(os.path.join(data, f"input_{k}.pb"), "rb") as f:
                    tensor.ParseFromString(f.read())
                feeds[port.name] = numpy_helper.to_array(tensor)
            return feeds
    return None


def feeds_for(path, seed=0):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    ports = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).get_inputs()
    stored = stored_feeds(ports, path)
    if stored:
        return stored
    rng, feeds = np.random.default_rng(seed), {}
    for port in ports:
        shape = [d if isinstance(d, int) and d > 0 else (1 if i == 0 else {2: 48, 3: 192}.get(i, 64)) for i, d in enumerate(port.shape)]
        if "int" in port.type:
            feeds[port.name] = rng.integers(0, 16, shape).astype(np.int64 if "64" in port.type else np.int32)
        elif "bool" in port.type:
            feeds[port.name] = rng.integers(0, 2, shape).astype(bool)
        else:
            feeds[port.name] = rng.normal(0, 1, shape).astype(np.float16 if "float16" in port.type else np.float32)
    return feeds


# ---- memory, in a process of its own: engines.py ENGINE MODEL THREADS prints JSON ----

def peak_kib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def alone():
    """ready_seconds: until the first result; start_seconds: what of that is not the run itself, so that work put off to the first run counts."""
    name, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    feeds, before, begun = feeds_for(path), peak_kib(), time.perf_counter()
    engine = ENGINES[name](path, feeds, threads)
    engine.run()
    ready = time.perf_counter() - begun - getattr(engine, "apart", 0)
    later = min(timed(engine.run) for _ in range(5))
    print(json.dumps({"ready_seconds": ready, "start_seconds": ready - later, "peak_mib": peak_kib() / 1024, "before_mib": before / 1024, "disk": getattr(engine, "disk", None)}))


if __name__ == "__main__":
    alone()
