// Time Travel: steps that keep up with the chat, keys, and scroll and focus that outlive a swap.

import { keys, released, say } from './app.js';
import { listen } from './live.js';

const WAIT_MS = 120;
const FIRST_WAIT_MS = 700;
const NEAR_END = 48;

let kept = null;

const byId = (id) => document.getElementById(id);
const rows = () => [...document.querySelectorAll('#steps a.step')];
const stepOf = (link) => link.href.split('&step=')[1];
const opened = () => byId('opened')?.dataset.step;

/** Remember where the reader is: how far the list is scrolled, and which row has the focus. */
function keep() {
  const scroll = byId('steps-scroll');
  if (!scroll) return;
  const active = document.activeElement;
  const { id, dataset } = active;
  const row = active.matches('#steps a.step') && `#steps a.step[href$="${stepOf(active)}"]`;
  kept = {
    thread: byId('travel')?.dataset.thread,
    top: scroll.scrollTop,
    atEnd: scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - NEAR_END,
    height: scroll.scrollHeight,
    focused: row || (dataset.fold ? `[data-fold="${dataset.fold}"]` : id && `#${id}`),
  };
}

/** Put the reader back; a list read at its end is followed when it grew. */
function putBack() {
  const scroll = byId('steps-scroll');
  if (!scroll) return;
  if (!kept || kept.thread !== byId('travel').dataset.thread) {
    const [row, head] = [current(), document.querySelector('#steps .head')];
    (row ?? head?.closest('a, div'))?.scrollIntoView({ block: row ? 'center' : 'end' });
    return;
  }
  scroll.scrollTop = kept.atEnd && scroll.scrollHeight > kept.height ? scroll.scrollHeight : kept.top;
  if (document.activeElement !== document.body) return; // the reader went elsewhere meanwhile
  if (kept.focused) document.querySelector(kept.focused)?.focus({ preventScroll: true });
}

function address() {
  const href = byId('steps').dataset.href;
  return opened() ? `${href}&step=${opened()}` : href;
}

function refresh(id) {
  if (byId(id)) window.htmx.ajax('GET', address(), { target: `#${id}`, select: `#${id}`, swap: 'outerHTML' });
}

const refreshSteps = () => refresh('steps');

/** What a restore would do may have changed; what is being written or told stays. */
const refreshPreview = () => refresh(byId('would') ? 'would' : 'overview');

function follow(root) {
  let [timer, both] = [null, false];
  const stop = listen((name, data) => {
    if (!root.isConnected) {
      stop();
      return;
    }
    const elsewhere = data.thread_id && data.thread_id !== root.dataset.thread;
    if (elsewhere || !['snapshot', 'reload', 'turn_started', 'turn_finished', 'approval', 'threads'].includes(name)) return;
    both ||= name !== 'snapshot' && name !== 'threads';
    timer ??= setTimeout(() => {
      timer = null;
      if (!root.isConnected) return;
      refreshSteps();
      if (both) refreshPreview();
      both = false;
    }, data.thread_id ? WAIT_MS : FIRST_WAIT_MS);
  });
}

const current = () => document.querySelector('#steps a.step:focus') ?? document.querySelector('#steps a.step[aria-current]');

/** `by` rows on from the one with the focus, or open; with neither the last one. */
function move(by, all = rows(), at = all.indexOf(current())) {
  const row = at < 0 ? all.at(-1) : all[Math.min(Math.max(at + by, 0), all.length - 1)];
  row?.focus();
  row?.scrollIntoView({ block: 'nearest' });
}

/** To the first step of the turn before or after. */
function moveTurn(by) {
  const [all, firsts] = [rows(), [...document.querySelectorAll('#steps h2 + a.step')]];
  const at = all.indexOf(current());
  move(by, firsts, at < 0 ? -1 : firsts.findLastIndex((row) => all.indexOf(row) <= at));
}

Object.assign(keys, {
  j: () => move(1),
  k: () => move(-1),
  '[': () => moveTurn(-1),
  ']': () => moveTurn(1),
  r: () => byId('restore')?.focus(),
  f: () => byId('fork')?.focus(),
  c: () => byId('compare')?.click(),
  Escape: () => document.querySelector('#opened .to-steps')?.click(),
});

async function copy(button) {
  const body = button.dataset.copyBody;
  try {
    const answer = await fetch(button.dataset.copy, body ? { method: 'POST', body, headers: { 'Content-Type': 'application/json' } } : {});
    if (!answer.ok) throw new Error();
    await navigator.clipboard.writeText(await answer.text());
    say('Copied.');
  } catch {
    say('That could not be copied. The address of the JSON is in the documentation.', true);
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]');
  if (button) copy(button);
  const dot = event.target.closest?.('.lanes a');
  if (dot && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    rows().find((link) => link.getAttribute('href') === dot.getAttribute('href'))?.click();
  }
});

document.addEventListener(
  'submit',
  (event) => {
    if (event.submitter?.getAttribute('aria-disabled') === 'true') {
      event.preventDefault();
      event.stopImmediatePropagation();
      say(byId('why')?.textContent.trim() || event.submitter.title, true);
    }
  },
  true,
);

document.addEventListener('change', (event) => {
  if (event.target.matches?.('[data-submit]')) event.target.form.requestSubmit();
});

document.addEventListener('htmx:beforeSwap', (event) => {
  const { target } = event.detail;
  if (target.matches(':is(#would, #overview):has(.namer[open], #note)')) event.detail.shouldSwap = false;
  else if (target.matches(':is(#steps, #would, #overview):is(:active, :has(.htmx-request))')) {
    event.detail.shouldSwap = false;
    released(target).then(() => refresh(target.id));
  } else if (target.matches('#steps, #travel')) keep();
});

document.addEventListener('htmx:load', (event) => {
  const { id } = event.detail.elt;
  if (id === 'steps' || id === 'travel') {
    putBack();
  } else if (id === 'opened') {
    for (const link of rows()) link.ariaCurrent = stepOf(link) === opened() ? 'true' : null;
    byId('opened-h')?.focus({ preventScroll: true });
    const drawn = document.querySelector('#steps .lanes');
    if (drawn && String(drawn.viewBox.baseVal.height) !== byId('steps').dataset.height) refreshSteps();
  }
});

/** One page of Time Travel. */
export function start(root) {
  if (root.id !== 'travel') return;
  putBack();
  follow(root);
  if (byId('note')) byId('opened-h')?.focus({ preventScroll: true });
  const here = new URL(window.location.href);
  if (here.searchParams.has('done')) {
    here.searchParams.delete('done');
    history.replaceState(history.state, '', here);
  }
}
