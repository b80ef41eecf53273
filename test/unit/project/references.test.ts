import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Keeps references between code and documentation valid. A comment may refer to a page of this repository, such as
 * `docs/interface/writes.md#idempotency`, or to a public standard. It must not refer to a document that a reader cannot
 * open.
 */

interface Reference {
  /** The file that contains the reference. */
  readonly from: string;
  /** Path below the root of the repository, without the heading. */
  readonly path: string;
  /** Anchor of a heading, without `#`. Empty if the reference names the file only. */
  readonly anchor: string;
}

const FOLDERS = ['.ci', '.github', 'docs', 'projections', 'services', 'shared', 'test'];

/** Returns the files below a folder, without the packages and the output of the documentation's site. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => !/^docs\/site\/(node_modules|dist)\//.test(path));
}

const files = [...readdirSync('.'), ...FOLDERS.flatMap(filesBelow)];
/** Without this file, which names what it refuses. */
const sources = files.filter(
  (path) => /\.(ts|js|mjs|yml|conf)$|^Dockerfile$/.test(path) && !path.endsWith('references.test.ts'),
);
const pages = files.filter((path) => path.endsWith('.md'));

const read = (path: string): string => readFileSync(path, 'utf8');
const withoutCodeBlocks = (markdown: string): string => markdown.replace(/^ *```[\s\S]*?^ *```/gm, '');

// --- Headings ---

/** Returns the anchors of a page's headings by GitHub's rules. Repeated headings get the suffixes `-1`, `-2`, … */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of withoutCodeBlocks(markdown).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const slug = slugOf(heading!);
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
}

function slugOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}

// --- References ---

