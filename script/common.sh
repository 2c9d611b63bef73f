# Shared by the scripts: where things are, and how they speak. Sourced, not run.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
BUILD=$ROOT/build/release
OPFUSE=$BUILD/opfuse
JOBS=$(nproc)

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# A Python environment with the onnx package, for test data only; the product needs none. Empty where it cannot be had.
PYTHON=
python_for_tests() {
  local venv=$ROOT/.venv
  if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import onnx, numpy, onnxruntime' 2>/dev/null; then
    command -v python3 >/dev/null || return 0
    rm -rf "$venv"
    python3 -m venv "$venv" >/dev/null 2>&1 || { rm -rf "$venv"; return 0; }
    "$venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy >/dev/null 2>&1 || { rm -rf "$venv"; return 0; }
  fi
  PYTHON=$venv/bin/python
}

build_release() {
  cmake --preset release >/dev/null
  cmake --build --preset release -- --quiet
}
