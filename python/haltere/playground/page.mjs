// The page: it reads the question, runs it in workers, and shows the answer.

import { read, written } from "./address.mjs";
import { at } from "./dom.mjs";
import { entries } from "./entries.mjs";
import { adapt, clearErrors, fieldOf, fill, listen, question, showError } from "./form.mjs";
import { LOOKS } from "./lines.mjs";
import { Refused, asker } from "./module.mjs";
import { Cancelled, Pool } from "./pool.mjs";
import { showComparison, showTrace } from "./results.mjs";
import { FieldError, atHome, canonical, command, eachFlow, groups, isCall, isCell, lasting, parsedPath, parsedProbe, saidPath, scenario, toml, waysOf } from "./scenario.mjs";
import { compared, counted } from "./tables.mjs";
import { unpacked } from "./unpack.mjs";

const state = document.body.dataset;
const words = JSON.parse(at("words").textContent);
const POINTS = 1200;

let local, pool, known, columns;
let last = null; // the question that was answered, with its scenarios
let asks = 0; // how often was asked: an answer to an earlier question is not shown

function options(select, list) {
  select.replaceChildren(...list.map(([value, text]) => new Option(text, value)));
}

function offer(catalogue) {
  columns = catalogue.columns.filter((one) => one.of === "flow" && one.whole !== "unknown");
  const halves = (rtt) => local.ask({ halves: { rtt } });
  known = { usual: words.usual, calls: words.calls, presets: catalogue.presets, halves };
  options(at("preset"), [["", "none: the values here"], ...catalogue.presets.map((one) => [one.name, `${one.name}: ${one.summary}`])]);
  const { transports, congestion, media } = catalogue.algorithms;
  const controls = (name) => (isCall(name, known) ? media : congestion.filter((control) => name.startsWith("mp") || !control.coupled));
  const names = transports.flatMap(({ name }) => controls(name).map((control) => [`${name}/${control.name}`, control.summary]));
  at("known-contenders").replaceChildren(...names.map(([name, summary]) => Object.assign(new Option(summary, name))));
  at("known-queues").replaceChildren(...["100p", "1bdp", "64kB"].map((limit) => new Option("a limit", limit)), ...catalogue.queues.map((one) => new Option(one.summary, one.name)));
  at("version").textContent = catalogue.version;
}

const reversed = (replication) => ({ reverseStarts: replication % 2 === 1 });

/** Refuses a contender that no browser can run. */
function refuseAtHome(contender, at) {
  const why = atHome(contender);
  if (why) throw new FieldError(`contender-${at}`, why);
}

/** Refuses calls beside objects that do not share the link with them. */
function refuseMixed({ contenders, share }) {
  const first = isCall(contenders[0], known);
  const other = contenders.findIndex((one) => isCall(one, known) !== first);
  if (!share && other > 0) throw new FieldError(`contender-${other}`, "calls and objects have no metric in common: write calls alone, objects alone, or let them share the link");
}

/** The scenarios of a question, by the parity of the replication and by group; raises a `FieldError`. */
function planned(question) {
  question.contenders.forEach(refuseAtHome);
  refuseMixed(question);
  return [0, 1].map((parity) => groups(question).map((set) => {
    try {
      const text = canonical(scenario(set.own, set.group, known, reversed(parity)));
      if (parity === 0 || question.share) local.ask({ check: { scenario: text } });
      return text;
    } catch (error) {
      if (error instanceof Refused) throw new FieldError(fieldOf(error.path, question, set), error.message);
      throw error;
    }
  }));
}

