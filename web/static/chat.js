// The conversation: fetched anew, a turn at a time, as things happen in it; answers are streamed below it.

import { released, say } from './app.js';
import { listen, movedSince } from './live.js';

const REST_MS = 60;
const WORKING = 'The agent is working. A message sent now waits its turn.';

export function start(scroll) {
  const { thread } = scroll.dataset;
  const log = scroll.querySelector('[role=log]');
  const turns = scroll.querySelector('#turns');
  const answers = scroll.querySelector('#answers');
  const stream = scroll.querySelector('#stream');
  const streamed = stream.querySelector('.text');
  const ask = document.querySelector('.ask');
  const toEnd = ask.querySelector('.to-end');
  const state = document.getElementById('state');
  let isStale = false; // what was streamed is part of the log by now
  let wanted = null; // 'tail' or 'all'
  let busy = false;
  let timer = null;

  const sections = () => [...turns.querySelectorAll('[data-turn]')];
  const isNearEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;

  function keepEnd(follows) {
    if (follows) scroll.scrollTop = scroll.scrollHeight;
    toEnd.hidden = follows;
  }

  function showState(status = sections().at(-1)?.dataset.status) {
    const waits = status === 'approval_pending';
    const runs = waits || status === 'running';
    log.setAttribute('aria-busy', String(runs));
    ask.querySelector('.stop').hidden = !runs;
    state.textContent = waits ? 'Waiting for your answer above' : runs ? WORKING : '';
    state.classList.toggle('warn', waits);
  }

  function showStream(text) {
    if (isStale) streamed.textContent = '';
    isStale = false;
    const follows = isNearEnd();
    streamed.append(text);
    stream.hidden = false;
    keepEnd(follows);
  }

  function countDown() {
    for (const time of turns.querySelectorAll('[data-countdown]')) {
      const left = Math.max(0, Math.round((new Date(time.dateTime) - Date.now()) / 1000));
      time.textContent = `in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    }
  }

  /** What a reader has unfolded and where the focus is: both survive a new rendering. */
  function remember() {
    const keys = (what) => new Set([...turns.querySelectorAll(what)].map((e) => e.dataset.key ?? e.id));
    const [open, gates] = [keys('details[open]'), keys('.gate h2')];
    const answered = new Set(sections().filter((s) => s.querySelector('[data-answer]')).map((s) => s.id));
    const active = document.activeElement;
    const within = turns.contains(active) && active.closest('[data-turn]');
    const name = (e) => e.getAttribute('href') ?? e.value ?? e.parentElement.dataset.key;
    const last = Number(sections().at(-1)?.dataset.turn ?? 0);
    return () => {
      for (const details of turns.querySelectorAll('details')) details.open = open.has(details.dataset.key);
      if (within && !within.isConnected) {
        const again = document.getElementById(within.id)?.querySelectorAll('a, button, summary') ?? [];
        [...again].find((e) => name(e) === name(active))?.focus({ preventScroll: true });
      }
      for (const section of sections()) {
        const words = section.querySelector('[data-answer] :is(.md, .text)')?.textContent.trim();
        const isNew = Number(section.dataset.turn) >= last && !answered.has(section.id);
        if (words && isNew) say(`Answered: ${words.slice(0, 200)}`, false, true);
      }
      for (const gate of turns.querySelectorAll('.gate h2')) if (!gates.has(gate.id)) say(gate.innerText, true, true);
    };
  }

  async function refresh(kind) {
    const last = kind === 'tail' ? sections().at(-1) : null;
    const since = last?.dataset.turn ?? turns.dataset.since;
    const answer = await fetch(`/chats/${thread}/log?${since ? `since=${since}` : ''}`, { headers: { 'HX-Request': 'true' } });
    const isWriting = ask.querySelector('textarea').value;
    if (answer.status === 404 || (answer.status === 401 && !isWriting)) window.location.href = '/';
    if (!answer.ok || !scroll.isConnected) return;
    const html = await answer.text();
    await released(turns);
    const [follows, restore] = [isNearEnd(), remember()];
    while (last?.nextElementSibling) last.nextElementSibling.remove();
    window.htmx.swap(last ?? turns, html, { swapStyle: last ? 'outerHTML' : 'innerHTML' });
    restore();
    if (isStale) {
      isStale = false;
      stream.hidden = true;
      streamed.textContent = '';
    }
    showState();
    countDown();
    keepEnd(follows);
  }

  /** Fetch what is wanted; while one answer is on its way, the next waits and may be wanted by many. */
  function want(kind) {
    if (wanted !== 'all') wanted = kind;
    timer ??= setTimeout(async () => {
      timer = null;
      if (busy) return;
      [busy, kind, wanted] = [true, wanted, null];
      await refresh(kind).catch(() => {}); // the stream tells when the server is back, then all is fetched
      busy = false;
      if (wanted) want(wanted);
    }, REST_MS);
  }

  const stop = listen((name, data) => {
    if (!scroll.isConnected) {
      stop();
      clearInterval(ticking);
    } else if (name === 'reload' && (data.thread_id === null || data.thread_id === thread)) {
      want('all');
    } else if (name === 'threads') {
      want('tail'); // it may be this one that has another name, or is gone
    } else if (data.thread_id !== thread) {
      // another chat's
    } else if (name === 'delta') {
      showStream(data.text);
    } else {
      isStale ||= name === 'snapshot' || name === 'turn_finished' || (name === 'message' && data.message.role !== 'user');
      if (name === 'turn_started') {
        answers.replaceChildren(); // they belong above what begins now
        showState('running');
      }
      want('tail');
    }
  });
  const ticking = setInterval(countDown, 1000);

  answers.addEventListener('click', (event) => {
    if (!event.target.closest('[data-dismiss]')) return;
    event.target.closest('.reply').remove();
    document.getElementById('composer').focus();
  });
  answers.addEventListener('htmx:afterSwap', () => {
    while (answers.children.length > 4) answers.firstElementChild.remove();
    keepEnd(true);
  });
  ask.addEventListener('turnback:sent', () => {
    keepEnd(true);
    want('tail');
  });
  scroll.addEventListener('scroll', () => isNearEnd() && (toEnd.hidden = true));
  toEnd.addEventListener('click', () => keepEnd(true));

  countDown();
  showState();
  if (movedSince(document.getElementById('app').dataset.streamAt)) want('all');
  if (!window.location.hash || window.location.hash === '#end') scroll.scrollTop = scroll.scrollHeight;
}
