"""Writes the small ONNX files beside it, with the onnx package: one for each way of storing and nesting things, and, in
bad/, one for each thing that the reader must refuse (the expected messages stand beside, NAME.txt).
usage: make.py"""
import os
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.dirname(os.path.abspath(__file__))
F = T.FLOAT


def vi(name, dtype=F, shape=("N",)):
    return h.make_tensor_value_info(name, dtype, shape)


def graph(nodes, inputs=("x",), outputs=("y",), init=(), **more):
    return h.make_graph(nodes, "g", [vi(i) if isinstance(i, str) else i for i in inputs], [vi(o) if isinstance(o, str) else o for o in outputs], list(init), **more)


def model(g, opset=17, ir=8, imports=(), functions=()):
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset)] + [h.make_opsetid(d, v) for d, v in imports], functions=list(functions), producer_name="make.py")
    m.ir_version = ir
    return m


def save(m, name):
    data = m if isinstance(m, bytes) else m.SerializeToString(deterministic=True)
    with open(os.path.join(HERE, name + ".onnx"), "wb") as f:
        f.write(data)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


# ---- storage: every element type, raw and in its typed field; the test compares raw_T with typed_T ----
def tensor(name, dtype, dims, **fields):
    t = T(name=name, data_type=dtype, dims=dims)
    for key, value in fields.items():
        if key == "raw_data":
            t.raw_data = value
        else:
            getattr(t, key).extend(value)
    return t


