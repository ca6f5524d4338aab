// Everything by keys: the list has the focus, one row is selected, each decision is one request.
"use strict";
const list = document.getElementById("rows"), told = document.getElementById("told"), sound = document.getElementById("sound");
let rows = [], at = 0, all = false, editing = false;

const shown = () => rows.filter((row) => all || (!row.decided && (row.reason || row.trust < 0.9)));

function line(row, selected) {
  const item = document.createElement("li"), text = document.createElement("div"), meta = document.createElement("div");
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", String(selected));
  item.className = row.reason === "rejected" ? "aside rejected" : row.reason ? "aside" : "";
  text.className = "text";
  text.dir = meta.dir = "auto";
  text.textContent = row.text || "(no text)";
  meta.className = "meta";
  const heard = row.heard && row.heard !== row.text ? `, heard: ${row.heard}` : "";
  meta.textContent = `${row.id}, ${(row.end - row.start).toFixed(1)} s, trust ${row.trust.toFixed(2)}`
    + (row.reason ? `, ${row.reason}` : "") + (row.decided ? ", decided" : "") + heard;
  item.append(text, meta);
  return item;
}

function show() {
  const some = shown();
  at = Math.max(0, Math.min(at, some.length - 1));
  const first = Math.max(0, at - 100); // a corpus of ten hours has thousands
  list.replaceChildren(...some.slice(first, at + 200).map((row, n) => line(row, first + n === at)));
  list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  const aside = rows.filter((row) => row.reason).length;
  say(some.length ? `row ${at + 1} of ${some.length}${all ? "" : " to check"}; ${rows.length - aside} in the corpus, ${aside} aside`
    : `nothing left to check; ${rows.length - aside} in the corpus, ${aside} aside. Ctrl-C in the terminal ends the review`);
}

const say = (text) => { told.textContent = text; };

async function load(path, options) {
  const answer = await fetch(path, options), body = await answer.json();
  if (!answer.ok) { say(body.error); return false; }
  rows = body.rows;
  show();
  return true;
}

const decide = (decision) => load("/decisions", { method: "POST", body: JSON.stringify(decision) });

function play(row) {
  const address = `/audio/${encodeURIComponent(row.id)}`;
  if (!sound.src.endsWith(address)) sound.src = address;
  else if (!sound.paused) { sound.pause(); return; }
  sound.play().catch((error) => say(String(error)));
}

function move(by) {
  at += by;
  show();
  const row = shown()[at];
  if (row) { sound.pause(); sound.src = ""; play(row); }
}

// One line to edit; split: two texts with | between them.
function edit(row, begin, done) {
  const item = list.querySelector("[aria-selected=true] .text"), box = document.createElement("textarea");
  if (!item) return;
  editing = true;
  box.dir = "auto";
  box.value = begin;
  item.replaceChildren(box);
  box.focus();
  const end = () => { editing = false; show(); list.focus(); };
  box.addEventListener("keydown", async (event) => {
    event.stopPropagation();
    if (event.key === "Escape") end();
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (await done(box.value)) { editing = false; list.focus(); }
  });
}

function split(row) {
  const place = sound.src.endsWith(encodeURIComponent(row.id)) ? sound.currentTime : 0;
  if (!place) { say("play the row to where it shall be split, stop it there with space, then press s"); return; }
  edit(row, row.text, (text) => {
    const texts = text.split("|");
    if (texts.length !== 2) { say(`write one | where the text is split (at ${place.toFixed(2)} s)`); return false; }
    return decide({ do: "split", id: row.id, at: place, texts });
  });
  say(`split at ${place.toFixed(2)} s: write | between the two texts, then Enter; Escape leaves it`);
}

const keys = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), " ": play,
  Enter: (row) => decide({ do: "accept", id: row.id }), x: (row) => decide({ do: "reject", id: row.id }),
  e: (row) => edit(row, row.text || row.heard || "", (text) => decide({ do: "text", id: row.id, text })),
  j: (row) => decide({ do: "join", id: row.id }), s: split,
};

document.addEventListener("keydown", (event) => {
  if (editing || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = shown()[at];
  if (event.key === "u") decide({ do: "undo" });
  else if (event.key === "f") { all = !all; show(); }
  else if (keys[event.key] && row) keys[event.key](row);
  else return;
  event.preventDefault();
});

load("/rows").then(() => list.focus());
