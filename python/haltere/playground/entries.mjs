// From the results of runs to the entries that `haltere compare --json` has: one a contender, or a flow, and replication.

import { eachFlow, waysOf } from "./scenario.mjs";

const sum = (values) => values.reduce((total, value) => total + value, 0);
const TOGETHER = {
  sum,
  mean: (values) => sum(values) / values.length,
  least: (values) => Math.min(...values),
  largest: (values) => Math.max(...values),
};

/** Several flows as one, from the first start until the last is complete. `columns` are those of flows, as declared. */
export function whole(flows, columns) {
  if (flows.length === 1) return flows[0];
  const found = { error: flows.map((flow) => flow.error).find(Boolean) ?? null };
  for (const { name, whole: how } of columns) {
    const values = flows.map((flow) => flow[name]).filter((value) => value !== null && value !== undefined);
    if (values.length === flows.length && TOGETHER[how]) found[name] = TOGETHER[how](values);
  }
  if (flows.every((flow) => flow.completion_s !== null && flow.completion_s !== undefined)) {
    const lasted = Math.max(...flows.map((flow) => flow.start_s + flow.completion_s)) - Math.min(...flows.map((flow) => flow.start_s));
    for (const { name, whole: how } of columns) {
      if (how === "span") found[name] = lasted;
      if (how.rate) found[name] = lasted ? (8 * found[how.rate]) / lasted : null;
    }
  }
  return found;
}

/** The link that all data of a direction crosses: the one called bottleneck, or the only one. */
function bottleneck(links, way) {
  const those = links.filter((link) => link.direction === way);
  return those.find((link) => link.link === "bottleneck") ?? (those.length === 1 ? those[0] : {});
}

/** The entries of a run of some contenders at once; `question` is the one with this run's queue. */
export function entries(question, group, result, columns, replication) {
  const each = eachFlow(question, group);
  const flows = new Map(result.flows.map((flow) => [flow.flow, flow]));
  const numbers = each.map((_, at) => at);
  const sets = question.share ? numbers.map((at) => [at]) : waysOf(question).map((way) => numbers.filter((at) => each[at].way === way));
  // Contenders that use one path have its queue; those that use several have none of their own.
  const first = question.paths.length > 1 && !group.some((name) => name.startsWith("mp"));
  const links = first ? result.links.filter((one) => one.link === "path 0") : result.links;
  const probed = question.probe ? { probe_rtt_ms: (result.probes ?? []).flatMap((probe) => probe.rtt_s).map((rtt) => (rtt === null ? null : 1e3 * rtt)) } : {};
  return sets.map((together) => {
    const { contender, way } = each[together[0]];
    const waited = bottleneck(links, way);
    const flow = whole(together.map((at) => flows.get(at) ?? {}), columns);
    const own = Object.fromEntries(columns.map(({ name }) => [name, flow[name] ?? null]));
    return {
      ...own,
      bottleneck_mean_queueing_delay_s: waited.mean_queueing_delay_s ?? null,
      bottleneck_max_queueing_delay_s: waited.max_queueing_delay_s ?? null,
      contender,
      direction: way,
      queue: question.paths.length ? null : question.queue || null,
      replication,
      seed: question.seed + replication,
      error: flow.error || (result.status === "ok" ? null : result.error),
      ...probed,
    };
  });
}
