// One interpreter of Python for all questions about files, which stay in the memory of this worker.
import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI } from "./shim/index.js";

const START = `
import sys, traceback
sys.path.append("/lib/skfair.whl")
from skfair.__main__ import main as _main
import skfair._commands.audit

def _run(arguments):
    try:
        status = _main(arguments)
    except SystemExit as error:
        status = error.code
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    with open("/files/.status", "w") as file:
        file.write(str(status))
`;
const ENOSYS = 52;
const seconds = {};
let exports, files;

function tell(kind, content) {
  postMessage({ kind, ...content });
}

// The bytes of a file of this page, with its progress.
async function load(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name} cannot be loaded (${answer.status})`);
  const total = Number(answer.headers.get("content-length"));
  const reader = answer.body.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    tell("loading", { name, size, total });
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const folder = (entries) => new Directory(new Map(entries));
const text = (content) => new TextDecoder().decode(content);

function execute(code) {
  const bytes = new TextEncoder().encode(code);
  const place = exports.host_alloc(bytes.length) >>> 0;
  new Uint8Array(exports.memory.buffer).set(bytes, place);
  return exports.turn(place, bytes.length);
}

async function start() {
  const [wasm, library, wheel] = await Promise.all(["python.wasm", "python315.zip", "skfair.whl"].map(load));
  const began = performance.now();
  tell("step", { text: "Starting Python" });
  const module = await WebAssembly.compile(wasm);
  files = folder([]);
  const mounts = [
    new PreopenDirectory("/usr/local/lib", new Map([["python315.zip", new File(library, { readonly: true })]])),
    new PreopenDirectory("/", new Map([
      ["lib", folder([["skfair.whl", new File(wheel, { readonly: true })]])],
      ["usr", folder([["local", folder([["lib", folder([])]])]])],
      ["tmp", folder([])],
      ["files", files],
    ])),
  ];
  const print = (line) => tell("line", { text: line });
  const descriptors = [new OpenFile(new File([])), ConsoleStdout.lineBuffered(print),
    ConsoleStdout.lineBuffered(print), ...mounts];
  const settings = ["TMPDIR=/tmp", "HOME=/tmp", "PYTHONTZPATH=", "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1",
    "JOBLIB_MULTIPROCESSING=0"];
  const wasi = new WASI(["python"], settings, descriptors, { debug: false });
  const imports = { ...wasi.wasiImport };
  for (const one of WebAssembly.Module.imports(module)) {
    if (one.module.startsWith("wasi")) imports[one.name] ??= () => ENOSYS;
  }
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: imports,
    host: { call: () => -1 },
  });
  wasi.inst = instance;
  exports = instance.exports;
  exports._initialize?.();
  seconds.start = (performance.now() - began) / 1000;
  tell("step", { text: "Importing packages" });
  const importing = performance.now();
  const status = execute(START);
  seconds.imports = (performance.now() - importing) / 1000;
  if (status !== 0) throw new Error("Python could not import skfair");
  tell("ready", { seconds });
}

const started = start().catch((error) => tell("failed", { text: String(error) }));

onmessage = async ({ data: { args, inputs } }) => {
  await started;
  try {
    const began = performance.now();
    files.contents.clear();
    for (const [name, content] of Object.entries(inputs)) files.contents.set(name, new File(content));
    execute(`_run(${JSON.stringify(args)})`);
    const results = {};
    for (const [name, file] of files.contents) {
      if (!(name in inputs) && file.data) results[name] = text(file.data);
    }
    const status = Number(results[".status"] ?? 1);
    tell("done", { status, results, seconds: (performance.now() - began) / 1000,
      memory: exports.memory.buffer.byteLength });
  } catch (error) {
    tell("failed", { text: String(error) });
  }
};
