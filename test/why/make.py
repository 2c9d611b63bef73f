#!/usr/bin/env python3
"""Makes the small graphs of test/why from their text (needs the onnx package). The files are kept in the repository.

Each case: ONNX text of a model, then what `explain` is asked, then what it must answer. `make.py` writes NAME.onnx and, where
there is none, NAME.txt; in the latter the remedy is filled in by `run --write` and meant to be read."""
import os

import onnx
import onnx.parser

HERE = os.path.dirname(os.path.abspath(__file__))

# Initializers and nodes: a gate that scales a picture, and the convolution that alone reads it.
GATED = ("float[4,16,1,1] q, float[16,4,1,1] r, float[8,16,1,1] w",
         "[mean] p = GlobalAveragePool(x) [squeeze] a = Conv(p, q) [relu] b = Relu(a) [excite] c = Conv(b, r) [gate] g = HardSigmoid(c) "
         "[scale] s = Mul(x, g) [conv] y = Conv(s, w)")

# name: (what it shows, inputs → outputs, initializers, nodes, options, A, B, answer)
CASES = {
    # ---- fused under TVM's rules
    "epilogue": ("element-wise work behind a convolution", "float[1,4,8,8] x => float[1,4,8,8] y", "float[4,4,3,3] w",
                 "[conv] c = Conv<pads=[1,1,1,1]>(x, w) [relu] y = Relu(c)", "--fuse=tvm", "conv", "relu", "fused anchor-epilogue"),
    "epilogue_chain": ("everything element-wise behind a product", "float[8,16] x, float[8,32] r => float[8,32] y", "float[16,32] w, float[32] b",
                       "[mm] m = MatMul(x, w) [bias] a = Add(m, b) [act] s = Sigmoid(a) [res] y = Mul(s, r)", "--fuse=tvm", "mm", "res", "fused anchor-epilogue"),
    "chain": ("a chain of element-wise nodes", "float[N,8] x => float[N,8] y", "", "[a] u = Relu(x) [b] v = Exp(u) [c] y = Neg(v)", "--fuse=tvm", "a", "c", "fused elemwise"),
    "into_reduction": ("element-wise work in front of a reduction", "float[N,8] x => float[N,1] y", "int64[1] axes = {1}",
                       "[square] u = Mul(x, x) [sum] y = ReduceSum(u, axes)", "--fuse=tvm", "square", "sum", "fused elemwise"),
    "index_maps": ("index maps one behind the other", "float[4,8] x => float[8,2] y", "int64[1] from = {0}, int64[1] to = {2}, int64[1] axes = {1}",
                   "[turn] t = Transpose<perm=[1,0]>(x) [cut] y = Slice(t, from, to, axes)", "--fuse=tvm", "turn", "cut", "fused injective"),
    "diamond": ("two ways that meet again", "float[N,8] x => float[N,8] y", "", "[a] u = Relu(x) [b] v = Exp(u) [c] w = Neg(u) [d] y = Add(v, w)", "--fuse=tvm", "a", "d", "fused elemwise"),
    "shape_between": ("a shape that is asked for and used within one kernel", "float[N,8] x => float[N,8] y", "",
                      "[relu] u = Relu(x) [ask] s = Shape(u) [exp] e = Exp(u) [form] y = Expand(e, s)", "--fuse=tvm", "relu", "form", "fused elemwise"),
    # ---- refused under TVM's rules
    "unfused": ("policy none", "float[N,8] x => float[N,8] y", "", "[a] u = Relu(x) [b] y = Exp(u)", "--fuse=none", "a", "b", "refused policy-none"),
    "output_inside": ("a result that is also a model output", "float[N,8] x => float[N,8] u, float[N,8] y", "", "[a] u = Relu(x) [b] y = Exp(u)", "--fuse=tvm", "a", "b", "refused model-output"),
    "two_ends": ("uses that never meet", "float[N,8] x => float[N,8] y, float[N,8] z", "", "[a] u = Relu(x) [b] y = Exp(u) [c] z = Neg(u)", "--fuse=tvm", "a", "b", "refused no-meeting"),
    "from_opaque": ("behind an operator that nothing joins", "float[4,16] x => float[4,3] y", "int64[1] k = {3}",
                    "[top] v, i = TopK(x, k) [relu] y = Relu(v)", "--fuse=tvm", "top", "relu", "refused opaque-producer"),
    "to_opaque": ("in front of an operator that nothing joins", "float[4,16] x => float[4,3] v, int64[4,3] i", "int64[1] k = {3}",
                  "[relu] u = Relu(x) [top] v, i = TopK(u, k)", "--fuse=tvm", "relu", "top", "refused opaque-consumer top"),
    "reduction_ends": ("behind a reduction", "float[N,8] x => float[N,1] y", "int64[1] axes = {1}", "[sum] s = ReduceSum(x, axes) [exp] y = Exp(s)", "--fuse=tvm", "sum", "exp", "refused reduction-ends-group"),
    "depth": ("a limit on the nodes of a group", "float[N,8] x => float[N,8] y", "", "[a] u = Relu(x) [b] v = Exp(u) [c] w = Neg(v) [d] y = Abs(w)", "--fuse=tvm --max-depth 2", "a", "d", "refused max-depth"),
    "turned_result": ("an index map behind an anchor", "float[8,16] x => float[32,8] y", "float[16,32] w", "[mm] m = MatMul(x, w) [turn] y = Transpose<perm=[1,0]>(m)", "--fuse=tvm", "mm", "turn", "refused anchor-edge turn"),
    "reduced_result": ("a reduction behind an anchor", "float[8,16] x => float[8,1] y", "float[16,32] w, int64[1] axes = {1}",
                       "[mm] m = MatMul(x, w) [sum] y = ReduceSum(m, axes)", "--fuse=tvm", "mm", "sum", "refused anchor-edge sum"),
    "two_products": ("one anchor behind the other", "float[8,16] x => float[8,4] y", "float[16,32] w, float[32,4] v", "[one] m = MatMul(x, w) [two] y = MatMul(m, v)", "--fuse=tvm", "one", "two", "refused anchor-edge two"),
    "way_taken": ("a node between that another anchor has taken", "float[8,16] x => float[8,32] y", "float[16,32] w, float[16,32] v",
                  "[second] d = MatMul(x, v) [first] c = MatMul(x, w) [act] r = Relu(c) [mix] m = Add(d, r) [last] y = Add(m, c)", "--fuse=tvm", "first", "last", "refused anchor-path mix"),
    "sum_of_products": ("two anchors that meet in one addition", "float[8,16] x => float[8,32] y", "float[16,32] w, float[16,32] v",
                        "[one] m = MatMul(x, w) [two] n = MatMul(x, v) [add] y = Add(m, n)", "--fuse=tvm", "two", "add", "refused anchor-sink add"),
    "in_front": ("element-wise work in front of an anchor", "float[1,4,8,8] x => float[1,4,6,6] y", "float[4,4,3,3] w", "[relu] r = Relu(x) [conv] y = Conv(r, w)", "--fuse=tvm", "relu", "conv", "refused before-anchor conv"),
    "pooled": ("a pool over everything, which is a reduction when it is written out", "float[1,16,32,32] x => float[1,16,1,1] y", "",
               "[relu] r = Relu(x) [pool] y = GlobalAveragePool(r)", "--fuse=tvm", "relu", "pool", "refused before-anchor pool"),
    "residual": ("a residual around an anchor", "float[1,4,8,8] x => float[1,4,8,8] y", "float[4,4,3,3] w",
                 "[relu] r = Relu(x) [conv] c = Conv<pads=[1,1,1,1]>(r, w) [add] y = Add(c, r)", "--fuse=tvm", "relu", "add", "refused anchor-between conv"),
    "around_reduction": ("a way around a reduction", "float[N,8] x => float[N,8] y", "int64[1] axes = {1}",
                         "[exp] e = Exp(x) [sum] s = ReduceSum(e, axes) [div] y = Div(e, s)", "--fuse=tvm", "exp", "div", "refused elemwise-path sum"),
    "map_around_reduction": ("an index map with a reduction on one way", "float[8,N] x => float[N,8] y", "int64[1] axes = {1}",
                             "[turn] t = Transpose<perm=[1,0]>(x) [sum] s = ReduceSum(t, axes) [sub] y = Sub(t, s)", "--fuse=tvm", "turn", "sub", "refused injective-path sum"),
    "map_in_front": ("an index map in front of an anchor", "float[16,8] x => float[8,32] y", "float[16,32] w", "[turn] t = Transpose<perm=[1,0]>(x) [mm] y = MatMul(t, w)", "--fuse=tvm", "turn", "mm", "refused injective-sink"),
    "map_into_reduction": ("an index map in front of a reduction", "float[8,N] x => float[N,1] y", "int64[1] axes = {1}",
                           "[turn] t = Transpose<perm=[1,0]>(x) [sum] y = ReduceSum(t, axes)", "--fuse=tvm", "turn", "sum", "refused injective-sink"),
    "over_three": ("the first refused use on a longer way", "float[8,16] x => float[8,4] y", "float[16,32] w, float[32,4] v",
                   "[one] m = MatMul(x, w) [act] r = Relu(m) [two] n = MatMul(r, v) [end] y = Sigmoid(n)", "--fuse=tvm", "one", "end", "refused anchor-edge two"),
    # ---- nothing is computed
    "view": ("another shape of the same bytes", "float[8,16] x => float[2,4,32] y", "float[16,32] w, int64[3] shape = {2,4,32}", "[mm] m = MatMul(x, w) [shape_of] y = Reshape(m, shape)", "--fuse=tvm", "mm", "shape_of", "view view"),
    "asked_shape": ("a shape that is asked for", "float[N,8] x => float[N,8] y, int64[2] s", "", "[relu] y = Relu(x) [ask] s = Shape(y)", "--fuse=tvm", "relu", "ask", "folded folded-use"),
    "known_shape": ("a shape that is known", "float[N,8] x, float[M] z => float[N,8] y", "", "[ask] s = Shape(x) [form] y = Expand(z, s)", "--fuse=tvm", "ask", "form", "folded folded-value"),
    "only_shape": ("a result of which only the shape is used", "float[N,8] x, float[1] z => float[N,8] y", "",
                   "[a] u = Neg(x) [b] v = Exp(u) [ask] s = Shape(v) [form] y = Expand(z, s)", "--fuse=tvm", "a", "b", "folded shape-only"),
    # ---- pairs without a way
    "siblings": ("two products of one operand", "float[8,16] x => float[8,32] y, float[8,4] z", "float[16,32] w, float[16,4] v", "[one] y = MatMul(x, w) [two] z = MatMul(x, v)", "--fuse=tvm", "one", "two", "siblings apart"),
    "siblings_together": ("two readers that meet again", "float[N,8] x => float[N,8] y", "", "[a] u = Relu(x) [b] v = Exp(x) [c] y = Add(u, v)", "--fuse=tvm", "a", "b", "siblings together"),
    "strangers": ("two nodes with nothing in common", "float[N,8] x, float[M,4] z => float[N,8] u, float[M,4] v", "", "[a] u = Relu(x) [b] v = Relu(z)", "--fuse=tvm", "a", "b", "none apart"),
    "siblings_unfused": ("readers under policy none", "float[N,8] x => float[N,8] u, float[N,8] v", "", "[a] u = Relu(x) [b] v = Exp(x)", "--fuse=none", "a", "b", "siblings apart policy-none"),
    "siblings_best": ("two readers of one value, side by side", "float[N,8] x => float[N,8] u, float[N,8] v", "", "[a] u = Relu(x) [b] v = Exp(x)", "", "a", "b", "siblings together siblings-together"),
    "siblings_operands": ("a reader that reads more", "float[64,64] x, float[64,64] z => float[64,1] u, float[64,64] v", "int64[1] axes = {1}, float[64,64] w",
                          "[sum] u = ReduceSum(x, axes) [mm] m = MatMul(z, w) [mul] v = Mul(m, x)", "", "sum", "mul", "siblings apart siblings-operands"),
    "siblings_behind": ("a reader whose kernel waits for the other", "float[1,4,16,16] x => float[1,4,16,16] y", "float[4,4,3,3] w, float[4,4,3,3] v",
                        "[one] c = Conv<pads=[1,1,1,1]>(x, w) [exp] e = Exp(x) [two] d = Conv<pads=[1,1,1,1]>(c, v) [add] y = Add(d, e)", "", "one", "exp", "siblings apart siblings-behind"),
    # ---- policy best
    "softmax": ("a softmax written out", "float[N,64] x => float[N,64] y", "int64[1] axes = {1}",
                "[max] m = ReduceMax(x, axes) [sub] d = Sub(x, m) [exp] e = Exp(d) [sum] s = ReduceSum(e, axes) [div] y = Div(e, s)", "", "max", "div", "fused rows"),
    "layer_norm": ("a layer normalisation written out", "float[N,64] x => float[N,64] y", "int64[1] axes = {-1}, float eps = {0.00001}",
                   "[mean] m = ReduceMean(x, axes) [sub] d = Sub(x, m) [square] q = Mul(d, d) [var] v = ReduceMean(q, axes) [eps] a = Add(v, eps) [root] r = Sqrt(a) [div] y = Div(d, r)", "", "mean", "div", "fused rows"),
    "behind_reduction": ("work behind a reduction", "float[N,64] x => float[N,1] y", "int64[1] axes = {1}", "[sum] s = ReduceSum(x, axes) [exp] y = Exp(s)", "", "sum", "exp", "fused rows"),
    "in_passing": ("an output in the middle of a chain", "float[N,8] x => float[N,8] u, float[N,8] y", "", "[a] u = Relu(x) [b] y = Exp(u)", "", "a", "b", "fused in-passing"),
    "turned_operand": ("an index map in front of a product", "float[64,128] x => float[128,64] y", "float[64,64] w", "[turn] t = Transpose<perm=[1,0]>(x) [mm] y = MatMul(t, w)", "", "turn", "mm", "fused prologue"),
    "batch_norm": ("a node that went into another one", "float[1,4,8,8] x => float[1,4,8,8] y", "float[4,4,3,3] w, float[4] s, float[4] b, float[4] m, float[4] v = {1,1,1,1}",
                   "[conv] c = Conv<pads=[1,1,1,1]>(x, w) [bn] n = BatchNormalization(c, s, b, m, v) [relu] y = Relu(n)", "", "bn", "relu", "fused anchor-epilogue"),
    "best_opaque": ("behind an operator that nothing joins", "float[4,16] x => float[4,3] y", "int64[1] k = {3}", "[top] v, i = TopK(x, k) [relu] y = Relu(v)", "", "top", "relu", "refused opaque-producer"),
    "best_two_ends": ("uses that never meet, in one kernel", "float[N,8] x => float[N,8] y, float[N,8] z", "", "[a] u = Relu(x) [b] y = Exp(u) [c] z = Neg(u)", "", "a", "b", "fused rows"),
    "best_two_convolutions": ("one convolution behind the other", "float[1,4,16,16] x => float[1,8,12,12] y", "float[8,4,3,3] w, float[8,8,3,3] v", "[one] c = Conv(x, w) [two] y = Conv(c, v)", "", "one", "two", "refused anchor-edge two"),
    "best_unfused_views": ("a view between two products", "float[8,16] x => float[4,2,8] y", "float[16,32] w, float[32,8] v, int64[3] shape = {4,2,32}",
                           "[one] m = MatMul(x, w) [form] r = Reshape(m, shape) [two] y = MatMul(r, v)", "", "one", "form", "view view"),
    "scale_ahead": ("a gate that scales a large picture in front of a convolution", "float[1,16,112,112] x => float[1,8,112,112] y", *GATED, "", "gate", "scale", "refused scale-ahead"),
    "scale_in_front": ("the convolution that does it", "float[1,16,112,112] x => float[1,8,112,112] y", *GATED, "", "scale", "conv", "fused prologue"),
    "scale_small": ("a gate that scales a picture that the cache holds", "float[1,16,56,56] x => float[1,8,56,56] y", *GATED, "", "gate", "scale", "fused anchor-epilogue"),
    "join_at_one": ("parts of a concatenation along the channels, with an open batch", "float[N,3,8,8] x => float[N,9,8,8] y", "float[4,3,3,3] v, float[5,3,1,1] w",
                    "[one] a = Conv<pads=[1,1,1,1]>(x, v) [two] b = Conv(x, w) [join] y = Concat<axis=1>(a, b)", "", "one", "join", "view join-at-one"),
    "join_apart": ("the same with two pictures", "float[2,3,8,8] x => float[2,9,8,8] y", "float[4,3,3,3] v, float[5,3,1,1] w",
                   "[one] a = Conv<pads=[1,1,1,1]>(x, v) [two] b = Conv(x, w) [join] y = Concat<axis=1>(a, b)", "", "one", "join", "refused join-apart"),
}


