// The form: from its fields to a question and back, and errors beside the field that they are about.

import { at } from "./dom.mjs";
import { FieldError, eachFlow, isCall, lasting } from "./scenario.mjs";

const TEXT_FIELDS = ["preset", "rate", "rtt", "loss", "queue", "probe", "app", "direction", "size", "duration"];
const NUMBER_FIELDS = { flows: 1, replications: 1, seed: 0 };
const CONTENDERS_AT_MOST = 8;
const PATHS_AT_MOST = 4;
/** Those beside the first. */
const QUEUES_AT_MOST = 3;

/** Lists of texts that grow and shrink: how each entry's field is called, its words, and how few and how many there can be. */
const LISTS = {
  contenders: { id: "contender", label: "Contender", least: 1, most: CONTENDERS_AT_MOST, counted: 1, add: "add" },
  queues: { id: "queue", label: "Queue", least: 0, most: QUEUES_AT_MOST, counted: 2, add: "add-queue" },
  paths: { id: "path", label: "Path", least: 0, most: PATHS_AT_MOST, counted: 0, add: "add-path" },
};

const inputs = (list) => [...at(list).querySelectorAll("input")];
const texts = (list) => inputs(list).map((input) => input.value.trim());

/** A row of a list: its input, and a button that removes it. */
function row(list, value, number) {
  const { id, label: word, counted: first, add } = LISTS[list];
  const item = at(`${id}-row`).content.firstElementChild.cloneNode(true);
  const [label, input, button] = ["label", "input", "button"].map((kind) => item.querySelector(kind));
  input.value = value;
  button.addEventListener("click", () => {
    const left = inputs(list).filter((one) => one !== input).map((one) => one.value);
    listed(list, left);
    (inputs(list)[Math.min(number, left.length - 1)] ?? at(add)).focus();
    at("form").dispatchEvent(new Event("input"));
  });
  input.id = `${id}-${number}`;
  label.htmlFor = input.id;
  label.textContent = `${word} ${number + first}`;
  button.setAttribute("aria-label", `Remove ${word.toLowerCase()} ${number + first}`);
  return item;
}

function listed(list, values) {
  const { least, most, add } = LISTS[list];
  at(list).replaceChildren(...values.map((value, number) => row(list, value, number)));
  for (const button of at(list).querySelectorAll("button")) button.disabled = values.length === least;
  at(add).disabled = values.length >= most;
}

/** Shows only what the choices leave open: a cell has no such link, nor have several paths; what lasts for a time has no size, and calls no application. */
export function adapt(isCell, known) {
  const contenders = texts("contenders");
  const lasts = lasting({ share: at("share").checked, contenders }, known);
  at("size").closest(".field").hidden = lasts;
  at("duration").closest(".field").hidden = !lasts;
  at("app").closest(".field").hidden = contenders.length > 0 && contenders.every((one) => isCall(one, known));
  const several = inputs("paths").length > 0;
  at("preset").disabled = several;
  for (const name of ["rate", "rtt", "loss", "queue"]) {
    at(name).disabled = isCell || several;
    at(name).placeholder = several ? "each path has its own" : at("preset").value ? (isCell ? "the cell has its own" : "as the preset") : at(name).dataset.usual;
  }
  for (const input of inputs("queues")) input.disabled = at("queue").disabled;
  at("add-queue").disabled = at("queue").disabled || inputs("queues").length >= QUEUES_AT_MOST;
}

export function fill(question) {
  for (const list of Object.keys(LISTS)) listed(list, question[list]);
  for (const name of [...TEXT_FIELDS, ...Object.keys(NUMBER_FIELDS)]) at(name).value = question[name];
  at(question.share ? "share" : "alone").checked = true;
}

/** The question of the form; raises a `FieldError`. */
export function question(known) {
  const queues = at("queue").disabled ? [] : texts("queues");
  const found = { contenders: texts("contenders"), queues, paths: texts("paths"), share: at("share").checked };
  for (const name of TEXT_FIELDS) found[name] = at(name).disabled ? "" : at(name).value.trim();
  for (const [name, least] of Object.entries(NUMBER_FIELDS)) {
    const text = at(name).value.trim();
    if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > Number.MAX_SAFE_INTEGER) {
      throw new FieldError(name, `is ${text ? "not" : "empty, and not"} a whole number: write one from ${least}`);
    }
    found[name] = Number(text);
  }
  refuseQueues([found.queue, ...queues]);
  if (!found.direction) throw new FieldError("direction", "is none that there is: choose one of the list");
  for (const name of [lasting(found, known) ? "duration" : "size"]) {
    if (!found[name]) throw new FieldError(name, `is empty: write a quantity, such as ${at(name).dataset.usual}`);
  }
  return found;
}

/** The field of one of the queues: the link's own, or an entry of the list of further ones. */
const queueField = (number) => (number ? `queue-${number - 1}` : "queue");

/** Refuses several queues of which one is empty, or the same as another: a comparison tells them apart by their texts. */
function refuseQueues(queues) {
  if (queues.length < 2) return;
  queues.forEach((queue, number) => {
    if (!queue) throw new FieldError(queueField(number), "is empty beside other queues: write a limit or a discipline, such as 1000p");
    if (queues.indexOf(queue) < number) throw new FieldError(queueField(number), `${queue} is given twice: write another queue, or remove it`);
  });
}

/** The field that a place in the scenario belongs to. `group` are the contenders of the scenario, `number` says which queue is its own. */
export function fieldOf(place, question, { group, number }) {
  const flow = /^flows\[(\d+)\]\.(\w+)/.exec(place);
  if (flow && flow[2] === "contender") {
    return `contender-${question.contenders.indexOf(group[Math.floor(Number(flow[1]) / eachFlow(question, [""]).length)])}`;
  }
  if (flow) return { size: "size", app: "app", direction: "direction" }[flow[2]] ?? "";
  const path = /^topology\.paths\[(\d+)\]/.exec(place) ?? (question.paths.length ? /^topology\.link/.exec(place) : null);
  if (path) return `path-${path[1] ?? 0}`;
  if (place.startsWith("probes")) return "probe";
  if (/^(duration|measure_from)/.test(place)) return "duration";
  const inside = /^topology\.(?:link|cell)\.(?:down\.|up\.)?(\w+)/.exec(place);
  if (inside?.[1] === "queue") return queueField(number);
  return inside ? ({ delay: "rtt" }[inside[1]] ?? (at(inside[1]) ? inside[1] : "")) : place === "rtt" ? "rtt" : "";
}

export function clearErrors() {
  at("problem").hidden = true;
  for (const one of document.querySelectorAll("[aria-invalid]")) {
    one.removeAttribute("aria-invalid");
    one.removeAttribute("aria-errormessage");
  }
}

/** Says what is wrong, and moves the focus to the field. */
export function showError(error) {
  const field = error.field ? at(error.field) : null;
  const label = field ? `${field.labels[0].textContent}: ` : "";
  at("problem").textContent = `${label}${error.message}`;
  at("problem").hidden = false;
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", "problem");
  field.focus();
}

export function listen(changed) {
  for (const [list, { add, id }] of Object.entries(LISTS)) {
    at(add).addEventListener("click", () => {
      listed(list, [...inputs(list).map((one) => one.value), id === "path" ? "rate=20Mbit/s,rtt=20ms" : ""]);
      inputs(list).at(-1).focus();
      changed();
    });
  }
  at("form").addEventListener("input", changed);
}
