// Answers questions with the module, as JSON lines: `node ask.mjs MODULE.wasm` reads them from its input.
import { createInterface } from "node:readline";
import { readFile } from "node:fs/promises";
import { asker } from "../../../python/haltere/playground/module.mjs";

const { raw } = await asker(await WebAssembly.compile(await readFile(process.argv[2])));
for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${raw(line)}\n`);
