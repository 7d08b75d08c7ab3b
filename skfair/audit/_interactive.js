// The page of a report, as its reader chooses it: rate, groups, order, and threshold of the scores.
//
// Numbers come from the JSON beside this script, and nothing is loaded or sent. All text is set as
// text, so that names of groups are shown and never run.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("skfair-data").textContent);
  const report = document.querySelector(".skfair-report");
  const OVERALL = "overall";

  // Elements.

  function make(tag, settings = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(settings)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function draw(tag, settings) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
    return made;
  }

  document.head.append(make("style", {}, `
.skfair-report .controls{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:.7rem 0}
.skfair-report .controls label{font-size:.82rem;color:var(--soft)}
.skfair-report .controls :is(select,input){display:block;max-width:100%}
.skfair-report :is(select,button,input){font:inherit;font-size:.9rem;color:var(--ink)}
.skfair-report :is(select,.controls button){background:var(--mark);border:1px solid var(--small);
border-radius:.3rem;padding:.25rem .5rem;min-height:2rem}
.skfair-report .controls input{width:min(22rem,80vw);accent-color:var(--dot);min-height:2rem}
.skfair-report button{cursor:pointer}
.skfair-report th button{background:none;border:0;padding:.2rem 0;color:inherit;font-size:inherit;
text-align:inherit}
.skfair-report th[aria-sort] button{color:var(--ink);font-weight:600}
.skfair-report th[aria-sort=ascending] button::after{content:" ▲"}
.skfair-report th[aria-sort=descending] button::after{content:" ▼"}
.skfair-report :is(select,button,input,svg):focus-visible{outline:2px solid var(--dot);
outline-offset:2px}
.skfair-report svg .chosen{stroke-width:15}
.skfair-report .tip{position:fixed;z-index:2;pointer-events:none;background:var(--ink);
color:var(--paper);padding:.2rem .5rem;border-radius:.3rem;font-size:.85rem;max-width:18rem}
.skfair-report .tip[hidden]{display:none}
@media print{.skfair-report :is(.controls,.tip){display:none}}
`));

  // Numbers as the page writes them: percentages with one digit, others with three, limits
  // rounded outwards.

  function round(units, how) {
    const floor = Math.floor(units);
    const rest = units - floor;
    if (how === "down" || rest === 0) return floor;
    if (how === "up") return floor + 1;
    return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
  }

  function threeDigits(value, how) {
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    const places = size < 3 ? 2 - size : 0;
    const scaled = Number((value * 10 ** places).toPrecision(12));
    return String(Number((round(scaled, how) / 10 ** places).toPrecision(12)));
  }

  function write(value, isShare, how = "even") {
    if (value === null) return "–";
    if (typeof value === "string") return value;
    if (!isShare) return threeDigits(value, how);
    const tenths = round(Math.round(value * 1e8) / 1e5, how);
    return (tenths / 10 + 0).toFixed(1).replace(/^-(0\.0)$/, "$1");
  }

  const writeValue = (value, isShare, unit = "\u00a0%") =>
    write(value, isShare) + (isShare && typeof value === "number" ? unit : "");

  function writeLimits(low, high, isShare) {
    if (low === null || high === null) return "no interval";
    return `${write(low, isShare, "down")} to ${write(high, isShare, "up")}`;
  }

  const writeCount = (n) => n.toLocaleString("en-US", { maximumFractionDigits: 0 });
  const writeThreshold = (value) => String(Number(value.toPrecision(12)));

  // Rows of the report.

  function toRows(columns) {
    const names = Object.keys(columns);
    return columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  const rows = toRows(data.rates);
  const gaps = toRows(data.gaps);
  const scores = data.scores === null ? [] : toRows(data.scores);
  // Groupings are their places among the names, which begin with that of all samples.
  const [ALL, ...groupings] = data.groupings.keys();
  const nameOf = (grouping) => data.groupings[grouping];
  const metrics = Object.keys(data.words);
  const find = (grouping, metric) => rows.filter((row) => row.grouping === grouping && row.metric === metric);

  // Rates whose denominator counts samples and whose numerator counts some of them.
  const COUNTED = new Set(["base_rate", "selection_rate", "spared_rate", "coverage", "true_positive_rate",
    "false_positive_rate", "positive_predictive_value", "true_negative_rate", "false_negative_rate",
    "false_discovery_rate", "negative_predictive_value", "false_omission_rate", "error_rate", "accuracy",
    "scoring_rate"]);

  function describe(row) {
    const isShare = data.words[row.metric][2];
    const isCounted = data.counts_samples && COUNTED.has(row.metric.split(" of class ")[0]);
    const count = isCounted && row.estimate !== null ? `${writeCount(Math.round(row.n * row.estimate))} of ` : "";
    return `${row.group}: ${writeValue(row.estimate, isShare)}, ${count}${writeCount(row.n)} samples`;
  }

  // What the reader has chosen.

  const section = [...report.querySelectorAll("section")].find(
    (one) => one.querySelector("h2")?.textContent === "Rates by group");
  const shown = section.querySelector("caption span").textContent;
  const pairs = groupings.flatMap((grouping) => metrics.map((metric) => ({ grouping, metric })));
  const choice = {
    ...(pairs.find((one) => `${data.words[one.metric][0]} by ${nameOf(one.grouping)}` === shown) ?? pairs[0]),
    order: "estimate descending",
    numbers: "estimate descending",
    threshold: 0,
  };

  // Hints: the count of what the pointer or the keyboard is at.

  const hint = make("div", { class: "tip", hidden: "" });
  const spoken = make("p", { role: "status", style: "position:absolute;clip-path:inset(50%);margin:0" });
  report.append(hint, spoken);

  function showHint(text, x, y) {
    hint.textContent = text;
    hint.hidden = false;
    hint.style.left = `${Math.max(4, Math.min(x, innerWidth - hint.offsetWidth - 8))}px`;
    hint.style.top = `${Math.max(4, y - hint.offsetHeight - 8)}px`;
  }

  const hideHint = () => { hint.hidden = true; };
  addEventListener("scroll", hideHint, true);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideHint(); });

  // Pictures: dots on an axis, with a hint for each. Arrow keys go from dot to dot.

  function makeAxis(values, isShare) {
    const finite = values.filter((value) => typeof value === "number");
    let high = Math.max(0, ...finite.map(Math.abs)) || 1;
    const low = Math.min(0, ...finite) < 0 ? -high : 0;
    if (low === 0 && (isShare || (high > 0.5 && high <= 1))) high = 1;
    return { low, high };
  }

  function drawTicks(axis, isShare) {
    const ticks = [0, 1, 2, 3, 4].map((i) => axis.low + (i * (axis.high - axis.low)) / 4);
    const texts = ticks.map((value) => threeDigits(Number(((isShare ? 100 : 1) * value).toFixed(6)), "even"));
    if (isShare) texts[4] += " %";
    return make("span", { class: "axis" }, ...texts.map((text) => make("span", {}, text)));
  }

  function drawPicture(axis, dots, reference, limits = [null, null]) {
    const place = (value) => (100 * Math.min(Math.max((value - axis.low) / (axis.high - axis.low), 0), 1)).toFixed(1);
    const svg = draw("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", tabindex: 0, role: "img" });
    if (reference !== null) svg.append(draw("path", { class: "ref", d: `M${place(reference)} -6V26` }));
    dots = dots.filter((dot) => typeof dot.value === "number");
    // Infinite limits are texts.
    if (dots.length && limits.every((limit) => typeof limit === "number")) {
      svg.append(draw("path", { class: dots.at(-1).mark, d: `M${place(limits[0])} 10H${place(limits[1])}` }));
    }
    const drawn = dots.map((dot) => {
      const at = `M${place(dot.value)} 10h0`;
      const path = draw("path", { class: `dot ${dot.mark}`, d: at });
      svg.append(path);
      if (dot.mark === "small") svg.append(draw("path", { class: "hole", d: at }));
      return path;
    });
    svg.setAttribute("aria-label", dots.map((dot) => dot.text).join("; ") || "no value");
    const ordered = [...dots.keys()].sort((i, j) => dots[i].value - dots[j].value);
    let chosen = 0;
    function choose(number, isSpoken) {
      if (!dots.length) return;
      drawn[ordered[chosen]].classList.remove("chosen");
      chosen = Math.max(0, Math.min(number, dots.length - 1));
      const dot = dots[ordered[chosen]];
      drawn[ordered[chosen]].classList.add("chosen");
      const box = svg.getBoundingClientRect();
      showHint(dot.text, box.left + (box.width * place(dot.value)) / 100, box.top);
      if (isSpoken) spoken.textContent = dot.text;
    }
    const leave = () => { drawn.forEach((path) => path.classList.remove("chosen")); hideHint(); };
    svg.addEventListener("focus", () => choose(chosen, false));
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      choose(chosen + step, true);
    });
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = (100 * (event.clientX - box.left)) / box.width;
      const distances = ordered.map((i) => Math.abs(place(dots[i].value) - at));
      choose(distances.indexOf(Math.min(...distances)), false);
    });
    svg.addEventListener("pointerleave", leave);
    return svg;
  }

  // Tables.

  function makeCell(tag, text, remark) {
    const cell = make(tag, tag === "th" ? { scope: "row" } : {}, text);
    if (remark) cell.append(" ", make("small", {}, remark));
    return cell;
  }

  // A value and its limits, or a dash.
  function makeValue(value, low, high, isShare, unit) {
    const limits = typeof value === "number" && low !== undefined ? writeLimits(low, high, isShare) : "";
    return makeCell("td", writeValue(value, isShare, unit), limits);
  }

  function makeTable(frame, title, note, head, body, isPlot) {
    const caption = make("caption", {}, make("span", {}, title), ...(note ? [make("small", {}, note)] : []));
    const table = make("table", isPlot ? { class: "plots" } : {}, caption,
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
    frame.setAttribute("aria-label", title);
    frame.replaceChildren(table);
  }

  // The head of a column; a click sorts by it, and the next click in the other direction.
  function makeHead(text, key, order, setOrder) {
    const [current, direction] = [order.slice(0, order.lastIndexOf(" ")), order.split(" ").at(-1)];
    const first = key === "group" ? "ascending" : "descending";
    const next = current !== key ? first : direction === "ascending" ? "descending" : "ascending";
    const button = make("button", { type: "button", onclick: () => setOrder(`${key} ${next}`) }, text);
    return make("th", { scope: "col", "aria-sort": current === key ? direction : null }, button);
  }

  // Rows by name, size or value; groups that are small or without a value come last by value.
  function sortRows(list, order, valueOf = (row, key) => row[key], isSmall = (row) => row.is_small) {
    const sign = order.endsWith("ascending") ? 1 : -1;
    const key = order.slice(0, order.lastIndexOf(" "));
    const isLast = (row) => key !== "group" && key !== "n" && (isSmall(row, key) || valueOf(row, key) === null);
    return [...list].sort((a, b) => {
      const [x, y] = [valueOf(a, key), valueOf(b, key)];
      if (isLast(a) !== isLast(b)) return isLast(a) - isLast(b);
      return sign * (typeof x === "string" && typeof y === "string" ? x.localeCompare(y, "en") : x - y);
    });
  }

  function markRows(list) {
    const values = list.filter((row) => !row.is_small && row.estimate !== null).map((row) => row.estimate);
    const ends = [Math.max(...values), Math.min(...values)];
    return (row) => (row.is_small ? "small" : ends.includes(row.estimate) ? "end" : "near");
  }

  // A picture and the numbers of one rate by group, as in the page without scripts.
  function showRates(frame, list, reference, title, note, setOrder) {
    const isShare = data.words[choice.metric][2];
    const axis = makeAxis(list.flatMap((row) => [row.estimate, row.low, row.high]), isShare);
    const mark = markRows(list);
    const order = choice.order;
    const head = [
      makeHead("Group", "group", order, setOrder),
      make("th", { scope: "col" }, drawTicks(axis, isShare)),
      makeHead(data.words[choice.metric][0], "estimate", order, setOrder),
      makeHead("Samples", "n", order, setOrder),
    ];
    const body = sortRows(list, order).map((row) => {
      const dot = { value: row.estimate, mark: mark(row), text: describe(row) };
      return make("tr", { class: mark(row) }, makeCell("th", row.group),
        make("td", {}, drawPicture(axis, [dot], reference, [row.low ?? null, row.high ?? null])),
        makeValue(row.estimate, row.low, row.high, isShare),
        makeCell("td", writeCount(row.n), row.is_small ? "small" : ""));
    });
    makeTable(frame, title, note, head, body, true);
  }

  // Files.

  function saveTable(name, list) {
    const quote = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const names = Object.keys(list[0]);
    const lines = [names, ...list.map((row) => names.map((one) => row[one]))];
    const text = lines.map((line) => line.map(quote).join(",")).join("\r\n") + "\r\n";
    const link = make("a", { download: `${name}.csv` });
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Controls. Those of the same choice show the same value.

  const selects = [];

  function makeSelect(label, name, options) {
    const select = make("select", { name, onchange: () => {
      choice[name] = name === "grouping" ? Number(select.value) : select.value;
      show();
    } },
      ...options.map(([value, text]) => make("option", { value }, text)));
    selects.push(select);
    return make("label", {}, label, select);
  }

  function makeButton(text, action) {
    return make("button", { type: "button", onclick: action }, text);
  }

  const ORDERS = [["estimate descending", "largest rate first"], ["estimate ascending", "smallest rate first"],
    ["group ascending", "name"], ["group descending", "name, reversed"], ["n descending", "most samples first"],
    ["n ascending", "fewest samples first"]];
  const titles = metrics.map((metric) => [metric, data.words[metric][0]]);
  const byGrouping = groupings.map((grouping) => [grouping, `by ${nameOf(grouping)}`]);

  function setOrder(order) {
    choice.order = order;
    show();
  }

  // Rates by group.

  const ratesFrame = section.querySelector(".frame");
  ratesFrame.before(make("div", { class: "controls", role: "group", "aria-label": "What is shown" },
    makeSelect("Rate", "metric", titles), makeSelect("Groups", "grouping", byGrouping),
    makeSelect("Order", "order", ORDERS), makeButton("Save as CSV", () => saveTable("rates",
      sortRows(find(choice.grouping, choice.metric), choice.order).map((row) => ({ grouping: nameOf(row.grouping),
        group: row.group, rate: row.metric, samples: row.n, estimate: row.estimate, low: row.low, high: row.high }))))));

  function showChosenRates() {
    const [title, meaning] = data.words[choice.metric];
    const list = find(choice.grouping, choice.metric);
    const reference = find(ALL, choice.metric)[0]?.estimate ?? null;
    showRates(ratesFrame, list, reference, `${title} by ${nameOf(choice.grouping)}`, meaning, setOrder);
  }

  // All rates at a glance.

  const glance = [...report.querySelectorAll("section")].find(
    (one) => one.querySelector("h2")?.textContent === "All rates at a glance").querySelector(".frame");

  function showGlance() {
    const ofGrouping = gaps.filter((gap) => gap.grouping === choice.grouping);
    const axisOf = (metric, list) => makeAxis(list.map((row) => row.estimate), data.words[metric][2]);
    const large = (metric) => find(choice.grouping, metric).filter((row) => !row.is_small);
    const first = ofGrouping[0].metric;
    const head = [make("th", { scope: "col" }, "Rate"),
      make("th", { scope: "col" }, drawTicks(axisOf(first, large(first)), data.words[first][2])),
      make("th", { scope: "col" }, "Widest gap")];
    const body = ofGrouping.map((gap) => {
      const [title, meaning, isShare] = data.words[gap.metric];
      const list = sortRows(large(gap.metric), "estimate descending");
      const mark = markRows(list);
      const axis = axisOf(gap.metric, list);
      // The two ends are drawn last, on top of the others.
      const dots = list.map((row) => ({ value: row.estimate, mark: mark(row), text: describe(row) }))
        .sort((a, b) => (a.mark === "end") - (b.mark === "end"));
      const ends = drawTicks(axis, isShare).children;
      const about = axis.low === 0 && axis.high === 1 ? meaning
        : `${meaning}; axis from ${ends[0].textContent} to ${ends[4].textContent}`;
      const reference = find(ALL, gap.metric)[0]?.estimate ?? null;
      return make("tr", {}, makeCell("th", title, about), make("td", {}, drawPicture(axis, dots, reference)),
        makeValue(gap.gap, gap.gap_low, gap.gap_high, isShare, " points"));
    });
    makeTable(glance, `Gaps by ${nameOf(choice.grouping)}`, "Groups that are large enough to be compared.", head, body, true);
  }

  // The numbers.

  const numbers = [...report.querySelectorAll("section")].find(
    (one) => one.querySelector("h2")?.textContent === "The numbers").querySelector(".frame");
  numbers.before(make("div", { class: "controls" }, makeButton("Save as CSV", () => saveTable("numbers",
    rows.map((row) => ({ grouping: nameOf(row.grouping), group: row.group, rate: row.metric, samples: row.n,
      estimate: row.estimate, low: row.low, high: row.high }))))));

  function showNumbers() {
    const setNumbers = (order) => { choice.numbers = order; showNumbers(); };
    const order = choice.numbers.replace(/^estimate /, `${choice.metric} `);
    const groups = new Map();
    for (const row of rows.filter((one) => one.grouping === choice.grouping)) {
      if (!groups.has(row.group)) groups.set(row.group, { group: row.group, n: 0, by: {} });
      const group = groups.get(row.group);
      group.n = Math.max(group.n, row.n);
      group.by[row.metric] = row;
    }
    const overall = { group: OVERALL, n: 0, by: {} };
    for (const row of rows.filter((one) => one.grouping === ALL)) {
      overall.n = Math.max(overall.n, row.n);
      overall.by[row.metric] = row;
    }
    const valueOf = (row, key) => (key === "group" || key === "n" ? row[key] : row.by[key]?.estimate ?? null);
    const head = [makeHead("Group", "group", order, setNumbers), makeHead("Samples", "n", order, setNumbers),
      ...titles.map(([metric, title]) => makeHead(title, metric, order, setNumbers))];
    const isSmall = (row, key) => row.by[key]?.is_small;
    const body = [overall, ...sortRows(groups.values(), order, valueOf, isSmall)].map((row) => make("tr", {},
      makeCell("th", row.group), makeCell("td", writeCount(row.n)), ...metrics.map((metric) => {
        const one = row.by[metric];
        return one === undefined ? makeCell("td", "–")
          : makeValue(one.estimate, one.low, one.high, data.words[metric][2]);
      })));
    makeTable(numbers, `By ${nameOf(choice.grouping)}`, "With intervals.", head, body, false);
  }

  // Another threshold: rates from counts by score and outcome. A bin counts scores above its lower
  // end up to its upper end, so that counts at an end are those of scores above it.

  const thresholds = [...new Set(scores.flatMap((row) => [row.bin_low, row.bin_high]))]
    .filter((value) => value > 0).sort((a, b) => a - b);
  const RECOUNTED = {
    base_rate: (c) => [c.truePositives + c.falseNegatives, c.all],
    selection_rate: (c) => [c.truePositives + c.falsePositives, c.all],
    true_positive_rate: (c) => [c.truePositives, c.truePositives + c.falseNegatives],
    false_positive_rate: (c) => [c.falsePositives, c.falsePositives + c.trueNegatives],
    positive_predictive_value: (c) => [c.truePositives, c.truePositives + c.falsePositives],
    true_negative_rate: (c) => [c.trueNegatives, c.falsePositives + c.trueNegatives],
    false_negative_rate: (c) => [c.falseNegatives, c.truePositives + c.falseNegatives],
    false_discovery_rate: (c) => [c.falsePositives, c.truePositives + c.falsePositives],
    negative_predictive_value: (c) => [c.trueNegatives, c.trueNegatives + c.falseNegatives],
    false_omission_rate: (c) => [c.falseNegatives, c.trueNegatives + c.falseNegatives],
    error_rate: (c) => [c.falsePositives + c.falseNegatives, c.all],
    accuracy: (c) => [c.truePositives + c.trueNegatives, c.all],
  };

  function countOutcomes(list, threshold) {
    const counts = { truePositives: 0, falsePositives: 0, falseNegatives: 0, trueNegatives: 0, all: 0 };
    for (const row of list) {
      const positives = Math.round(row.n * row.estimate);
      const isAbove = row.bin_low >= threshold;
      counts[isAbove ? "truePositives" : "falseNegatives"] += positives;
      counts[isAbove ? "falsePositives" : "trueNegatives"] += row.n - positives;
      counts.all += row.n;
    }
    return counts;
  }

  function recount(group, list) {
    const [hits, n] = RECOUNTED[choice.metric](countOutcomes(list, thresholds[choice.threshold]));
    return { group, metric: choice.metric, n, estimate: n ? hits / n : null, is_small: n < data.min_group_size };
  }

  const recounted = () => {
    const list = scores.filter((row) => row.grouping === choice.grouping);
    const groups = [...new Set(list.map((row) => row.group))];
    return [recount(OVERALL, list), ...groups.map((group) => recount(group, list.filter((row) => row.group === group)))];
  };

  let scoresSection = null;

  if (thresholds.length) {
    const middle = thresholds.map((value) => Math.abs(value - 0.5));
    choice.threshold = middle.indexOf(Math.min(...middle));
    const slider = make("input", { type: "range", min: 0, max: thresholds.length - 1, step: 1, name: "threshold" });
    slider.value = choice.threshold;
    slider.addEventListener("input", () => { choice.threshold = Number(slider.value); showThreshold(); });
    const frame = make("div", { class: "frame", role: "region", tabindex: 0 });
    const summary = make("p", { role: "status" });
    scoresSection = make("section", {}, make("h2", {}, "Another threshold"),
      make("p", {}, "Rates of the decisions that another threshold of the scores would make, in these data: scores " +
        "above it are selected. They are counted from the numbers of samples by score and outcome, without intervals. " +
        "A threshold that is chosen on these data shows its gap on other data only."),
      make("div", { class: "controls" }, make("label", {}, "Threshold", slider),
        makeSelect("Rate", "metric", titles.filter(([metric]) => metric in RECOUNTED)),
        makeSelect("Groups", "grouping", byGrouping),
        makeButton("Save as CSV", () => saveTable("threshold", recounted().map((row) => ({
          grouping: nameOf(choice.grouping), group: row.group, rate: row.metric, threshold: thresholds[choice.threshold],
          samples: row.n, estimate: row.estimate }))))),
      summary, frame);
    section.after(scoresSection);
    scoresSection.show = () => {
      const threshold = writeThreshold(thresholds[choice.threshold]);
      slider.setAttribute("aria-valuetext", `scores above ${threshold}`);
      const isCounted = choice.metric in RECOUNTED && scores.some((row) => row.grouping === choice.grouping);
      frame.hidden = !isCounted;
      if (!isCounted) {
        summary.textContent = "This rate or grouping is not counted by score. Choose another one.";
        return;
      }
      const [all, ...list] = recounted();
      const [title, meaning] = data.words[choice.metric];
      const large = list.filter((row) => !row.is_small).map((row) => row.estimate);
      const gap = large.length > 1 ? write(Math.max(...large) - Math.min(...large), true) : "–";
      summary.textContent = `Scores above ${threshold} are selected. ${title}: ${writeValue(all.estimate, true)} of all ` +
        `${writeCount(all.n)} samples that count; widest gap ${gap} percentage points.`;
      showRates(frame, list, all.estimate, `${title} by ${nameOf(choice.grouping)}, scores above ${threshold}`, meaning, setOrder);
    };
  }

  function showThreshold() {
    if (scoresSection) scoresSection.show();
  }

  let shownGrouping = null;

  function show() {
    const at = document.activeElement;
    const place = at && at.closest(".frame") ? [at.closest(".frame"), at.textContent.trim()] : null;
    for (const select of selects) select.value = choice[select.name];
    showChosenRates();
    if (shownGrouping !== choice.grouping) showGlance();
    shownGrouping = choice.grouping;
    showNumbers();
    showThreshold();
    // The head that was pressed is made again, and keeps the focus.
    if (place) [...place[0].querySelectorAll("button")].find((one) => one.textContent.trim() === place[1])?.focus();
  }

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  show();
})();
