// What is wrong with which recording, with a player beside it; then packing.
import { at, get, post, put, remove } from "./api.js";
import { go, jobNote, onward, tried } from "./app.js";
import { fill, fillIfNew, h } from "./dom.js";
import { playButton } from "./player.js";
import { clock, has, isRightToLeft, number, t } from "./words.js";

const ROWS = 30;

export function check(body, voice, refresh) {
  const state = { voice, rows: [], others: [], only: false, shown: ROWS, reasons: {} };
  const head = h("div", {}), list = h("div", {}), pack = h("section", { class: "card", hidden: true });
  fill(body, h("h1", { tabindex: "-1" }, t("check_title")), h("p", { class: "lead" }, t("check_lead")), head, pack, list, onward(voice, "train"));
  const start = (kind) => tried(() => post(at(voice.name, "job"), { kind })).then(refresh);
  const load = async () => {
    state.reasons = state.reasons.silent ? state.reasons : (await get("/studio")).reasons;
    Object.assign(state, await get(at(voice.name, "clips")));
    state.rows = state.clips;
    showList(list, state, refresh, load);
  };
  let seen = "";
  return {
    update(now) {
      state.voice = now;
      const told = now.jobs.check;
      fillIfNew(head, [told, now.jobs.demo, now.busy, now.clips, now.changed], () => summary(now, start));
      pack.hidden = !now.clips || told?.state !== "done";
      fillIfNew(pack, [now.jobs.pack, now.busy, now.packed, now.changed], () => packing(now, start));
      const key = JSON.stringify([now.clips, now.seconds, told?.state, told?.started]);
      if (key !== seen) {
        seen = key;
        tried(load);
      }
    },
  };
}

function summary(voice, start) {
  const job = voice.jobs.check, demo = voice.jobs.demo;
  if (demo?.state === "running" || demo?.state === "failed") return [jobNote(demo)];
  const found = job?.state === "done" ? job.result : null;
  const left = found ? found.rows - found.utterances : 0;
  return h("section", { class: "card" },
    found ? h("dl", { class: "tiles" }, tile("check_usable", number(found.utterances)), tile("check_length", clock(found.seconds)),
      tile("check_errors", number(left)), tile("check_warnings", number(Object.values(found.warnings).reduce((sum, n) => sum + n, 0)))) : null,
    found ? h("div", { class: `note ${left ? "warn" : "good"}` }, left ? t("check_some", { n: left }) : t("check_sound")) : null,
    stale(job, voice), jobNote(job),
    voice.clips ? null : h("p", {}, t("check_nothing")),
    h("div", { class: "row" }, h("button", { type: "button", id: "check", class: found ? "" : "main", disabled: Boolean(voice.busy) || !voice.clips, onclick: () => start("check") },
      t(found ? "check_again" : "check_start"))));
}

const stale = (job, voice) => (job?.state === "done" && job.started < voice.changed ? h("div", { class: "note warn" }, t("check_stale")) : null);
const tile = (name, value) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, value));

function packing(voice, start) {
  const job = voice.jobs.pack, done = job?.state === "done" ? job.result : null;
  const size = done ? Object.values(done.bytes).reduce((sum, n) => sum + n, 0) / 1e6 : 0;
  return [h("h2", {}, t("pack_title")), h("p", {}, t("pack_lead")), jobNote(job),
    done ? h("div", { class: "note good" }, t("pack_done", { count: done.utterances, time: clock(done.audio_seconds), size: number(size, 1) })) : null, stale(job, voice),
    h("div", { class: "row" }, h("button", { type: "button", id: "pack", class: done ? "" : "main", disabled: Boolean(voice.busy), onclick: () => start("pack") }, t(done ? "pack_again" : "pack_start")))];
}

function showList(node, state, refresh, load) {
  const wrong = state.rows.filter((row) => row.problems.length || !row.text.trim());
  const rows = state.only ? wrong : state.rows;
  const filter = (only, words, count) => h("button", { type: "button", "aria-pressed": String(state.only === only), onclick: () => {
    state.only = only;
    showList(node, state, refresh, load);
  } }, `${words} (${number(count)})`);
  if (!state.rows.length) return fill(node);
  return fill(node, h("section", { class: "card" }, h("h2", {}, t("check_list")),
    h("div", { class: "chips" }, filter(false, t("check_all"), state.rows.length), filter(true, t("check_only_problems"), wrong.length)),
    state.others.length ? [h("h3", {}, t("check_whole")), h("ul", {}, state.others.slice(0, 20).map((each) => h("li", { class: "small" }, h("bdi", {}, each.id), " ", remark(each, state.reasons))))] : null,
    h("ul", { class: "clips" }, rows.slice(0, state.shown).map((row) => clip(row, state, refresh, load))),
    rows.length > state.shown ? h("button", { type: "button", onclick: () => {
      state.shown += ROWS;
      showList(node, state, refresh, load);
    } }, t("more", { n: Math.min(ROWS, rows.length - state.shown) })) : null));
}

function clip(row, state, refresh, load) {
  const { voice } = state, path = at(voice.name, "clips", row.id);
  const text = h("textarea", { rows: Math.max(1, Math.ceil(row.text.length / 60)), maxlength: 2000, value: row.text, "aria-label": t("check_text", { id: row.id }), placeholder: t("check_no_text"), readonly: !state.changeable,
    class: row.text.trim() ? "" : "none", lang: voice.language, dir: isRightToLeft(voice.language) ? "rtl" : "auto",
    onchange: () => tried(() => put(path, { text: text.value })) });
  return h("li", { "data-id": row.id }, playButton(path, row.text || row.id), text,
    h("div", { class: "end" }, row.seconds ? h("span", {}, t("seconds", { n: number(row.seconds, 1) })) : null,
      state.changeable ? [
        h("button", { type: "button", class: "quiet", "aria-label": `${t("check_redo")}: ${row.id}`, onclick: () => {
          sessionStorage.setItem("redo", JSON.stringify({ voice: voice.name, id: row.id, text: text.value }));
          go(`/v/${voice.name}/record`);
        } }, t("check_redo")),
        h("button", { type: "button", class: "quiet danger", "aria-label": `${t("delete")}: ${row.id}`, onclick: async () => {
          if (!confirm(t("check_delete_sure", { id: row.id }))) return;
          await tried(() => remove(path));
          refresh();
        } }, t("delete"))] : null),
    row.problems.length ? h("div", { class: "about" }, row.problems.map((each) => remark(each, state.reasons))) : null);
}

// What it is, in the reader's language, and the cure; the exact words of the check when pointed at.
function remark(problem, reasons) {
  const known = reasons[problem.reason] ?? { what: problem.reason, cure: "" };
  const what = has(`what_${problem.reason}`) ? t(`what_${problem.reason}`) : known.what;
  const cure = has(`cure_${problem.reason}`) ? t(`cure_${problem.reason}`) : known.cure;
  return h("div", {}, h("span", { class: `tag ${problem.kind}`, title: problem.message }, what), " ", h("span", { class: "muted" }, cure));
}
