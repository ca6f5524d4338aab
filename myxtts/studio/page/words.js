// Everything the page says, in the language of the reader.
import en from "./words.en.js";
import fa from "./words.fa.js";

const ALL = { en, fa };
let chosen = localStorage.getItem("language") ?? (navigator.language.startsWith("fa") ? "fa" : "en");
if (!ALL[chosen]) chosen = "en";

export const language = () => chosen;
export const direction = () => (chosen === "fa" ? "rtl" : "ltr");

export function setLanguage(name) {
  chosen = name;
  localStorage.setItem("language", name);
}

// t("clips", {count: 3}) fills {count}, and {count|clip|clips} by whether it is one; numbers are written in the reader's digits.
export function t(key, values = {}) {
  const text = ALL[chosen][key] ?? ALL.en[key] ?? key;
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) => {
    const value = values[name];
    if (one !== undefined) return value === 1 ? one : many;
    return typeof value === "number" ? number(value) : String(value ?? "");
  });
}

export const has = (key) => key in ALL[chosen];

export function number(value, digits = 0) {
  return new Intl.NumberFormat(chosen, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
}

export const percent = (value) => new Intl.NumberFormat(chosen, { style: "percent", maximumFractionDigits: value < 0.1 ? 1 : 0 }).format(value);

// 3:07, or 1:02:09
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n) => new Intl.NumberFormat(chosen, { minimumIntegerDigits: 2 }).format(n);
  return parts[0] ? `${number(parts[0])}:${two(parts[1])}:${two(parts[2])}` : `${number(parts[1])}:${two(parts[2])}`;
}

// "about 7 minutes": as exact as a guess is
export function roughly(seconds) {
  if (seconds < 90) return t("about_seconds", { n: Math.max(10, Math.round(seconds / 10) * 10) });
  if (seconds < 5400) return t("about_minutes", { n: Math.round(seconds / 60) });
  return t("about_hours", { n: Number((seconds / 3600).toFixed(seconds < 36000 ? 1 : 0)) });
}

export function languageName(code) {
  try {
    return new Intl.DisplayNames([chosen], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export const isRightToLeft = (code) => /^(fa|ar|he|ur|ps|sd|ug|yi)\b/.test(code);
