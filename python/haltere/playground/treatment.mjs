// A treatment of a campaign, without a page: its scenario, what can be changed in it, and its rows beside those of a run here.

const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A scenario with another value at a path, such as `["flows", 0, "size"]`; tables that are not there are made. */
function replaced(scenario, path, value) {
  if (!path.length) return value;
  const [key, ...rest] = path;
  const copy = Array.isArray(scenario) ? [...scenario] : { ...scenario };
  copy[key] = replaced(scenario?.[key] ?? {}, rest, value);
  return copy;
}

const within = (scenario, path) => path.reduce((table, key) => table?.[key], scenario);

/** The scenario of a treatment: that of its experiment's first one, with what differs. */
export function scenarioOf(experiment, treatment) {
  return treatment.changes.reduce((made, [path, value]) => replaced(made, path, value), experiment.base);
}

/** The treatment that has these options of the experiment's choices. */
export const treatmentAt = (experiment, options) => experiment.treatments.find((one) => one.options.every((option, at) => option === options[at]));

/** The values of a link that can be changed, each with the places where it may stand; the last one is where it is put if it is not there. */
const OFFERED = [
  ["rate", "Rate", [["down", "rate"], ["rate"]]],
  ["delay", "Delay", [["delay"], ["down", "delay"]]],
  ["delay-up", "Delay", [["up", "delay"]]],
  ["loss", "Random loss", [["loss"], ["down", "loss"]]],
  ["queue", "Queue or its limit", [["down", "queue"], ["queue"]]],
];

/** The links of a topology whose values a page knows, each with its path and its name. */
function links({ topology = {} }) {
  const single = ["link", "bottleneck"].filter((name) => isTable(topology[name])).map((name) => [["topology", name], ""]);
  const paths = Array.isArray(topology.paths) ? topology.paths : [];
  return [...single, ...paths.map((_, at) => [["topology", "paths", at], `, path ${at}`])];
}

/** The fields of a scenario that a page can change: `{id, label, paths, value}`; the value is empty where the scenario names none. */
export function fields(scenario) {
  const found = links(scenario).flatMap(([path, name]) => OFFERED.map(([id, label, places]) => {
    const own = places.map((place) => [...path, ...place]);
    const there = own.find((place) => within(scenario, place) !== undefined) ?? own.at(-1);
    const value = within(scenario, there);
    const way = there.find((key) => key === "down" || key === "up");
    return { id: `${id}${name}`, label: `${label}${way ? ` ${way}` : ""}${name}`, paths: [there], value: typeof value === "string" ? value : "" };
  }));
  const contenders = new Map();
  (scenario.flows ?? []).forEach(({ contender }, at) => {
    if (typeof contender === "string") contenders.set(contender, [...(contenders.get(contender) ?? []), ["flows", at, "contender"]]);
  });
  const alone = contenders.size === 1;
  for (const [contender, paths] of contenders) found.push({ id: `contender ${contender}`, label: alone ? "Contender" : `Contender ${contender}`, paths, value: contender });
  return found;
}

/** The scenario with another value in a field. */
export const changed = (scenario, field, value) => field.paths.reduce((made, path) => replaced(made, path, value), scenario);

/** A run's result as rows of a campaign: an error, or none, and for each flow its columns. */
export function rowsOf(result, columns) {
  const flows = [...result.flows].sort((a, b) => a.flow - b.flow);
  return { error: result.status === "ok" ? null : (result.error ?? "failed"), flows: flows.map((flow) => columns.map(({ name }) => flow[name] ?? null)) };
}

/** How many values of two runs there are, and how many of them differ in any digit. */
export function differing(ours, theirs) {
  const count = Math.max(ours.flows.length, theirs.flows.length);
  let [values, different] = [1, (ours.error === null) === (theirs.error === null) ? 0 : 1];
  for (let flow = 0; flow < count; flow += 1) {
    const [own, other] = [ours.flows[flow] ?? [], theirs.flows[flow] ?? []];
    for (let at = 0; at < Math.max(own.length, other.length); at += 1) {
      values += 1;
      if (!Object.is(own[at], other[at])) different += 1;
    }
  }
  return { values, different };
}

/** A metric of a run, in its unit: the mean over its flows, as reports have it; nothing of a run that failed, or that lacks it. */
export function valueOf(run, column, { divisor }) {
  if (!run || run.error !== null || !run.flows.length) return null;
  const own = run.flows.map((flow) => flow[column]).filter((value) => value !== null && value !== undefined);
  return own.length ? own.reduce((sum, value) => sum + value / divisor, 0) / own.length : null;
}

/**
 * Two sets of runs, by replication, in one metric: the cells of both, and the sentences on who is ahead. Only replications
 * that have the metric in both count. `ask` asks the module.
 */
export function beside(names, runs, columns, at, ask) {
  const column = columns[at];
  const all = runs.map((own) => own.map((run) => valueOf(run, at, column)));
  const used = all[0].map((_, place) => place).filter((place) => all.every((own) => own[place] !== null));
  const values = all.map((own) => used.map((place) => own[place]));
  if (!used.length) return { values, cells: [], lines: [], typical: [] };
  const cells = ask({ cells: { cells: values.map((own) => ({ values: own, estimate: "typical", scale: 1, digits: 4, between: " " })) } });
  if (column.better === "neither" || values.length < 2) return { values, cells, lines: [], typical: [] };
  const higher = column.better === "higher";
  const verdict = ask({ verdict: { names, values, higher, alike: column.alike, has: `the ${higher ? "highest" : "lowest"} mean ${column.spoken}`, of: column.spoken, every: false } });
  return { values, cells, lines: verdict.lines, typical: verdict.typical };
}
