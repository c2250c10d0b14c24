// The whole question in the address, so that it can be kept and sent.

/** Fields of the link and of what measures it, which are empty where the address does not name them, other texts, and numbers. */
const LINK_TEXTS = ["preset", "rate", "rtt", "loss", "queue", "probe"];
const TEXTS = ["app", "direction", "size", "duration"];
/** Fields that are left out where they are as usual: addresses were made before they existed. */
const USUALLY = { direction: "down" };
const NUMBERS = ["flows", "replications", "seed"];

/** What follows `#`. Fields that are empty are left out, and so is the usual direction. */
export function written(question) {
  const parts = new URLSearchParams();
  for (const contender of question.contenders) parts.append("c", contender);
  for (const path of question.paths) parts.append("path", path);
  if (question.share) parts.set("share", "1");
  for (const name of [...LINK_TEXTS, ...TEXTS, ...NUMBERS]) if (question[name] !== "" && question[name] !== USUALLY[name]) parts.set(name, question[name]);
  for (const queue of question.queues) parts.append("queue", queue);
  return parts.toString();
}

/** The question of an address; `usual` has the values of other fields that it does not name. Nothing if it names no contender. */
export function read(text, usual) {
  const parts = new URLSearchParams(text);
  if (!parts.has("c")) return null;
  const question = { ...usual, contenders: parts.getAll("c"), paths: parts.getAll("path"), share: parts.get("share") === "1" };
  for (const name of LINK_TEXTS) question[name] = parts.get(name) ?? "";
  question.queues = parts.getAll("queue").slice(1);
  for (const name of TEXTS) if (parts.has(name)) question[name] = parts.get(name);
  for (const name of NUMBERS) if (/^\d+$/.test(parts.get(name) ?? "")) question[name] = Number(parts.get(name));
  return question;
}
