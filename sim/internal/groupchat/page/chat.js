"use strict";
// The page of the simulated group. Events come from /_sim/events; what is
// written here goes to /_sim/frames and comes back as an event like any other.

const $ = (id) => document.getElementById(id);
const log = $("log"), status = $("status"), typing = $("typing"), message = $("message"), send = $("send"), who = $("name");
const keep = 200; // messages shown at most
let group = "", typingTimer = 0;

const me = (() => {
  let id = localStorage.getItem("uuid");
  if (!id) {
    const b = crypto.getRandomValues(new Uint8Array(16));
    b[6] = (b[6] & 15) | 64; b[8] = (b[8] & 63) | 128;
    id = [...b].map((x) => x.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    localStorage.setItem("uuid", id);
  }
  return id;
})();
who.value = localStorage.getItem("name") || who.value;
who.addEventListener("change", () => localStorage.setItem("name", who.value));

const say = (text) => { status.textContent = text; };

function element(tag, className, text) {
  const e = document.createElement(tag);
  e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function took(ms) {
  return ms >= 1000 ? (ms / 1000).toFixed(2) + " s" : ms.toFixed(ms < 10 ? 1 : 0) + " ms";
}

// show adds a message; the log follows only a reader who is at its end.
function show(e) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 120;
  const item = element("li", e.sender === me ? "mine" : "");
  item.dataset.from = e.from;
  item.dataset.timestamp = e.timestamp;
  if (e.sender !== me) item.append(element("p", "name", e.name));
  for (const p of e.pictures || []) {
    const img = element("img", "");
    img.src = p.url;
    img.alt = "picture from " + e.name + ": " + p.name;
    img.addEventListener("load", () => { if (atEnd) log.scrollTop = log.scrollHeight; });
    img.addEventListener("error", () => { img.alt = "the picture is not kept any more"; });
    item.append(img);
  }
  if (e.text) item.append(element("p", "text", e.text));
  const meta = element("p", "meta", new Date(e.at).toLocaleTimeString());
  if (e.round_trip_ms) {
    meta.append(" · ", element("span", "took", took(e.round_trip_ms)), " after " + e.question.slice(0, 40));
    item.dataset.roundTripMs = e.round_trip_ms;
  }
  item.append(meta);
  log.append(item);
  while (log.childElementCount > keep) log.firstElementChild.remove();
  if (atEnd || e.sender === me) log.scrollTop = log.scrollHeight;
}

function react(e) {
  const item = log.querySelector(`li[data-timestamp="${Number(e.timestamp)}"]`);
  if (!item) return;
  item.querySelector(".reactions")?.remove();
  if (e.kind === "reaction") item.append(element("p", "reactions", e.text));
}

function setTyping(on) {
  clearTimeout(typingTimer);
  typing.hidden = !on;
  if (on) typingTimer = setTimeout(() => setTyping(false), 15000);
}

function handle(e) {
  if (e.kind === "message") {
    if (e.from === "bot") setTyping(false);
    show(e);
  } else if (e.kind === "typing" || e.kind === "stopped") {
    setTyping(e.kind === "typing");
  } else {
    react(e);
  }
}

async function post(text) {
  const body = JSON.stringify([{ text, sender: me, name: who.value.trim() || "Ty", group }]);
  const answer = await fetch("/_sim/frames", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!answer.ok) throw new Error((await answer.json()).error || answer.status);
}

$("compose").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text) return;
  send.disabled = true;
  try {
    await post(text);
    message.value = "";
  } catch (err) {
    say("not sent: " + err.message);
  } finally {
    send.disabled = false;
    message.focus();
  }
});
for (const hint of document.querySelectorAll(".hints button")) {
  hint.addEventListener("click", () => post(hint.dataset.text).catch((err) => say("not sent: " + err.message)));
}

(async () => {
  const info = await (await fetch("/_sim/info")).json();
  group = info.groups[0].internal_id;
  $("group").textContent = info.groups[0].name;
  document.title = info.groups[0].name + " · simulated Signal group";
  const events = new EventSource("/_sim/events");
  events.onopen = () => say("simulated group · bot " + info.number);
  events.onerror = () => say("connection lost, trying again…");
  events.onmessage = (m) => handle(JSON.parse(m.data));
  events.addEventListener("restart", () => log.replaceChildren());
})().catch((err) => say("not connected: " + err.message));
