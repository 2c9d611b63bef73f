"""Small models for measurements: the work of one kernel, as an exporter writes it. Random weights, the same in every run."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class Net:
    """Nodes in a row: each method appends one and returns the name of its result. `shape` follows convolutions only."""

    def __init__(self, *shape):
        self.rng, self.nodes, self.constants, self.shape = np.random.default_rng(7), [], [], list(shape)
        self.inputs, self.last = {"x": list(shape)}, "x"

    def constant(self, *shape, scale=0.1):
        value = self.rng.normal(0, scale, shape) if shape else np.array(scale)
        return self.stored(value.astype(np.float32))

    def integers(self, *values):
        return self.stored(np.array(values, np.int64))

    def stored(self, value):
        self.constants.append(numpy_helper.from_array(value, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = list(shape)
        return name

    def op(self, kind, *operands, **attributes):
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [self.last], **attributes))
        return self.last

    def conv(self, x, outputs, kernel, stride=1, groups=1, dilation=1, pads=None):
        """With a bias; `same` padding unless pads are given. `kernel`: one number for all axes of space."""
        channels, space = self.shape[1], self.shape[2:]
        each = dilation * (kernel // 2) if pads is None else pads
        inside = channels // groups
        weights = self.constant(outputs, inside, *[kernel] * len(space), scale=(2 / (inside * kernel ** len(space))) ** 0.5)
        self.shape = [self.shape[0], outputs] + [(n + 2 * each - dilation * (kernel - 1) - 1) // stride + 1 for n in space]
        return self.op("Conv", x, weights, self.constant(outputs), kernel_shape=[kernel] * len(space), strides=[stride] * len(space),
                       dilations=[dilation] * len(space), group=groups, pads=[each] * (2 * len(space)))

    def transposed_conv(self, x, outputs, kernel, stride, pads=0):
        weights = self.constant(self.shape[1], outputs, kernel, kernel, scale=(2 / (self.shape[1] * kernel * kernel)) ** 0.5)
        self.shape = [self.shape[0], outputs] + [(n - 1) * stride + kernel - 2 * pads for n in self.shape[2:]]
        return self.op("ConvTranspose", x, weights, self.constant(outputs), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pads] * 4)

    def clip(self, x, low=0.0, high=6.0):
        return self.op("Clip", x, self.stored(np.float32(low)), self.stored(np.float32(high)))

    def model(self, *shape, type=TensorProto.FLOAT):
        """The last node's result is the output, of shape `shape` (where none is given, that of the last convolution)."""
        inputs = [helper.make_tensor_value_info(n, type, s) for n, s in self.inputs.items()]
        output = helper.make_tensor_value_info(self.last, type, shape or self.shape)
        graph = helper.make_graph(self.nodes, "kernel", inputs, [output], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


# ---- convolutions ----

def conv_relu(channels, outputs, size, kernel, stride=1, groups=1, dilation=1, pads=None, batch=1, dims=2):
    net = Net(batch, channels, *[size] * dims)
    net.op("Relu", net.conv("x", outputs, kernel, stride, groups, dilation, pads))
    return net.model()


def bottleneck(channels, inner, size):
    """1x1 down, 3x3, 1x1 up, and the shortcut."""
    net = Net(1, channels, size, size)
    narrow = net.op("Relu", net.conv("x", inner, 1))
    middle = net.op("Relu", net.conv(narrow, inner, 3))
    net.op("Relu", net.op("Add", net.conv(middle, channels, 1), "x"))
    return net.model()


def depthwise_clip(channels, size, kernel, stride=1):
    net = Net(1, channels, size, size)
    net.clip(net.conv("x", channels, kernel, stride, groups=channels))
    return net.model()


def depthwise_pointwise(channels, outputs, size, stride=1):
    net = Net(1, channels, size, size)
    net.conv(net.clip(net.conv("x", channels, 3, stride, groups=channels)), outputs, 1)
    return net.model()


def inverted_bottleneck(channels, inner, size):
    """MobileNetV2's block: 1x1 up, depth-wise 3x3, 1x1 down, and the shortcut."""
    net = Net(1, channels, size, size)
    wide = net.clip(net.conv("x", inner, 1))
    net.op("Add", net.conv(net.clip(net.conv(wide, inner, 3, groups=inner)), channels, 1), "x")
    return net.model()


def squeeze_excite(channels, inner, size):
    net = Net(1, channels, size, size)
    mean = net.op("GlobalAveragePool", "x")
    net.shape = [1, channels, 1, 1]
    net.conv(net.op("Relu", net.conv(mean, inner, 1)), channels, 1)
    net.op("Mul", "x", net.op("HardSigmoid", net.last, alpha=1 / 6, beta=0.5))
    return net.model(1, channels, size, size)


def transposed(channels, outputs, size, kernel, stride, pads=0):
    net = Net(1, channels, size, size)
    net.op("Relu", net.transposed_conv("x", outputs, kernel, stride, pads))
    return net.model()


# ---- contractions ----

def gelu(net, x):
    """x / 2 * (1 + erf(x / sqrt 2)), written out as exporters do."""
    half = net.op("Erf", net.op("Div", x, net.constant(scale=2 ** 0.5)))
    return net.op("Mul", net.op("Mul", x, net.op("Add", half, net.constant(scale=1.0))), net.constant(scale=0.5))


def matmul_gelu(rows, depth, columns):
    net = Net(rows, depth)
    gelu(net, net.op("Add", net.op("MatMul", "x", net.constant(depth, columns, scale=depth ** -0.5)), net.constant(columns)))
    return net.model(rows, columns)


def matmul(rows, depth, columns, batch=()):
    """Of two inputs where there is a batch, else by a constant."""
    net = Net(*batch, rows, depth)
    net.op("MatMul", "x", net.input(*batch, depth, columns) if batch else net.constant(depth, columns))
    return net.model(*batch, rows, columns)


def matmul_half(rows, depth, columns):
    """All in float16."""
    net = Net(rows, depth)
    net.op("MatMul", "x", net.stored(net.rng.normal(0, depth ** -0.5, (depth, columns)).astype(np.float16)))
    return net.model(rows, columns, type=TensorProto.FLOAT16)


def matvec(depth, columns):
    net = Net(1, depth)
    net.op("Add", net.op("MatMul", "x", net.constant(depth, columns, scale=depth ** -0.5)), net.constant(columns))
    return net.model(1, columns)


def attention(heads, keys, width):
    net = Net(1, heads, keys, width)
    k, v = net.input(1, heads, keys, width), net.input(1, heads, keys, width)
    scores = net.op("MatMul", "x", net.op("Transpose", k, perm=[0, 1, 3, 2]))
    net.op("MatMul", net.op("Softmax", net.op("Mul", scores, net.constant(scale=width ** -0.5)), axis=-1), v)
    return net.model(1, heads, keys, width)


def matmul_integer(rows, depth, columns):
    """Dynamically quantised: what stands in front and behind is the exporters'."""
    net = Net(rows, depth)
    weights = net.stored(np.clip(net.rng.normal(0, 30, (depth, columns)).round(), -127, 127).astype(np.int8))
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]))
    net.op("Mul", net.op("Cast", net.op("MatMulInteger", "q", weights, "zero"), to=TensorProto.FLOAT), "scale")
    return net.model(rows, columns)


