// A worker: it gets the compiled module once, and then questions, which it answers one after the other.
import { asker } from "./module.mjs";

let asking = null;
self.onmessage = async ({ data }) => {
  if (data.compiled) {
    asking = asker(data.compiled);
    return;
  }
  try {
    const { ask } = await asking;
    self.postMessage({ id: data.id, answer: ask(data.question) });
  } catch (error) {
    self.postMessage({ id: data.id, error: { message: error.message, path: error.path ?? "" } });
  }
};
