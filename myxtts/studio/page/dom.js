// Elements without a framework: h("button", {class: "main", onclick}, "Text").

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  add(node, children);
  return node;
}

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) if (value != null) node.setAttribute(name, value);
  add(node, children);
  return node;
}

function set(node, name, value) {
  if (value == null || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (["value", "checked", "disabled", "hidden", "textContent"].includes(name)) node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

function add(node, children) {
  for (const child of children.flat(3)) if (child != null && child !== false) node.append(child);
}

export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

// Give a node new content only if what it shows has changed: focus and sounds that are playing stay.
export function fillIfNew(node, key, make) {
  const text = JSON.stringify(key);
  if (node.dataset.key === text) return;
  node.dataset.key = text;
  fill(node, make());
}
