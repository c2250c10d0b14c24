// A worker: it gets the compiled module once, and then questions, which it answers one after the other.
import { asker } from "./module.mjs";

let compiled = null, asking = null;
self.onmessage = async ({ data }) => {
  if (data.compiled) {
    compiled = data.compiled;
    asking = asker(compiled);
    return;
  }
  try {
    const { ask } = await asking;
    self.postMessage({ id: data.id, answer: ask(data.question) });
  } catch (error) {
    let { message } = error;
    if (error instanceof WebAssembly.RuntimeError) {
      // A module that broke off is not used again.
      asking = asker(compiled);
      message = `the simulator broke off (${message}): ask for fewer data if memory may be short, else report the address of this page`;
    }
    self.postMessage({ id: data.id, error: { message, path: error.path ?? "" } });
  }
};