def qlinear_conv(channels, outputs, size, kernel, stride=1):
    net = Net(1, channels, size, size)
    scale, zero = net.stored(np.float32(0.02)), net.stored(np.uint8(128))
    weights = net.stored(np.clip(net.rng.normal(0, 30, (outputs, channels, kernel, kernel)).round(), -127, 127).astype(np.int8))
    result, middle = net.stored(np.float32(0.05)), net.stored(np.uint8(120))
    net.op("QLinearConv", net.op("QuantizeLinear", "x", scale, zero), scale, zero, weights, net.stored(np.float32(0.01)), net.stored(np.int8(0)), result, middle,
           net.stored(net.rng.integers(-1000, 1000, outputs).astype(np.int32)), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
    net.op("DequantizeLinear", net.last, result, middle)
    return net.model(1, outputs, size // stride, size // stride)


# ---- rows ----

def layer_norm(rows, columns):
    net = Net(rows, columns)
    net.op("LayerNormalization", "x", net.constant(columns), net.constant(columns), axis=-1)
    return net.model(rows, columns)


def rms_norm(rows, columns):
    net = Net(rows, columns)
    mean = net.op("ReduceMean", net.op("Mul", "x", "x"), net.integers(-1), keepdims=1)
    root = net.op("Sqrt", net.op("Add", mean, net.constant(scale=1e-6)))
    net.op("Mul", net.op("Div", "x", root), net.constant(columns))
    return net.model(rows, columns)


def softmax(rows, columns):
    net = Net(rows, columns)
    net.op("Softmax", "x", axis=-1)
    return net.model(rows, columns)


def running_sum(rows, columns, axis):
    net = Net(rows, columns)
    net.op("CumSum", "x", net.stored(np.array(axis, np.int64)))
    return net.model(rows, columns)


# ---- movement ----

def transpose(shape, order):
    net = Net(*shape)
    net.op("Transpose", "x", perm=list(order))
    return net.model(*[shape[i] for i in order])


def qkv_split(rows, heads, width):
    """[1, rows, 3·heads·width] → one of [3, 1, heads, rows, width] a name; here stacked, so that there is one output."""
    net = Net(1, rows, 3 * heads * width)
    folded = net.op("Reshape", "x", net.integers(1, rows, 3, heads, width))
    net.op("Transpose", folded, perm=[2, 0, 3, 1, 4])
    return net.model(3, 1, heads, rows, width)


def focus(channels, size):
    net = Net(1, channels, size, size)
    parts = [net.op("Slice", net.op("Slice", "x", net.integers(y), net.integers(size), net.integers(2), net.integers(2)),
                    net.integers(x), net.integers(size), net.integers(3), net.integers(2)) for x in (0, 1) for y in (0, 1)]
    net.op("Concat", *parts, axis=1)
    return net.model(1, 4 * channels, size // 2, size // 2)


def shuffle(channels, groups, size):
    net = Net(1, channels, size, size)
    folded = net.op("Reshape", "x", net.integers(1, groups, channels // groups, size, size))
    net.op("Reshape", net.op("Transpose", folded, perm=[0, 2, 1, 3, 4]), net.integers(1, channels, size, size))
    return net.model(1, channels, size, size)


def concat(channels, size):
    net = Net(1, channels, size, size)
    net.op("Concat", "x", net.input(1, channels, size, size), axis=1)
    return net.model(1, 2 * channels, size, size)


def resize(channels, size, scale):
    net = Net(1, channels, size, size)
    net.op("Resize", "x", "", net.stored(np.array([1, 1, scale, scale], np.float32)), mode="linear", coordinate_transformation_mode="half_pixel")
    return net.model(1, channels, size * scale, size * scale)


# ---- element by element ----

def chain(elements, functions=()):
    """Sixteen operators over two arrays [64, elements / 64], with a factor a row, a summand a column and plain numbers, as a network has them between
    its contractions; `functions` take the places of every other operator."""
    columns = elements // 64
    net = Net(64, columns)
    y, rows, line = net.input(64, columns), net.constant(64, 1, scale=1), net.constant(1, columns)
    operands = {"Mul": [rows, y, net.constant(scale=0.9)], "Add": [line, net.constant(scale=1.5), y], "Sub": [y, line, net.constant(scale=0.5)]}
    kinds = ("Mul", "Add", "Relu", "Sub", "Abs", "Add", "Mul", "Neg")
    x, used = "x", 0
    for i in range(16):
        kind = functions[i // 2 % len(functions)] if functions and i % 2 else kinds[i % len(kinds)]
        others = [operands[kind][used % 3]] if kind in operands else []
        used += len(others)
        x = net.op(kind, x, *others)
    return net.model(64, columns)


def unary_chain(elements, kinds):
    """Sixteen operators that read what the one in front gives, and nothing else."""
    net = Net(elements)
    x = "x"
    for i in range(16):
        x = net.op(kinds[i % len(kinds)], x)
    return net.model(elements)


# ---- recurrent ----

def recurrent(kind, steps, inputs, hidden, batch=1):
    gates = {"LSTM": 4, "GRU": 3}[kind]
    net = Net(steps, batch, inputs)
    extra = {"linear_before_reset": 1} if kind == "GRU" else {}
    net.op(kind, "x", net.constant(1, gates * hidden, inputs), net.constant(1, gates * hidden, hidden), net.constant(1, 2 * gates * hidden),
           hidden_size=hidden, **extra)
    return net.model(steps, 1, batch, hidden)
