// The form: from its fields to a question and back, and errors beside the field that they are about.

import { at } from "./dom.mjs";

const TEXT_FIELDS = ["preset", "rate", "rtt", "loss", "queue", "app", "size", "duration"];
const NUMBER_FIELDS = { flows: 1, replications: 1, seed: 0 };
const CONTENDERS_AT_MOST = 8;

/** An error about a field of the form. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

const inputs = () => [...at("contenders").querySelectorAll("input")];

/** A row of the list of contenders: its input, and a button that removes it. */
function row(value, number) {
  const item = at("contender-row").content.firstElementChild.cloneNode(true);
  const [label, input, button] = ["label", "input", "button"].map((kind) => item.querySelector(kind));
  input.value = value;
  button.addEventListener("click", () => {
    const left = inputs().filter((one) => one !== input).map((one) => one.value);
    contenders(left);
    inputs()[Math.min(number, left.length - 1)].focus();
  });
  input.id = `contender-${number}`;
  label.htmlFor = input.id;
  label.textContent = `Contender ${number + 1}`;
  button.setAttribute("aria-label", `Remove contender ${number + 1}`);
  return item;
}

function contenders(values) {
  at("contenders").replaceChildren(...values.map(row));
  for (const button of at("contenders").querySelectorAll("button")) button.disabled = values.length === 1;
  at("add").disabled = values.length >= CONTENDERS_AT_MOST;
}

/** Shows only what the choices leave open: a cell has no such link, and flows that share it have no size. */
export function adapt(isCell) {
  const share = at("share").checked;
  at("size").closest(".field").hidden = share;
  at("duration").closest(".field").hidden = !share;
  for (const name of ["rate", "rtt", "loss", "queue"]) {
    at(name).disabled = isCell;
    at(name).placeholder = at("preset").value ? (isCell ? "the cell has its own" : "as the preset") : at(name).dataset.usual;
  }
}

export function fill(question) {
  contenders(question.contenders);
  for (const name of [...TEXT_FIELDS, ...Object.keys(NUMBER_FIELDS)]) at(name).value = question[name];
  at(question.share ? "share" : "alone").checked = true;
}

/** The question of the form; raises a `FieldError`. */
export function question() {
  const found = { contenders: inputs().map((input) => input.value.trim()), share: at("share").checked };
  for (const name of TEXT_FIELDS) found[name] = at(name).disabled ? "" : at(name).value.trim();
  for (const [name, least] of Object.entries(NUMBER_FIELDS)) {
    const text = at(name).value.trim();
    if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > Number.MAX_SAFE_INTEGER) {
      throw new FieldError(name, `is ${text ? "not" : "empty, and not"} a whole number: write one from ${least}`);
    }
    found[name] = Number(text);
  }
  for (const name of [found.share ? "duration" : "size"]) {
    if (!found[name]) throw new FieldError(name, `is empty: write a quantity, such as ${at(name).dataset.usual}`);
  }
  return found;
}

/** The field that a path of the scenario belongs to. `group` are the contenders of the scenario. */
export function fieldOf(path, question, group) {
  const flow = /^flows\[(\d+)\]\.(\w+)/.exec(path);
  if (flow && flow[2] === "contender") {
    return `contender-${question.contenders.indexOf(group[Math.floor(Number(flow[1]) / question.flows)])}`;
  }
  if (flow) return { size: "size", app: "app" }[flow[2]] ?? "";
  if (/^(duration|measure_from)/.test(path)) return "duration";
  const inside = /^topology\.(?:link|cell)\.(?:down\.|up\.)?(\w+)/.exec(path);
  return inside ? ({ delay: "rtt" }[inside[1]] ?? (at(inside[1]) ? inside[1] : "")) : path === "rtt" ? "rtt" : "";
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
  at("add").addEventListener("click", () => {
    contenders([...inputs().map((one) => one.value), ""]);
    inputs().at(-1).focus();
  });
  at("form").addEventListener("input", changed);
}
