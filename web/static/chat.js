// The conversation: fetched anew, a turn at a time, as things happen in it; answers are streamed below it.

import { freshenTimes, say, startModules } from './app.js';
import { listen, movedSince } from './live.js';

const NEAR_END = 80;
const REST_MS = 60;

export function start(scroll) {
  const { thread } = scroll.dataset;
  const log = scroll.querySelector('[role=log]');
  const turns = scroll.querySelector('#turns');
  const answers = scroll.querySelector('#answers');
  const stream = scroll.querySelector('#stream');
  const streamText = stream.querySelector('.text');
  const ask = document.querySelector('.ask');
  const toEnd = ask.querySelector('.to-end');
  const state = document.getElementById('state');
  const stopButton = ask.querySelector('.stop');

  let follows = true;
  let isStale = false; // what was streamed is part of the log by now
  let fetching = false;
  let wanted = null; // 'tail' or 'all'
  let timer = null;

  const isNearEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_END;

  function keepEnd() {
    if (follows) {
      scroll.scrollTop = scroll.scrollHeight;
      toEnd.hidden = true;
    } else {
      toEnd.hidden = false;
    }
  }

  function endStream() {
    isStale = false;
    stream.hidden = true;
    streamText.textContent = '';
  }

  function setBusy(busy, words) {
    log.setAttribute('aria-busy', String(busy));
    stopButton.hidden = !busy;
    if (state.textContent !== words) state.textContent = words;
  }

  function showState() {
    const status = [...turns.querySelectorAll('.turn[data-turn]')].at(-1)?.dataset.status;
    if (status === 'approval_pending') setBusy(true, 'Waiting for your answer above');
    else if (status === 'running') setBusy(true, 'The agent is working. A message sent now waits its turn.');
    else setBusy(false, '');
    state.classList.toggle('warn', status === 'approval_pending');
  }

  /** Which calls are unfolded, where the focus is: both survive a new rendering. */
  function remember() {
    const open = new Set([...turns.querySelectorAll('details[open]')].map((d) => d.dataset.key));
    const active = document.activeElement;
    const within = turns.contains(active) ? active.closest('[data-turn]')?.dataset.turn : null;
    const href = within ? active.getAttribute('href') ?? active.value : null;
    return () => {
      for (const details of turns.querySelectorAll('details')) if (open.has(details.dataset.key)) details.open = true;
      if (within && !turns.contains(document.activeElement)) {
        const turn = turns.querySelector(`[data-turn="${CSS.escape(within)}"]`);
        const again = [...(turn?.querySelectorAll('a, button, summary') ?? [])].find(
          (e) => (e.getAttribute('href') ?? e.value) === href,
        );
        again?.focus({ preventScroll: true });
      }
    };
  }

  function announce(before) {
    for (const answer of turns.querySelectorAll('.turn[data-turn] [data-answer]')) {
      const turn = answer.closest('[data-turn]');
      if (Number(turn.dataset.turn) < before.turn || before.answered.has(turn.dataset.turn)) continue;
      const words = answer.querySelector('.md, .text')?.textContent.trim() ?? '';
      say(`Answered: ${words.slice(0, 200)}`, false, true);
    }
    for (const gate of turns.querySelectorAll('.gate h2')) {
      if (!before.gates.has(gate.id)) say(gate.textContent.trim(), true, true);
    }
  }

  async function refresh(kind) {
    const sections = [...turns.querySelectorAll('.turn[data-turn]')];
    const last = sections.at(-1);
    const since = kind === 'tail' && last ? last.dataset.turn : turns.dataset.since;
    const before = {
      turn: last ? Number(last.dataset.turn) : 0,
      answered: new Set(sections.filter((s) => s.querySelector('[data-answer]')).map((s) => s.dataset.turn)),
      gates: new Set([...turns.querySelectorAll('.gate h2')].map((h) => h.id)),
    };
    const answer = await fetch(`/chats/${thread}/log${since ? `?since=${since}` : ''}`, {
      headers: { 'HX-Request': 'true' },
    });
    if (answer.status === 401) {
      window.location.href = '/login';
      return;
    }
    if (answer.status === 404) {
      say('This chat is gone.', true);
      window.location.href = '/';
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const html = await answer.text();
    if (!scroll.isConnected) return;
    follows = isNearEnd();
    const restore = remember();
    const fresh = document.createElement('template');
    fresh.innerHTML = html;
    for (const put of fresh.content.querySelectorAll('template[data-put]')) {
      document.getElementById(put.dataset.put)?.replaceChildren(put.content);
      put.remove();
    }
    const parts = [...fresh.content.children];
    if (kind === 'tail' && last) {
      while (last.nextElementSibling) last.nextElementSibling.remove();
      last.replaceWith(...parts);
    } else {
      turns.replaceChildren(...parts);
    }
    window.htmx?.process(turns);
    startModules(turns);
    freshenTimes(turns);
    restore();
    if (isStale) endStream();
    showState();
    announce(before);
    countDown();
    keepEnd();
  }

  async function pump() {
    timer = null;
    if (fetching || wanted === null) return;
    const kind = wanted;
    wanted = null;
    fetching = true;
    try {
      await refresh(kind);
    } catch {
      // The stream says when the server is back, and everything is fetched then.
    }
    fetching = false;
    if (wanted !== null) timer = setTimeout(pump, REST_MS);
  }

  function want(kind) {
    if (wanted !== 'all') wanted = kind;
    timer ??= setTimeout(pump, REST_MS);
  }

  function countDown() {
    for (const time of turns.querySelectorAll('time[data-countdown]')) {
      const left = Math.max(0, Math.round((new Date(time.dateTime) - Date.now()) / 1000));
      time.textContent = `in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    }
  }

  function onDelta(text) {
    if (isStale) {
      streamText.textContent = '';
      isStale = false;
    }
    follows = isNearEnd();
    streamText.append(text);
    stream.hidden = false;
    keepEnd();
  }

  const stop = listen((name, data) => {
    if (!scroll.isConnected) {
      stop();
      clearInterval(ticking);
      return;
    }
    if (name === 'reload' && (data.thread_id === null || data.thread_id === thread)) want('all');
    if (name === 'threads') want('tail'); // it may be this one that has another name, or is gone
    if (data.thread_id !== thread) return;
    if (name === 'delta') {
      onDelta(data.text);
    } else if (name !== 'reload') {
      if (name === 'snapshot' || name === 'turn_finished' || (name === 'message' && data.message.role !== 'user')) isStale = true;
      if (name === 'turn_started') {
        answers.replaceChildren(); // they belong above what begins now
        setBusy(true, 'The agent is working. A message sent now waits its turn.');
      }
      want('tail');
    }
  });

  answers.addEventListener('click', (event) => {
    if (event.target.closest('[data-dismiss]')) {
      event.target.closest('.reply').remove();
      document.getElementById('composer')?.focus();
    }
  });
  answers.addEventListener('htmx:afterSwap', () => {
    while (answers.children.length > 4) answers.firstElementChild.remove();
    follows = true;
    keepEnd();
  });
  ask.addEventListener('turnback:sent', () => {
    follows = true;
    want('tail');
  });
  scroll.addEventListener('scroll', () => {
    if (isNearEnd()) toEnd.hidden = true;
  });
  toEnd.addEventListener('click', () => {
    follows = true;
    keepEnd();
  });
  const ticking = setInterval(countDown, 1000);

  countDown();
  showState();
  if (movedSince(document.getElementById('app').dataset.streamAt)) want('all');
  if (!window.location.hash || window.location.hash === '#end') scroll.scrollTop = scroll.scrollHeight;
}
