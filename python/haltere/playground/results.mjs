// What the page shows of a comparison and of one of its runs.

import { at, element, sentences } from "./dom.mjs";
import { LOOKS, dots, timeLines } from "./lines.mjs";
import { isCall } from "./scenario.mjs";

function swatch(look) {
  return element("span", "", { class: `swatch look-${look % LOOKS}`, "aria-hidden": "true" });
}

/** The table, as `haltere compare` has it: a value, and its interval below. */
function table(shown, share) {
  // On a phone a row is no row to the browser any more: the roles stay.
  const head = element("tr", "", { role: "row" });
  const titles = [share ? "flow" : "contender", ...shown.columns.map((column) => column.title)];
  head.append(...titles.map((title) => element("th", title, { scope: "col", role: "columnheader" })));
  at("table").tHead.replaceChildren(head);
  at("table").tBodies[0].replaceChildren(...shown.table.map((cells, row) => {
    const line = element("tr", "", { role: "row" });
    const name = element("th", share ? `${row} ${shown.names[row]}` : shown.names[row], { scope: "row", role: "rowheader" });
    name.prepend(swatch(row));
    if (shown.firsts.includes(row)) line.className = "first";
    line.append(name, ...cells.map((text, column) => {
      const [value, interval] = text.split("\n");
      const cell = element("td", value, { role: "cell", "data-label": shown.columns[column].title.replace("\n", ", ") });
      if (interval) cell.append(" ", element("small", interval));
      return cell;
    }));
    return line;
  }));
}

/** Shows a comparison; `headline` is what was asked. */
export function showComparison(shown, { question, headline, words, rows }) {
  at("results").hidden = false;
  at("headline").textContent = headline;
  table(shown, question.share);
  at("lines").replaceChildren(...sentences(shown.lines));
  at("footnote").textContent = question.replications > 1 ? words.footnote : "";
  const { call } = words.metrics;
  const seen = !question.share && isCall(question.contenders[0], words);
  const metric = seen ? { name: `${call.spoken}, ${call.unit}`, of: (one) => one[call.column] / call.divisor } : question.share ? { name: "goodput, Mbit/s", of: (one) => one.goodput_bps / 1e6 } : { name: "completion time, s", of: (one) => one.completion_s };
  const figure = dots({
    label: metric.name,
    width: at("dots").clientWidth || 600,
    rows: rows.map((own, row) => {
      const found = shown.typical[row];
      const values = own.filter((one) => one.error === null).map(metric.of).filter(Number.isFinite);
      return { name: shown.names[row], look: row, values, value: found && found.value, ends: found && found.ends, said: shown.table[row][0].replace("\n", " ") };
    }),
  });
  at("dots-title").textContent = `Each replication: ${metric.name}`;
  at("dots").replaceChildren(...(figure ? [figure] : []));
}

const FIGURES = [
  { name: "cwnd", label: "Congestion window", unit: "kB", scale: 1e-3, of: "object" },
  { name: "delivery_rate", label: "Delivery rate", unit: "Mbit/s", scale: 1e-6, of: "object" },
  { name: "pacing_rate", label: "Pacing rate", unit: "Mbit/s", scale: 1e-6, of: "call" },
  { name: "rtt", label: "RTT", unit: "ms", scale: 1e3, of: "flow" },
  { name: "queue", label: "Queue at the bottleneck", unit: "kB", scale: 1e-3, of: "link" },
];

/** The lines of traced runs, each `{names, looks, calls, links, traced}`: of the flows that run at once, or of a contender alone. `calls` says which are calls, `links` has the name and the
 * look of the queue in each direction that data goes. */
export function showTrace(runs) {
  const ends = runs.flatMap(({ traced }) => traced.lines.map((line) => line.t_s.at(-1) ?? 0));
  const end = Math.max(...ends, 1e-9);
  const width = at("trace").clientWidth || 600;
  const kinds = runs.flatMap(({ calls }) => calls.map((call) => (call ? "call" : "object")));
  const figures = FIGURES.filter(({ of }) => of === "flow" || of === "link" || kinds.includes(of)).map(({ name, label, unit, scale, of }) => {
    const lines = runs.flatMap(({ names, looks, calls, links, traced }) => traced.lines.flatMap((line) => {
      const [, number, path] = /^flow (\d+)(?: path (\d+))?$/.exec(line.who) ?? [null, null, /^path (\d+) (?:down|up)$/.exec(line.who)?.[1]];
      const link = links[/ (down|up)$/.exec(line.who)?.[1]];
      const whose = number ? ["flow", calls[number] ? "call" : "object"] : [link && "link"];
      const fits = line.name === name && whose.includes(of);
      if (!fits) return [];
      const who = link ? link.name : names[number];
      const look = link ? link.look : looks[number];
      return [{ name: path ? `${who}, path ${path}` : who, look, path: path ?? 0, t: line.t_s, v: line.v.map((v) => (v === null ? NaN : v * scale)) }];
    }));
    const figure = element("figure", "", { class: "drawn" });
    figure.append(element("figcaption", `${label}, ${unit}`), lines.length ? timeLines({ label, unit, lines, end, width }) : element("p", "There is none of this path."));
    return figure;
  });
  const keys = new Map(runs.flatMap(({ names, looks }) => names.map((name, row) => [`${looks[row]} ${name}`, [looks[row], name]])));
  // A queue that all flows share is named where there are several.
  const queues = runs.flatMap(({ links }) => Object.values(links));
  if (queues.length > 1) for (const { name, look } of queues) keys.set(`${look} ${name}`, [look, name]);
  const legend = element("ul", "", { class: "legend", "aria-label": "Colours" });
  const later = runs.some(({ traced }) => traced.lines.some(({ who }) => /^(flow \d+ )?path [1-9]/.test(who)));
  legend.append(...[...keys.values()].map(([look, name]) => {
    const item = element("li", name);
    item.prepend(swatch(look));
    return item;
  }));
  if (later) legend.append(element("li", "broken lines: paths after the first"));
  at("trace").replaceChildren(legend, ...figures);
}
