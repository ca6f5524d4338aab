// The studio's own small API. Every failure is an Error whose message was written for people.

async function send(method, path, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: { "X-MyXTTS": "studio", ...headers } });
  } catch {
    throw Object.assign(new Error("offline"), { offline: true });
  }
  const text = await answer.text();
  let told = {};
  try {
    told = text ? JSON.parse(text) : {};
  } catch {
    told = { error: { message: `${answer.status} ${answer.statusText}` } };
  }
  if (!answer.ok) {
    const message = told.error?.message ?? `${answer.status} ${answer.statusText}`;
    throw Object.assign(new Error(message), { code: told.error?.code, status: answer.status });
  }
  return told;
}

const json = { "Content-Type": "application/json" };
export const get = (path) => send("GET", path);
export const post = (path, value) => send("POST", path, JSON.stringify(value), json);
export const put = (path, value) => send("PUT", path, JSON.stringify(value), json);
export const remove = (path) => send("DELETE", path);

export function upload(path, sound, name, fields) {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields)) form.append(key, value);
  form.append("sound", sound, name);
  return send("POST", path, form);
}

export const at = (voice, ...rest) => ["/studio/voices", voice, ...rest].map((part, n) => (n ? encodeURIComponent(part) : part)).join("/");
