"use strict";
// The page of the simulated group. Events come from /_sim/events; what is
// written here goes to /_sim/frames and comes back as an event like any other.

const $ = (id) => document.getElementById(id);
const log = $("log"), status = $("status"), typing = $("typing"), message = $("message"), send = $("send"), who = $("name"), cancel = $("cancel");
const keep = 200; // messages shown at most
let group = "", typingTimer = 0;
let editing = 0; // timestamp of the message that gets a new text; 0 = none

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
  item.dataset.sender = e.sender || e.from;
  if (e.sender !== me) item.append(element("p", "name", e.name));
  if (e.quote) {
    const quote = element("blockquote", "quote", e.quote.text || "a message");
    quote.dataset.of = e.quote.timestamp;
    item.append(quote);
  }
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
  if (e.files) meta.append(" · ", e.files === 1 ? "1 file" : e.files + " files");
  item.append(meta);
  log.append(item);
  if (e.sender === me) offer(item);
  while (log.childElementCount > keep) log.firstElementChild.remove();
  if (atEnd || e.sender === me) log.scrollTop = log.scrollHeight;
}

// offer lets the reader change or take back the last message of theirs.
function offer(item) {
  log.querySelector(".actions")?.remove();
  const actions = element("p", "actions");
  const edit = element("button", "", "Edit"), remove = element("button", "", "Delete");
  edit.type = remove.type = "button";
  edit.addEventListener("click", () => begin(item));
  remove.addEventListener("click", () => post({ delete_of: Number(item.dataset.timestamp) }).catch((err) => say("not deleted: " + err.message)));
  actions.append(edit, remove);
  item.append(actions);
}

// begin has the composer write a new text for a message; end goes back to new messages.
function begin(item) {
  editing = Number(item.dataset.timestamp);
  message.value = item.querySelector(".text")?.textContent || "";
  send.textContent = "Save";
  cancel.hidden = false;
  message.focus();
}

function end() {
  editing = 0;
  message.value = "";
  send.textContent = "Send";
  cancel.hidden = true;
}

function find(e, sender) {
  for (const item of log.querySelectorAll(`li[data-timestamp="${Number(e.timestamp)}"]`)) {
    if (!sender || item.dataset.sender === sender) return item;
  }
  return null;
}

// change shows that a message got a new text, or was taken back.
function change(e) {
  const item = find(e, e.from === "bot" ? "bot" : e.sender);
  if (!item) return;
  const gone = e.kind === "delete";
  let text = item.querySelector(".text");
  if (!text) {
    text = element("p", "text");
    item.querySelector(".meta").before(text);
  }
  text.textContent = gone ? "This message was deleted." : e.text;
  item.classList.toggle("gone", gone);
  if (gone) {
    for (const part of item.querySelectorAll("img, .quote, .reactions, .actions")) part.remove();
    if (editing === Number(e.timestamp)) end();
  } else if (!item.querySelector(".edited")) {
    item.querySelector(".meta").append(element("span", "edited", " · edited"));
  }
}

function react(e) {
  const item = find(e);
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
  } else if (e.kind === "edit" || e.kind === "delete") {
    change(e);
  } else if (e.kind === "typing" || e.kind === "stopped") {
    setTyping(e.kind === "typing");
  } else {
    react(e);
  }
}

async function post(what) {
  const body = JSON.stringify([{ sender: me, name: who.value.trim() || "Ty", group, ...what }]);
  const answer = await fetch("/_sim/frames", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!answer.ok) throw new Error((await answer.json()).error || answer.status);
}

$("compose").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text) return;
  send.disabled = true;
  try {
    await post(editing ? { text, edit_of: editing } : { text });
    end();
  } catch (err) {
    say("not sent: " + err.message);
  } finally {
    send.disabled = false;
    message.focus();
  }
});
cancel.addEventListener("click", () => { end(); message.focus(); });
message.addEventListener("keydown", (event) => { if (event.key === "Escape" && editing) end(); });
for (const hint of document.querySelectorAll(".hints button")) {
  hint.addEventListener("click", () => post({ text: hint.dataset.text }).catch((err) => say("not sent: " + err.message)));
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
