// The table and the sentences of a comparison, as `haltere compare` prints them. All statistics are the module's.
import { isCall } from "./scenario.mjs";

/** Which replications count where flows share the link: those in which every flow did well and something arrived. */
function complete(rows) {
  return rows[0].map((_, at) => at).filter((at) => {
    const flows = rows.map((own) => own[at]);
    return flows.every((one) => one.error === null) && flows.some((one) => one.goodput_bps > 0);
  });
}

const answered = (entry) => entry.probe_rtt_ms.filter((rtt) => rtt !== null);

/** The mean RTT of the probe's requests that were answered, ms. */
function meanRtt(entry) {
  const rtts = answered(entry);
  return rtts.length ? rtts.reduce((sum, rtt) => sum + rtt, 0) / rtts.length : null;
}

/** The 95th percentile, interpolated between the two nearest RTTs. */
function highRtt(entry) {
  const rtts = answered(entry).sort((a, b) => a - b);
  const place = 0.95 * (rtts.length - 1);
  const [low, high] = [rtts[Math.floor(place)], rtts[Math.min(Math.floor(place) + 1, rtts.length - 1)]];
  return rtts.length ? low + (high - low) * (place - Math.floor(place)) : null;
}

/** The share of lost probes, per cent. */
const lostProbes = ({ probe_rtt_ms: all }) => (all.length ? (100 * all.filter((rtt) => rtt === null).length) / all.length : null);

const PROBED = { probe_mean: meanRtt, probe_p95: highRtt, probe_lost: lostProbes };

/** The values of a column, of the replications that did not fail; probes are those of all. */
function values(entries, name) {
  if (PROBED[name]) return entries.map(PROBED[name]).filter((value) => value !== null);
  const well = entries.filter((one) => one.error === null);
  if (name === "overhead") return well.filter((one) => one.bytes).map((one) => (100 * (one.wire_bytes - one.bytes)) / one.bytes);
  return well.map((one) => one[name]).filter((value) => value !== null);
}

/** The share of each flow in the goodput of all that go its way through its queue, per cent, by replication. */
function shares(rows) {
  const found = [];
  for (const places of placesBy(rows, "queue", "direction")) {
    const beside = places.map((at) => rows[at]);
    const used = complete(beside);
    for (const at of places) found[at] = used.map((r) => (100 * rows[at][r].goodput_bps) / beside.reduce((sum, other) => sum + other[r].goodput_bps, 0));
  }
  return found;
}

export const counted = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;

function failures(names, rows) {
  return rows.flatMap((entries, at) => {
    const reasons = entries.filter((one) => one.error !== null).map((one) => one.error);
    return reasons.length ? [`${names[at]}: ${reasons.length} of ${entries.length} failed: ${reasons[0]}`] : [];
  });
}

/** What each contender is called: with its queue and its direction where there are several. */
function namesOf(rows) {
  const others = ["queue", "direction"].filter((name) => new Set(rows.map((own) => own[0][name])).size > 1);
  return rows.map(([first]) => ["contender", ...others].map((name) => first[name]).join(", "));
}

/** What each flow, or contender, is called in sentences. */
const called = (question, rows) => namesOf(rows).map((name, at) => (question.share ? `flow ${at} (${name})` : name));

/** The places of the rows by some of their fields: of each queue, or of each direction, or of both. */
function placesBy(rows, ...fields) {
  const found = new Map();
  rows.forEach(([first], at) => {
    const key = JSON.stringify(fields.map((name) => first[name]));
    found.set(key, [...(found.get(key) ?? []), at]);
  });
  return [...found.values()];
}

/** The places of the calls. */
const callsOf = (rows, words) => rows.map((_, at) => at).filter((at) => isCall(rows[at][0].contender, words));

/** What a person on the calls at these places would notice. */
function noticed(question, rows, places, { call }, ask) {
  const names = called(question, rows);
  const seen = (one) => (one.error === null && one[call.key] !== null ? call.aspects.map(([field, factor]) => factor * one[field]) : null);
  const calls = places.map((at) => ({ name: names[at], aspects: rows[at].map(seen), shown: rows[at].some((one) => one[call.shown]) }));
  return ask({ noticed: { calls } });
}

