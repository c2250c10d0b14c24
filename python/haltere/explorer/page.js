"use strict";
// Puts any metric against any factor. `data` is what columns.py gathers: a list a column, a place a run.
(async () => {
const at = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = document.body.dataset;
const REPLICATION = "replication";

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const data = await unpack(at("data").textContent);
const runs = data.runs;
const metrics = Object.fromEntries(data.metrics.map((one) => [one.name, one]));
const hidden = {}; // of each factor the levels that the reader unticked
let marks = []; // what is drawn, each with the runs behind it

at("title").textContent = data.title;
at("question").textContent = data.question;
if (data.report) {
  const back = document.createElement("a");
  back.href = data.report;
  back.textContent = "Back to the report";
  at("back").append(back);
  at("back").hidden = false;
}

/** Options with a third entry stand below it, in a group. */
function fill(select, options, wanted) {
  const named = [...new Set(options.map((one) => one[2] || ""))];
  const made = (group) => options.filter((one) => (one[2] || "") === group).map(([value, text]) => new Option(text, value));
  select.replaceChildren(...named.flatMap((group) => {
    if (!group) return made(group);
    const part = document.createElement("optgroup");
    part.label = group;
    part.append(...made(group));
    return [part];
  }));
  if (wanted !== undefined && options.some(([value]) => value === wanted)) select.value = wanted;
}

const experiment = () => data.experiments[Number(at("experiment").value) || 0];
const inExperiment = (run) => runs.experiment[run] === data.experiments.indexOf(experiment());

/** Factors of the experiment that have more than one level. */
const varied = () => experiment().factors.filter((name) => data.factors[name].levels.length > 1);

function choices() {
  const wanted = Object.fromEntries(["metric", "x", "colour", "panels"].map((id) => [id, at(id).options.length ? at(id).value : undefined]));
  const mine = runs.id.map((_, run) => run).filter(inExperiment);
  const there = data.metrics.filter((one) => mine.some((run) => runs.numbers[one.name][run] !== null));
  fill(at("metric"), there.map((one) => [one.name, one.unit ? `${one.label} (${one.unit})` : one.label, one.group]), wanted.metric);
  const own = varied().map((name) => [name, data.factors[name].label]);
  const others = there.map((one) => [`=${one.name}`, one.label, one.group]);
  fill(at("x"), [...own, [REPLICATION, REPLICATION], ...others], wanted.x || (own[1] || own[0] || [])[0]);
  fill(at("colour"), [["", "none"], ...own], wanted.colour ?? (own[0] || [""])[0]);
  fill(at("panels"), [["", "none"], ...own], wanted.panels);
  at("boxes").replaceChildren(...varied().map(filterOf));
}

function filterOf(name) {
  const field = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = data.factors[name].label;
  field.append(legend);
  data.factors[name].text.forEach((text, code) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !(hidden[name] || new Set()).has(code);
    box.dataset.factor = name;
    box.dataset.code = code;
    box.addEventListener("change", () => {
      hidden[name] = hidden[name] || new Set();
      if (box.checked) hidden[name].delete(code); else hidden[name].add(code);
      draw();
    });
    label.append(box, " ", text);
    field.append(label);
  });
  return field;
}

/** The runs that the filters leave and that have the metric. */
function shown(metric) {
  const found = [];
  runs.id.forEach((_, run) => {
    if (!inExperiment(run) || runs.numbers[metric][run] === null) return;
    if (varied().some((name) => (hidden[name] || new Set()).has(runs.factors[name][run]))) return;
    found.push(run);
  });
  return found;
}

/** Factors that the chart does not tell apart, of which several levels are left. */
function pooled(keys, list) {
  return varied().filter((name) => !Object.values(keys).includes(name) && new Set(list.map((run) => code(name, run))).size > 1);
}

/** At first one level of each factor that nothing shows is left, so that nothing is averaged unasked. */
function pickOne() {
  const used = ["x", "colour", "panels"].map((id) => at(id).value);
  const list = shown(at("metric").value);
  for (const name of varied().filter((one) => !used.includes(one))) {
    const there = data.factors[name].levels.map((_, code) => code).filter((one) => list.some((run) => runs.factors[name][run] === one));
    hidden[name] = new Set(data.factors[name].levels.map((_, code) => code).filter((one) => one !== there[0]));
  }
}

function groups(list, keys) {
  const found = new Map();
  for (const run of list) {
    const key = keys.map((name) => code(name, run)).join(" ");
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(run);
  }
  return [...found.values()];
}

const code = (name, run) => (name === REPLICATION ? runs.replication[run] : runs.factors[name][run]);
const text = (name, run) => (name === REPLICATION ? String(runs.replication[run]) : data.factors[name].text[code(name, run)]);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean over replications, each averaged over its treatments first, with Student's t interval. */
function interval(list, metric) {
  const values = groups(list, [REPLICATION]).map((same) => mean(same.map((run) => runs.numbers[metric][run])));
  const middle = mean(values);
  const n = values.length;
  if (n < 3) return { y: middle, low: null, high: null, n };
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (n - 1);
  const half = (data.t[n] || 1.96) * Math.sqrt(variance / n);
  return { y: middle, low: middle - half, high: middle + half, n };
}

function place(row, run, keys) {
  for (const [channel, name] of Object.entries(keys)) {
    if (!name) continue;
    if (channel === "x" && name.startsWith("=")) row.x = runs.numbers[name.slice(1)][run];
    else if (channel === "x" && toScale()) row.x = name === REPLICATION ? runs.replication[run] : data.factors[name].values[code(name, run)];
    else row[channel] = text(name, run);
  }
  return row;
}

const toScale = () => {
  const name = at("x").value;
  return at("scaled").checked && !name.startsWith("=") && (name === REPLICATION || data.factors[name].values !== null);
};

/** What is drawn: rows for Vega-Lite, each with the number `k` of its runs in `marks`. */
function rows(metric, keys, how) {
  const list = shown(metric);
  const named = Object.values(keys).filter((name) => name && !name.startsWith("="));
  marks = [];
  const made = [];
  const add = (row, members) => { row.k = marks.push(members) - 1; made.push(row); };
  if (how === "cdf") {
    for (const members of groups(list, [keys.colour, keys.panels].filter(Boolean))) {
      const sorted = members.map((run) => [runs.numbers[metric][run], run]).sort((a, b) => a[0] - b[0]);
      sorted.forEach(([value, run], i) => {
        add(place({ x: value, y: (i + 1) / sorted.length }, run, { colour: keys.colour, panels: keys.panels }), [run]);
      });
    }
  } else if (how === "mean" && !keys.x.startsWith("=")) {
    for (const members of groups(list, named)) {
      add(place(interval(members, metric), members[0], keys), members);
    }
  } else {
    for (const run of list) {
      const row = place({ y: runs.numbers[metric][run], run: runs.id[run] }, run, keys);
      if (row.x !== null) add(row, [run]);
    }
  }
  return made;
}

function scaleOf(name) {
  const factor = data.factors[name];
  return { domain: factor.text, range: factor.colours.map((pair) => pair[dark.matches ? 1 : 0]) };
}

/** An offset in pixels for each colour, so that intervals at the same place stand beside each other. */
function apart(values, keys) {
  const levels = keys.colour ? data.factors[keys.colour].text.filter((level) => values.some((row) => row.colour === level)) : [];
  if (levels.length < 2) return {};
  const step = Math.min(7, 36 / levels.length);
  return { xOffset: { expr: `(indexof(${JSON.stringify(levels)}, datum.colour) - ${(levels.length - 1) / 2}) * ${step}` } };
}

function chart(metric, keys, how) {
  const one = metrics[metric];
  const values = rows(metric, keys, how);
  const title = one.unit ? `${one.label} (${one.unit})` : one.label;
  const free = keys.x.startsWith("=");
  const other = free ? metrics[keys.x.slice(1)] : null;
  const log = at("logy").checked && values.every((row) => (how === "cdf" ? row.x : row.y) > 0) ? "log" : "linear";
  const metricAxis = { type: "quantitative", title, scale: { type: log, zero: false, nice: true } };
  const xName = keys.x === REPLICATION ? REPLICATION : free ? (other.unit ? `${other.label} (${other.unit})` : other.label) : data.factors[keys.x].label;
  const order = keys.x === REPLICATION ? "ascending" : free ? null : data.factors[keys.x].text;
  const measured = toScale() ? values.map((row) => row.x) : [];
  const wide = measured.length && Math.min(...measured) > 0 && Math.max(...measured) / Math.min(...measured) > 20;
  const colour = keys.colour ? { colour: { field: "colour", type: "nominal", title: data.factors[keys.colour].label, scale: scaleOf(keys.colour) } } : {};
  const encoding = how === "cdf"
    ? { x: { field: "x", ...metricAxis }, y: { field: "y", type: "quantitative", title: "share of runs", scale: { domain: [0, 1] } } }
    : { x: free || toScale()
        ? { field: "x", type: "quantitative", title: xName, scale: { zero: false, type: wide ? "log" : "linear" } }
        : { field: "x", type: "ordinal", title: xName, sort: order, axis: { labelAngle: order && order.join("").length > 70 ? -35 : 0 } },
        y: { field: "y", ...metricAxis } };
  if (keys.colour) encoding.color = colour.colour;
  const tooltip = { ...(how === "mean" && !free ? { tooltip: [
    ...(keys.colour ? [{ field: "colour", title: data.factors[keys.colour].label }] : []),
    { field: "x", title: xName }, { field: "y", title, format: ".4~g" },
    { field: "low", title: "from", format: ".4~g" }, { field: "high", title: "to", format: ".4~g" }, { field: "n", title: "replications" }] } : {}) };
  const dodge = !free && !toScale() && keys.colour && how !== "mean" ? { xOffset: { field: "colour", type: "nominal", sort: data.factors[keys.colour].text } } : {};
  const beside = apart(values, keys);
  const layers = {
    mean: [
      // No line joins names, as nothing lies between.
      ...(keys.x === REPLICATION || (!free && data.factors[keys.x].values) ? [{ mark: { type: "line", strokeWidth: 1.5, opacity: 0.75, ...beside }, encoding }] : []),
      { mark: { type: "rule", strokeWidth: 1.4, ...beside }, encoding: { ...encoding, y: { ...encoding.y, field: "low" }, y2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 55, opacity: 1, ...beside }, encoding: { ...encoding, ...tooltip } },
    ],
    runs: [{ mark: { type: "point", filled: true, size: 28, opacity: 0.65, tooltip: true }, encoding: { ...encoding, ...dodge } }],
    box: [{ mark: { type: "boxplot", extent: 1.5, size: 14 }, encoding: { ...encoding, ...dodge } }],
    cdf: [
      { mark: { type: "line", interpolate: "step-after", strokeWidth: 1.6 }, encoding },
      { mark: { type: "point", filled: true, size: 18, opacity: 0.5, tooltip: true }, encoding },
    ],
  };
  const chosen = layers[how === "mean" && free ? "runs" : how];
  const panels = keys.panels ? data.factors[keys.panels].text.filter((level) => values.some((row) => row.panels === level)) : [];
  // On a phone the legend stands above, where its words have room.
  const narrow = document.documentElement.clientWidth < 600;
  const room = Math.min(1360, document.documentElement.clientWidth - 40) - (narrow ? 80 : 190);
  const across = panels.length ? Math.max(1, Math.min(panels.length, Math.floor(room / 260))) : 1;
  const size = { width: Math.max(200, Math.floor(room / across) - (across > 1 ? 60 : 40)), height: panels.length ? 220 : 380 };
  const body = { layer: chosen, ...size };
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values },
    ...(panels.length ? { facet: { field: "panels", type: "nominal", sort: panels, title: data.factors[keys.panels].label }, columns: across, spec: body } : body),
    config: {
      background: "transparent", font: "system-ui, sans-serif", view: { stroke: line },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, labelOverlap: true },
      legend: {
        labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, symbolStrokeWidth: 2, orient: narrow ? "top" : "right",
      },
      header: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12 },
      point: { color: "#0072B2" }, line: { color: "#0072B2" }, rule: { color: "#0072B2" }, boxplot: { box: { color: "#0072B2" } },
    },
  };
}

