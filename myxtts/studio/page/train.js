// How long to train, and a training as it goes on.
import { at, get, post, remove } from "./api.js";
import { jobNote, onward, tried } from "./app.js";
import { curve, shares } from "./chart.js";
import { fill, fillIfNew, h } from "./dom.js";
import { playButton } from "./player.js";
import { language, number, percent, roughly, t } from "./words.js";

export function train(body, voice, refresh) {
  const state = { voice, chosen: null, plans: null };
  const live = h("div", {}), begin = h("div", {});
  fill(body, h("h1", { tabindex: "-1" }, t("train_title")), h("p", { class: "lead" }, t("train_lead")), live, begin, onward(voice, "speak"));
  tried(async () => {
    state.plans = await get("/studio/plans");
    showForm(begin, state, refresh);
  });
  const update = (now) => {
    state.voice = now;
    const shown = now.runs.find((run) => run.name === state.chosen) ?? now.runs[0];
    if (shown) tried(async () => {
      const run = await get(at(now.name, "runs", shown.name));
      if (live.isConnected) showRun(live, state, run, refresh, (name) => { state.chosen = name; update(state.voice); });
    });
    showForm(begin, state, refresh);
  };
  return { update };
}

const numberOf = (run) => Number(run.name.split("-").pop());

function showForm(node, state, refresh) {
  const { voice, plans } = state;
  if (!plans) return;
  fillIfNew(node, [voice.packed, Boolean(voice.busy), voice.runs.length, language()], () => {
    if (!voice.packed) return h("div", { class: "note warn" }, t("train_need_pack"), " ", h("a", { href: `#/v/${voice.name}/check` }, t("step_check")));
    return form(state, refresh);
  });
}

function form({ voice, plans }, refresh) {
  const preset = h("select", { id: "preset" }, Object.keys(plans.presets).map((name) => h("option", { value: name }, t(`preset_${name}`))));
  const own = h("input", { type: "number", id: "own-steps", min: 1, max: 10000000, value: 1000, "aria-label": t("train_steps") });
  const about = h("p", { class: "hint", id: "predicted" });
  const times = {};
  const choice = (name, steps) => {
    times[name] = h("em", {});
    const radio = h("input", { type: "radio", name: "length", value: name, checked: name === "usual" });
    return h("label", { class: "choice" }, radio, h("b", {}, t(`length_${name}`)), times[name],
      name === "own" ? own : [h("span", {}, t(`length_${name}_why`)), h("br"), h("span", {}, `${number(steps)} ${t("train_steps")}`)]);
  };
  const lengths = h("fieldset", { class: "choices" }, h("legend", {}, t("train_length")),
    Object.entries(plans.lengths).map(([name, steps]) => choice(name, steps)), choice("own"));
  const stepsOf = (name) => (name === "own" ? Number(own.value) || 1 : plans.lengths[name]);
  const predict = () => {
    const plan = plans.presets[preset.value];
    for (const [name, node] of Object.entries(times)) {
      node.textContent = plan.seconds_a_step ? roughly(stepsOf(name) * plan.seconds_a_step + plans.preparing_seconds) : "";
    }
    const source = plan.seconds_a_step ? (plan.measured ? "predicted_measured" : "predicted_recorded") : "predicted_none";
    about.textContent = `${t("train_batch", { n: plan.batch })}. ${t(source)}`;
  };
  preset.addEventListener("change", predict);
  own.addEventListener("input", () => { lengths.querySelector('[value="own"]').checked = true; predict(); });
  own.addEventListener("focus", () => { lengths.querySelector('[value="own"]').checked = true; });
  predict();
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const chosen = lengths.querySelector(":checked").value;
    await tried(() => post(at(voice.name, "job"), { kind: "train", steps: stepsOf(chosen), preset: preset.value }));
    refresh();
    scrollTo({ top: 0 });
  } }, h("h2", {}, t("train_new")), lengths, h("label", { for: "preset" }, t("train_preset")), preset, about,
  h("div", { class: "row" }, h("button", { class: "main", id: "start", disabled: Boolean(voice.busy) }, t("train_start"))));
}

function showRun(node, state, run, refresh, choose) {
  if (!node.firstChild) {
    state.parts = { head: h("div", {}), numbers: h("div", {}), sounds: h("div", {}) };
    fill(node, h("section", { class: "card" }, state.parts.head, state.parts.numbers, state.parts.sounds));
  }
  const { head, numbers, sounds } = state.parts;
  const running = run.job?.state === "running";
  fillIfNew(head, [run.name, run.job, run.live.step, state.voice.runs.length, Boolean(state.voice.busy)], () => headOf(state, run, running, refresh, choose));
  fillIfNew(numbers, [run.name, run.live], () => numbersOf(run.live));
  fillIfNew(sounds, [run.name, run.samples, run.report], () => soundsOf(state.voice, run));
}

