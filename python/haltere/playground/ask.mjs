// A report that can be asked: it runs a treatment of its campaign, and what comes of it when one thing is changed.

import { at, element, sentences } from "./dom.mjs";
import { dots } from "./lines.mjs";
import { asker } from "./module.mjs";
import { Cancelled, Pool } from "./pool.mjs";
import { atHome, canonical } from "./scenario.mjs";
import { counted } from "./tables.mjs";
import { beside, changed, differing, fields, rowsOf, scenarioOf, treatmentAt } from "./treatment.mjs";
import { unpacked } from "./unpack.mjs";

const section = at("ask");
let data, local, pool, began;
let shown = null; // what was run last: the treatment, its runs here, and those of the change
let asks = 0; // how often was asked: an answer to an earlier question is not shown

const say = (text) => { at("ask-status").textContent = text; };
const experiment = () => data.experiments.find((one) => one.name === at("ask-experiment").value);
const choices = () => [...at("ask-factors").querySelectorAll("select")];
const treatment = () => treatmentAt(experiment(), choices().map((one) => Number(one.value)));
const metric = () => Number(at("ask-metric").value);

function offer(select, list, chosen) {
  select.replaceChildren(...list.map(([value, text]) => new Option(text, value, false, String(value) === String(chosen))));
}

