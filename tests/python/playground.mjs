// What the playground's page makes of questions, without a browser: JSON goes in and out.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { read, written } from "../../python/haltere/playground/address.mjs";
import { entries } from "../../python/haltere/playground/entries.mjs";
import { asker } from "../../python/haltere/playground/module.mjs";
import { canonical, command, groups, scenario, toml } from "../../python/haltere/playground/scenario.mjs";
import { compared } from "../../python/haltere/playground/tables.mjs";

const { module, words, questions } = JSON.parse(await text(process.stdin));
const { ask } = await asker(await WebAssembly.compile(await readFile(module)));
const catalogue = ask("catalogue");
const columns = catalogue.columns.filter((one) => one.of === "flow" && one.whole !== "unknown");
const known = { usual: words.usual, calls: words.calls, presets: catalogue.presets, halves: (rtt) => ask({ halves: { rtt } }) };

function answer(question, scenarios) {
  const all = Array.from({ length: question.replications }, (_, replication) => groups(question).flatMap(({ own, group }, number) => {
    const result = ask({ run: { scenario: scenarios[replication % 2][number], seed: question.seed, replication } });
    return entries(own, group, result, columns, replication);
  }));
  const { table, lines } = compared(question, all[0].map((_, place) => all.map((own) => own[place])), words, ask);
  return { entries: all.flat(), table, lines };
}

const found = questions.map(({ question, run, address, rows }) => {
  const made = (reverseStarts) => groups(question).map(({ own, group }) => scenario(own, group, known, { reverseStarts }));
  const scenarios = [made(false), made(true)].map((some) => some.map(canonical));
  return {
    scenarios,
    command: command(question, known),
    toml: toml(made(false)[0]),
    read: read(written(question), words.question),
    ...(address ? { addressed: read(address, words.question) } : {}),
    ...(run ? answer(question, scenarios) : {}),
    ...(rows ? { lines: compared(question, rows, words, ask).lines } : {}),
  };
});
process.stdout.write(JSON.stringify(found));
