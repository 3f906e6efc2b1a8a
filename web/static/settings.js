// The settings form: says what is not saved yet, and finds a setting by its words.

import { say } from './app.js';

export function start(page) {
  const form = page.querySelector('#settings');
  const bar = form.querySelector('.save');
  const was = JSON.parse(form.elements.namedItem('was').value);
  const options = [...form.querySelectorAll('.opt')];

  function isChanged(option) {
    const control = option.querySelector('[name]:is(input:not([type=hidden]), select, textarea)');
    if (!control) return false;
    const text = control.type === 'checkbox' ? (control.checked ? 'on' : 'off') : control.value;
    return text.trim() !== (was[control.name] ?? '').trim();
  }

  function refresh() {
    for (const option of options) option.classList.toggle('dirty', isChanged(option));
    const names = [...form.querySelectorAll('.dirty :is(label, .label)')].map((label) => label.textContent);
    bar.hidden = names.length === 0;
    bar.querySelector('[data-count]').textContent = `${names.length} ${names.length === 1 ? 'change' : 'changes'} not saved`;
    bar.querySelector('[data-names]').textContent = names.join(', ');
    return names.length;
  }

  form.addEventListener('input', refresh);
  document.getElementById('reset').addEventListener('submit', (event) => {
    if (refresh() > 0) {
      event.preventDefault();
      event.stopImmediatePropagation();
      say('Save or discard your other changes first.', true);
    }
  }, true);
  refresh();

  const find = document.querySelector('[data-find]');
  find.hidden = false;
  find.querySelector('input').addEventListener('input', (event) => {
    const word = event.target.value.trim().toLowerCase();
    for (const option of options) {
      option.hidden = !option.firstElementChild.textContent.toLowerCase().includes(word);
    }
    for (const group of form.querySelectorAll('.grp')) group.hidden = !group.querySelector('.opt:not([hidden])');
    form.querySelector('[data-none]').hidden = options.some((option) => !option.hidden);
  });
}