def bits(values, width):
    """Little-endian bit fields packed into bytes."""
    total = 0
    for i, v in enumerate(values):
        total |= (v & (1 << width) - 1) << (i * width)
    return total.to_bytes((len(values) * width + 7) // 8, "little")


def storage():
    t = []

    def pair(dtype, dims, raw, **typed):
        name = T.DataType.Name(dtype).lower()
        t.append(tensor("raw_" + name, dtype, dims, raw_data=raw))
        t.append(tensor("typed_" + name, dtype, dims, **typed))

    f = [0.0, -1.5, 3.25, float("inf"), 1e-40, -0.0]
    pair(T.FLOAT, [2, 3], np.array(f, "<f4").tobytes(), float_data=f)
    pair(T.DOUBLE, [6], np.array(f, "<f8").tobytes(), double_data=f)
    pair(T.COMPLEX64, [3], np.array(f, "<f4").tobytes(), float_data=f)
    pair(T.COMPLEX128, [3], np.array(f, "<f8").tobytes(), double_data=f)
    pair(T.INT64, [3], np.array([-2**63, -1, 2**63 - 1], "<i8").tobytes(), int64_data=[-2**63, -1, 2**63 - 1])
    pair(T.UINT64, [2], np.array([0, 2**64 - 1], "<u8").tobytes(), uint64_data=[0, 2**64 - 1])
    pair(T.UINT32, [2], np.array([7, 2**32 - 1], "<u4").tobytes(), uint64_data=[7, 2**32 - 1])
    pair(T.INT32, [3], np.array([-2**31, -1, 2**31 - 1], "<i4").tobytes(), int32_data=[-2**31, -1, 2**31 - 1])
    pair(T.INT16, [3], np.array([-2**15, -1, 5], "<i2").tobytes(), int32_data=[-2**15, -1, 5])
    pair(T.UINT16, [2], np.array([0, 65535], "<u2").tobytes(), int32_data=[0, 65535])
    pair(T.INT8, [3], np.array([-128, -1, 127], "i1").tobytes(), int32_data=[-128, -1, 127])
    pair(T.UINT8, [2], np.array([0, 255], "u1").tobytes(), int32_data=[0, 255])
    pair(T.BOOL, [3], b"\x01\x00\x01", int32_data=[1, 0, 1])
    half = [0x3C00, 0xC000, 0x7C00, 0x0001]
    pair(T.FLOAT16, [4], np.array(half, "<u2").tobytes(), int32_data=half)
    pair(T.BFLOAT16, [4], np.array(half, "<u2").tobytes(), int32_data=half)
    for name in ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0"):
        pair(getattr(T, name), [4], bytes([0, 0x38, 0x80, 0xFF]), int32_data=[0, 0x38, 0x80, 0xFF])
    for name, width, values in (("INT4", 4, [-8, 7, -1, 3, 5]), ("UINT4", 4, [0, 15, 9, 1, 2]), ("FLOAT4E2M1", 4, [1, 2, 15, 7, 8]), ("INT2", 2, [-2, 1, 0, -1, 1]), ("UINT2", 2, [3, 0, 1, 2, 3])):
        raw = bits(values, width)
        pair(getattr(T, name), [5], raw, int32_data=list(raw))
    t.append(tensor("strings", T.STRING, [2, 2], string_data=[b"a", b"", "\u00fc\u4e16".encode(), b"long " * 20]))
    t.append(tensor("scalar", T.FLOAT, [], float_data=[42.0]))
    t.append(tensor("empty", T.FLOAT, [0, 4], raw_data=b""))
    t.append(tensor("empty_typed", T.INT64, [3, 0]))
    t.append(tensor("odd_bools", T.BOOL, [3], raw_data=b"\x02\x00\xff"))
    # Values one by one, as writers of proto2 do: dims and int64_data not packed, floats in two packed runs and one single.
    t.append(tensor("unpacked", T.FLOAT, [4]))
    wire = t[-1].SerializeToString() + field(4, np.array([1, 2], "<f4").tobytes()) + varint(4 << 3 | 5) + np.array([3], "<f4").tobytes() + field(4, np.array([4], "<f4").tobytes())
    wire2 = T(name="unpacked_ints", data_type=T.INT64, dims=[3]).SerializeToString() + b"".join(varint(7 << 3) + varint(v) for v in (5, -6, 7))
    g = graph([h.make_node("Identity", ["x"], ["y"])], init=t[:-1])
    body = g.SerializeToString() + field(5, wire) + field(5, wire2)
    m = model(g)
    m.ClearField("graph")
    save(m.SerializeToString() + field(7, body), "storage")


# ---- external data ----
def external():
    def outside(name, dims, **entries):
        t = T(name=name, data_type=F, dims=dims, data_location=T.EXTERNAL)
        for k, v in entries.items():
            t.external_data.add(key=k, value=str(v))
        return t

    with open(os.path.join(HERE, "external.bin"), "wb") as f:
        f.write(b"\0" * 8 + np.arange(6, dtype="<f4").tobytes() + b"\xAA" + np.arange(10, 13, dtype="<f4").tobytes())
    os.makedirs(os.path.join(HERE, "sub"), exist_ok=True)
    with open(os.path.join(HERE, "sub", "more.bin"), "wb") as f:
        f.write(np.arange(100, 104, dtype="<f4").tobytes())
    add = [h.make_node("Identity", ["x"], ["y"])]
    save(model(graph(add, init=[outside("aligned", [2, 3], location="external.bin", offset=8, length=24), outside("odd", [3], location="external.bin", offset=33),
                                outside("whole", [4], location="./sub/more.bin"), outside("none", [0], location="external.bin", offset=45)])), "external")
    bad = {"external_absolute": dict(location="/etc/hostname"), "external_parent": dict(location="sub/../../external.bin"), "external_missing": dict(location="nowhere.bin"),
           "external_range": dict(location="../onnx/external.bin"), "external_length": dict(location="bad.bin", length=12), "external_offset": dict(location="bad.bin", offset="2x"),
           "external_past_end": dict(location="bad.bin", offset=1), "external_huge_offset": dict(location="bad.bin", offset=2**64 - 8), "external_overflow": dict(location="bad.bin", offset=2**64),
           "external_nothing": dict(offset=0), "external_folder": dict(location="../bad")}
    with open(os.path.join(HERE, "bad", "bad.bin"), "wb") as f:
        f.write(bytes(8))
    for name, entries in bad.items():
        save(model(graph(add, init=[outside("w", [2], **entries)])), "bad/" + name)


# ---- attributes, constants, sparse ----
def sparse(name, values, indices, dims):
    return h.make_sparse_tensor(nh.from_array(np.array(values, np.float32), name), nh.from_array(np.array(indices, np.int64), name + "_i"), dims)


def constants():
    c = lambda out, **kw: h.make_node("Constant", [], [out], name="c_" + out, **kw)
    nodes = [c("value", value=nh.from_array(np.array([[1, 2]], np.int32))), c("value_float", value_float=2.5), c("value_floats", value_floats=[1.0, -2.0]), c("value_int", value_int=-7),
             c("value_ints", value_ints=[1, 2**40]), c("value_string", value_string=b"text"), c("value_strings", value_strings=[b"a", b"bc"]),
             c("sparse_value", sparse_value=sparse("", [5.0, 6.0], [1, 5], [2, 3])), h.make_node("Identity", ["x"], ["y"])]
    save(model(graph(nodes, outputs=("y", vi("value", T.INT32, (1, 2))), init=[])), "constants")


def sequence():
    with open(os.path.join(HERE, "sequence.pb"), "wb") as f:
        f.write(nh.from_list([np.zeros(2, np.float32), np.ones(3, np.float32)], "s").SerializeToString())
    with open(os.path.join(HERE, "optional.pb"), "wb") as f:
        f.write(nh.from_optional([np.zeros(2, np.float32)], "optional").SerializeToString())
    # A tensor by a proto3 writer: dimensions packed, and they spell a name.
    with open(os.path.join(HERE, "packed.pb"), "wb") as f:
        f.write(field(1, b"PP") + varint(2 << 3) + varint(T.UINT8) + field(9, bytes(80 * 80)))


def attributes():
    body = graph([h.make_node("Identity", ["x"], ["inner"])], inputs=(), outputs=("inner",))
    n = h.make_node("Everything", ["x"], ["y"], domain="test", f=1.5, i=-3, s=b"s\0t", floats=[1.0, 2.0], ints=[-1, 2**50], strings=[b"", b"abc"], g=body)
    n.attribute.append(h.make_attribute("t", nh.from_array(np.array([1, 2], np.int64))))
    a = AttributeProto(name="ts", type=AttributeProto.TENSORS)
    a.tensors.extend([nh.from_array(np.float32(1)), nh.from_array(np.array(["q"], object))])
    a2 = AttributeProto(name="gs", type=AttributeProto.GRAPHS)
    a2.graphs.extend([body, body])
    a3 = AttributeProto(name="tp", type=AttributeProto.TYPE_PROTO, tp=h.make_tensor_type_proto(F, [1, "K"]))
    a4 = AttributeProto(name="tps", type=AttributeProto.TYPE_PROTOS)
    a4.type_protos.extend([h.make_sequence_type_proto(h.make_tensor_type_proto(F, None))])
    a5 = AttributeProto(name="sp", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse("s", [3.0], [[1, 0]], [2, 2]))
    a6 = AttributeProto(name="zero", type=AttributeProto.INT)          # proto3 writers leave zeros out
    a7 = AttributeProto(name="no_ints", type=AttributeProto.INTS)
    a8 = AttributeProto(name="untyped", ints=[4, 5])                   # writers from before the field existed
    a9 = AttributeProto(name="no_s", type=AttributeProto.STRING)
    n.attribute.extend([a, a2, a3, a4, a5, a6, a7, a8, a9])
    save(model(graph([n]), imports=[("test", 3)]), "attributes")


def sparse_initializers():
    save(model(graph([h.make_node("Identity", ["x"], ["y"])], sparse_initializer=[sparse("linear", [1.0, 2.0], [0, 3], [2, 2]), sparse("pairs", [7.0, 8.0], [[0, 1], [1, 2]], [2, 3])])), "sparse")
    save(model(graph([h.make_node("Identity", ["x"], ["y"])], sparse_initializer=[sparse("w", [1.0], [4], [2, 2])])), "bad/sparse_range")
    save(model(graph([h.make_node("Identity", ["x"], ["y"])], sparse_initializer=[sparse("w", [1.0], [4], [2**20, 2**20, 2**18])])), "bad/sparse_huge")


# ---- graphs ----
def ir3():
    g = graph([h.make_node("Add", ["x", "w"], ["s"]), h.make_node("Relu", ["s"], ["y"])], inputs=("x", vi("w", F, (2,))), init=[nh.from_array(np.array([1, 2], np.float32), "w")])
    save(model(g, opset=7, ir=3), "ir3")


def names():
    nodes = [h.make_node("Relu", ["x"], ["a"]), h.make_node("Relu", ["a"], ["b"], name="taken"), h.make_node("Neg", ["b"], ["c"], name="taken"), h.make_node("Constant", [], ["k"], value_float=1.0),
             h.make_node("Add", ["c", "k"], ["d"]), h.make_node("Clip", ["d", "", "k"], ["y"], domain="ai.onnx"), h.make_node("Dropout", ["d"], ["z", ""])]
    save(model(graph(nodes, outputs=("y", "z", "z", "x"))), "names")


def unsorted():
    nodes = [h.make_node("Neg", ["b"], ["y"], name="last"), h.make_node("If", ["c"], ["b"], name="if", then_branch=graph([h.make_node("Neg", ["a"], ["t"])], (), ("t",)), else_branch=graph([], (), ("a",))),
             h.make_node("Relu", ["x"], ["a"], name="first")]
    save(model(graph(nodes, inputs=("x", vi("c", T.BOOL, ())))), "unsorted")


def types():
    seq = h.make_value_info("seq", h.make_sequence_type_proto(h.make_tensor_type_proto(T.INT64, [None, 3])))
    opt = h.make_value_info("opt", h.make_optional_type_proto(h.make_sequence_type_proto(h.make_tensor_type_proto(F, ["N"]))))
    mp = h.make_value_info("map", h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(F, [])))
    unknown = h.make_tensor_value_info("any", F, None)
    ins = [vi("x", F, ("N", 3, None, -1, 0)), seq, opt, mp, unknown]
    save(model(graph([h.make_node("Identity", ["x"], ["y"])], inputs=ins, outputs=(h.make_tensor_value_info("y", F, ("N", "M", None, 7, None)),), value_info=[vi("nothing")])), "types")


