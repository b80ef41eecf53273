// Lets one drag the items of an order to another place. Without this script, their buttons change the order.
// Asks before a change of the order loads the page again while another form has text that is not saved.

let edited_form;
addEventListener('input', ({ target }) => {
  edited_form = target.form;
});
addEventListener('submit', ({ target }) => {
  if (target === edited_form) edited_form = undefined;
});
addEventListener('beforeunload', (event) => {
  if (edited_form) event.preventDefault();
});

for (const list of document.querySelectorAll('[data-order]')) {
  const before = [...list.children];
  const itemOf = ({ target }) => before.find((item) => item.contains(target));
  let dragged;
  let is_dropped = false;
  for (const item of before) item.draggable = true;

  list.addEventListener('dragstart', (event) => {
    dragged = itemOf(event);
    is_dropped = false;
    event.dataTransfer.effectAllowed = 'move';
  });
  list.addEventListener('dragover', (event) => {
    if (!dragged) return;
    event.preventDefault();
    const below = itemOf(event);
    if (!below || below === dragged) return;
    // The middle decides: without it, two items of different sizes would change places again and again.
    const { left, top, width, height } = below.getBoundingClientRect();
    const is_after =
      list.dataset.order === 'across' ? event.clientX > left + width / 2 : event.clientY > top + height / 2;
    below[is_after ? 'after' : 'before'](dragged);
  });
  list.addEventListener('drop', (event) => {
    event.preventDefault();
    is_dropped = true;
  });
  list.addEventListener('dragend', () => {
    dragged = undefined;
    if (!is_dropped) list.replaceChildren(...before);
    else if (before.some((item, index) => item !== list.children[index]))
      list.closest('form').requestSubmit();
  });
}
