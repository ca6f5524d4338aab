// Sentences to read, one after the other; and recordings that are there already.
import { at, get, post, upload } from "./api.js";
import { onward, say, tried } from "./app.js";
import { bring } from "./bring.js";
import { fill, fillIfNew, h } from "./dom.js";
import { Recorder } from "./recorder.js";
import { clock, isRightToLeft, languageName, t } from "./words.js";

const GOAL_SECONDS = 600;
const QUIET = 0.06; // peaks below this are near the noise of a cheap microphone
const LOUD = 0.985;

export function record(body, voice, refresh) {
  const redo = JSON.parse(sessionStorage.getItem("redo") ?? "null");
  sessionStorage.removeItem("redo");
  const state = { voice, refresh, take: null, sentences: redo ? [redo.text] : [], redo: redo?.voice === voice.name ? redo : null, fetched: false };
  const total = h("div", {});
  const desk = voice.changeable ? new Desk(state) : null;
  fill(body,
    h("h1", { tabindex: "-1" }, t("record_title")), h("p", { class: "lead" }, t("record_lead")), total,
    desk ? [desk.node, bring(voice, refresh), ownText(voice, desk)] : h("div", { class: "note" }, t("bring_read_only")),
    onward(voice, "check"));
  desk?.open();
  return { update: (now) => fillIfNew(total, [now.clips, now.seconds], () => progress(now)), leave: () => desk?.close() };
}

function progress(voice) {
  const hint = voice.seconds >= GOAL_SECONDS / 2 ? "record_hint_enough" : voice.clips ? (voice.clips < 3 ? "record_hint_one" : "record_hint_few") : null;
  const bar = Object.assign(h("progress", { "aria-label": t("record_goal_label") }), { max: GOAL_SECONDS, value: Math.min(voice.seconds, GOAL_SECONDS) });
  return h("div", { class: "note" }, h("p", { id: "so-far" }, t("record_count", { clips: voice.clips, time: clock(voice.seconds) }), " · ", t("record_goal", { time: clock(GOAL_SECONDS) })),
    bar, hint ? h("p", { class: "small" }, t(hint)) : null);
}

class Desk {
  constructor(state) {
    this.state = state;
    this.recorder = new Recorder((peak) => this.level(peak));
    this.prompt = h("p", { class: "prompt", id: "prompt", lang: state.voice.language, dir: isRightToLeft(state.voice.language) ? "rtl" : "ltr" });
    this.fillMeter = h("i");
    this.meter = h("div", { class: "meter", "aria-hidden": "true" }, this.fillMeter);
    this.said = h("p", { class: "said small muted", role: "status" }, t("record_allow"));
    this.button = h("button", { type: "button", class: "round", id: "record", disabled: true, onclick: () => this.toggle() }, t("record_start"));
    this.after = h("div", { hidden: true });
    this.node = h("section", { class: "card recorder", "aria-label": t("record_sentence") },
      this.state.redo ? h("p", { class: "tag" }, t("record_redo", { id: this.state.redo.id })) : null,
      this.prompt, this.meter, this.said, h("div", { class: "row centre" }, this.button), this.after,
      h("div", { class: "row centre" }, h("button", { type: "button", class: "quiet", onclick: () => this.next() }, t("record_other"))),
      h("p", { class: "small muted said" }, t("record_keys")));
    this.keys = (event) => this.key(event);
    this.shown = 0;
  }

  async open() {
    document.addEventListener("keydown", this.keys);
    if (!this.state.sentences.length) await this.fetch();
    this.show();
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    this.recorder.close();
    if (this.url) URL.revokeObjectURL(this.url);
  }

  async fetch() {
    const told = await tried(() => get(at(this.state.voice.name, "sentences")));
    this.state.fetched = true;
    this.state.sentences = told?.sentences ?? [];
  }

  use(sentences) {
    this.state.sentences = sentences;
    this.show();
  }

  show() {
    const [text] = this.state.sentences;
    const none = this.state.voice.clips ? t("record_all_read") : t("record_none", { language: languageName(this.state.voice.language) });
    this.prompt.textContent = text ?? none;
    this.button.disabled = !text;
  }

  async next() {
    this.drop();
    this.state.sentences.shift();
    this.state.redo = null;
    if (!this.state.sentences.length) await this.fetch();
    this.show();
  }

  async toggle() {
    if (this.recorder.recording) return this.finish();
    this.drop();
    try {
      await this.recorder.start();
    } catch (error) {
      return say(t("record_no_microphone", { why: error.message }), { error: true });
    }
    this.button.classList.add("on");
    this.button.textContent = t("record_stop");
    this.said.textContent = "";
  }

  finish() {
    this.take = this.recorder.stop();
    this.button.classList.remove("on");
    this.button.textContent = t("record_start");
    this.url = URL.createObjectURL(this.take.blob);
    this.said.textContent = t(this.take.peak < 0.01 ? "record_silent" : this.take.clipped ? "record_loud" : this.take.peak < QUIET ? "record_quiet" : "record_good");
    fill(this.after, h("audio", { controls: true, src: this.url, "aria-label": t("record_listen") }),
      h("div", { class: "row centre" },
        h("button", { type: "button", class: "main", id: "keep", onclick: () => this.keep() }, t("record_keep")),
        h("button", { type: "button", onclick: () => this.toggle() }, t("record_again"))));
    this.after.hidden = false;
    this.after.querySelector("#keep").focus();
  }

  drop() {
    this.take = null;
    this.after.hidden = true;
    fill(this.after);
  }

  async keep() {
    if (!this.take || this.saving) return;
    this.saving = true;
    this.said.textContent = t("record_saving");
    const fields = { text: this.state.sentences[0], instead_of: this.state.redo?.id ?? "" };
    const added = await tried(() => upload(at(this.state.voice.name, "clips"), this.take.blob, "read.wav", fields));
    this.saving = false;
    this.said.textContent = added ? t("record_saved") : "";
    if (!added) return;
    await this.next();
    this.state.refresh();
    this.button.focus();
  }

  level(peak) {
    // Decibels, because loudness is heard so: -50 dB is the left end.
    const part = Math.max(0, Math.min(1, 1 + (20 * Math.log10(peak + 1e-6)) / 50));
    this.fillMeter.style.transform = `scaleX(${part.toFixed(3)})`;
    this.meter.classList.toggle("loud", peak >= LOUD);
    this.meter.classList.toggle("quiet", peak < QUIET);
  }

  key(event) {
    const typing = event.target.closest("input, textarea, select, summary, audio, a");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || this.button.disabled) return;
    const onButton = event.target.closest("button");
    if (event.code === "Space" && !onButton) {
      event.preventDefault();
      this.toggle();
    } else if (event.code === "Enter" && !onButton && this.take) this.keep();
    else if (event.code === "KeyR" && this.take) this.toggle();
  }
}

function ownText(voice, desk) {
  const text = h("textarea", { id: "own-text", dir: isRightToLeft(voice.language) ? "rtl" : "auto", lang: voice.language });
  return h("details", {}, h("summary", {}, t("record_own")),
    h("label", { for: "own-text" }, t("record_own_hint")), text,
    h("div", { class: "row" }, h("button", { type: "button", onclick: async () => {
      const told = await tried(() => post(at(voice.name, "split"), { text: text.value }));
      if (told?.sentences.length) {
        desk.use(told.sentences);
        scrollTo({ top: 0 });
      }
    } }, t("record_own_use"))));
}
