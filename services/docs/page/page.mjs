import { api, endpoints } from './document.mjs';
import { el, prose } from './element.mjs';
import { operationDetails } from './operation.mjs';
import { schemaSection } from './schema.mjs';
import { tokenForm } from './token.mjs';

const groups = api.tags.map(({ name }) => ({
  name,
  endpoints: endpoints.filter(({ operation }) => operation.tags.includes(name)),
}));

function navigation() {
  const links = groups.flatMap((group) => [
    el('li', { class: 'group' }, group.name),
    ...group.endpoints.map(({ method, operation }) => {
      const badge = el('span', { class: `method ${method.toLowerCase()}` }, method);
      return el('li', {}, el('a', { href: `#${operation.operationId}` }, badge, ' ', operation.summary));
    }),
  ]);
  return el('ul', {}, ...links, el('li', { class: 'group' }, el('a', { href: '#schemas' }, 'Schemas')));
}

/** What the address names is opened and shown. */
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) named.open = true;
  named?.scrollIntoView();
}

const sections = groups.map(({ name, endpoints: members }) => {
  const id = `group-${name}`;
  const heading = el('h2', { id }, name);
  return el('section', { 'aria-labelledby': id }, heading, ...members.map(operationDetails));
});

const { title, version, description } = api.info;
document.title = title;
document.getElementById('navigation')?.replaceChildren(navigation());
document
  .getElementById('main')
  ?.replaceChildren(
    el('h1', {}, title, ' ', el('small', {}, version)),
    el('p', {}, ...prose(description)),
    el(
      'p',
      {},
      'Made from ',
      el('a', { href: 'openapi.json' }, 'openapi.json'),
      ', which code can be generated from.',
    ),
    tokenForm(),
    ...sections,
    schemaSection(),
  );
addEventListener('hashchange', openNamed);
openNamed();
