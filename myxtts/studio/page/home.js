// The first page: the voices that there are, and how to begin one.
import { at, get, post, remove } from "./api.js";
import { go, tried } from "./app.js";
import { fill, h } from "./dom.js";
import { clock, language, languageName, t } from "./words.js";

const FIRST = ["en-us", "fa", "en-gb", "de", "fr-fr", "es", "it", "pt-br", "ru", "ar", "tr", "cmn", "hi"];
const DEMO_CLIPS = 300;

export async function home(main) {
  const studio = (await tried(() => get("/studio"))) ?? { voices: [], languages: { "en-us": "" } };
  fill(main,
    h("div", { class: "hero" }, h("h1", { tabindex: "-1" }, t("home_title")), h("p", {}, t("home_lead"))),
    studio.voices.length ? voices(studio.voices, main) : null,
    h("div", { class: "columns section" }, form(studio), demo()),
    h("p", { class: "muted small section" }, h("bdi", {}, studio.folder ?? "")));
  main.querySelector("h1").focus();
  return {};
}

const voices = (all, main) => h("section", { class: "section" }, h("h2", {}, t("your_voices")),
  h("ul", { class: "voices" }, all.map((voice) => h("li", {}, h("a", { href: `#/v/${voice.name}/${voice.clips ? (voice.runs ? "speak" : "check") : "record"}` },
    h("strong", {}, h("bdi", {}, voice.title)),
    h("span", { class: "muted" }, languageName(voice.language)),
    h("p", { class: "small" }, voice.clips ? t("card_clips", { count: voice.clips, time: clock(voice.seconds) }) : t("card_empty"),
      voice.runs ? ` · ${t("card_runs", { count: voice.runs })}` : ""),
    voice.busy ? h("p", { class: "small" }, t("card_busy", { what: t(`kind_${voice.busy.kind}`) })) : null),
  h("button", { type: "button", class: "quiet danger small", "aria-label": `${t("delete")}: ${voice.title}`, disabled: Boolean(voice.busy), onclick: () => discard(voice, main) }, t("delete"))))));

async function discard(voice, main) {
  if (!confirm(t("voice_delete_sure", { voice: voice.title, clips: voice.clips, runs: voice.runs }))) return;
  if (!(await tried(() => remove(at(voice.name))))) return;
  localStorage.removeItem(`spoken ${voice.name}`); // another voice may get its name
  await home(main);
}

function form(studio) {
  const title = h("input", { type: "text", id: "title", required: true, maxlength: 80, placeholder: t("voice_title_hint"), autocomplete: "off" });
  const spoken = h("select", { id: "spoken" }, languages(studio.languages));
  spoken.value = language() === "fa" && "fa" in studio.languages ? "fa" : "en-us";
  const consent = h("input", { type: "text", id: "consent", required: true, maxlength: 500, autocomplete: "off", "aria-describedby": "consent-hint" });
  const agree = h("input", { type: "checkbox", id: "agree", required: true });
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const made = await tried(() => post("/studio/voices", { title: title.value, language: spoken.value, consent: consent.value }));
    if (made) go(`/v/${made.name}/record`);
  } },
  h("h2", {}, t("new_voice")),
  h("label", { for: "title" }, t("voice_title")), title,
  h("label", { for: "spoken" }, t("voice_language")), spoken,
  h("label", { for: "consent" }, t("voice_consent")), consent, h("p", { class: "hint", id: "consent-hint" }, t("voice_consent_hint")),
  h("label", { class: "tick", for: "agree" }, agree, t("voice_agree")),
  h("div", { class: "row" }, h("button", { class: "main" }, t("create"))));
}

// Those that many people look for first, then the others by their names.
function languages(known) {
  const named = Object.keys(known).map((code) => [code, languageName(code)]);
  const first = FIRST.filter((code) => code in known).map((code) => [code, languageName(code)]);
  const others = named.filter(([code]) => !FIRST.includes(code)).sort((one, other) => one[1].localeCompare(other[1], language()));
  return [...first, ...others].map(([code, name]) => h("option", { value: code }, name));
}

function demo() {
  const count = h("input", { type: "number", id: "demo-count", min: 1, max: 5000, value: DEMO_CLIPS });
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const made = await tried(() => post("/studio/voices", { title: t("demo_name"), language: "en-us", consent: t("demo_consent") }));
    if (!made) return;
    await tried(() => post(at(made.name, "job"), { kind: "demo", utterances: Number(count.value), engine: "hibari" }));
    go(`/v/${made.name}/check`);
  } },
  h("h2", {}, t("demo_title")), h("p", {}, t("demo_lead")),
  h("label", { for: "demo-count" }, t("demo_count")), count,
  h("div", { class: "row" }, h("button", {}, t("demo_start"))));
}