function headOf(state, run, running, refresh, choose) {
  const { voice } = state, job = run.job, { step = 0, seconds_a_step: pace } = run.live;
  const total = job?.steps, left = total && pace && running ? Math.max(total - step, 0) * pace : null;
  const bar = h("progress", { "aria-label": t("train_run", { n: numberOf(run) }) });
  if (step) Object.assign(bar, { max: total || step, value: step });
  const which = voice.runs.length > 1 ? h("select", { "aria-label": t("train_runs"), id: "run", onchange: (event) => choose(event.target.value) },
    voice.runs.map((each) => h("option", { value: each.name, selected: each.name === run.name }, t("train_run", { n: numberOf(each) })))) : null;
  const act = (work) => async () => { await tried(work); refresh(); };
  const resume = (steps) => act(() => post(at(voice.name, "job"), { kind: "train", run: run.name, steps }));
  const told = step ? [t("train_step", { done: step, total: total ?? step }), left ? t("train_left", { time: roughly(left) }) : null] : [running ? t("train_compiling") : null];
  const buttons = running
    ? [h("button", { type: "button", id: "stop", onclick: act(() => remove(at(voice.name, "job"))) }, t("train_stop"))]
    : [total && step < total ? h("button", { type: "button", class: "main", id: "resume", disabled: Boolean(voice.busy), onclick: resume(total) }, t("train_resume")) : null,
      total && step >= total ? h("button", { type: "button", id: "resume", disabled: Boolean(voice.busy), onclick: resume(total + Math.max(total, 100)) }, t("train_resume_more", { n: Math.max(total, 100) })) : null];
  return [h("h2", {}, t("train_run", { n: numberOf(run) }), " · ", h("span", { class: "muted", id: "state" }, t(`state_${job?.state ?? "done"}`))), which,
    h("p", {}, told.filter(Boolean).join(" · ")), running || step ? bar : null,
    running && job.stop_asked ? h("p", { class: "hint" }, t("train_stopping")) : null,
    job?.state === "failed" ? jobNote(job) : null, h("div", { class: "row" }, buttons)];
}

function numbersOf(live) {
  if (!live.curve?.length) return [];
  return [h("h3", { class: "charts" }, t("train_loss")), curve(live.curve, live.validations), live.validations.length ? h("p", { class: "hint" }, t("train_loss_best")) : null,
    h("div", { class: "grid2" },
      h("div", {}, h("h3", {}, t("train_time")), shares(live.parts),
        h("p", { class: "hint" }, [live.seconds_a_step ? t("train_pace", { s: number(live.seconds_a_step, 2) }) : null, live.epochs ? t("train_epochs", { n: number(live.epochs, 1) }) : null].filter(Boolean).join(" · "))),
      h("div", {}, h("h3", {}, t("train_doctor")), verdict(live.verdict)))];
}

function verdict(found) {
  if (!found) return h("p", { class: "muted" }, t("verdict_early"));
  const words = t(`verdict_${found.verdict}`, { stall: percent(found.stall) });
  return h("div", { class: `note ${found.healthy ? "good" : "warn"}`, id: "verdict" }, h("b", {}, words),
    h("p", { class: "small" }, t("verdict_step", { data: number(found.data_ms, 1), compute: number(found.compute_ms, 0) })),
    found.healthy ? null : [h("ul", { class: "small", lang: "en", dir: "auto" }, found.advice.map((line) => h("li", {}, line))), h("p", { class: "small" }, t("verdict_more"))]);
}

function soundsOf(voice, run) {
  const path = (name) => at(voice.name, "runs", run.name, "samples", name);
  return [h("div", { class: "grid2" }, h("div", {}, h("h3", {}, t("train_samples")),
    run.samples.length ? h("ul", { class: "sounds" }, run.samples.slice(0, 6).map((each) => h("li", {}, playButton(path(each.name), t("train_sample", each)), h("span", {}, t("train_sample", each))))) : h("p", { class: "hint" }, t("train_samples_none"))),
  run.report ? h("p", {}, h("a", { href: at(voice.name, "runs", run.name, "pages", "report"), target: "_blank", rel: "noopener" }, t("train_report"))) : null)];
}

