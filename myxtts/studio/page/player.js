// One sound at a time: small buttons for lists.
import { h, svg } from "./dom.js";
import { t } from "./words.js";

const audio = new Audio();
let owner = null;

const ICONS = { play: "M4 2l10 6-10 6z", stop: "M3 3h10v10H3z" };
const icon = (name) => svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

function show(button, playing) {
  button.replaceChildren(icon(playing ? "stop" : "play"), button.dataset.words ?? "");
  const verb = t(playing ? "stop_playing" : "play");
  if (button.dataset.words) button.setAttribute("aria-pressed", String(playing));
  else button.setAttribute("aria-label", `${verb}: ${button.dataset.label}`);
}

function ended() {
  if (owner) show(owner, false);
  owner = null;
}

for (const event of ["ended", "error"]) audio.addEventListener(event, ended);

export function quiet() {
  audio.pause();
  ended();
}

// `words`: a button with a text; otherwise a disc that is named by `label`.
export function playButton(source, label, words) {
  const button = h("button", { type: "button", class: words ? "play" : "disc play" });
  button.dataset.label = label;
  if (words) button.dataset.words = words;
  button.addEventListener("click", () => {
    const mine = owner === button;
    quiet();
    if (mine) return;
    owner = button;
    audio.src = typeof source === "function" ? source() : source;
    audio.play().catch(ended);
    show(button, true);
  });
  show(button, false);
  return button;
}
