// Time Travel: steps that keep up with the chat, keys, and scroll and focus that outlive a swap.

import { isTyping, say } from './app.js';
import { listen } from './live.js';

const WAIT_MS = 120;
const FIRST_WAIT_MS = 700;
const NEAR_END = 48;

let kept = null;

const byId = (id) => (id ? document.getElementById(id) : null);
const rows = () => [...document.querySelectorAll('#steps a.step')];
const stepOf = (link) => new URLSearchParams((link.getAttribute('href') ?? '').split('?')[1]).get('step');
const opened = () => byId('opened')?.dataset.step ?? null;

/** Remember where the reader is: how far the list is scrolled, and which row has the focus. */
function keep() {
  const scroll = byId('steps-scroll');
  if (!scroll) return;
  const focused = document.activeElement;
  if (focused === document.body && kept?.pending) return; // the swap before this one has not put it back yet
  kept = {
    pending: true,
    thread: byId('travel')?.dataset.thread,
    top: scroll.scrollTop,
    atEnd: scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - NEAR_END,
    height: scroll.scrollHeight,
    step: focused?.matches?.('#steps a.step') ? stepOf(focused) : null,
    fold: focused?.dataset?.fold ?? null,
    id: focused?.closest?.('#travel') ? focused.id : '',
  };
}

/** Put the reader back; a list that was read at its end is followed when it grew. */
function putBack() {
  const scroll = byId('steps-scroll');
  if (!scroll) return;
  if (!kept || kept.thread !== byId('travel').dataset.thread) {
    const row = document.querySelector('#steps a.step[aria-current]') ?? document.querySelector('#steps .head')?.closest('a, div');
    if (row) row.scrollIntoView({ block: row.hasAttribute('aria-current') ? 'center' : 'end' });
    return;
  }
  scroll.scrollTop = kept.atEnd && scroll.scrollHeight > kept.height ? scroll.scrollHeight : kept.top;
  kept.pending = false;
  if (document.activeElement !== document.body) return; // the reader went elsewhere meanwhile
  const row = kept.step && rows().find((link) => stepOf(link) === kept.step);
  const fold = kept.fold && document.querySelector(`#steps [data-fold="${kept.fold}"]`);
  (row || fold || byId(kept.id))?.focus({ preventScroll: true });
}

/** The row of the opened step says so. */
function markOpened() {
  for (const link of rows()) {
    if (stepOf(link) === opened()) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

function address() {
  const href = byId('steps').dataset.href;
  return opened() ? `${href}&step=${opened()}` : href;
}

function refreshSteps() {
  if (byId('steps')) window.htmx.ajax('GET', address(), { target: '#steps', swap: 'outerHTML' });
}

/** What a restore would do may have changed; what the reader reads has not.

    Only parts are swapped that no click of the reader's aims at: a click whose target was replaced is lost. */
function refreshPreview() {
  if (byId('would') && document.querySelector('.namer[open]') === null) {
    window.htmx.ajax('GET', address(), { target: '#would', select: '#would', swap: 'outerHTML' });
  } else if (byId('overview')) {
    window.htmx.ajax('GET', address(), { target: '#overview', select: '#overview', swap: 'outerHTML' });
  }
}

function follow(root) {
  let timer = null;
  let both = false;
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

function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  const from = at >= 0 ? at : all.findIndex((link) => link.hasAttribute('aria-current'));
  const start = from >= 0 ? from + by : all.length - 1;
  const row = all[Math.min(Math.max(start, 0), all.length - 1)];
  row.focus();
  row.scrollIntoView({ block: 'nearest' });
}

/** To the first step of the turn before or after the one that has the focus. */
function moveTurn(by) {
  const heads = [...document.querySelectorAll('#steps h2')];
  const from = document.activeElement?.matches('#steps a.step') ? document.activeElement : document.querySelector('#steps a.step[aria-current]');
  const passed = from ? heads.filter((head) => head.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING) : heads;
  const head = heads[passed.length - 1 + by];
  const row = head && rows().find((link) => head.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING);
  row?.focus();
  row?.scrollIntoView({ block: 'nearest' });
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  '[': () => moveTurn(-1),
  ']': () => moveTurn(1),
  r: () => byId('restore')?.focus(),
  f: () => byId('fork')?.focus(),
  c: () => byId('compare')?.click(),
  Escape: () => document.querySelector('#opened .to-steps')?.click(),
};

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

document.addEventListener('keydown', (event) => {
  if (!byId('travel') || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

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
  if (['steps', 'travel'].includes(event.detail.target?.id)) keep();
});

document.addEventListener('htmx:load', (event) => {
  const { id } = event.detail.elt;
  if (id === 'steps') {
    putBack();
  } else if (id === 'opened') {
    markOpened();
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