def initializers(text):
    """`float[4] s` without values: counted up, so that files are the same each time."""
    out = []
    for entry in filter(None, (e.strip() for e in split(text))):
        if "=" not in entry:
            dims = [int(d) for d in entry[entry.index("[") + 1:entry.index("]")].split(",")]
            count = 1
            for d in dims:
                count *= d
            entry += " = {" + ",".join(f"{(k % 7 - 3) / 8}" for k in range(count)) + "}"
        out.append(entry)
    return ", ".join(out)


def split(text):
    """At commas outside of brackets."""
    parts, depth, at = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "[{"
        depth -= c in "]}"
        if c == "," and depth == 0:
            parts.append(text[at:i])
            at = i + 1
    return parts + [text[at:]]


def main():
    for name, (what, ports, constants, nodes, options, a, b, answer) in CASES.items():
        inputs, outputs = ports.split("=>")
        kept = initializers(constants)
        text = f'<ir_version: 8, opset_import: ["" : 18]>\n{name} ({inputs}) => ({outputs})' + (f" <{kept}>" if kept else "") + f" {{ {nodes} }}"
        model = onnx.parser.parse_model(text)
        model.producer_name = "opfuse test"
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(HERE, name + ".onnx"))
        path = os.path.join(HERE, name + ".txt")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"# {what}\nexplain {options} --why {a} {b}\n".replace("  ", " ") + answer + "\n")
    print(len(CASES), "graphs")


if __name__ == "__main__":
    main()
