// Requests to the server. Errors carry its message and its help.

// Where the token is kept: by this tab, for this origin, which includes the port. Other servers on this machine, on other
// ports, do not get it, as they would get a cookie.
const TOKEN = "mercer-token";

// Takes the token from the fragment of the address, which is not sent to any server, and hides it there.
export function keepToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, "", "/");
}

export class Refused extends Error {
  constructor({ error, help }) {
    super(error);
    this.help = help;
  }
}

async function answered(response) {
  if (response.ok) return response;
  let said = { error: `the server answered ${response.status}`, help: "load the page again" };
  try {
    said = await response.json();
  } catch {
    // no JSON: the message above is used
  }
  throw new Refused(said);
}

async function ask(path, options) {
  const headers = { ...options?.headers, authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ error: "the server does not answer", help: "is `mercer explore` still running?" });
  }
  return answered(response);
}

const asJson = (body, signal) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

export const getJson = async (path, signal) => (await ask(path, { signal })).json();
export const postJson = async (path, body, signal) => (await ask(path, asJson(body, signal))).json();
export const getFloats = async (path, signal, kind = Float32Array) =>
  new kind(await (await ask(path, { signal })).arrayBuffer());

export const upload = async (file) =>
  (await ask(`/api/data?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file })).json();

// A file of the server, and the name to save it under.
export async function getFile(path) {
  const response = await ask(path);
  const [, name] = /filename="([^"]*)"/.exec(response.headers.get("content-disposition")) ?? [];
  return { name, blob: await response.blob() };
}

// Fits what is asked for; `onProgress` gets each progress event. Aborting the signal stops the fit on the server.
export async function fit(request, onProgress, signal) {
  const response = await ask("/api/fit", asJson(request, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Refused({ error: "the fit ended without a result", help: "try it again" });
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field("event");
      if (!event) continue;
      const data = JSON.parse(field("data"));
      if (event === "progress") onProgress(data);
      else if (event === "done") return data;
      else throw new Refused(data);
    }
  }
}
