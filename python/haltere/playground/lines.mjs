// Figures as SVG: lines over time, each value holding until the next, and the values of replications as dots.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 58, RIGHT = 10, TOP = 8, BOTTOM = 30;
/** So many looks: beyond, colours come again. */
export const LOOKS = 8;

function made(kind, attributes, ...children) {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Round numbers between two, about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((one) => one * power >= raw) * power;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

const frame = (width, height, label) => made("svg", { class: "lines", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });

function grid(svg, { x, y, width, height, across, up }) {
  for (const value of up) {
    svg.append(made("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(made("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  for (const value of across) {
    svg.append(made("text", { class: "tick", x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, String(value)));
  }
}

/** Lines over time: `{look, name, path, t, v}`, in the unit of the figure. Values that are no numbers make a gap. */
export function timeLines({ label, unit, lines, end, width }) {
  const height = 150;
  const finite = lines.flatMap((line) => line.v).filter(Number.isFinite);
  const most = finite.reduce((one, other) => Math.max(one, other), 0) * 1.05 || 1;
  const x = (t) => LEFT + (t / end) * (width - LEFT - RIGHT);
  const y = (v) => height - BOTTOM - (v / most) * (height - TOP - BOTTOM);
  const said = lines.map((line) => `${line.name} up to ${Number(Math.max(...line.v.filter(Number.isFinite), 0).toPrecision(3))} ${unit}`);
  const svg = frame(width, height, `${label} over ${Number(end.toPrecision(3))} s: ${said.join(", ")}`);
  grid(svg, { x, y, width, height, across: ticks(0, end, width / 110), up: ticks(0, most, 4) });
  for (const line of lines) {
    let path = "", open = false;
    line.t.forEach((t, at) => {
      const v = line.v[at];
      if (!Number.isFinite(v)) open = false;
      else if (!open) [path, open] = [`${path}M${x(t).toFixed(1)} ${y(v).toFixed(1)}`, true];
      else path += `H${x(t).toFixed(1)}V${y(v).toFixed(1)}`;
    });
    svg.append(made("path", { class: `line look-${line.look % LOOKS}${Number(line.path) ? " later" : ""}`, d: path }));
  }
  return svg;
}

/** Values of replications as dots, a row a contender, with the trimmed mean and its interval as a bar. */
export function dots({ label, rows, width }) {
  const step = 34, height = rows.length * step + BOTTOM + TOP;
  const all = rows.flatMap((row) => [...row.values, ...(row.ends ?? [])]).filter(Number.isFinite);
  if (!all.length) return null;
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const pad = (most - least) * 0.05 || most * 0.05 || 1;
  const [low, high] = [Math.max(0, least - pad), most + pad];
  const x = (v) => 8 + ((v - low) / (high - low)) * (width - 16);
  const svg = frame(width, height, `${label}: ${rows.map((row) => `${row.name} ${row.said}`).join("; ")}`);
  for (const value of ticks(low, high, width / 110)) {
    svg.append(made("line", { class: "rule", x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM }));
    svg.append(made("text", { class: "tick", x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, String(value)));
  }
  rows.forEach((row, at) => {
    const middle = TOP + at * step + 24;
    svg.append(made("text", { class: "name", x: 8, y: middle - 11 }, row.name));
    if (row.ends) svg.append(made("line", { class: `bar look-${row.look % LOOKS}`, x1: x(row.ends[0]), x2: x(row.ends[1]), y1: middle, y2: middle }));
    for (const value of row.values) svg.append(made("circle", { class: `dot look-${row.look % LOOKS}`, cx: x(value).toFixed(1), cy: middle, r: 3.5 }));
    if (row.value !== null) svg.append(made("line", { class: "middle", x1: x(row.value), x2: x(row.value), y1: middle - 7, y2: middle + 7 }));
  });
  return svg;
}