def loop():
    body = h.make_graph([h.make_node("Add", ["v", "outer"], ["v2"]), h.make_node("Identity", ["c"], ["c2"])], "body", [vi("i", T.INT64, ()), vi("c", T.BOOL, ()), h.make_value_info("v", onnx.TypeProto())],
                        [vi("c2", T.BOOL, ()), vi("v2", F, None)], [nh.from_array(np.float32(3), "unused")])
    nodes = [h.make_node("Relu", ["x"], ["outer"]), h.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)]
    save(model(graph(nodes, inputs=("x", vi("n", T.INT64, ())))), "loop")


# ---- functions ----
def ref(name, to, kind):
    return AttributeProto(name=name, ref_attr_name=to, type=kind)


def functions():
    op = [h.make_opsetid("", 13)]
    leaky = h.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(ref("alpha", "slope", AttributeProto.FLOAT))
    inner = h.make_function("test", "Inner", ["a"], ["b"], [leaky], op, ["slope"])
    call = h.make_node("Inner", ["p"], ["q"], domain="test", name="call_inner")
    call.attribute.append(ref("slope", "factor", AttributeProto.FLOAT))
    const = h.make_node("Constant", [], ["k"])
    const.attribute.append(ref("value_float", "bias", AttributeProto.FLOAT))
    softmax = h.make_node("Softmax", ["q"], ["soft"])
    softmax.attribute.append(ref("axis", "axis", AttributeProto.INT))  # given by no call: the node goes without
    outer = h.make_function("test", "Outer", ["p", "extra"], ["r", "same", "again"], [call, const, softmax, h.make_node("Add", ["soft", "k"], ["sum"]), h.make_node("Clip", ["sum", "extra"], ["r"])],
                            op + [h.make_opsetid("test", 1)], ["factor", "axis"], [h.make_attribute("bias", 0.5)])
    outer.output[1] = "p"  # an input is a result,
    outer.output[2] = "r"  # and a result stands twice
    branch = h.make_node("If", ["cond"], ["out"], name="if", then_branch=h.make_graph([leaky_like()], "then", [], [vi("t")]), else_branch=h.make_graph([h.make_node("Inner", ["v"], ["e"], domain="test")], "else", [], [vi("e")]))
    chooser = h.make_function("test", "Choose", ["cond", "v"], ["out"], [branch], op + [h.make_opsetid("test", 1)], ["slope"])
    two = h.make_function("test", "Two", ["a"], ["b"], [h.make_node("Neg", ["a"], ["b"])], op)
    two.overload = "neg"
    two_b = h.make_function("test", "Two", ["a"], ["b"], [h.make_node("Abs", ["a"], ["b"])], op)
    two_call = h.make_node("Two", ["w"], ["y"], domain="test", name="overloaded", overload="neg")
    nodes = [h.make_node("Outer", ["late"], ["u", "v", "w0"], domain="test", name="first", factor=0.25), h.make_node("Outer", ["x", "lo"], ["w1"], domain="test", bias=2.0),
             h.make_node("Choose", ["c", "w1"], ["w"], domain="test", name="choose", slope=0.125), two_call, h.make_node("Relu", ["x"], ["late"], name="late")]
    g = graph(nodes, inputs=("x", vi("c", T.BOOL, ()), vi("lo", F, ())), outputs=("y", "u", "v", "w0"))
    save(model(g, ir=10, imports=[("test", 1)], functions=[inner, outer, chooser, two, two_b]), "functions")
    # a function that gets a sub-graph as attribute value sees it in the caller's scope
    call_if = h.make_node("If", ["c"], ["o"])
    call_if.attribute.append(ref("then_branch", "body", AttributeProto.GRAPH))
    call_if.attribute.append(ref("else_branch", "body", AttributeProto.GRAPH))
    with_graph = h.make_function("test", "Run", ["c"], ["o"], [call_if], op, ["body"])
    g = graph([h.make_node("Relu", ["x"], ["a"]), h.make_node("Run", ["c"], ["y"], domain="test", body=graph([h.make_node("Neg", ["a"], ["n"])], (), ("n",)))], inputs=("x", vi("c", T.BOOL, ())))
    save(model(g, imports=[("test", 1)], functions=[with_graph]), "function_graph")
    # two calls of one name, and a name in the graph like one inside
    pair = h.make_function("test", "Pair", ["a"], ["b"], [h.make_node("Relu", ["a"], ["m"], name="r"), h.make_node("Neg", ["m"], ["b"])], op)
    calls = [h.make_node("Pair", ["x"], ["s/m"], domain="test", name="s"), h.make_node("Pair", ["s/m"], ["t"], domain="test", name="s"), h.make_node("Abs", ["t"], ["y"], name="s/r")]
    save(model(graph(calls), imports=[("test", 1)], functions=[pair]), "function_names")
    # refused
    f = h.make_function("test", "F", ["a"], ["b"], [h.make_node("G", ["a"], ["b"], domain="test")], op)
    g2 = h.make_function("test", "G", ["a"], ["b"], [h.make_node("F", ["a"], ["b"], domain="test")], op)
    use = lambda *names, out="y": graph([h.make_node(n, ["x"], [out], domain="test", name="use") for n in names])
    save(model(use("F"), imports=[("test", 1)], functions=[f, g2]), "bad/function_recursion")
    save(model(use("H"), imports=[("test", 1)], functions=[h.make_function("test", "H", ["a"], ["b", "c"], [h.make_node("Relu", ["a"], ["c"])], op)]), "bad/function_output")
    save(model(use("H"), imports=[("test", 1)], functions=[h.make_function("test", "H", [], ["c"], [h.make_node("Relu", ["x"], ["c"])], op)]), "bad/function_inputs")
    save(model(use("H"), imports=[("test", 1)], functions=[h.make_function("test", "H", ["a"], ["c"], [h.make_node("Relu", ["x"], ["c"])], op)]), "bad/function_scope")
    twice = h.make_function("test", "H", ["a"], ["c"], [h.make_node("Relu", ["a"], ["c"])], op)
    save(model(use("H"), imports=[("test", 1)], functions=[twice, twice]), "bad/function_twice")
    blow = [h.make_function("test", f"B{i}", ["a"], ["b"], [h.make_node(f"B{i + 1}", ["a"], ["m"], domain="test"), h.make_node(f"B{i + 1}", ["m"], ["b"], domain="test")], op) for i in range(40)]
    blow.append(h.make_function("test", "B40", ["a"], ["b"], [h.make_node("Relu", ["a"], ["b"])], op))
    save(model(use("B0"), imports=[("test", 1)], functions=blow), "bad/function_blowup")