function headline(question, replications) {
  const { preset, rate, rtt, loss, paths } = question;
  const given = (queue) => Object.fromEntries(Object.entries({ preset, rate, rtt, loss, queue }).filter(([, value]) => value));
  const link = paths.length ? paths.map((text, at) => `path ${at}: ${saidPath(parsedPath(text, known.presets, ""), words.usual)}`) : [question.queue, ...question.queues].map((queue) => saidPath(given(queue), words.usual));
  const sent = question.share ? `sharing for ${question.duration}, goodput from ${words.usual.measured_from.replace("s", " s")}` : lasting(question, known) ? `calls of ${question.duration}` : question.size;
  const ways = { down: "", up: " up", both: " down and up at once" }[question.direction];
  const flows = question.flows > 1 ? `${question.flows} flows of each, ` : "";
  const app = question.contenders.every((one) => isCall(one, known)) ? "" : ` over ${question.app}`;
  return [...link, `${flows}${sent}${ways}${app}`, ...(question.probe ? [saidProbe(question.probe)] : []), counted(replications, "replication")].join("; ");
}

function saidProbe(text) {
  const { kind, size, interval, mode } = parsedProbe(text);
  return `${kind} probes of ${size}, one every ${interval}, ${mode ? "each after the last one's answer" : "without waiting for answers"}`;
}

function say(text) {
  at("status").textContent = text;
}

function running(is) {
  at("cancel").disabled = !is;
  at("progress").hidden = !is;
  state.state = is ? "running" : "ready";
}

/** Runs everything; what was complete when it was cancelled is shown. */
async function run(question) {
  const scenarios = planned(question);
  const sets = groups(question);
  const mine = (asks += 1);
  const total = question.replications * sets.length;
  const results = Array.from({ length: question.replications }, () => []);
  let done = 0, told = 0;
  at("progress").max = total;
  at("progress").value = 0;
  running(true);
  say(`Running ${counted(total, "run")}.`);
  const asked = results.flatMap((own, replication) => sets.map(async (_, group) => {
    own[group] = await pool.ask({ run: { scenario: scenarios[replication % 2][group], seed: question.seed, replication } });
    if (mine !== asks) return;
    done += 1;
    at("progress").value = done;
    if (done * 4 >= total * (told + 1) && done < total) {
      told = Math.floor((done * 4) / total);
      say(`${done} of ${counted(total, "run")} done.`);
    }
  }));
  const outcomes = await Promise.allSettled(asked);
  if (mine !== asks) return;
  running(false);
  const broken = outcomes.find((one) => one.status === "rejected" && !(one.reason instanceof Cancelled));
  if (broken) throw broken.reason;
  const complete = results.map((own, at) => at).filter((at) => sets.every((_, group) => results[at][group]));
  if (!complete.length) return say("Cancelled: no replication was complete.");
  const all = complete.map((replication) => sets.flatMap(({ own, group }, number) => entries(own, group, results[replication][number], columns, replication)));
  const rows = all[0].map((_, place) => all.map((own) => own[place]));
  const answered = { ...question, replications: complete.length };
  const shown = compared(answered, rows, words, local.ask);
  const about = { question: answered, headline: headline(question, complete.length), words, rows };
  last = { question, scenarios, sets, names: shown.names, runs: [], show: () => showComparison(shown, about) };
  last.show();
  offerRuns(complete);
  home(question);
  const stopped = complete.length < question.replications ? `Stopped: ${complete.length} of ${counted(question.replications, "replication")} are complete. ` : "";
  say(`${stopped}${shown.said[0] ?? "Done."}`.replace(/:$/, "."));
  await look();
}

function offerRuns(complete) {
  options(at("replication"), complete.map((one) => [one, String(one)]));
}

