// Lets one drag the rows of an order to another place. Without this script, their buttons change the order.

for (const list of document.querySelectorAll('[data-order]')) {
  const before = [...list.children];
  let dragged;
  for (const item of before) item.draggable = true;
  const itemOf = ({ target }) => before.find((item) => item.contains(target));

  list.addEventListener('dragstart', (event) => {
    dragged = itemOf(event);
    event.dataTransfer.effectAllowed = 'move';
  });
  list.addEventListener('dragover', (event) => {
    const below = itemOf(event);
    if (!dragged) return;
    event.preventDefault();
    if (!below || below === dragged) return;
    const is_later = dragged.compareDocumentPosition(below) & Node.DOCUMENT_POSITION_FOLLOWING;
    below[is_later ? 'after' : 'before'](dragged);
  });
  list.addEventListener('drop', (event) => event.preventDefault());
  list.addEventListener('dragend', ({ dataTransfer }) => {
    dragged = undefined;
    const is_given_up = dataTransfer.dropEffect === 'none';
    if (is_given_up) list.replaceChildren(...before);
    else if (before.some((item, index) => item !== list.children[index]))
      list.closest('form').requestSubmit();
  });
}
