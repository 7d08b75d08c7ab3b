"""ONNX graphs that are written as NumPy expressions are: ``slope * scores + offset``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import NodeProto, TensorProto, ValueInfoProto

_OPSETS = {"": 18, "ai.onnx.ml": 3}
"""Versions of the operators: runtimes since 2023 know them."""


class ONNXModel(Protocol):
    """What users do with an `onnx.ModelProto`, a class that exists where onnx is installed."""

    def SerializeToString(self) -> bytes:
        """Return the content of a file, which runtimes read."""


def _operator(name: str) -> Callable[[Value, Operand], Value]:
    """Return the method that adds a node of this operator to the graph."""
    return lambda value, other: value.graph.add(name, value, other)


@dataclass(frozen=True, eq=False)
class Value:
    """A value of a graph. Operators add nodes to the graph."""

    graph: Graph
    name: str

    __add__ = _operator("Add")
    __sub__ = _operator("Sub")
    __mul__ = _operator("Mul")
    __truediv__ = _operator("Div")
    __matmul__ = _operator("MatMul")
    __gt__ = _operator("Greater")

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.add("Sub", other, self)

    def astype(self, dtype: type) -> Value:
        """Return the value in another type."""
        return self.graph.add("Cast", self, to=_element_type(dtype))

    def flatten(self) -> Value:
        """Return the value in one dimension."""
        return self.graph.add("Reshape", self, [-1])

    def columns(self, positions: np.ndarray | list[int]) -> Value:
        """Return some columns."""
        return self.graph.add("Gather", self, positions, axis=1)

    def row_sums(self) -> Value:
        """Return the sums of the rows, (n_samples, 1)."""
        return self.graph.add("ReduceSum", self, [1])


Operand = Value | np.ndarray | list[int] | float


class Output(NamedTuple):
    """An output of a graph: its value, its type, and its shape without the samples."""

    value: Value
    dtype: np.dtype | type = float
    shape: tuple[int, ...] = ()


class ConversionError(ValueError):
    """An estimator that skl2onnx does not convert, or not in double precision."""


class Graph:
    """A graph that is being written.

    Numbers have double precision, so that hardly any sample changes sides of a threshold.
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []

    def add(self, operator: str, *inputs: Operand, domain: str = "", **attributes: Any) -> Value:
        """Add a node of one output. Inputs that are no values become constants."""
        from onnx import helper

        names = [one.name if isinstance(one, Value) else self._add_constant(one) for one in inputs]
        output = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, names, [output], domain=domain, **attributes))
        return Value(self, output)

    def _add_constant(self, values: np.ndarray | list[int] | float) -> str:
        """Add a constant, in which text is an object and numbers with decimals are double."""
        from onnx import numpy_helper

        array = np.asarray(values)
        if array.dtype.kind in "fOUT":
            array = array.astype(float if array.dtype.kind == "f" else object)
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def add_input(self, name: str, dtype: np.dtype | type, n_columns: int) -> Value:
        """Add an input of shape (n_samples, n_columns)."""
        self._inputs.append(_describe(name, dtype, n_columns))
        return Value(self, name)

    def _rename(self, value: str, name: str) -> None:
        """Give a value another name."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def convert(
        self, estimator: Any, inputs: dict[str, tuple[Value, Any]], **options: bool
    ) -> Value:
        """Add what skl2onnx writes of an estimator whose inputs are values of skl2onnx's types.

        Returns the last output.
        """
        import skl2onnx
        from onnx import checker, compose, shape_inference

        types = [(name, kind) for name, (_, kind) in inputs.items()]
        failures = checker.ValidationError, shape_inference.InferenceError
        try:
            part = skl2onnx.to_onnx(
                estimator, initial_types=types, options=options or None, target_opset=_OPSETS
            )
            checker.check_model(part, full_check=True)
        except (*failures, NameError, RuntimeError, TypeError, ValueError) as error:
            raise ConversionError(
                f"{type(estimator).__name__} cannot be exported, as skl2onnx does not convert it: "
                f"{str(error)[:200]} Store the model by joblib or skops."
            ) from error
        body = compose.add_prefix_graph(part.graph, f"part_{len(self._nodes)}_")
        for old, new in zip(part.graph.input, body.input, strict=True):
            self._rename(inputs[old.name][0].name, new.name)
        self._nodes += body.node
        self._constants += body.initializer
        return Value(self, body.output[-1].name)

    def finish(self, outputs: dict[str, Output]) -> ONNXModel:
        """Return the checked model with outputs of these names."""
        from onnx import checker, helper

        for name, output in outputs.items():
            self._rename(output.value.name, name)
        results = [_describe(name, one.dtype, *one.shape) for name, one in outputs.items()]
        body = helper.make_graph(self._nodes, "skfair", self._inputs, results, self._constants)
        versions = [helper.make_opsetid(*pair) for pair in _OPSETS.items()]
        model = helper.make_model(body, opset_imports=versions, producer_name="skfair")
        model.ir_version = helper.find_min_ir_version_for(versions)
        checker.check_model(model, full_check=True)
        return model


def _describe(name: str, dtype: np.dtype | type, *sizes: int) -> Any:
    """Return the name, type and shape (n_samples, *sizes) of an input or output."""
    from onnx import helper

    return helper.make_tensor_value_info(name, _element_type(dtype), ["n_samples", *sizes])


def _element_type(dtype: np.dtype | type) -> int:
    """Return ONNX's number of a type."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
