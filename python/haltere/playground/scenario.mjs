// A question of the page as `haltere compare` takes it: its scenarios, its command, and a scenario as TOML.
// `usual` has the values that `haltere.adhoc.conditions` uses where nothing is given; tests compare the scenarios.

/** Whether a preset is a cell, which has no link whose values could be replaced. */
export const isCell = (question, presets) => presets.some((one) => one.of === "cell" && named(one, question.preset));

const named = (preset, name) => preset.name === name || preset.also.includes(name);

/** Whether a contender carries calls; `calls` are the transports that do. */
export const isCall = (contender, { calls }) => calls.includes(contender.split("/")[0].split("@")[0]);

/** Whether a question's runs last for its duration, rather than until objects are there. */
export const lasting = (question, known) => question.share || question.contenders.some((one) => isCall(one, known));

/** Why no page can run a contender: a production stack or a program; nothing if it can. */
export function atHome(contender) {
  if (!/@/.test(contender)) return "";
  return `${contender} runs at home only: haltere compare ${contender} … --fidelity stack, or linux for a program. Here write ${contender.replace(/@[^/]*/, "")}`;
}

/** An error about a field of the page. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** The keys of `--path`, each with its place in a link; an RTT has two. */
const KEYS = {
  rate: ["rate"], rtt: null, "down-delay": ["down", "delay"], "up-delay": ["up", "delay"], loss: ["down", "loss"], queue: ["queue"],
  ring: ["ring"], bql: ["bql"], mtu: ["mtu"], backup: ["backup"], preset: ["preset"],
};
const SWITCHES = ["bql", "backup"];

/** A path as `--path` gives it, such as `rate=20Mbit/s,rtt=10ms` or `4g,rate=5Mbit/s`: its values by their keys. */
export function parsedPath(text, presets, field) {
  const right = `write KEY=VALUE, separated by commas; the keys are ${Object.keys(KEYS).join(", ")}`;
  const found = {};
  for (const part of text.split(",")) {
    const [first, ...rest] = part.split("=");
    let [key, value] = [first.trim(), rest.length ? rest.join("=").trim() : null];
    if (key === "backup" && value === null) value = "true";
    else if (key && value === null && !Object.keys(found).length) {
      if (!presets.some((one) => named(one, key))) throw new FieldError(field, `there is no preset ${key}: ${right}`);
      [key, value] = ["preset", key];
    }
    if (!key || value === null) throw new FieldError(field, `"${part.trim()}" is not KEY=VALUE: ${right}`);
    if (!Object.hasOwn(KEYS, key)) throw new FieldError(field, `there is no key ${key}: ${right}`);
    if (Object.hasOwn(found, key)) throw new FieldError(field, `${key} is given twice`);
    if (!value) throw new FieldError(field, `${key} has no value: ${right}`);
    if (SWITCHES.includes(key) && value !== "true" && value !== "false") throw new FieldError(field, `${key} is neither true nor false`);
    found[key] = SWITCHES.includes(key) ? value === "true" : value;
  }
  if (found.rtt && (found["down-delay"] || found["up-delay"])) throw new FieldError(field, "rtt stands beside a delay for one direction: write one of both");
  return found;
}

/** Puts a value into nested tables. */
function put(table, [key, ...rest], value) {
  if (!rest.length) table[key] = value;
  else put((table[key] ??= {}), rest, value);
}

function halvesOf(rtt, halves, field) {
  try {
    return halves(rtt);
  } catch (error) {
    throw new FieldError(field, error.message);
  }
}

/** A path's link as a scenario has it. `halves` splits an RTT into the delays down and up. */
function link(path, { usual, presets, halves }, field) {
  const alone = !path.preset;
  const { rate, queue, mtu, loss } = usual;
  const table = alone ? { rate, queue, mtu } : { preset: path.preset };
  if (!alone && presets.some((one) => one.of === "cell" && named(one, path.preset))) throw new FieldError(field, `${path.preset} is a cell, and no link: choose it as the preset of the only path`);
  for (const [key, place] of Object.entries(KEYS)) if (place && path[key] !== undefined && path[key] !== "" && key !== "preset") put(table, place, path[key]);
  const oneWay = path["down-delay"] || path["up-delay"];
  let delays = path.rtt ? halvesOf(path.rtt, halves, field) : null;
  if (alone) {
    if (table.down?.loss === undefined) put(table, ["down", "loss"], loss);
    delays ??= oneWay ? [path["down-delay"] || "0ms", path["up-delay"] || "0ms"] : halves(usual.rtt);
  }
  if (delays) {
    put(table, ["down", "delay"], delays[0]);
    put(table, ["up", "delay"], delays[1]);
  }
  return table;
}

function topology(question, known) {
  if (question.paths.length) {
    const links = question.paths.map((text, at) => link(parsedPath(text, known.presets, `path-${at}`), known, `path-${at}`));
    return links.length === 1 ? { kind: "point-to-point", link: links[0] } : { kind: "multipath", paths: links };
  }
  if (question.preset && isCell(question, known.presets)) return { kind: "cell", cell: { preset: question.preset } };
  const { preset, rate, rtt, loss, queue } = question;
  return { kind: "point-to-point", link: link({ preset, rate, rtt, loss, queue }, known, "rtt") };
}

const KINDS = ["icmp", "udp", "tcp"];
const MODES = ["free-running", "stop-and-wait"];

