// What the script of a report that can be asked makes of a campaign, without a browser: JSON goes in and out.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { asker } from "../../python/haltere/playground/module.mjs";
import { canonical } from "../../python/haltere/playground/scenario.mjs";
import { changed, differing, fields, rowsOf, scenarioOf, treatmentAt, valueOf } from "../../python/haltere/playground/treatment.mjs";

const { data, module, results, changes } = JSON.parse(await text(process.stdin));
const ask = module ? (await asker(await WebAssembly.compile(await readFile(module)))).ask : null;

/** The results of a treatment: those that were given, or those of the module. */
function made(scenario, { replication }, given) {
  return ask ? ask({ run: { scenario: canonical(scenario), seed: data.seed, replication } }) : given[replication];
}

const found = data.experiments.map((experiment) => experiment.treatments.map((treatment, number) => {
  const scenario = scenarioOf(experiment, treatment);
  const given = results?.[experiment.name]?.[number];
  const here = ask || given ? treatment.runs.map((run) => rowsOf(made(scenario, run, given), experiment.columns)) : [];
  const differ = here.map((run, at) => differing(treatment.runs[at], run));
  return {
    scenario,
    itself: treatmentAt(experiment, treatment.options) === treatment,
    differing: differ.reduce((sum, one) => sum + one.different, 0),
    values: differ.reduce((sum, one) => sum + one.values, 0),
    means: treatment.runs.map((run) => experiment.columns.map((column, at) => valueOf(run, at, column))),
    fields: fields(scenario),
  };
}));
const after = (changes ?? []).map(({ scenario, id, value }) => changed(scenario, fields(scenario).find((one) => one.id === id), value));
process.stdout.write(JSON.stringify({ found, changes: after }));
