// The form: reads the head of a file, asks what its columns mean, and shows what Python answers.
const $ = (id) => document.getElementById(id);
const form = $("form");
const worker = new Worker("worker.js", { type: "module" });
const NONE = "";
const PREVIEW = 1 << 20;
let content = null;
let fileName = "";
let encoding = null;
let table = { names: [], rows: [] };
let isReady = false;
let isBusy = false;
let asked = { question: -1, name: "" };
let lines = [];
let goodValue = NONE;
let question = 0; // number of what the form asks now; answers to earlier ones are not shown

// Reading the head of a file: separator, names and values.

function splitLines(text, separator) {
  const rows = [];
  let row = [], value = "", isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (isQuoted) {
      if (sign !== '"') value += sign;
      else if (text[i + 1] === '"') { value += '"'; i++; } else isQuoted = false;
    } else if (sign === '"' && value === "") isQuoted = true;
    else if (sign === separator) { row.push(value); value = ""; }
    else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && text[i + 1] === "\n") i++;
      row.push(value);
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = []; value = "";
    } else value += sign;
  }
  row.push(value);
  if (row.length > 1 || row[0] !== "") rows.push(row);
  return rows;
}

// The separator that divides the most lines into as many values as the first line, several at best.
function readTable(text) {
  let best = { names: [], rows: [], score: -1 };
  for (const separator of [",", ";", "\t", "|"]) {
    const [names, ...rows] = splitLines(text, separator);
    const sample = rows.slice(0, 100);
    const fits = sample.filter((row) => row.length === names.length).length;
    const score = names.length > 1 ? fits / Math.max(1, sample.length) + names.length / 1e4 : 0;
    if (score > best.score) best = { names, rows, score };
  }
  return best;
}

function decode(bytes) {
  const head = bytes.subarray(0, PREVIEW);
  // The last character may be cut.
  for (let cut = 0; cut < 4; cut++) {
    try {
      return [new TextDecoder("utf-8", { fatal: true }).decode(head.subarray(0, head.length - cut)), null];
    } catch { /* try a shorter one */ }
  }
  return [new TextDecoder("latin1").decode(head), "latin-1"];
}

const column = (name) => {
  const place = table.names.indexOf(name);
  return table.rows.map((row) => row[place] ?? "").filter((value) => value !== "");
};
const isNumber = (value) => /^[+-]?\d*[.,]?\d+(e[+-]?\d+)?$/i.test(value);
const hasDecimals = (name) => {
  const values = column(name);
  return values.length > 0 && values.every(isNumber) && values.some((value) => /[.,]/.test(value));
};

function fill(select, options) {
  const before = select.value;
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  if (options.some(([value]) => value === before)) select.value = before;
}

// What a file is whose first bytes are not text, in words.
function nameBinary(bytes) {
  const starts = (...codes) => codes.every((code, i) => bytes[i] === code);
  if (starts(0x50, 0x4b, 3, 4) || starts(0xd0, 0xcf, 0x11, 0xe0)) return "a spreadsheet or an archive";
  if (starts(0x50, 0x41, 0x52, 0x31)) return "a Parquet file";
  if (starts(0x1f, 0x8b)) return "a compressed file";
  return bytes.subarray(0, 1 << 16).includes(0) && !starts(0xff, 0xfe) && !starts(0xfe, 0xff) ? "a binary file" : "";
}

async function take(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  clearAnswer();
  const binary = nameBinary(bytes);
  if (binary) {
    content = null;
    form.hidden = true;
    $("about").textContent = `${file.name} is ${binary}, which this page does not read. ` +
      'Save the table as "CSV UTF-8" and choose that file.';
    update();
    return;
  }
  content = bytes;
  // The name under which Python reads it; it writes its answers beside it.
  fileName = file.name.replace(/[/\\]/g, "_").replace(/^(answer\.|\.)/, "file $1");
  const [text, name] = decode(content);
  encoding = name;
  table = readTable(text.slice(0, text.length - (content.length > PREVIEW ? text.length - text.lastIndexOf("\n") : 0)));
  const names = table.names.map((one) => [one, one || "(no name)"]);
  const optional = [[NONE, "(none)"], ...names];
  fill(form.elements.prediction, names);
  for (const one of ["target", "probability", "count"]) fill(form.elements[one], optional);
  $("groups").replaceChildren(...table.names.map((one) => {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "group", value: one });
    label.append(box, ` ${one}`);
    return label;
  }));
  const isWhole = content.length <= PREVIEW;
  $("about").textContent = `${file.name}: ${table.names.length} columns, ` +
    (isWhole ? `${table.rows.length.toLocaleString("en-US")} rows` : `${(content.length / 1e6).toFixed(1)} MB`) +
    (encoding ? `, read as ${encoding}` : "");
  form.hidden = false;
  update();
}