/** The questions that the module judges of calls, direction by direction, each with its places: who has the lowest latency. */
function judgedCalls(question, rows, places, { column, divisor, alike, spoken }) {
  const names = called(question, rows);
  const ways = placesBy(places.map((at) => rows[at]), "direction").map((own) => own.map((place) => places[place]));
  return ways.map((own) => {
    const values = own.map((at) => rows[at].map((one) => (one.error === null && one[column] !== null ? one[column] / divisor : null)));
    const way = ways.length > 1 ? ` ${rows[own[0]][0].direction}` : "";
    return { own, asked: { names: own.map((at) => names[at]), values, higher: false, alike, has: `the lowest mean ${spoken}${way}`, of: spoken, every: false } };
  });
}

/** The question that the module judges, of those whose places are in `own`. */
function judged(question, rows, own, metrics) {
  const names = called(question, rows);
  if (!question.share) {
    const times = own.map((at) => rows[at].map((one) => (one.error === null ? one.completion_s : null)));
    const way = own.length < rows.length ? ` ${rows[own[0]][0].direction}` : "";
    return { names: own.map((at) => names[at]), values: times, higher: false, alike: metrics.time.alike, has: `the lowest mean time${way}`, of: "time", every: false };
  }
  const used = complete(own.map((at) => rows[at]));
  const rates = own.map((at) => used.map((r) => rows[at][r].goodput_bps / metrics.goodput.divisor));
  const { alike } = metrics.goodput;
  const every = own.length <= metrics.all_pairs;
  return { names: own.map((at) => names[at]), values: rates, higher: true, alike, has: "the highest mean goodput", of: "goodput", every };
}

/** Jain's index of each replication, and how long packets waited: what flows that go one way through one queue have in common. */
function together(rows, ask) {
  const used = complete(rows);
  const cell = (estimate, some, scale = 1) => ({ values: some, estimate, scale, digits: 3, between: " " });
  const lines = [];
  const waits = ["bottleneck_mean_queueing_delay_s", "bottleneck_max_queueing_delay_s"];
  const waited = waits.map((name) => rows[0].map((one) => one[name]).filter((value) => value !== null).map((value) => 1e3 * value));
  if (waited.every((some) => some.length)) {
    const [mean, most] = ask({ cells: { cells: waited.map((some) => cell("typical", some)) } });
    lines.push(`queueing delay: mean ${mean} ms, longest ${most} ms`);
  }
  if (used.length && rows.length > 1) {
    const jain = used.map((r) => {
      const rates = rows.map((own) => own[r].goodput_bps);
      const total = rates.reduce((sum, rate) => sum + rate, 0);
      return (total * total) / (rates.length * rates.reduce((sum, rate) => sum + rate * rate, 0));
    });
    const [index] = ask({ cells: { cells: [cell("mean", jain)] } });
    lines.push(`Jain's index (1 = equal shares): ${index}`);
  }
  return lines;
}

/** What the probe saw of a link that all flows share. */
function probedTogether(entries, ask) {
  const [means, high, lost] = Object.keys(PROBED).map((name) => values(entries, name));
  if (!means.length) return "RTT under load: no probe was answered";
  const cell = (some, estimate, digits) => ({ values: some, estimate, scale: 1, digits, between: " " });
  const cells = ask({ cells: { cells: [cell(means, "typical", 4), cell(high, "typical", 4), ...(lost.length ? [cell(lost, "mean", 3)] : [])] } });
  const share = lost.length ? `; ${cells[2]} % of the probes lost` : "";
  return `RTT under load: mean ${cells[0]} ms, 95th percentile ${cells[1]} ms (trimmed means of the replications)${share}`;
}

