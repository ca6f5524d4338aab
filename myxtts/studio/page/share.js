// What judges say, the voice as a file, and the address for programs.
import { at, post } from "./api.js";
import { jobNote, say, tried } from "./app.js";
import { fill, fillIfNew, h } from "./dom.js";
import { number, t } from "./words.js";

const MEASURES = { distillmos: 2, dnsmos_overall: 2, wer: 3, similarity: 2 };

export function share(body, voice, refresh) {
  const state = { chosen: null, sentences: 12 };
  const content = h("div", {});
  fill(body, h("h1", { tabindex: "-1" }, t("share_title")), h("p", { class: "lead" }, t("share_lead")), content);
  const update = (now) => {
    const runs = now.runs.filter((run) => run.speaks);
    const run = runs.find((each) => each.name === state.chosen) ?? runs[0];
    fillIfNew(content, [runs.map((each) => each.name), run?.name, run?.evaluation, run?.heard, Boolean(now.busy)], () => {
      if (!run) return h("div", { class: "note warn" }, t("share_need_run"), " ", h("a", { href: `#/v/${now.name}/train` }, t("step_train")));
      const which = runs.length > 1 ? [h("label", { for: "share-run" }, t("share_run")), h("select", { id: "share-run", onchange: (event) => { state.chosen = event.target.value; update(now); } },
        runs.map((each) => h("option", { value: each.name, selected: each.name === run.name }, t("train_run", { n: Number(each.name.split("-").pop()) }))))] : null;
      return [which, judges(now, run, state, refresh), takeAway(now, run), programs(now, run)];
    });
  };
  return { update };
}

function judges(voice, run, state, refresh) {
  const found = run.evaluation?.state === "done" ? run.evaluation.result : null;
  const count = h("input", { type: "number", id: "sentences", min: 1, max: 500, value: state.sentences, onchange: () => { state.sentences = Number(count.value) || 1; } });
  const missing = Object.keys(found?.missing ?? {}).join(", ");
  return h("section", { class: "card" }, h("h2", {}, t("judge_title")), h("p", {}, t("judge_lead")), jobNote(run.evaluation),
    found ? scores(found.scores) : null,
    missing ? h("p", { class: "hint" }, t("judge_missing", { judges: missing })) : null,
    run.heard ? h("p", {}, h("a", { href: at(voice.name, "runs", run.name, "pages", "evaluation"), target: "_blank", rel: "noopener" }, t("judge_page"))) : null,
    h("label", { for: "sentences" }, t("judge_sentences")), count,
    h("div", { class: "row" }, h("button", { type: "button", id: "evaluate", disabled: Boolean(voice.busy), onclick: async () => {
      await tried(() => post(at(voice.name, "job"), { kind: "evaluate", run: run.name, sentences: state.sentences }));
      refresh();
    } }, t("judge_start", { n: state.sentences }))));
}

function scores(all) {
  const rows = Object.entries(MEASURES).filter(([key]) => key in all);
  const cell = (value, digits) => h("td", {}, value == null ? "" : number(value, digits));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("judge_title") }, h("table", { id: "scores" },
    h("thead", {}, h("tr", {}, ["judge_measure", "judge_spoken", "judge_copy", "judge_real"].map((key) => h("th", { scope: "col" }, t(key))))),
    h("tbody", {}, rows.map(([key, digits]) => h("tr", {}, h("th", { scope: "row" }, t(`measure_${key}`)),
      cell(all[key].synthetic, digits), cell(all[key].copy, digits), cell(all[key].real, digits))))));
}

const takeAway = (voice, run) => h("section", { class: "card" }, h("h2", {}, t("download_title")), h("p", {}, t("download_lead")),
  h("div", { class: "row" }, h("a", { class: "button main", id: "download", href: at(voice.name, "runs", run.name, "download"), download: `${voice.name}-${run.name}.zip` }, t("download"))));

function programs(voice, run) {
  const model = `${voice.name}.${run.name}`;
  const curl = `curl ${location.origin}/v1/audio/speech -o hello.mp3 \\\n  -H 'Content-Type: application/json' \\\n  -d '{"model": "${model}", "input": "Hello.", "voice": "default"}'`;
  return h("section", { class: "card" }, h("h2", {}, t("serve_title")), h("p", {}, t("serve_lead")),
    h("pre", { id: "address", tabindex: "0" }, `${location.origin}/v1`), h("p", { class: "label" }, t("serve_model")), h("pre", { tabindex: "0" }, model), h("pre", { tabindex: "0" }, curl),
    h("div", { class: "row" }, h("button", { type: "button", onclick: async () => {
      await navigator.clipboard.writeText(curl);
      say(t("copied"));
    } }, t("copy"))),
    h("p", { class: "label" }, t("serve_later")), h("pre", { tabindex: "0" }, `myxtts serve ${model}=${voice.folder}/runs/${run.name}`));
}