async function draw() {
  const metric = at("metric").value;
  const keys = { x: at("x").value, colour: at("colour").value, panels: at("panels").value };
  const how = at("mark").value;
  at("scaled").disabled = how === "cdf" || keys.x.startsWith("=");
  const spec = chart(metric, keys, how);
  at("says").textContent = metrics[metric].says;
  const left = shown(metric);
  const kept = left.length;
  const unshown = varied().filter((name) => !Object.values(keys).includes(name));
  const over = pooled(keys, left);
  const fixed = unshown.filter((name) => !over.includes(name) && left.length).map((name) => `${data.factors[name].label} ${text(name, left[0])}`);
  const pools = how === "mean" ? "Averaged over all levels of" : "All levels together of";
  at("pooled").textContent = [fixed.length ? `Only ${fixed.join(", ")}.` : "", over.length ? `${pools} ${over.map((name) => data.factors[name].label).join(", ")}.` : "",
    unshown.length ? "Filter chooses levels." : ""].filter(Boolean).join(" ");
  const all = runs.id.filter((_, run) => inExperiment(run)).length;
  at("filtered").textContent = `${kept} of ${all} runs`;
  const failed = Object.keys(runs.errors).map(Number).filter(inExperiment);
  at("failures").hidden = failed.length === 0;
  at("failed").textContent = `${failed.length} failed run${failed.length > 1 ? "s" : ""}`;
  at("failed").onclick = () => list(failed);
  remember(metric, keys, how);
  at("problem").hidden = true;
  try {
    const { view } = await vegaEmbed("#chart", spec, { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } });
    // Its summary is three dots, which have no name.
    at("chart").querySelector("summary")?.setAttribute("aria-label", "Save the chart");
    view.addEventListener("click", (_, item) => {
      if (item && item.datum && item.datum.k !== undefined) list(marks[item.datum.k]);
    });
  } catch (error) {
    at("problem").textContent = `The chart cannot be drawn: ${error.message}`;
    at("problem").hidden = false;
  }
  state.marks = marks.length;
  state.runs = kept;
}