def leaky_like():
    n = h.make_node("LeakyRelu", ["v"], ["t"])
    n.attribute.append(ref("alpha", "slope", AttributeProto.FLOAT))
    return n


# ---- refused ----
def bad():
    relu = h.make_node("Relu", ["x"], ["y"], name="relu")
    save(model(graph([h.make_node("Add", ["x", "b"], ["a"], name="one"), h.make_node("Relu", ["a"], ["b"], name="two"), h.make_node("Neg", ["b"], ["y"], name="three")])), "bad/cycle")
    save(model(graph([h.make_node("Relu", ["y"], ["y"], name="self")], inputs=())), "bad/cycle_self")
    save(model(graph([relu, h.make_node("Neg", ["x"], ["y"], name="neg")])), "bad/duplicate_output")
    save(model(graph([h.make_node("Relu", ["x"], ["x"], name="relu"), h.make_node("Neg", ["x"], ["y"])])), "bad/duplicate_input")
    save(model(graph([relu], inputs=("x", "x"))), "bad/duplicate_inputs")
    one, two = nh.from_array(np.float32(1), "w"), nh.from_array(np.float32(2), "w")
    save(model(graph([relu], init=[one, two])), "bad/duplicate_initializer")
    save(model(graph([relu], init=[one, one])), "repeated_initializer")
    save(model(graph([h.make_node("Add", ["x", "missing"], ["y"], name="add"), h.make_node("Mul", ["nowhere", "y"], ["z"], name="mul")], outputs=("y", "z", "never"))), "bad/missing")
    save(model(graph([relu], inputs=(vi("x", F, (2, -3)),))), "bad/negative_dim")
    save(model(graph([relu], inputs=(vi("x", F, (2**40, 2**40)),))), "bad/overflow_input")
    save(model(graph([relu], inputs=(vi("x", F, [1] * 17),))), "bad/rank_input")
    save(model(graph([relu], init=[tensor("w", F, [2, -3], raw_data=bytes(24))])), "bad/negative_weight")
    save(model(graph([relu], init=[tensor("w", F, [2**40, 2**40], raw_data=bytes(24))])), "bad/overflow_weight")
    save(model(graph([relu], init=[tensor("w", F, [1] * 17, raw_data=bytes(4))])), "bad/rank_weight")
    save(model(graph([relu], init=[tensor("w", F, [3], raw_data=bytes(8)), tensor("v", F, [3], float_data=[1, 2]), tensor("u", T.INT8, [3]), tensor("t", T.STRING, [1], raw_data=b"a"), tensor("s", T.STRING, [2], string_data=[b"a"])])), "bad/sizes")
    save(model(graph([relu], init=[tensor("w", 99, [1], raw_data=b"a"), T(name="v", dims=[1], raw_data=b"a"), tensor("f6", 27, [4], raw_data=b"abc")])), "bad/dtype_weight")
    save(model(graph([relu], inputs=(vi("x", 99), h.make_value_info("z", onnx.TypeProto())))), "bad/dtype_input")
    save(model(graph([h.make_node("", ["x"], ["y"], name="nameless")], outputs=("x",))), "bad/no_operator")
    save(model(graph([relu], outputs=())), "bad/no_outputs")
    m = model(graph([relu]))
    m.ClearField("graph")
    save(m, "bad/no_graph")
    save(b"", "bad/empty")
    save(b"this is not a model at all", "bad/text")
    m = model(graph([relu]))
    m.ClearField("opset_import")
    save(m, "bad/no_opset")
    save(model(graph([relu]), opset=0), "bad/opset_zero")
    save(model(graph([relu]), ir=2), "bad/ir2")
    save(model(graph([h.make_node("Constant", [], ["k"], name="empty")] + [relu])), "bad/constant")
    r = h.make_node("LeakyRelu", ["x"], ["y"], name="leaky")
    r.attribute.append(ref("alpha", "slope", AttributeProto.FLOAT))
    save(model(graph([r])), "bad/reference")
    r = h.make_node("LeakyRelu", ["x"], ["y"], name="leaky", alpha=1.0)
    r.attribute.append(h.make_attribute("alpha", 2.0))
    r.attribute.append(AttributeProto(name="t", type=AttributeProto.TENSOR))
    unknown = AttributeProto()
    unknown.ParseFromString(field(1, b"what") + varint(20 << 3) + varint(55))  # a kind that nobody knows
    r.attribute.append(unknown)
    save(model(graph([r])), "bad/attributes")
    good = model(graph([relu])).SerializeToString()
    save(good.replace(b"relu", b"re\xffu"), "bad/utf8")
    save(good[:-7], "bad/cut")
    inside = graph([h.make_node("Add", ["x", "gone"], ["t"], name="inner")], (), ("t",))
    save(model(graph([h.make_node("If", ["c"], ["y"], name="if", then_branch=inside, else_branch=inside)], inputs=("x", vi("c", T.BOOL, ())))), "bad/missing_inside")


if __name__ == "__main__":
    for make in (storage, external, sequence, constants, attributes, sparse_initializers, ir3, names, unsorted, types, loop, functions, bad):
        make()
