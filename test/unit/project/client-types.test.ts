import { readFileSync } from 'node:fs';
import { clientApiText } from '../../../shared/api/typescript';

test('shared/client/api.ts is what `npm run generate` writes', () => {
  expect(readFileSync('shared/client/api.ts', 'utf8')).toBe(clientApiText());
});

test('a resource is an interface with descriptions, in which recursive types refer to each other by name', () => {
  const text = clientApiText();
  const [publication] = /export interface Publication \{\n[\s\S]*?\n\}/.exec(text)!;
  expect(publication).toContain("  /** The product's title, shown to customers. */\n  title: string;\n");
  expect(publication).toContain('  listing?: Listing;\n');
  expect(publication).toContain('  media?: MediaCollection;\n');
});

test('what a client sends may be undefined if it is optional, and has read-only lists', () => {
  const [patch] = /export interface PublicationPatch \{\n[\s\S]*?\n\}/.exec(clientApiText())!;
  expect(patch).toContain('  media_ids?: readonly string[] | null | undefined;\n');
});

test('an operation has the types of its query, body and answer, and its method and path', () => {
  const text = clientApiText();
  expect(text).toContain(
    '  createListing: { query: WriteQuery; body: NewListing; answer: Answer<Listing, 201> };\n',
  );
  expect(text).toContain("  createListing: ['POST', '/api/listing'],\n");
});

test('the package names its files only in `exports`, so that the tests import the sources', () => {
  // With `main` or `types`, the compiler would resolve an import of the folder to what an earlier build left in its `dist`.
  const { exports, main, types } = JSON.parse(readFileSync('shared/client/package.json', 'utf8'));
  expect([Object.keys(exports), main, types]).toEqual([['.', './package.json'], undefined, undefined]);
});