const LISTED = 200;

function list(members) {
  const metric = metrics[at("metric").value];
  const names = varied();
  at("hint").hidden = true;
  at("runs").hidden = false;
  at("chosen").textContent = members.length > LISTED ? `The first ${LISTED} of ${members.length} runs` : `${members.length} run${members.length > 1 ? "s" : ""}`;
  const head = cells("th", ["run", ...names.map((name) => data.factors[name].label), REPLICATION, metric.unit ? `${metric.label} (${metric.unit})` : metric.label]);
  at("runs").tHead.replaceChildren(head);
  at("runs").tBodies[0].replaceChildren(...members.slice(0, LISTED).map((run) => {
    const row = cells("td", [runs.id[run].slice(0, 8), ...names.map((name) => text(name, run)), runs.replication[run], runs.numbers[metric.name][run]]);
    row.tabIndex = 0;
    const choose = () => { for (const other of at("runs").tBodies[0].rows) other.classList.remove("on"); row.classList.add("on"); alone(run); };
    row.addEventListener("click", choose);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(); });
    return row;
  }));
  if (members.length === 1) alone(members[0]);
  state.listed = members.length;
}

/** The shortest beginning of a run's id that no other run has, of eight characters at least. */
function short(run) {
  let length = 8;
  while (runs.id.some((id, other) => other !== run && id.startsWith(runs.id[run].slice(0, length)))) length += 1;
  return runs.id[run].slice(0, length);
}

