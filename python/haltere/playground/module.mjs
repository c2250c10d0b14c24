// The module of WebAssembly: a question goes in as JSON, its answer comes out.

/** What the module refuses: a sentence, and the path of the field in the scenario. */
export class Refused extends Error {
  constructor({ message, path }) {
    super(message);
    this.path = path;
  }
}

/** A function that asks a compiled module. Texts are counted in bytes of UTF-8. */
export async function asker(compiled) {
  const { exports } = await WebAssembly.instantiate(compiled, {});
  const [encode, decode] = [new TextEncoder(), new TextDecoder()];
  const raw = (text) => {
    const bytes = encode.encode(text);
    const place = exports.room(bytes.length);
    new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
    const length = exports.ask();
    return decode.decode(new Uint8Array(exports.memory.buffer, exports.place(), length));
  };
  const ask = (question) => {
    const { answer, error } = JSON.parse(raw(JSON.stringify(question)));
    if (error) throw new Refused(error);
    return answer;
  };
  return { ask, raw };
}