/** Traces one replication of all contenders, over each queue. */
async function look() {
  const { question, scenarios, sets, names: rows } = last;
  const mine = asks;
  const replication = Number(at("replication").value);
  at("trace").setAttribute("aria-busy", "true");
  const traced = await Promise.all(scenarios[replication % 2].map((text) => pool.ask({ trace: { scenario: text, seed: question.seed, replication, points: POINTS } })));
  if (mine !== asks || replication !== Number(at("replication").value)) return;
  last.runs = traced.map((one, set) => {
    const { own, group, number } = sets[set];
    const [each, ways] = [eachFlow(own, group), waysOf(own)];
    // The rows of the table are the flows where they share the link, else the contenders in each direction.
    const places = each.map(({ way }, place) => (question.share ? number * each.length + place : set * ways.length + ways.indexOf(way)));
    const names = places.map((at) => (question.share ? `${at} ${rows[at]}` : rows[at]));
    const links = Object.fromEntries(ways.map((way, at) => {
      const flow = each.findIndex((one) => one.way === way);
      if (!question.share || each.length === 1) return [way, { name: names[flow], look: places[flow] }];
      const of = [...(question.queues.length ? [own.queue] : []), ...(ways.length > 1 ? [way] : [])];
      return [way, { name: ["all flows", ...of].join(", "), look: LOOKS - 1 - ((number * ways.length + at) % LOOKS) }];
    }));
    return { names, looks: places, calls: each.map(({ contender }) => isCall(contender, known)), links, traced: one };
  });
  showTrace(last.runs);
  at("trace").removeAttribute("aria-busy");
  state.traced = String(replication);
}

/** Draws the figures anew, as wide as the page is now. */
function redraw() {
  last.show();
  if (last.runs.length) showTrace(last.runs);
}

function home(question) {
  at("command").textContent = command(question, known);
  const [{ own, group }] = groups(question);
  const text = scenario(own, group, known, reversed(0));
  at("toml").textContent = toml(text);
  at("home").hidden = false;
}

async function submit() {
  clearErrors();
  pool.cancel();
  try {
    const asked = question(known);
    planned(asked);
    history.replaceState(null, "", `#${written(asked)}`);
    await run(asked);
    state.answered = "yes";
  } catch (error) {
    tell(error);
  }
}

/** Says what went wrong; that something was cancelled is no error. */
function tell(error) {
  if (error instanceof Cancelled) return;
  running(false);
  showError(error);
}

function adapted() {
  adapt(isCell({ preset: at("preset").value }, known.presets), known);
}

async function copy(button) {
  const text = button.dataset.copies === "address" ? location.href : at(button.dataset.copies).textContent;
  const before = button.dataset.name ?? (button.dataset.name = button.textContent);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(at(button.dataset.copies) ?? button);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = before; }, 2000);
}

/** Puts the question of the address into the form. */
function show() {
  const asked = read(location.hash.slice(1), words.question) ?? words.question;
  const preset = known.presets.find((one) => one.name === asked.preset || one.also.includes(asked.preset));
  fill({ ...asked, preset: preset?.name ?? "" });
  adapted();
  if (asked.preset && !preset) throw new FieldError("preset", `there is no preset ${asked.preset}: choose one of the list`);
}

/** Shows the question of the address, and answers it. */
async function answerAddress() {
  pool.cancel();
  try {
    show();
  } catch (error) {
    showError(error);
    return;
  }
  await submit();
  // In a page of the documentation the question stands above the frame.
  if (self !== top && !at("results").hidden) scrollTo(0, at("results").offsetTop);
}

async function begin() {
  const compiled = await WebAssembly.compile(await unpacked(at("module").textContent));
  local = await asker(compiled);
  pool = new Pool(compiled, at("worker").textContent);
  offer(local.ask("catalogue"));
  listen(adapted);
  at("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  at("cancel").addEventListener("click", () => pool.cancel());
  at("replication").addEventListener("change", () => look().catch(tell));
  for (const button of document.querySelectorAll("[data-copies]")) button.addEventListener("click", () => copy(button));
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (last && width && contentRect.width !== width) redraw();
    width = contentRect.width;
  }).observe(at("form"));
  addEventListener("hashchange", answerAddress);
  at("go").disabled = false;
  state.state = "ready";
  say("Ready.");
  await answerAddress();
}

begin().catch((error) => {
  at("problem").textContent = `The page cannot start: ${error.message}. It needs a browser of 2023 or later.`;
  at("problem").hidden = false;
});
