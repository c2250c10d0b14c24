// A question of the page as `haltere compare` takes it: its scenarios, its command, and a scenario as TOML.
// `usual` has the values that `haltere.adhoc.conditions` uses where nothing is given; tests compare the scenarios.

/** Whether a preset is a cell, which has no link whose values could be replaced. */
export const isCell = (question, presets) => presets.some((one) => one.of === "cell" && named(one, question.preset));

const named = (preset, name) => preset.name === name || preset.also.includes(name);

/** What is given of the link, as a scenario has it. `halves` splits an RTT into the delays down and up. */
function given(question, halves) {
  const table = {};
  if (question.rate) table.rate = question.rate;
  if (question.queue) table.queue = question.queue;
  if (question.loss) table.down = { loss: question.loss };
  if (question.rtt) {
    const [down, up] = halves(question.rtt);
    table.down = { ...table.down, delay: down };
    table.up = { delay: up };
  }
  return table;
}

function topology(question, { usual, presets, halves }) {
  if (question.preset && isCell(question, presets)) return { kind: "cell", cell: { preset: question.preset } };
  if (question.preset) return { kind: "point-to-point", link: { preset: question.preset, ...given(question, halves) } };
  const { rate, queue, mtu, loss, rtt } = usual;
  const full = { ...question, loss: question.loss || loss, rtt: question.rtt || rtt };
  return { kind: "point-to-point", link: { rate, queue, mtu, ...given(full, halves) } };
}

/** The scenario in which some contenders run at once; where they share the link, each starts after the one before it. */
export function scenario(question, contenders, known, { reverseStarts }) {
  const { usual } = known;
  const flows = contenders.flatMap((contender, at) => {
    const place = reverseStarts ? contenders.length - 1 - at : at;
    const flow = { app: question.app, contender };
    if (!question.share) flow.size = question.size;
    if (question.share) flow.start = `${usual.stagger * place}ms`;
    if (question.flows > 1) flow.start_spread = `${usual.stagger}ms`;
    return Array(question.flows).fill(flow);
  });
  const shared = question.share ? { duration: question.duration, measure_from: usual.measured_from } : {};
  return { flows, links: "kernel", topology: topology(question, known), ...shared };
}

/** The groups of contenders that run at once: all where they share the link, else each alone. */
export const groups = (question) => (question.share ? [question.contenders] : question.contenders.map((one) => [one]));

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
export function command(question, { usual, presets }) {
  const words = ["haltere", "compare", ...question.contenders];
  const link = question.preset && isCell(question, presets) ? ["preset"] : LINK;
  for (const name of link) if (question[name]) words.push(`--${name}`, question[name]);
  if (question.share) words.push("--share", "--duration", question.duration);
  else words.push("--size", question.size);
  if (question.app !== usual.app) words.push("--app", question.app);
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
