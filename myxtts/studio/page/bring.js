// Recordings that are there already: sound files with their texts, dropped or chosen.
import { at, upload } from "./api.js";
import { say } from "./app.js";
import { fill, h } from "./dom.js";
import { decodeHere } from "./wav.js";
import { number, t } from "./words.js";

const SOUND = /\.(wav|flac|ogg|opus|mp3)$/i; // which the server decodes
const OTHER_SOUND = /\.(m4a|aac|mp4|webm|3gp|mka)$/i; // which the browser may
const TEXT = /\.(txt|lab)$/i;
const TABLE = /\.(csv|tsv|psv)$|(^|\/)metadata\.txt$/i;

const stem = (name) => name.split("/").pop().replace(/\.[^.]+$/, "").toLowerCase();

export function bring(voice, refresh) {
  const files = h("input", { type: "file", multiple: true, accept: "audio/*,.txt,.csv,.tsv,.lab", hidden: true, id: "files" });
  const folder = h("input", { type: "file", webkitdirectory: true, multiple: true, hidden: true });
  const told = h("div", { role: "status" });
  const take = async (list) => {
    await sendAll(voice, list, told);
    refresh();
  };
  for (const input of [files, folder]) input.addEventListener("change", () => take([...input.files]));
  const zone = h("div", { class: "drop" }, h("p", { class: "muted" }, t("bring_drop")),
    h("div", { class: "row centre" },
      h("button", { type: "button", onclick: () => files.click() }, t("bring_choose")),
      h("button", { type: "button", onclick: () => folder.click() }, t("bring_choose_folder"))), files, folder);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    take(entries.length ? (await Promise.all(entries.map(filesOf))).flat() : [...event.dataTransfer.files]);
  });
  return h("section", { class: "card" }, h("h2", {}, t("bring_title")), h("p", {}, t("bring_lead")), zone, told);
}

async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((done, failed) => entry.file(done, failed))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) break;
    found.push(...(await Promise.all(some.map(filesOf))));
  }
  return found.flat();
}

async function textsOf(files) {
  const texts = new Map();
  for (const file of files) {
    const name = file.webkitRelativePath || file.name;
    if (TABLE.test(name)) for (const [key, text] of rowsOf(await file.text())) texts.set(key, text);
    else if (TEXT.test(name)) texts.set(stem(name), (await file.text()).trim());
  }
  return texts;
}

// name|text, name<tab>text or name,"text": with or without a first line of names. The second cell is the text.
function rowsOf(table) {
  const lines = table.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line.trim());
  const mark = ["|", "\t"].find((each) => lines[0]?.includes(each)) ?? ",";
  return lines.map((line) => {
    const at_ = line.indexOf(mark);
    const text = mark === "," ? unquoted(line.slice(at_ + 1)) : line.slice(at_ + 1).split(mark)[0];
    return [stem(unquoted(line.slice(0, at_))), text.trim()];
  }).filter(([name]) => name);
}

const unquoted = (cell) => {
  const inside = cell.trim().match(/^"((?:[^"]|"")*)"/);
  return inside ? inside[1].replaceAll('""', '"') : cell.trim();
};

async function sendAll(voice, files, told) {
  const texts = await textsOf(files);
  const sounds = files.filter((file) => SOUND.test(file.name) || OTHER_SOUND.test(file.name));
  const refused = [];
  let without = 0;
  const bar = Object.assign(h("progress", { "aria-label": t("bring_title") }), { max: sounds.length, value: 0 });
  const count = h("p", {});
  fill(told, count, bar);
  for (const [n, file] of sounds.entries()) {
    count.textContent = t("bring_going", { done: n, total: sounds.length });
    try {
      const text = texts.get(stem(file.name)) ?? "";
      const sound = SOUND.test(file.name) ? file : await decodeHere(file);
      await upload(at(voice.name, "clips"), sound, file.name, { text });
      without += text ? 0 : 1;
    } catch (error) {
      refused.push(t("bring_refused", { name: file.name, why: error.offline ? t("offline") : error.message }));
    }
    bar.value = n + 1;
  }
  fill(told, h("p", {}, t("bring_done", { n: sounds.length - refused.length }), " ", without ? t("bring_without_text", { n: without }) : ""),
    refused.length ? h("ul", { class: "small" }, refused.slice(0, 20).map((line) => h("li", { dir: "auto" }, line))) : null,
    refused.length > 20 ? h("p", {}, number(refused.length)) : null);
  if (!sounds.length) say(t("bring_done", { n: 0 }));
}