function problem(text, field = null) {
  at("ask-problem").textContent = text;
  at("ask-problem").hidden = !text;
  for (const one of section.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", "ask-problem");
  field.focus();
}

/** The menus of an experiment: one for each choice, and its metrics. */
function offerExperiment() {
  const own = experiment();
  at("ask-factors").replaceChildren(...own.choices.map(({ label, options }, number) => {
    const field = element("div", "", { class: "field" });
    const select = element("select", "", { id: `ask-factor-${number}` });
    offer(select, options.map((text, option) => [option, text]), 0);
    field.append(element("label", label, { for: select.id }), select);
    return field;
  }));
  offer(at("ask-metric"), own.columns.map((column, number) => [number, column.unit ? `${column.label}, ${column.unit}` : column.label]), 0);
  offerTreatment();
}

/** What can be changed in a treatment; and its rows of the campaign. */
function offerTreatment() {
  problem("");
  stop();
  shown = null;
  const own = treatment();
  const why = refused(own);
  at("ask-home").textContent = why;
  at("ask-home").hidden = !why;
  at("ask-go").disabled = Boolean(why);
  const before = at("ask-change").value;
  const factors = experiment().choices.map(({ label, options }, number) => [`factor ${number}`, label, options.length]).filter(([, , count]) => count > 1);
  const known = why ? [] : fields(scenarioOf(experiment(), own));
  at("ask-change").replaceChildren(new Option("nothing: the treatment itself", ""));
  for (const [label, list] of [["Another level of a factor", factors], ["A value of the scenario", known.map(({ id, label: name }) => [`field ${id}`, name])]]) {
    const group = element("optgroup", "", { label });
    group.append(...list.map(([value, text]) => new Option(text, value)));
    if (list.length) at("ask-change").append(group);
  }
  at("ask-change").value = before;
  if (at("ask-change").selectedIndex < 0) at("ask-change").value = "";
  offerChange();
  show();
}

/** Why a treatment does not run in a page; nothing if it does. */
function refused(own) {
  if (own.home) return own.home;
  try {
    local.ask({ check: { scenario: canonical(scenarioOf(experiment(), own)) } });
    return "";
  } catch (error) {
    return `This treatment runs at home only: ${error.path ? `${error.path} ` : ""}${error.message}.`;
  }
}

/** The field for the other value: a menu of levels, or a text. */
function offerChange() {
  const [kind, name] = chosenChange();
  at("ask-level-field").hidden = kind !== "factor";
  at("ask-value-field").hidden = kind !== "field";
  if (kind === "factor") {
    const now = choices()[name].value;
    offer(at("ask-level"), experiment().choices[name].options.map((text, option) => [option, text]).filter(([option]) => String(option) !== now), "");
  }
  if (kind === "field") {
    const { value, label } = fields(scenarioOf(experiment(), treatment())).find((one) => one.id === name);
    at("ask-value").value = value;
    at("ask-value").placeholder = value ? "" : "the preset's, or usual, value";
    document.querySelector("label[for=ask-value]").textContent = `${label} instead`;
  }
}

function chosenChange() {
  const [kind, ...rest] = at("ask-change").value.split(" ");
  return [kind, kind === "factor" ? Number(rest[0]) : rest.join(" ")];
}

/** The change that is chosen: its name, its scenario, and its rows of the campaign if it is a treatment; nothing if none is. */
function change() {
  const [kind, name] = chosenChange();
  const own = treatment();
  if (kind === "factor") {
    const options = own.options.map((option, number) => (number === name ? Number(at("ask-level").value) : option));
    const other = treatmentAt(experiment(), options);
    const { label, options: texts } = experiment().choices[name];
    const why = refused(other);
    if (why) throw Object.assign(new Error(why), { field: at("ask-level") });
    return { name: `${label} ${texts[options[name]]}`, scenario: scenarioOf(experiment(), other), runs: other.runs };
  }
  if (kind !== "field") return null;
  const scenario = scenarioOf(experiment(), own);
  const field = fields(scenario).find((one) => one.id === name);
  const value = at("ask-value").value.trim();
  const wrong = (text) => Object.assign(new Error(`${field.label}: ${text}`), { field: at("ask-value") });
  if (!value) throw wrong("is empty: write a value, such as the scenario's own");
  if (field.id.startsWith("contender") && atHome(value)) throw wrong(atHome(value));
  const other = changed(scenario, field, value);
  try {
    local.ask({ check: { scenario: canonical(other) } });
  } catch (error) {
    throw wrong(error.message);
  }
  return { name: `${field.label} ${value}`, scenario: other, runs: null };
}

function stop() {
  asks += 1;
  pool.cancel();
  running(false);
}

function running(is) {
  at("ask-cancel").disabled = !is;
  at("ask-progress").hidden = !is;
  section.dataset.state = is ? "running" : "ready";
}

async function run() {
  problem("");
  stop();
  let other;
  try {
    other = change();
  } catch (error) {
    problem(error.message, error.field);
    return;
  }
  const own = treatment();
  const { columns } = experiment();
  const scenarios = [scenarioOf(experiment(), own), ...(other ? [other.scenario] : [])].map(canonical);
  const total = scenarios.length * own.runs.length;
  const mine = asks;
  let done = 0;
  at("ask-progress").max = total;
  at("ask-progress").value = 0;
  running(true);
  say(`Running ${counted(total, "run")}.`);
  try {
    const sets = await Promise.all(scenarios.map((scenario) => Promise.all(own.runs.map(async ({ replication }) => {
      const result = await pool.ask({ run: { scenario, seed: data.seed, replication } });
      if (mine === asks) at("ask-progress").value = done += 1;
      return rowsOf(result, columns);
    }))));
    if (mine !== asks) return;
    running(false);
    shown = { here: sets[0], other: other && { ...other, here: sets[1] } };
    show();
    say("Done.");
    section.dataset.answered = "yes";
  } catch (error) {
    if (mine !== asks) return;
    running(false);
    if (error instanceof Cancelled) say("Cancelled.");
    else problem(error.message);
  }
}

/** Whether runs here are those of the campaign, in a sentence. */
function agreement(runs, here, what) {
  const found = runs.map((run, place) => differing(run, here[place]));
  const [values, different] = ["values", "different"].map((name) => found.reduce((sum, one) => sum + one[name], 0));
  if (!different) return `${what}: ${counted(runs.length, "replication")}, all ${values} values are equal to the campaign's, to the last digit.`;
  const version = data.version === data.module ? "" : ` The campaign is of version ${data.version}, the simulator here of ${data.module}.`;
  return `${what}: ${different} of ${values} values differ from the campaign's.${version}`;
}

const exact = (value) => (value === null || value === undefined ? "–" : String(value));

/** The rows of the campaign, and beside them those that were run here. */
function table() {
  const own = treatment();
  const column = experiment().columns[metric()];
  const several = own.runs.some((run) => run.flows.length > 1);
  const heads = ["Replication", ...(several ? ["Flow"] : []), "Campaign", ...(shown ? ["Here", "Equal"] : []), ...(shown?.other ? ["Changed"] : [])];
  // On a phone a row is no row to the browser any more: the roles stay.
  const line = (kind, role, cells) => {
    const row = element("tr", "", { role: "row" });
    row.append(...cells.map(([text, kept], place) => element(kind, text, { role, class: kept, ...(kind === "td" ? { "data-label": heads[place] } : { scope: "col" }) })));
    return row;
  };
  at("ask-rows").tHead.replaceChildren(line("th", "columnheader", heads.map((head) => [head, head === "Equal" ? "" : "num"])));
  at("ask-rows").caption.textContent = `${column.label}, each replication${column.raw ? `, ${column.raw}` : ""}`;
  const value = (run, flow) => (run?.error ? "failed" : exact(run?.flows[flow]?.[metric()]));
  at("ask-rows").tBodies[0].replaceChildren(...own.runs.flatMap((run, place) => {
    const here = shown?.here[place];
    const count = Math.max(1, run.flows.length, here?.flows.length ?? 0);
    return Array.from({ length: count }, (_, flow) => {
      const [theirs, ours] = [value(run, flow), value(here, flow)];
      const cells = [[String(run.replication), "num"], ...(several ? [[String(flow), "num"]] : []), [theirs, "num"]];
      if (shown) cells.push([ours, "num"], [ours === theirs ? "✓ yes" : "✗ no", ""]);
      if (shown?.other) cells.push([value(shown.other.here[place], flow), "num"]);
      return line("td", "cell", cells);
    });
  }));
}

/** Shows the campaign's values of the treatment, and what was run of it. */
function show() {
  table();
  const own = treatment();
  const { columns } = experiment();
  const sets = [{ name: "the campaign", runs: own.runs }, ...(shown?.other ? [{ name: shown.other.name, runs: shown.other.here }] : [])];
  const found = beside(sets.map((one) => one.name), sets.map((one) => one.runs), columns, metric(), local.ask);
  const same = shown ? [agreement(own.runs, shown.here, "Run here")] : [];
  if (shown?.other?.runs) same.push(agreement(shown.other.runs, shown.other.here, shown.other.name));
  at("ask-same").textContent = same.join(" ") || "These are the campaign's values; nothing was run here yet.";
  at("ask-lines").replaceChildren(...sentences(found.lines.length ? found.lines : found.cells.map((cell, place) => `${sets[place].name}: mean ${cell}`)));
  const figure = dots({
    label: at("ask-metric").selectedOptions[0].textContent,
    width: at("ask-dots").clientWidth || 600,
    rows: sets.map(({ name }, look) => ({ name, look, values: found.values[look], value: found.typical[look]?.value ?? null, ends: found.typical[look]?.ends, said: found.cells[look] ?? "no value" })),
  });
  at("ask-dots-title").textContent = `Each replication: ${at("ask-metric").selectedOptions[0].textContent}`;
  at("ask-dots").replaceChildren(...(figure ? [figure] : []));
}

function listen() {
  at("ask-experiment").addEventListener("change", offerExperiment);
  at("ask-factors").addEventListener("change", offerTreatment);
  at("ask-change").addEventListener("change", offerChange);
  at("ask-metric").addEventListener("change", show);
  at("ask-form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  at("ask-cancel").addEventListener("click", () => { stop(); say("Cancelled."); });
}

/** Unpacks the simulator and the campaign's rows, once. */
async function begin() {
  data = JSON.parse(new TextDecoder().decode(await unpacked(at("ask-data").textContent)));
  const compiled = await WebAssembly.compile(await unpacked(at("ask-module").textContent));
  local = await asker(compiled);
  data.module = local.ask("catalogue").version;
  pool = new Pool(compiled, at("ask-worker").textContent);
  offer(at("ask-experiment"), data.experiments.map((one) => [one.name, one.title]), data.experiments[0].name);
  at("ask-experiment").closest(".field").hidden = data.experiments.length === 1;
  listen();
  offerExperiment();
  at("ask-body").hidden = false;
  say("Ready.");
}

const start = () => (began ??= begin().catch((error) => problem(`The simulator cannot start: ${error.message}. It needs a browser of 2023 or later.`)));

// The simulator is unpacked when its part of the page comes near, or a link leads to it.
new IntersectionObserver((changes, observer) => {
  if (!changes.some((one) => one.isIntersecting)) return;
  observer.disconnect();
  start();
}, { rootMargin: "50%" }).observe(section);
for (const link of document.querySelectorAll("a[data-ask]")) {
  link.addEventListener("click", async () => {
    await start();
    if (!data || at("ask-experiment").value === link.dataset.ask) return;
    at("ask-experiment").value = link.dataset.ask;
    offerExperiment();
  });
}