function alone(run) {
  at("one").hidden = false;
  at("command").textContent = data.trace + short(run);
  const error = runs.errors[run];
  const lines = [...(error ? [["error", error]] : []), ...experiment().factors.map((name) => [data.factors[name].label, text(name, run)]),
    ...data.metrics.filter((one) => runs.numbers[one.name][run] !== null).map((one) => [one.label, `${runs.numbers[one.name][run]} ${one.unit}`])];
  at("numbers").tBodies[0].replaceChildren(...lines.map((line) => cells("td", line)));
  state.run = runs.id[run];
}

function cells(kind, contents) {
  const row = document.createElement("tr");
  row.append(...contents.map((content) => { const cell = document.createElement(kind); cell.textContent = content; return cell; }));
  return row;
}

at("copy").addEventListener("click", async () => {
  const range = document.createRange();
  range.selectNodeContents(at("command"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  try { await navigator.clipboard.writeText(at("command").textContent); at("copy").textContent = "Copied"; } catch { at("copy").textContent = "Selected"; }
});

/** The address says what is shown, so that a view can be kept and sent. */
function remember(metric, keys, how) {
  const kept = Object.entries(hidden).filter(([, codes]) => codes.size).map(([name, codes]) => [name, [...codes]]);
  const view = { experiment: experiment().name, metric, ...keys, mark: how, logy: at("logy").checked, scaled: at("scaled").checked, hidden: Object.fromEntries(kept) };
  history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(view)));
}

function recall() {
  let view = {};
  try { view = JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch { /* An address without a view. */ }
  const number = data.experiments.findIndex((one) => one.name === view.experiment);
  if (number >= 0) at("experiment").value = number;
  for (const [name, codes] of Object.entries(view.hidden || {})) if (data.factors[name]) hidden[name] = new Set(codes);
  choices();
  for (const id of ["metric", "x", "colour", "panels", "mark"]) {
    if ([...at(id).options].some((option) => option.value === view[id])) at(id).value = view[id];
  }
  for (const id of ["logy", "scaled"]) at(id).checked = Boolean(view[id]);
  return Object.keys(view).length > 0;
}

fill(at("experiment"), data.experiments.map((one, number) => [String(number), one.title]));
at("experiment").parentElement.hidden = data.experiments.length < 2;
if (!recall()) { pickOne(); choices(); }
at("experiment").addEventListener("change", () => {
  for (const name of Object.keys(hidden)) delete hidden[name];
  choices(); pickOne(); choices(); draw();
});
for (const id of ["metric", "x", "colour", "panels", "mark", "logy", "scaled"]) at(id).addEventListener("change", draw);
at("controls").addEventListener("submit", (event) => event.preventDefault());
dark.addEventListener("change", draw);
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 200); });
await draw();
})();
