// The settings form: says what is not saved yet, and finds a setting by its words.

import { say } from './app.js';

function textOf(control, form) {
  if (control.type === 'checkbox') return control.checked ? 'on' : 'off';
  return form.elements.namedItem(control.name) ? control.value.trim() : '';
}

export function start(page) {
  const form = page.querySelector('#settings');
  const bar = form.querySelector('.save');
  const was = JSON.parse(form.elements.namedItem('was').value);
  const controls = [...form.querySelectorAll('.opt [name]:not([type=hidden])')];
  const states = new Map();

  function refresh() {
    const names = [];
    for (const control of controls) {
      const option = control.closest('.opt');
      const changed = textOf(control, form) !== (was[control.name] ?? '').trim();
      const state = option.querySelector('.state');
      if (state && !states.has(option)) states.set(option, { text: state.textContent, html: state.innerHTML, name: state.className });
      option.classList.toggle('dirty', changed);
      if (state && changed) {
        state.textContent = 'not saved yet';
        state.className = 'dim state';
      } else if (state && states.get(option).text !== 'not saved yet') {
        state.innerHTML = states.get(option).html;
        state.className = states.get(option).name;
      }
      if (changed) names.push(option.querySelector('label, .label').textContent);
    }
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
    let any = false;
    for (const group of form.querySelectorAll('.grp')) {
      let some = false;
      for (const option of group.querySelectorAll('.opt')) {
        option.hidden = !option.textContent.toLowerCase().includes(word);
        some ||= !option.hidden;
      }
      group.hidden = !some;
      any ||= some;
    }
    form.querySelector('[data-none]').hidden = any;
  });
}
