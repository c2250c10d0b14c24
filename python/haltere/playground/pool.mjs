// Workers that share questions among them. Cancelling ends the workers, as a run cannot be asked to stop.

/** The most workers, so that a phone stays cool. One a core: the page itself only waits for them. */
const MOST = 4;

export class Cancelled extends Error {}

export class Pool {
  constructor(compiled, script, size = Math.min(MOST, navigator.hardwareConcurrency || 1)) {
    this.compiled = compiled;
    this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.size = size;
    this.workers = [];
    this.waiting = [];
    this.next = 0;
    this.fill();
  }

  /** Starts workers before anything is asked, so that a question does not wait for them. */
  fill() {
    while (this.another());
  }

  /** The answer of a worker. */
  ask(question) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      this.give();
    });
  }

  give() {
    while (this.waiting.length) {
      const free = this.workers.find((one) => one.task === null) ?? this.another();
      if (!free) return;
      const task = this.waiting.shift();
      free.task = task;
      free.worker.postMessage({ id: (this.next += 1), question: task.question });
    }
  }

  another() {
    if (this.workers.length >= this.size) return null;
    const one = { worker: new Worker(this.address), task: null };
    one.worker.postMessage({ compiled: this.compiled });
    one.worker.onmessage = ({ data }) => {
      const task = one.task;
      one.task = null;
      if (data.error) task.reject(Object.assign(new Error(data.error.message), { path: data.error.path }));
      else task.resolve(data.answer);
      this.give();
    };
    one.worker.onerror = (event) => {
      event.preventDefault();
      one.task?.reject(new Error(`the simulator stopped: ${event.message}`));
      this.workers = this.workers.filter((other) => other !== one);
      this.give();
    };
    this.workers.push(one);
    return one;
  }

  /** Ends the workers that have a question, and starts others; who waits for an answer hears that it was cancelled. */
  cancel() {
    const busy = this.workers.filter((one) => one.task);
    const tasks = [...this.waiting, ...busy.map((one) => one.task)];
    for (const one of busy) one.worker.terminate();
    this.workers = this.workers.filter((one) => !one.task);
    this.waiting = [];
    this.fill();
    for (const task of tasks) task.reject(new Cancelled("cancelled"));
  }
}