// What the form asks depends on what was chosen.

function update() {
  const { task, prediction, target } = form.elements;
  const areScores = hasDecimals(prediction.value);
  $("cut").hidden = !areScores;
  const labels = areScores ? target.value : prediction.value;
  const values = labels === NONE ? [] : [...new Set(column(labels))].sort().slice(0, 50);
  fill(form.elements.positive, values.map((value) => [value, value]));
  if (values.includes(goodValue)) form.elements.positive.value = goodValue;
  $("good").hidden = values.length === 0;
  $("proba").hidden = areScores || task.value !== "report";
  $("bound").hidden = task.value !== "certify";
  $("go").disabled = !(isReady && content && !isBusy && chosenGroups().length);
}

const chosenGroups = () => [...form.querySelectorAll("input[name=group]:checked")].map((box) => box.value);

function writeArguments() {
  const value = (name) => form.elements[name].value;
  const task = value("task");
  const args = [task, `/files/${fileName}`, `--prediction=${value("prediction")}`];
  const isShown = (id) => !$(id).hidden;
  if (isShown("good") && value("positive") !== "") args.push(`--positive=${value("positive")}`);
  if (isShown("cut")) args.push(`--threshold=${value("threshold")}`);
  for (const name of ["target", "count"]) if (value(name) !== NONE) args.push(`--${name}=${value(name)}`);
  if (isShown("proba") && value("probability") !== NONE) args.push(`--probability=${value("probability")}`);
  if (encoding) args.push(`--encoding=${encoding}`);
  if (task === "report") args.push("--interactive");
  if (task === "certify") args.push(`--tolerance=${value("tolerance")}`);
  if (task !== "subgroups") args.push("--out=/files/answer.html");
  args.push("--json=/files/answer.json", "--sensitive", ...chosenGroups());
  return args;
}

// An answer is of one file and one set of options: another one takes it away.
function clearAnswer() {
  for (const id of ["say", "save", "report"]) $(id).hidden = true;
  $("report").removeAttribute("srcdoc");
  delete document.body.dataset.done;
  question += 1;
}

// What was chosen as good stays chosen where another column has it, too.
form.elements.positive.addEventListener("change", () => { goodValue = form.elements.positive.value; });
form.addEventListener("input", clearAnswer);
form.addEventListener("change", update);
$("file").addEventListener("change", (event) => event.target.files[0] && take(event.target.files[0]));
$("drop").addEventListener("dragover", (event) => { event.preventDefault(); $("drop").classList.add("over"); });
$("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
$("drop").addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  isBusy = true;
  lines = [];
  clearAnswer();
  asked = { question, name: fileName };
  showStep("Reading the file and counting …", null);
  update();
  worker.postMessage({ args: writeArguments(), inputs: { [fileName]: content } });
});

// What Python says.

function showStep(text, share) {
  $("step").textContent = text;
  $("progress").hidden = text === "";
  if (share === null) $("progress").removeAttribute("value");
  else $("progress").value = share;
}

function finish() {
  isBusy = false;
  showStep("", null);
  update();
}

function say(text) {
  $("say").textContent = text;
  $("say").hidden = false;
}

const loaded = {};
worker.onmessage = ({ data }) => {
  if (data.kind === "loading") {
    loaded[data.name] = data;
    const sum = (name) => Object.values(loaded).reduce((total, one) => total + one[name], 0);
    const mega = (size) => (size / 1e6).toFixed(0);
    showStep(`Loading Python: ${mega(sum("size"))} of ${mega(sum("total"))} MB`, sum("size") / Math.max(1, sum("total")));
  } else if (data.kind === "step") showStep(`${data.text} …`, null);
  else if (data.kind === "line") lines.push(data.text);
  else if (data.kind === "failed") {
    finish();
    say(data.text);
    document.body.dataset.done = "failed";
  } else if (data.kind === "ready") {
    isReady = true;
    document.body.dataset.ready = JSON.stringify(data.seconds);
    if (!isBusy) finish();
  } else if (data.kind === "done") {
    finish();
    if (asked.question !== question) return;
    const said = lines.filter((line) => !line.includes("/files/answer")).join("\n");
    say(`${asked.name}\n${said.replaceAll("/files/", "")}`);
    const page = data.results["answer.html"];
    if (page) {
      $("report").hidden = false;
      $("report").srcdoc = page;
      const link = document.createElement("a");
      link.download = "report.html";
      link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
      link.textContent = "Save the report as one HTML file";
      $("save").replaceChildren(link);
      $("save").hidden = false;
    }
    window.answer = data;
    document.body.dataset.done = data.status;
  }
};
window.addEventListener("beforeunload", (event) => { if (isBusy) event.preventDefault(); });