/** Who has the lowest RTT under load, of contenders that run one after the other. */
function probedAlone(question, all, words, ask) {
  // The flows of both directions meet the same probe.
  const rows = placesBy(all, "direction")[0].map((at) => all[at]);
  const means = rows.map((own) => own.map(meanRtt));
  if (!means.some((own) => own.some((value) => value !== null))) return ["no probe was answered"];
  if (callsOf(all, words).length) return [];
  const has = "the lowest mean RTT under load";
  return ask({ verdict: { names: called(question, rows), values: means, higher: false, alike: words.metrics.latency.alike, has, of: "RTT under load", every: false } }).lines;
}

/**
 * The comparison as it is shown. `rows` has the entries of each contender or flow, `words` the columns and metrics as
 * declared, and `ask` asks the module.
 */
export function compared(question, rows, words, ask) {
  const calls = callsOf(rows, words);
  const each = calls.length ? words.of_calls : words.alone;
  const columns = question.share ? [...words.shared, ...(calls.length ? words.beside_calls : [])] : [...each, ...(question.probe ? words.latency : [])];
  const share = question.share ? shares(rows) : [];
  const places = rows.flatMap((_, at) => columns.map((column) => ({ at, column })));
  const of = ({ at, column }) => (column.field === "share" ? share[at] : values(rows[at], column.field));
  const filled = places.map((place) => ({ ...place, found: of(place) })).filter(({ found }) => found.length);
  const shown = ask({ cells: { cells: filled.map(({ column, found }) => ({ values: found, estimate: "typical", scale: column.scale, digits: column.digits, between: "\n" })) } });
  const texts = new Map(filled.map(({ at, column }, place) => [`${at} ${column.field}`, shown[place]]));
  const names = namesOf(rows);
  const lines = failures(names, rows);
  let sets = placesBy(rows, "direction");
  if (question.share) {
    const beside = placesBy(rows, "queue", "direction");
    const several = (name) => placesBy(rows, name).length > 1;
    const head = ([at], ...fields) => {
      const told = fields.filter(several).map((name) => rows[at][0][name]);
      return told.length ? `${told.join(", ")}: ` : "";
    };
    for (const places of beside) {
      const own = places.map((at) => rows[at]);
      lines.push(...together(own, ask).map((line) => `${head(places, "queue", "direction")}${line}`));
    }
    if (question.probe) for (const places of placesBy(rows, "queue")) lines.push(`${head(places, "queue")}${probedTogether(rows[places[0]], ask)}`);
    const used = complete(rows);
    const starved = rows.map((own) => used.filter((r) => own[r].goodput_bps <= 0).length);
    for (const [at, count] of starved.entries()) {
      if (count) lines.push(`${called(question, rows)[at]} starved in ${count} of ${counted(used.length, "replication")}`);
    }
    sets = beside.map((places) => places.filter((at) => !starved[at]));
  }
  const typical = rows.map(() => null);
  const said = calls.length ? [noticed(question, rows, calls, words, ask)] : [];
  const firsts = [];
  // All that send one way can starve.
  const objects = sets.filter((own) => own.length).map((own) => ({ own, asked: judged(question, rows, own, words.metrics) }));
  const latencies = calls.length && (!question.share || calls.length > 1) ? judgedCalls(question, rows, calls, words.metrics.call) : [];
  for (const { own, asked } of question.share || !calls.length ? [...objects, ...latencies] : latencies) {
    if (!asked.values[0].length) continue;
    const verdict = ask({ verdict: asked });
    said.push(...verdict.lines);
    // Where calls share the link, the first verdict is of what the figure shows.
    own.forEach((at, place) => { typical[at] ??= verdict.typical[place] ?? null; });
    if (verdict.order.length && !question.share && rows.length > 1) firsts.push(own[verdict.order[0]]);
  }
  const table = rows.map((_, at) => columns.map((column) => texts.get(`${at} ${column.field}`) ?? "–"));
  const probed = question.probe && !question.share ? probedAlone(question, rows, words, ask) : [];
  return { columns, names, table, firsts, lines: [...lines, ...said, ...probed], said, typical };
}
