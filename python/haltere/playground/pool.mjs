// Workers that share questions among them. Cancelling ends the workers, as a run cannot be asked to stop.

/** The most workers: the page stays quick, and a phone cool. */
const MOST = 4;

export class Cancelled extends Error {}

export class Pool {
  constructor(compiled, script, size = Math.max(1, Math.min(MOST, (navigator.hardwareConcurrency || 2) - 1))) {
    this.compiled = compiled;
    this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.size = size;
    this.workers = [];
    this.waiting = [];
    this.open = new Map();
    this.next = 0;
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
    };
    this.workers.push(one);
    return one;
  }

  /** Ends all workers; who waits for an answer hears that it was cancelled. */
  cancel() {
    const tasks = [...this.waiting, ...this.workers.map((one) => one.task).filter(Boolean)];
    for (const one of this.workers) one.worker.terminate();
    this.workers = [];
    this.waiting = [];
    for (const task of tasks) task.reject(new Cancelled("cancelled"));
  }
}
