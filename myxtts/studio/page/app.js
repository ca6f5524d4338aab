// Which page is shown, in which language and theme; asks the studio every few seconds what has changed.
import { get, at } from "./api.js";
import { fill, fillIfNew, h } from "./dom.js";
import { home } from "./home.js";
import { quiet } from "./player.js";
import { check } from "./check.js";
import { record } from "./record.js";
import { share } from "./share.js";
import { speak } from "./speak.js";
import { train } from "./train.js";
import { direction, language, languageName, setLanguage, t } from "./words.js";

const STEPS = { record, check, train, speak, share };
const main = document.getElementById("main");
let page = null; // {update(voice), leave()} of the step that is shown
let timer = 0;
let online = true;

export function say(text, { error = false, foreign = false } = {}) {
  const notes = document.getElementById("notes");
  if ([...notes.children].some((note) => note.firstChild.textContent === text)) return; // several requests fail at once
  const words = h("span", foreign ? { lang: "en", dir: "auto" } : {}, text);
  const note = h("div", error ? { role: "alert" } : {}, words, h("button", { type: "button", onclick: () => note.remove() }, t("close")));
  notes.append(note);
  setTimeout(() => note.remove(), error ? 20000 : 5000);
}

// Run what may fail: its message is shown and null returned.
export async function tried(work) {
  try {
    return await work();
  } catch (error) {
    say(error.offline ? t("offline") : error.message, { error: true, foreign: !error.offline });
    return null;
  }
}

export function go(path) {
  if (location.hash === `#${path}`) route();
  else location.hash = path;
}

function look() {
  const root = document.documentElement;
  root.lang = language();
  root.dir = direction();
  const theme = localStorage.getItem("theme");
  if (theme) root.dataset.theme = theme;
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const themeButton = document.getElementById("theme");
  themeButton.textContent = t(dark ? "theme_light" : "theme_dark");
  themeButton.onclick = () => { localStorage.setItem("theme", dark ? "light" : "dark"); look(); };
  const other = language() === "fa" ? "en" : "fa";
  const button = document.getElementById("language");
  button.textContent = other === "fa" ? "فارسی" : "English";
  button.lang = other;
  button.onclick = () => { setLanguage(other); look(); route(); };
  document.getElementById("word-studio").textContent = t("studio");
  document.getElementById("skip").textContent = t("skip");
}

async function route() {
  clearTimeout(timer);
  page?.leave?.();
  page = null;
  quiet();
  const [, kind, name, step = "record"] = location.hash.slice(1).split("/");
  if (kind !== "v" || !STEPS[step]) {
    document.title = "MyXTTS Studio";
    page = await home(main);
    return;
  }
  const voice = await tried(() => get(at(decodeURIComponent(name))));
  if (!voice) return go("/");
  document.title = `${voice.title}: ${t(`step_${step}`)} – MyXTTS Studio`;
  const body = h("div", {});
  const side = h("div", { class: "side" });
  fill(main, h("div", { class: "shell" }, side, body));
  page = STEPS[step](body, voice, refresh);
  body.querySelector("h1")?.focus();
  update(voice, side, step);
  watch(voice.name, side, step);
}

function update(voice, side, step) {
  showSide(side, voice, step);
  page?.update?.(voice);
}

async function refresh() {
  const side = main.querySelector(".side");
  const [, , name, step = "record"] = location.hash.slice(1).split("/");
  const voice = await tried(() => get(at(decodeURIComponent(name))));
  if (voice && side?.isConnected) update(voice, side, step);
}

function watch(name, side, step) {
  timer = setTimeout(async () => {
    let busy = true;
    try {
      const voice = await get(at(name));
      if (!side.isConnected) return;
      if (!online) say(t("back_online"));
      online = true;
      busy = Boolean(voice.busy);
      update(voice, side, step);
    } catch (error) {
      if (online) say(error.offline ? t("offline") : error.message, { error: true, foreign: !error.offline });
      online = false;
    }
    if (side.isConnected) watch(name, side, step);
  }, document.hidden ? 6000 : 1500);
}

function doneSteps(voice) {
  const trained = voice.runs.some((run) => run.speaks);
  const checked = voice.jobs.check?.state === "done";
  return { record: voice.clips > 0, check: checked && voice.packed, train: trained, speak: localStorage.getItem(`spoken ${voice.name}`) !== null, share: voice.runs.some((run) => run.heard) };
}

function showSide(side, voice, step) {
  const done = doneSteps(voice);
  fillIfNew(side, [voice.title, voice.language, step, done, voice.busy, language()], () => [
    h("a", { class: "crumb", href: "#/" }, t("all_voices")),
    h("p", { class: "who" }, h("bdi", {}, voice.title)),
    h("p", { class: "muted small" }, languageName(voice.language)),
    h("nav", { "aria-label": t("steps") }, h("ol", { class: "steps" }, Object.keys(STEPS).map((name, n) =>
      h("li", { class: done[name] ? "done" : "" },
        h("a", { href: `#/v/${voice.name}/${name}`, "aria-current": name === step ? "step" : null },
          h("span", { class: "dot", "aria-hidden": "true" }, done[name] ? "✓" : new Intl.NumberFormat(language()).format(n + 1)),
          t(`step_${name}`)))))),
    voice.busy ? busyNote(voice) : null,
  ]);
}

function busyNote(voice) {
  const bar = voice.busy.progress;
  const words = t("busy", { what: t(`kind_${voice.busy.kind}`) });
  const value = bar?.total ? { max: bar.total, value: bar.done } : {};
  const progress = h("progress", { "aria-label": words });
  if (value.max) Object.assign(progress, value);
  return h("div", { class: "busy" }, words, progress, bar?.total ? h("span", {}, t("job_progress", { done: bar.done, total: bar.total })) : null);
}

export const onward = (voice, step) =>
  h("div", { class: "onward" }, h("a", { class: "button", href: `#/v/${voice.name}/${step}` }, t("next", { step: t(`step_${step}`) })));

// What became of something that was started: its progress, or why it failed. null where there is nothing to say.
export function jobNote(job) {
  if (job?.state === "failed") return h("div", { class: "note bad" }, h("b", {}, t("job_failed")), h("p", { dir: "auto", lang: "en" }, job.message));
  if (job?.state !== "running") return null;
  const bar = h("progress", { "aria-label": t(`kind_${job.kind}`) });
  if (job.progress?.total) Object.assign(bar, { max: job.progress.total, value: job.progress.done });
  const count = job.progress?.total ? t("job_progress", job.progress) : "";
  return h("div", { class: "note" }, h("p", {}, `${t(`kind_${job.kind}`)} ${count}`), bar);
}

addEventListener("hashchange", route);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look);
look();
route();
