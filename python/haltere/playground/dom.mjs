// What the parts of the page share to work on its elements.

export const at = (id) => document.getElementById(id);

export function element(kind, text, attributes = {}) {
  const made = document.createElement(kind);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Sentences as entries of a list: those that begin with spaces belong to the one above. */
export const sentences = (lines) => lines.map((line) => element("li", line.trim(), line.startsWith("  ") ? { class: "inner" } : {}));