/** A probe as `--probe` gives it, `KIND:SIZE:INTERVAL`, such as `icmp:1450B:1s`. */
export function parsedProbe(text) {
  const parts = text.split(":").map((part) => part.trim());
  const right = "write KIND:SIZE:INTERVAL, such as icmp:1450B:1s, of kind icmp, udp or tcp; with :stop-and-wait added, a request waits for the last one's answer";
  if (parts.length < 3 || parts.length > 4 || parts.some((part) => !part)) throw new FieldError("probe", `"${text}" is not such a probe: ${right}`);
  const [kind, size, interval, mode] = parts;
  if (!KINDS.includes(kind)) throw new FieldError("probe", `there is no kind of probe ${kind}: ${right}`);
  if (mode !== undefined && !MODES.includes(mode)) throw new FieldError("probe", `there is no mode ${mode}: ${right}`);
  return { kind, size, interval, ...(mode === MODES[1] ? { mode } : {}) };
}

/** The path in a line for people, as `haltere compare` says it. */
export function saidPath(path, usual) {
  const reserve = path.backup ? ", in reserve" : "";
  if (path.preset) {
    const own = Object.entries(path).filter(([key]) => key !== "preset" && key !== "backup");
    return `preset ${path.preset}${own.map(([key, value]) => `, ${key.replaceAll("-", " ")} ${value}`).join("")}${reserve}`;
  }
  const oneWay = path["down-delay"] || path["up-delay"];
  const delay = oneWay ? `delay ${path["down-delay"] || "0ms"} down, ${path["up-delay"] || "0ms"} up` : `RTT ${path.rtt || usual.rtt}`;
  return `${path.rate || usual.rate}, ${delay}, loss ${path.loss || usual.loss}, queue ${path.queue || usual.queue}${reserve}`;
}

/** The directions in which data goes. */
export const waysOf = ({ direction }) => (direction === "both" ? ["down", "up"] : [direction]);

/** The flows of some contenders, each with its contender and its direction: those of the first each way, then those of the next. */
export const eachFlow = (question, contenders) =>
  contenders.flatMap((contender) => waysOf(question).flatMap((way) => Array(question.flows).fill({ contender, way })));

/** The scenario in which some contenders run at once; where they share the link, each starts after the one before it. */
export function scenario(question, contenders, known, { reverseStarts }) {
  const { usual } = known;
  const lasts = lasting(question, known);
  const flows = contenders.flatMap((contender, at) => {
    const place = reverseStarts ? contenders.length - 1 - at : at;
    const flow = isCall(contender, known) ? { contender } : { app: question.app, contender };
    if (!lasts) flow.size = question.size;
    if (question.share) flow.start = `${usual.stagger * place}ms`;
    if (question.flows > 1) flow.start_spread = `${usual.stagger}ms`;
    return eachFlow(question, [contender]).map(({ way }) => (way === "down" ? flow : { ...flow, direction: way }));
  });
  const shared = { ...(lasts ? { duration: question.duration } : {}), ...(question.share ? { measure_from: usual.measured_from } : {}) };
  const probed = question.probe ? { probes: [parsedProbe(question.probe)] } : {};
  return { flows, links: "kernel", topology: topology(question, known), ...shared, ...probed };
}

/** The question with each of its queues in turn: as it is where it has only one. */
const variants = (question) => [question.queue, ...question.queues].map((queue) => ({ ...question, queue, queues: [] }));

/**
 * The runs of a replication, queue by queue: each has the contenders that run at once, which are all where they share the link,
 * else one; `own` is the question with the run's queue, and `number` the place of that among the queues.
 */
export function groups(question) {
  const together = question.share ? [question.contenders] : question.contenders.map((one) => [one]);
  return variants(question).flatMap((own, number) => together.map((group) => ({ own, group, number })));
}

/** The one JSON text of a scenario: keys sorted, no spaces. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

/** The conditions that belong to the link, each with its option. */
const LINK = ["preset", "rate", "rtt", "loss", "queue"];

const quoted = (word) => (/^[\w@%+=:.,/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that gives the same bytes at home. Options that have their usual value are left out. */
export function command(question, known) {
  const { usual, presets } = known;
  const words = ["haltere", "compare", ...question.contenders];
  const link = question.preset && isCell(question, presets) ? ["preset"] : LINK;
  for (const path of question.paths) words.push("--path", path);
  if (!question.paths.length) for (const name of link) if (question[name]) words.push(`--${name}`, question[name]);
  for (const queue of question.queues) words.push("--queue", queue);
  if (question.share) words.push("--share");
  words.push(...(lasting(question, known) ? ["--duration", question.duration] : ["--size", question.size]));
  if (question.app !== usual.app) words.push("--app", question.app);
  if (question.direction !== usual.direction) words.push("--direction", question.direction);
  if (question.probe) words.push("--probe", question.probe);
  if (question.flows !== 1) words.push("--flows", String(question.flows));
  words.push("--replications", String(question.replications), "--seed", String(question.seed));
  return words.map(quoted).join(" ");
}

/** A scenario as TOML: tables in the order of their keys. */
export function toml(table, path = []) {
  const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const entries = Object.entries(table);
  const plain = entries.filter(([, value]) => !isTable(value) && !Array.isArray(value));
  const lines = plain.map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  for (const [key, value] of entries) {
    const head = [...path, key].join(".");
    if (isTable(value)) lines.push("", `[${head}]`, toml(value, [...path, key]));
    if (Array.isArray(value)) for (const one of value) lines.push("", `[[${head}]]`, toml(one, [...path, key]));
  }
  return lines.join("\n").replace(/\n{3,}/g, "\n\n").replace(/^\n/, "");
}
