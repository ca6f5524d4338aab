// Write something and hear it, by any training, like any voice; beside the real recording.
import { at, get, post } from "./api.js";
import { onward, tried } from "./app.js";
import { fill, h } from "./dom.js";
import { playButton } from "./player.js";
import { isRightToLeft, languageName, number, t } from "./words.js";

export function speak(body, voice) {
  const state = { voice, models: [], voices: [], real: null };
  const text = h("textarea", { id: "text", maxlength: 1000, dir: "auto", required: true });
  const model = h("select", { id: "model" }), like = h("select", { id: "like" }), spoken = h("select", { id: "spoken-language" });
  const speed = h("input", { type: "range", id: "speed", min: 0.5, max: 2, step: 0.05, value: 1, "aria-describedby": "speed-now" });
  const speedNow = h("output", { id: "speed-now", for: "speed" }, number(1, 2));
  const said = h("p", { class: "hint", role: "status" });
  const history = h("ul", { class: "spoken" });
  const button = h("button", { class: "main", id: "speak" }, t("speak_start"));
  const card = h("section", { class: "card", hidden: true }, h("h2", {}, t("speak_history")), history);
  speed.addEventListener("input", () => { speedNow.textContent = number(Number(speed.value), 2); });
  const settle = () => showChoices(state, model, like, spoken);
  model.addEventListener("change", settle);
  text.addEventListener("input", () => { state.real = null; });

  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.textContent = t("speak_working");
    const wish = { model: model.value, text: text.value, language: spoken.value, speed: Number(speed.value), like: like.value || null };
    const told = await tried(() => post("/studio/speak", wish));
    button.disabled = false;
    said.textContent = "";
    if (!told) return;
    localStorage.setItem(`spoken ${voice.name}`, "yes");
    card.hidden = false;
    history.prepend(result(told, wish, state, model.selectedOptions[0].textContent));
  };
  fill(body, h("h1", { tabindex: "-1" }, t("speak_title")), h("p", { class: "lead" }, t("speak_lead")),
    h("form", { class: "card", onsubmit: submit },
      h("label", { for: "text" }, t("speak_text")), text,
      voice.clips ? h("button", { type: "button", class: "small", id: "take", onclick: () => takeSentence(state, text) }, t("speak_take")) : null,
      h("div", { class: "two" },
        h("div", {}, h("label", { for: "model" }, t("speak_model")), model), h("div", {}, h("label", { for: "like" }, t("speak_like")), like),
        h("div", {}, h("label", { for: "spoken-language" }, t("speak_language")), spoken),
        h("div", {}, h("label", { for: "speed" }, t("speak_speed"), " ", speedNow), speed)),
      h("div", { class: "row" }, button, said)),
    card, onward(voice, "share"));
  tried(async () => {
    const [known, studio, read] = await Promise.all([get("/studio/models"), get("/studio"), get(at(voice.name, "sentences"))]);
    text.value ||= read.sentences[0] ?? "";
    Object.assign(state, { models: known.models, voices: studio.voices });
    fill(model, ordered(state).map((each) => h("option", { value: each.id }, modelName(each.id, studio.voices))));
    settle();
  });
  return {};
}

// The newest training of this voice first, then its others, then the base voice, then those of other voices.
function ordered({ models, voice }) {
  const rank = ({ id }) => (id.startsWith(`${voice.name}.`) ? 0 : id === "base" ? 1 : 2);
  return [...models].sort((one, other) => rank(one) - rank(other) || other.created - one.created);
}

export function modelName(id, voices) {
  if (id === "base") return t("model_base");
  const [name, run] = id.split(".");
  return t("model_run", { voice: voices.find((each) => each.name === name)?.title ?? name, n: Number(run.split("-").pop()) });
}

function showChoices(state, model, like, spoken) {
  const chosen = state.models.find((each) => each.id === model.value);
  if (!chosen) return;
  const before = like.value, wanted = spoken.value || state.voice.language;
  const own = state.voices.filter((each) => each.clips).sort((one, other) => (other.name === state.voice.name) - (one.name === state.voice.name));
  fill(like, chosen.own_voice ? h("option", { value: "" }, t("like_own")) : null,
    own.map((each) => h("option", { value: each.name }, t("like_voice", { voice: each.title }))));
  // The base voice is there to imitate: it begins with the recordings of this voice.
  if ([...like.options].some((each) => each.value === before) && before) like.value = before;
  else if (chosen.id === "base" && state.voice.clips) like.value = state.voice.name;
  fill(spoken, chosen.languages.map((code) => h("option", { value: code }, languageName(code))));
  spoken.value = chosen.languages.includes(wanted) ? wanted : chosen.main_language;
}

async function takeSentence(state, text) {
  const told = await tried(() => get(at(state.voice.name, "clips")));
  const rows = told?.clips.filter((row) => row.text.trim() && row.text.length < 300) ?? [];
  if (!rows.length) return;
  const row = rows[Math.floor(Math.random() * rows.length)];
  text.value = row.text;
  state.real = row;
}

function result(told, wish, state, name) {
  const source = `/studio/spoken/${told.id}`, real = state.real;
  return h("li", {}, h("blockquote", { lang: wish.language, dir: isRightToLeft(wish.language) ? "rtl" : "auto" }, wish.text),
    h("p", { class: "small muted" }, name, " · ", t("speak_took", { seconds: number(told.seconds, 1), ms: told.spoken_ms })),
    told.skipped ? h("p", { class: "tag" }, t("speak_skipped", { symbols: told.skipped })) : null,
    told.warnings.length ? h("div", { class: "note warn" }, t("speak_doubt"), h("ul", { lang: "en", dir: "ltr" }, told.warnings.map((each) => h("li", { class: "small" }, each)))) : null,
    h("audio", { controls: true, autoplay: !real, src: source, "aria-label": wish.text.slice(0, 80) }),
    h("div", { class: "row" },
      real ? [playButton(source, wish.text, t("compare_spoken")), playButton(at(state.voice.name, "clips", real.id), wish.text, t("compare_real"))] : null,
      h("a", { class: "button quiet", href: source, download: "spoken.wav" }, t("speak_download"))));
}