/** Pages named by their path from the root, wherever they are mentioned. */
const PAGE = /(?<![\w./-])((?:docs\/[\w./-]+|[A-Z]+)\.md)\b(?:#([\w-]+))?/g;
const LINK = /\]\(([^)\s#]*)(?:#([^)\s]+))?\)/g;
const CODE_PATH = /`((?:\.ci|docs|projections|services|shared|test)\/[\w./-]+\.\w+)(?:#([\w-]+))?`/g;

function pagesNamedIn(from: string, text: string): Reference[] {
  return [...text.matchAll(PAGE)].map(([, path, anchor = '']) => ({ from, path: path!, anchor }));
}

function referencesOfPage(from: string, markdown: string): Reference[] {
  const text = withoutCodeBlocks(markdown);
  const links = [...text.replace(/`[^`\n]*`/g, '``').matchAll(LINK)]
    .filter(([, target]) => !/^[a-z]+:/.test(target!))
    .map(([, target, anchor = '']) => {
      const path = target === '' ? from : join(dirname(from), target!);
      return { from, path, anchor };
    });
  const paths = [...text.matchAll(CODE_PATH)].map(([, path, anchor = '']) => ({ from, path: path!, anchor }));
  return [...links, ...paths, ...pagesNamedIn(from, text.replace(LINK, ']'))];
}

function isDangling({ path, anchor }: Reference): boolean {
  if (!existsSync(path)) return true;
  return anchor !== '' && !anchorsOf(read(path)).has(anchor);
}

const show = ({ from, path, anchor }: Reference): string =>
  `${from}: ${path}${anchor === '' ? '' : `#${anchor}`}`;

// --- Comments ---

/** Returns each comment of a source on one line. A block comment starts a line, as the formatter has it. */
function commentsOf(source: string): string[] {
  const blocks = source.match(/^[ \t]*\/\*[\s\S]*?\*\//gm) ?? [];
  const lines = source.match(/(?:^|[ \t])\/\/ .*(?:\n[ \t]*\/\/ .*)*/gm) ?? [];
  return [...blocks, ...lines].map((comment) =>
    comment.replace(/\s*\n[ \t]*(?:\*|\/\/)?[ \t]*/g, ' ').trim(),
  );
}

// --- Names ---

/** Names of other systems, and names that the documentation says the service does not use. */
const FOREIGN_NAMES = [
  ...[
    'SQLITE_BUSY',
    'NodeHostAdvertiseAs',
    'WorkingDirectory',
    'limit_req',
    'readWrite',
    'reusePort',
    'DB',
    '$r',
  ],
  ...[
    'timeoutMS',
    'track_total_hits',
    'parentbased_always_on',
    'parentbased_traceidratio',
    'DEP0123',
    'Intl',
  ],
  ...['mongodump', 'mongorestore', 'fsync', 'dmesg', 'protobufjs', 'cluster_enabled'],
  // The example of docs/howto/add-an-endpoint.md.
  ...['lookbook', 'lookbook_not_found'],
  // Codes that docs/errors.md reserves.
  ...['INVALID_TOKEN', 'EXPIRED_TOKEN', 'DATABASE_CONNECTION_ERROR', 'UNKNOWN_ERROR', 'INVALID_CREDENTIALS'],
  ...['ACCOUNT_NOT_VERIFIED', 'ACCOUNT_NOT_FOUND', 'INVALID_LENGTH', 'INVALID_STATE'],
  ...['BUSINESS_RULE_VIOLATION', 'FORBIDDEN'],
  // Endings of names, and names that the code puts together.
  ...['_ms', '_s', '_bytes', 'catalog_http_request_duration_seconds', 'catalog_append_duration_seconds'],
  ...['catalog_media_rendering_seconds', 'lanes_v1'],
];

const namesIn = (text: string): string[] => text.match(/[A-Za-z_$][\w$]*/g) ?? [];

const withoutComments = (source: string): string =>
  source.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, '').replace(/(?:^|[ \t])\/\/ .*/gm, '');

/** Returns the names, such as `awaitProjection` and `parse()`. */
const quotedNamesIn = (markdown: string): string[] =>
  [...withoutCodeBlocks(markdown).matchAll(/`([A-Za-z_$][\w$]*)(?:\(\))?`/g)].map(([, name]) => name!);

/** Ways to refer to a specification or a design that is not in the repository. */
const NOT_SHIPPED = [
  /\bdecisions? §/i,
  /\bspec(?:ification)?,? ["“§]/i,
  /\(spec(?:ification)?[,)]/i,
  /\bthe spec(?:ification)?\b(?! of)/i,
  /\bdesign(?:\.md)?,? ["“§]/i,
  /\bdesign\.md\b/i,
];

const refersToUnshipped = (text: string): boolean => NOT_SHIPPED.some((pattern) => pattern.test(text));

test('the repository has sources, pages and references to check', () => {
  expect(sources.length).toBeGreaterThan(200);
  expect(pages.length).toBeGreaterThanOrEqual(9);
  const named = sources.flatMap((path) => pagesNamedIn(path, read(path)));
  expect(named.length).toBeGreaterThan(5);
});

test('every page and heading that a source refers to exists', () => {
  const references = sources.flatMap((path) => pagesNamedIn(path, read(path)));
  expect(references.filter(isDangling).map(show)).toEqual([]);
});

test('every link, page, heading and path in the documentation exists', () => {
  const references = pages.flatMap((path) => referencesOfPage(path, read(path)));
  expect(references.filter(isDangling).map(show)).toEqual([]);
});

test('every name in backticks in the documentation is a name in the code', () => {
  const code = files.filter(
    (path) => /\.(ts|js|mjs|yml|json|conf)$|^Dockerfile$/.test(path) && !path.includes('/dist/'),
  );
  const known = new Set([...FOREIGN_NAMES, ...code.flatMap((path) => namesIn(withoutComments(read(path))))]);
  const unknown = pages
    .filter((path) => path !== 'CHANGELOG.md')
    .flatMap((path) => quotedNamesIn(read(path)).map((name) => ({ path, name })))
    .filter(({ name }) => !known.has(name) && !/^OTEL_/.test(name));
  expect(unknown).toEqual([]);
});

test('no comment and no page refers to a document outside the repository', () => {
  const inComments = sources.flatMap((path) =>
    commentsOf(read(path))
      .filter(refersToUnshipped)
      .map((comment) => `${path}: ${comment}`),
  );
  const inPages = pages.flatMap((path) =>
    read(path)
      .split('\n')
      .filter(refersToUnshipped)
      .map((line) => `${path}: ${line}`),
  );
  expect([...inComments, ...inPages]).toEqual([]);
});
